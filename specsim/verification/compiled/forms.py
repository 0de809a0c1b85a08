"""How functions are compiled: for given types, and cached on disk. Knows no function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types

# No fastmath: additions stay in the order in which they are written. Divisions by zero give what NumPy gives.
Function = TypeVar("Function", bound=Callable[..., Any])
# Arrays are made and counted (nrt), also where the caller is compiled without that.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": True}


def read_only(dtype: types.Type, ndim: int) -> types.Array:
    """The numba type of a read-only array of any shape: one compiled form also serves writable arrays."""
    return types.Array(dtype, ndim, "C", readonly=True)


def kept(function: Function, signature: object = None) -> Function:
    """The function, compiled and cached on disk; or compiled anew by each process where no cache folder is writable.

    Args:
        function: what to compile.
        signature: the types to compile for; None for those that it is called with.
    """
    form = () if signature is None else (signature,)
    compile_: Any = njit
    try:
        found: Function = compile_(*form, cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba finds no place for its cache
        found = compile_(*form, **OPTIONS)(function)
    return found


def cached(function: Callable[..., None], *arguments: types.Type) -> Callable[..., None]:
    """The function, compiled for arguments of these types, or loaded from the disk."""
    return kept(function, types.void(*arguments))
