"""The same function over many arguments, spread over processes. Knows nothing of what is computed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

Result = TypeVar("Result")


def spread(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, Result]]:
    """(index, ``function(*arguments[index])``) in whatever order they finish.

    Args:
        function: importable by name, since the processes are fresh ones.
        arguments: started in this order; the longest first ends soonest.
        jobs: processes; 1 runs everything here, in order.
    """
    if jobs == 1 or len(arguments) < 2:
        yield from ((i, function(*given)) for i, given in enumerate(arguments))
        return
    with ProcessPoolExecutor(min(jobs, len(arguments)), get_context("spawn"), _start_worker) as pool:
        futures = {pool.submit(function, *given): i for i, given in enumerate(arguments)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it when it is killed: a worker would wait for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
