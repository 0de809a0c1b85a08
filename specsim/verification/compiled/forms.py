"""How functions are compiled: for stated types, and kept on disk. Knows no function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

# No fastmath: additions stay in the order in which they are written. Divisions by zero give what NumPy gives.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def read_only(dtype: types.Type, ndim: int) -> types.Array:
    """The type of an array that is only read: one compiled form serves arrays that may be written to and others."""
    return types.Array(dtype, ndim, "C", readonly=True)


def cached(function: Callable[..., None], *arguments: types.Type) -> Callable[..., None]:
    """The function, compiled for arguments of these types or loaded from the cache on disk."""
    compiled: Callable[..., None] = njit(types.void(*arguments), cache=True, **OPTIONS)(function)
    return compiled
