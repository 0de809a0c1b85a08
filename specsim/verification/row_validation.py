"""What `verify_rows` requires of row numbers and tables, in the terms of `validation`.

A row of a table is checked once, however many nodes refer to it, and not at all if none does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim.errors import Problem, raise_if_any
from specsim.verification.arrays import Bools, Floats, Int64s, Ints
from specsim.verification.drafts import ONE_HOT, Drafts
from specsim.verification.rows import distribution_problems, located
from specsim.verification.validation import (
    Form,
    batch_shape,
    call_forms,
    count_problems,
    drafts_to_read,
    form_problems,
    token_problems,
    uniform_problems,
)


def check_rows(
    parents: Ints, drafts: Drafts, greedy: Bools | None, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> None:
    """Check the inputs of `verify_rows`.

    Raises:
        InputError: lists all problems.
    """
    token, num_nodes, q, p, _, q_row, p_row = drafts
    assert q_row is not None
    assert p_row is not None
    B, N = batch_shape("token", token)
    raise_if_any(form_problems(_forms(parents, drafts, B, N), "token [B, N] and p [Rp, V]"))
    raise_if_any(form_problems(call_forms(B, N, greedy, accept_uniforms, final_uniforms), "token [B, N]"))

    num_read = drafts_to_read(num_nodes, N)
    sampled = num_read if greedy is None else np.where(greedy, np.minimum(num_read, 0), num_read)
    raise_if_any(
        count_problems("num_nodes", num_nodes, N),
        _not_a_chain(parents, num_read),
        _row_problems("q_row", q_row, sampled, ONE_HOT, 0 if q is None else len(q)),
        _row_problems("p_row", p_row, num_read + 1, 0, len(p)),
    )
    raise_if_any(
        token_problems("token", drafts, num_read, sampled),
        () if q is None else distribution_problems("q", q, *_rows_in_use(q_row, sampled)),
        distribution_problems("p", p, *_rows_in_use(p_row, num_read + 1)),
        uniform_problems(accept_uniforms, final_uniforms, sampled, greedy),
    )


def _forms(parents: Ints, drafts: Drafts, B: int, N: int) -> list[Form]:
    token, num_nodes, q, p, _, q_row, p_row = drafts
    assert q_row is not None
    assert p_row is not None
    V = p.shape[-1] if p.ndim else 0
    forms: list[Form] = [
        ("parents", parents, (B, N), "iu"),
        ("token", token, (B, N), "iu"),
        ("num_nodes", num_nodes, (B,), "iu"),
        ("q_row", q_row, (B, N), "iu"),
        ("p", p, (len(p) if p.ndim else 0, max(V, 1)), "f"),
        ("p_row", p_row, (B, N + 1), "iu"),
    ]
    return forms if q is None else [*forms, ("q", q, (len(q) if q.ndim else 0, V), "f")]


def _not_a_chain(parents: Ints, num_read: Int64s) -> Iterator[Problem]:
    position = np.arange(parents.shape[1])
    b, i = np.nonzero((position < num_read[:, None]) & (parents != position - 1))
    remedy = "must be i - 1: the nodes of a row are one chain here; give a tree to the tree verifier"
    yield from located("parents", {"b": b, "i": i}, np.arange(len(b)), parents[b, i], remedy)


def _row_problems(name: str, rows: Ints, num_read: Int64s, lowest: int, num_rows: int) -> Iterator[Problem]:
    live = np.arange(rows.shape[1]) < num_read[:, None]
    b, i = np.nonzero(live & ((rows < lowest) | (rows >= num_rows)))
    remedy = f"must be from {lowest} to {num_rows - 1}, to be a row of the table of {num_rows}"
    yield from located(name, {"b": b, "i": i}, np.arange(len(b)), rows[b, i], remedy)


def _rows_in_use(rows: Ints, num_read: Int64s) -> tuple[tuple[Ints, ...], dict[str, Ints]]:
    """The distinct rows that are read, as an index into the table, and where each is first referred to."""
    b, i = np.nonzero((np.arange(rows.shape[1]) < num_read[:, None]) & (rows != ONE_HOT))
    used, first = np.unique(rows[b, i], return_index=True)
    return (used,), {"row": used, "b": b[first], "i": i[first]}
