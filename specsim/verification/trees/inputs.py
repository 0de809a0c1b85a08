"""What `verify_tree` requires of its inputs, and the messages that say so.

Every check looks only at the values that may be read: padding, and table rows that nothing refers to, may hold
anything. Knows nothing of how the values are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from specsim.errors import Problem, invalid, raise_if_any
from specsim.verification.arrays import Bools, Floats, Int64s, Ints
from specsim.verification.processing.processors import LazyTable
from specsim.verification.rows import extremes, in_rows, listed, row_sum_tolerance
from specsim.verification.trees.forest import Forest, Siblings, Table
from specsim.verification.validation import count_problems, drafts_to_read, uniform_problems


def check_siblings(siblings: str) -> None:
    """Check the name of a scheme.

    Raises:
        InputError: it is not a scheme of siblings.
    """
    if siblings not in get_args(Siblings):
        raise invalid("siblings", "", siblings, f"must be one of {', '.join(get_args(Siblings))}")


def check_tree(
    forest: Forest, siblings: Siblings, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> None:
    """Check the inputs of `verify_tree`: forms first, then values.

    Raises:
        InputError: lists all problems of the first kind found.
    """
    raise_if_any(_forms(forest, siblings, accept_uniforms, final_uniforms))
    N = forest.token.shape[1]
    num_nodes = drafts_to_read(forest.num_nodes, N)
    live, columns = np.arange(N) < num_nodes[:, None], np.arange(N + 1) <= num_nodes[:, None]
    raise_if_any(
        count_problems("num_nodes", forest.num_nodes, N),
        _parents(forest.parents, live),
        _indices("token", forest.token, live, forest.p.shape[1]),
        _indices("p_row", forest.p_row, columns, len(forest.p)),
        _distributions("p", forest.p, _named(forest.p_row, columns, len(forest.p))),
        _not_sampled(forest, live) if siblings == "one_hot" else _sampled(forest, live),
        () if siblings == "with_replacement" else _equal_siblings(forest, live, siblings),
        uniform_problems(accept_uniforms, final_uniforms, num_nodes, None),
    )


def _forms(
    forest: Forest, siblings: Siblings, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> Iterator[Problem]:
    if forest.token.ndim != 2:
        yield Problem("token", "shape", str(forest.token.shape), "must be [B, N]: a row per tree, a column per node")
        return
    B, N = forest.token.shape
    p = forest.p.table if isinstance(forest.p, LazyTable) else forest.p
    V = p.shape[-1] if p.ndim else 0
    yield from _integers("parents", forest.parents, (B, N))
    yield from _integers("token", forest.token, (B, N))
    yield from _integers("num_nodes", forest.num_nodes, (B,))
    yield from _integers("p_row", forest.p_row, (B, N + 1))
    yield from _numbers("p", p, (len(p) if p.ndim else 0, max(V, 1)))
    if forest.q_row is not None:
        yield from _integers("q_row", forest.q_row, (B, N))
    if forest.q is not None:
        yield from _numbers("q", forest.q, (len(forest.q) if forest.q.ndim else 0, max(V, 1)))
    if siblings != "one_hot" and (forest.q is None or forest.q_row is None):
        yield Problem("q and q_row", "", "", f"must be given for siblings={siblings!r}; only one_hot does without")
    if accept_uniforms is not None and final_uniforms is not None:
        yield from _numbers("accept_uniforms", np.asarray(accept_uniforms), (B, N))
        yield from _numbers("final_uniforms", np.asarray(final_uniforms), (B,))


def _integers(name: str, array: Ints, shape: tuple[int, ...]) -> Iterator[Problem]:
    yield from _shape(name, array, shape)
    if array.dtype.kind not in "iu":
        yield Problem(name, "dtype", str(array.dtype), "must be integers; convert it first")


def _numbers(name: str, array: Floats, shape: tuple[int, ...]) -> Iterator[Problem]:
    yield from _shape(name, array, shape)
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        yield Problem(name, "dtype", str(array.dtype), "must be float32 or float64; convert and normalise it first")


def _shape(name: str, array: Ints | Floats, shape: tuple[int, ...]) -> Iterator[Problem]:
    if array.shape != shape:
        yield Problem(name, "shape", str(array.shape), f"must be {shape}, to fit token [B, N] and p [Rp, V]")


def _parents(parents: Ints, live: Bools) -> Iterator[Problem]:
    b, i = np.nonzero(live & ((parents < -1) | (parents >= np.arange(parents.shape[1]))))
    remedy = "must be -1 for a child of the root, or a node before this one"
    yield from listed("parents", b, i, parents[b, i], remedy)


def _indices(name: str, index: Ints, read: Bools, size: int) -> Iterator[Problem]:
    b, i = np.nonzero(read & ((index < 0) | (index >= size)))
    yield from listed(name, b, i, index[b, i], f"must be from 0 to {size - 1}; padding begins at num_nodes[b]")


def _named(index: Ints, read: Bools, size: int) -> Int64s:
    """The table rows that are referred to, each once, without those out of range."""
    rows = index[read]
    return np.unique(rows[(rows >= 0) & (rows < size)]).astype(np.int64)


def _distributions(name: str, table: Table, rows: Int64s) -> Iterator[Problem]:
    """Why rows of a table are not distributions, one problem of each kind; lazy tables check their own."""
    if isinstance(table, LazyTable):
        return
    lowest, total = extremes(table, (rows,))
    V, tolerance = table.shape[1], row_sum_tolerance(table.dtype, table.shape[1])
    finite = np.isfinite(total) & np.isfinite(lowest)
    yield from in_rows(name, rows[~finite], total[~finite], "is the sum of the row, whose numbers must be finite")
    negative = finite & (lowest < 0)
    remedy = "is the lowest probability of the row, and must not be negative"
    yield from in_rows(name, rows[negative], lowest[negative], remedy)
    off = finite & ~negative & (np.abs(total - 1) > tolerance)
    remedy = f"is the sum of the row, and must be 1 within {tolerance:.2g} ({V} numbers in {table.dtype}); divide by it"
    yield from in_rows(name, rows[off], total[off], remedy)


def _sampled(forest: Forest, live: Bools) -> Iterator[Problem]:
    """Rows of q that are referred to must be distributions, and give the tokens drawn from them a probability."""
    if forest.q is None or forest.q_row is None:
        return
    size, V = forest.q.shape
    yield from _indices("q_row", forest.q_row, live, size)
    yield from _distributions("q", forest.q, _named(forest.q_row, live, size))
    inside = (forest.q_row >= 0) & (forest.q_row < size) & (forest.token >= 0) & (forest.token < V)
    b, i = np.nonzero(live & inside)
    impossible = forest.q[forest.q_row[b, i], forest.token[b, i]] == 0
    b, i = b[impossible], i[impossible]
    remedy = "was drafted although q gives it probability 0; pass the q that the drafts were sampled from"
    yield from listed("token", b, i, forest.token[b, i], remedy)


def _not_sampled(forest: Forest, live: Bools) -> Iterator[Problem]:
    if forest.q_row is None:
        return
    b, i = np.nonzero(live & (forest.q_row != -1))
    yield from listed("q_row", b, i, forest.q_row[b, i], "must be -1 for siblings='one_hot': nothing was sampled")


def _equal_siblings(forest: Forest, live: Bools, siblings: Siblings) -> Iterator[Problem]:
    """Live nodes that repeat the token of an earlier sibling."""
    b, i = np.nonzero(live)
    keys = np.stack([b, forest.parents[b, i].astype(np.int64), forest.token[b, i].astype(np.int64)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    repeated = np.setdiff1d(np.arange(len(b)), first)
    b, i = b[repeated], i[repeated]
    remedy = f"repeats the token of an earlier sibling, which siblings={siblings!r} rules out"
    yield from listed("token", b, i, forest.token[b, i], remedy)
