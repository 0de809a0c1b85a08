"""The same function over many arguments, through joblib: here, in processes, or on a Ray or Dask cluster.

Knows nothing of what is computed. What travels are the arguments and the function's name; workers import the rest.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from specsim.errors import InputError, Problem, invalid

Result = TypeVar("Result")
Backend = Literal["loky", "ray", "dask"]
NEEDS: dict[str, tuple[str, ...]] = {"loky": (), "ray": ("ray",), "dask": ("dask", "distributed")}
PORTION = 16
"""Calls per worker that Ray is handed at a time: its backend gives results back by the portion."""
KNOCK = 10.0  # s to wait for a cluster's answer
LOG = logging.getLogger(__name__)
WATCH = 1.0  # s between looks at whether the parent is still there


class Workers(NamedTuple):
    """Where work is done.

    Attributes:
        backend: loky: processes on this machine.
        jobs: how many; None for one per processor, on a running cluster for all of its own.
        address: of a running cluster; None starts one on this machine.
    """

    backend: Backend = "loky"
    jobs: int | None = None
    address: str | None = None

    @property
    def number(self) -> int:
        """How many workers are asked for, where that is known before a cluster is asked."""
        return self.jobs or os.cpu_count() or 1


def workers(backend: str, jobs: int | None, address: str | None) -> Workers:
    """The workers that options ask for, before any work is done.

    Raises:
        InputError: when there is no such backend, it is not installed, or an address is given to one that has none.
    """
    if backend not in NEEDS:
        raise invalid("--backend", "", backend, f"unknown; write {', '.join(NEEDS)}")
    if any(find_spec(package) is None for package in NEEDS[backend]):
        raise invalid("--backend", "", backend, f"is not installed; install specsim-llm[{backend}], or leave it out")
    if address and backend == "loky":
        remedy = "names a cluster; add --backend ray or --backend dask, or leave it out"
        raise InputError([Problem("--address", "", repr(address), remedy)])
    known: Backend = "ray" if backend == "ray" else "dask" if backend == "dask" else "loky"
    return Workers(known, jobs, address)


def spread(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], where: Workers
) -> Iterator[tuple[int, Result]]:
    """(index, ``function(*arguments[index])``) in whatever order they finish.

    Args:
        function: importable by name, since workers are other processes.
        arguments: started in this order and asked for as they are needed.
        where: the workers; one process is this one, and takes them in order; so it does a single call.

    Raises:
        InputError: when a cluster cannot be reached.
        LostWorkerError: when the system ended a process that worked; what came back before is sound.
    """
    begun = enumerate(arguments)
    first = list(itertools.islice(begun, 2))
    given = itertools.chain(first, begun)
    if where.backend == "loky" and (where.number == 1 or len(first) < 2):
        yield from ((i, function(*one)) for i, one in given)
        return
    from joblib import Parallel, delayed

    calls = (delayed(_numbered)(i, function, one) for i, one in given)
    with _started(where) as number, _losses_told():
        if where.backend == "ray":  # its backend knows no generators
            with Parallel(n_jobs=number) as parallel:
                while portion := list(itertools.islice(calls, PORTION * number)):
                    yield from parallel(portion)
        else:
            yield from Parallel(n_jobs=number, return_as="generator_unordered")(calls)


class LostWorkerError(KeyboardInterrupt):
    """A process that worked is gone: an interruption like any other, after which there is what was finished."""


@contextmanager
def _losses_told() -> Iterator[None]:
    try:
        yield
    except BrokenExecutor as error:
        LOG.error(
            "a process that simulated was ended by the system, most often for want of memory; use fewer at a time "
            "(--jobs), or a machine with more memory"
        )
        raise LostWorkerError from error


def _numbered(i: int, function: Callable[..., Result], given: tuple[Any, ...]) -> tuple[int, Result]:
    return i, function(*given)


@contextmanager
def _started(where: Workers) -> Iterator[int]:
    """Has joblib use the workers; how many there are."""
    from joblib import parallel_config

    match where.backend:
        case "loky":
            # values travel as they are: files mapped into memory would be left behind by a process that is killed
            with parallel_config("loky", initializer=start_worker, initargs=(os.getpid(),), max_nbytes=None):
                yield where.number
        case "ray":
            with _ray(where) as number, parallel_config("ray"):
                yield number
        case "dask":
            with _dask(where) as number, parallel_config("dask"):
                yield number


@contextmanager
def _ray(where: Workers) -> Iterator[int]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.util.joblib import register_ray

    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if where.address:
            _knock(where.address)
            ray.init(address=where.address, **quiet)
        else:
            # one of its own, whatever Ray may run on this machine, or have left behind
            ray.init(address="local", num_cpus=where.number, include_dashboard=False, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreachable(where, error) from error
    try:
        register_ray()
        yield where.jobs or int(ray.cluster_resources()["CPU"])
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself would try for minutes to reach a host that does not answer.

    Raises:
        OSError: when there is none.
        ValueError: when the port is no number.
    """
    place = urlsplit(address if "://" in address else f"//{address}")
    if place.hostname and place.port:  # others are words such as auto
        socket.create_connection((place.hostname, place.port), KNOCK).close()


@contextmanager
def _dask(where: Workers) -> Iterator[int]:
    from distributed import Client, LocalCluster

    if where.address is None:
        with (
            LocalCluster(n_workers=where.number, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            yield where.number
        return
    try:
        client = Client(where.address, timeout=KNOCK)
    except (OSError, ValueError) as error:
        raise _unreachable(where, error) from error
    with client:
        yield where.jobs or sum(client.nthreads().values())


def _unreachable(where: Workers, error: Exception) -> InputError:
    place = Problem("--address", "", repr(where.address), f"no {where.backend} cluster answers: {error}")
    return InputError([place if where.address else Problem("--backend", "", where.backend, f"cannot start: {error}")])


def start_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it when it is killed: a worker would wait for work for minutes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
