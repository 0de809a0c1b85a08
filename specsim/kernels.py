"""Functions written once that run in two ways: as they stand, or compiled by numba, with the same results.

A kernel is plain Python over numbers, arrays and named tuples of them, and calls nothing but NumPy and other kernels.
Marking one changes nothing about it; ``engine.compiled`` tells numba of all that are marked, once a run asks for
compiled code. Numba is not imported here.

Handing an array to a compiled function counts a reference, at some 10 ns. What is done for every request of every step
is therefore written out in loops over local arrays, with calls that take numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
KERNELS: list[Callable[..., Any]] = []


def kernel(function: Kernel) -> Kernel:
    """Mark a function as one that compiled code may call."""
    KERNELS.append(function)
    return function
