"""`verify_rows` for callers that may be compiled: nothing is checked, and the result is written to given arrays.

Compiled callers reach the loops of `compiled.rules` in its place, with the same results to the bit.
"""

from __future__ import annotations

from specsim.verification.arrays import Bools, Float64s, Floats, Int64s, Rule
from specsim.verification.drafts import dense
from specsim.verification.mixed import verified_by_numpy

TOKEN, BLOCKWISE = int(Rule.TOKEN), int(Rule.BLOCK)
"""The rules that ``compiled.rules`` carries out, as its plain numbers."""


def verify_rows_into(
    rule: int,
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    accept: Float64s,
    final: Float64s,
    out: Int64s,
    num_out: Int64s,
) -> None:
    """Verify chains.

    Args:
        rule: TOKEN or BLOCKWISE.
        draft, num_draft: drafted ids [B, K] and the number of real ones [B].
        q, q_row: a table [Rq, V], and the row each draft was sampled from, -1 for none [B, K].
        p, p_row: a table [Rp, V], and the rows that judge the drafts and follow them [B, K+1].
        greedy: which rows decode at temperature 0 [B]; [0] for none.
        accept, final: uniforms [B, K] and [B].
        out, num_out: receive the result [B, K+1] and [B].
    """
    drafts = dense(draft, q if len(q) else None, p, num_draft)._replace(q_row=q_row, p_row=p_row)
    out[:], num_out[:] = verified_by_numpy(drafts, Rule(rule), greedy if len(greedy) else None, accept, final)
