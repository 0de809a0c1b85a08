"""Functions written once that run in two ways: as they stand, or compiled by numba, with the same results.

A kernel is plain Python over numbers, arrays and named tuples of them, and calls nothing but NumPy and other kernels.
Marking one changes nothing about it; ``engine.compiled`` tells numba of all that are marked, once a run asks for
compiled code. Numba is not imported here.

Kernels make no arrays; what they work with is handed to them. Compiled code then need not count who holds which array,
which takes longer than most of what is done here.
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
