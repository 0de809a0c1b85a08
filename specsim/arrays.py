"""Array types, each named once, and tables of records with named fields.

Compiled code takes a table as one array (``np.recarray``); plain Python reads its fields ten times as fast from a named
tuple of them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]

Table: TypeAlias = "np.recarray[Any, Any]"
Records = TypeVar("Records", bound=Table)


def new_records(kind: type[Records], number: int, fields: Sequence[tuple[str, DTypeLike]] | None = None) -> Records:
    """A table of zeros.

    Args:
        kind: its class, whose annotations name the fields: ``Ints`` or ``Floats``.
        number: of entries.
        fields: names and dtypes, in place of the annotations.
    """
    if fields is None:
        annotated = kind.__annotations__.items()
        fields = [(name, np.float64 if form == "Floats" else np.int64) for name, form in annotated]
    entries: Records = np.zeros(number, np.dtype(list(fields), align=True)).view(np.recarray).view(kind)
    return entries


def fields_of(records: Table) -> Any:
    """The fields of a table, each an array [number], as a named tuple: views, so what is written to them is kept."""
    names = records.dtype.names or ()
    return _tuple_of(type(records).__name__, names)(*(np.asarray(records[name]) for name in names))


@cache
def _tuple_of(name: str, fields: tuple[str, ...]) -> type:
    return namedtuple(name, fields)
