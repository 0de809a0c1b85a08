"""How far long tasks in other processes have come: each writes to a file of its own what its runs show, one by one."""

from __future__ import annotations

import struct
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

LOOK = 0.5  # s between looks at the files
HALFWAY = 8
"""Runs after which a task whose number of runs nobody knows counts as half done."""


Told = Callable[[float], None]
"""What to call after a run, with what it showed."""
RUN = struct.Struct("d")


def told_nothing(found: float) -> None:
    """For runs that nobody watches."""


class Ticks(NamedTuple):
    """Tells of finished runs of one task, from any process on this machine.

    Attributes:
        file: that grows.
    """

    file: Path

    def __call__(self, found: float) -> None:
        """One run more, and what it showed."""
        with self.file.open("ab") as file:
            file.write(RUN.pack(found))

    @property
    def share(self) -> float:
        """Of the task, as far as the number of its runs says."""
        runs = self.file.stat().st_size // RUN.size
        return runs / (runs + HALFWAY)

    @property
    def largest(self) -> float:
        """Of what runs showed so far; 0 before any."""
        written = self.file.read_bytes()
        whole = written[: len(written) // RUN.size * RUN.size]
        return max((found for (found,) in RUN.iter_unpack(whole)), default=0.0)


@contextmanager
def watched(number: int, progress: Callable[[float], None]) -> Iterator[tuple[Sequence[Ticks], Callable[[int], None]]]:
    """(a ticker for each of a number of equal tasks, what to call with the index of one that is finished).

    Args:
        number: of tasks.
        progress: told of the share of all work done since the last call, also while tasks go on.
    """
    with tempfile.TemporaryDirectory(prefix="specsim-") as folder:
        ticks = [Ticks(Path(folder) / str(i)) for i in range(number)]
        for one in ticks:
            one.file.touch()
        finished: set[int] = set()
        told, over = 0.0, threading.Event()

        def look() -> None:
            nonlocal told
            done = sum(1.0 if i in finished else one.share for i, one in enumerate(ticks)) / number
            progress(done - told)
            told = done

        def keep_looking() -> None:
            while not over.wait(LOOK):
                look()

        watcher = threading.Thread(target=keep_looking, daemon=True)
        watcher.start()
        try:
            yield ticks, finished.add
        finally:
            over.set()
            watcher.join()
            look()
