"""Draft and verify chains for the decodes of a step: where drafts become tokens; for trees see ``trees``.

The verifier of ``specsim.verification`` is called once on the step's arrays, and what it returns is what the requests
receive.
"""

from __future__ import annotations

from specsim.drafting.chain_rows import ChainRows
from specsim.engine.state import DECODES, Replica, Requests
from specsim.kernels import kernel
from specsim.luck import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL
from specsim.verification.into import BLOCKWISE, TOKEN, verify_rows_into

TOKEN_RULE, BLOCK_RULE, GREEDY_RULE, TREE_RULE = 0, 1, 2, 3


@kernel
def verify_chains(replica: Replica, requests: Requests, rows: ChainRows, rule: int) -> None:
    """Fill ``num_out`` and ``last_is_new`` of the replica's decodes.

    Under the token and greedy rules uniforms go by output position; under the block rule, which looks beyond its
    stopping point, drafting and accepting go by the start of the round as well (`luck.draw_luck`).
    """
    B, lengths, scratch = replica.number[DECODES], replica.seats.num_draft, replica.scratch
    draft, accept, final = scratch.draft, scratch.accept, scratch.final
    q_row, p_row = scratch.q_row, scratch.p_row
    lanes, by_round, longest, V = replica.lanes, replica.by_round, rows.longest, rows.p.shape[1]
    decodes, slots, domains = replica.seats.decodes, requests.slot, requests.domain
    emitted, first_position, draft_cdf = requests.emitted, replica.seats.first_position, rows.draft_cdf
    for b in range(B):
        request, num_draft = decodes[b], lengths[b]
        slot, domain = slots[request], domains[request]
        place = emitted[request] - first_position[slot]
        final[b], scratch.num_draft[b] = lanes[slot, LANE_FINAL, 0, place], num_draft
        for i in range(num_draft):
            if rule == BLOCK_RULE:
                drafting, accept[b, i] = by_round[slot, LANE_DRAFT, i, place], by_round[slot, LANE_ACCEPT, i, place]
            else:
                drafting, accept[b, i] = lanes[slot, LANE_DRAFT, 0, place + i], lanes[slot, LANE_ACCEPT, 0, place + i]
            row, token = domain * longest + i, 0
            if rows.sampled:  # by inverse CDF, searched from where the guide says
                token = rows.guide[row, int(drafting * V)]
                while not draft_cdf[row, token] > drafting:
                    token += 1
                q_row[b, i] = row
            else:
                token, q_row[b, i] = rows.choice[row], -1
            draft[b, i], p_row[b, i] = token, row + domain
            if rule == GREEDY_RULE:  # the target's most likely token is the draft, with the acceptance stated
                p_row[b, i] = token if accept[b, i] < rows.conditional[row] else (token + 1) % V
        p_row[b, num_draft] = 0 if rule == GREEDY_RULE else domain * (longest + 1) + num_draft
    verify_rows_into(
        BLOCKWISE if rule == BLOCK_RULE else TOKEN,
        draft[:B],
        scratch.num_draft[:B],
        rows.q,
        q_row[:B],
        rows.identity if rule == GREEDY_RULE else rows.p,
        p_row[:B],
        scratch.greedy[: B if rule == GREEDY_RULE else 0],
        accept[:B],
        final[:B],
        scratch.out[:B],
        scratch.num_out[:B],
    )
    all_out, last_is_new = replica.seats.num_out, replica.seats.last_is_new
    for b in range(B):
        num_out = scratch.num_out[b]
        all_out[b], last_is_new[b] = num_out, lengths[b] > 0 and num_out == lengths[b] + 1
