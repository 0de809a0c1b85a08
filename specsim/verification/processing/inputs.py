"""What the processors require of their parameters and rows, and the messages that say so.

Knows nothing of what is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specsim.errors import Problem, invalid, raise_if_any
from specsim.verification.arrays import Bools, Floats, Ints
from specsim.verification.rows import in_rows, listed

# of each parameter what is asked of it, and whether numbers are that: written so that NaN is not
_RANGES: dict[str, tuple[str, Callable[[NDArray[Any]], Bools]]] = {
    "temperature": ("must be 0 or more, and finite", lambda value: (value >= 0) & (value < np.inf)),
    "top_k": ("must be a whole number, 1 or more", lambda value: value >= 1),
    "top_p": ("must be above 0 and at most 1", lambda value: (value > 0) & (value <= 1)),
    "min_p": ("must be from 0 to 1", lambda value: (value >= 0) & (value <= 1)),
}


def check_parameters(table: Floats, kind: str, given: Mapping[str, Any], rows: Ints | None) -> dict[str, Any]:
    """Each parameter as one number per requested row [n], or None.

    Args:
        table: logits or probabilities [R, V].
        kind: which of the two.
        given: parameters: one number, or one per row [R].
        rows: the requested rows [n]; None for all.

    Raises:
        InputError: lists all problems of the parameters and of the table's form.
    """
    if kind not in ("logits", "probabilities"):
        raise invalid("kind", "", kind, "must be logits or probabilities")
    if table.ndim != 2 or table.shape[1] == 0:
        raise invalid("table", "shape", table.shape, "must be [R, V]: a row per distribution, a column per token")
    if table.dtype.kind != "f" or table.dtype.itemsize < 4:
        raise invalid("table", "dtype", str(table.dtype), "must be float32 or float64; convert it first")
    R = len(table)
    chosen = np.arange(R) if rows is None else np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise invalid("rows", "", (str(chosen.dtype), chosen.shape), "must be whole numbers, shape [n]")
    bad = np.flatnonzero((chosen < 0) | (chosen >= R))
    raise_if_any(listed("rows", bad, None, chosen[bad], f"must be from 0 to {R - 1}"))
    parameters = {name: np.asarray(value) for name, value in given.items() if value is not None}
    raise_if_any(*(_form(name, value, R) for name, value in parameters.items()))
    parameters = {name: np.broadcast_to(value, (R,))[chosen] for name, value in parameters.items()}
    problems: list[Problem] = []
    for name, value in parameters.items():
        remedy, in_range = _RANGES[name]
        outside = np.flatnonzero(~in_range(value))
        problems += in_rows(name, chosen[outside], value[outside], remedy)
    raise_if_any(problems)
    return {name: parameters.get(name) for name in given}


def check_rows(table: Floats, kind: str, rows: Ints | None) -> None:
    """Refuse requested rows [n] of a table [R, V] that cannot become distributions.

    Raises:
        InputError: lists them.
    """
    names = np.arange(len(table)) if rows is None else np.asarray(rows)
    highest, lowest = table.max(axis=1), table.min(axis=1)  # both are NaN where a row holds one
    problems: list[Problem] = []
    if kind == "logits":
        wrong = np.isnan(highest) | (highest == np.inf)
        problems += in_rows("table", names[wrong], highest[wrong], "must be a number or, to mask a token, -inf")
        masked = highest == -np.inf
        problems += in_rows("table", names[masked], highest[masked], "is the highest logit: no token is left")
    else:
        wrong = ~(np.isfinite(highest) & (lowest >= 0))
        problems += in_rows("table", names[wrong], lowest[wrong], "must be a finite probability, 0 or more")
        masked = ~wrong & (highest == 0)
        problems += in_rows("table", names[masked], highest[masked], "is the highest probability: no token is left")
    raise_if_any(problems)


def _form(name: str, value: NDArray[Any], R: int) -> Iterator[Problem]:
    if value.shape not in ((), (R,)):
        yield Problem(name, "shape", str(value.shape), f"must be one number, or one per row, ({R},)")
    if value.size and value.dtype.kind not in ("iu" if name == "top_k" else "iuf"):
        yield Problem(name, "dtype", str(value.dtype), _RANGES[name][0])
