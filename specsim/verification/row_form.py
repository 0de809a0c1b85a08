"""Verification with distributions as rows of tables: the general input, of which dense chains are a special case.

A table holds each distribution once, however many drafts were sampled from it or are judged by it, so nothing has to
be gathered. Knows no rule of acceptance.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from specsim.errors import invalid
from specsim.verification.arrays import Bools, Emitted, Floats, Ints, RuleName
from specsim.verification.drafts import dense
from specsim.verification.mixed import verified
from specsim.verification.row_validation import check_rows
from specsim.verification.validation import check_randomness, refuse_lazy


def verify_rows(
    parents: Ints,
    token: Ints,
    num_nodes: Ints,
    q: Floats | None,
    q_row: Ints,
    p: Floats,
    p_row: Ints,
    *,
    rule: RuleName = "token",
    greedy: Bools | None = None,
    rng: np.random.Generator | None = None,
    accept_uniforms: Floats | None = None,
    final_uniforms: Floats | None = None,
    validate: bool = True,
) -> Emitted:
    """What `verify_chain` or `verify_block` does, for drafts given as nodes with rows of tables.

    For the same distributions and uniforms the result is the same. Sampled drafts (a row of q) and drafts that were
    not sampled (row -1) may be mixed from node to node.

    Args:
        parents: the node that each node follows, -1 for the root; in a chain node i follows i - 1; shape [B, N].
        token: drafted token ids, shape [B, N].
        num_nodes: how many nodes each row has, from 0 to N; what lies beyond is padding, shape [B].
        q: the distributions that drafts were sampled from, shape [Rq, V]; may be None if none was sampled.
        q_row: the row of q that each token was sampled from, -1 if it was not sampled, shape [B, N].
        p: the target's distributions, shape [Rp, V].
        p_row: the row of p that judges the root's children (column 0) and that judges the children of node i and
            follows it as the bonus (column i + 1), shape [B, N+1].
        rule: how drafts are judged: token by token (`verify_chain`) or as a block (`verify_block`).
        greedy, rng, accept_uniforms, final_uniforms, validate: as for `verify_chain`, with N for K.

    Returns:
        out [B, N+1] and num_out [B], as `verify_chain` does.

    Raises:
        InputError: as `verify_chain` does, or (if validating) a row number is outside its table or the nodes are not
            a chain.
    """
    check_randomness(rng, accept_uniforms, final_uniforms)
    if rule not in get_args(RuleName):
        raise invalid("rule", "", rule, f"must be one of {', '.join(get_args(RuleName))}; for trees call verify_tree")
    refuse_lazy(p=p, q=q)
    token, p, greedy = np.asarray(token), np.asarray(p), None if greedy is None else np.asarray(greedy)
    # A table without rows is one that no token was sampled from.
    q = None if q is None or np.shape(q)[:1] == (0,) else np.asarray(q)
    drafts = dense(token, q, p, np.asarray(num_nodes))._replace(q_row=np.asarray(q_row), p_row=np.asarray(p_row))
    if validate:
        check_rows(np.asarray(parents), drafts, greedy, accept_uniforms, final_uniforms)
    return verified(drafts, rule, greedy, rng, accept_uniforms, final_uniforms)
