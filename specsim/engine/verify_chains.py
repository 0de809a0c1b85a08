"""Draft and verify chains for the decodes of a step; for trees see ``verify_trees``.

The verifier of ``specsim.verification`` is called once on the step's arrays, and what it returns is what the requests
receive.
"""

from __future__ import annotations

from specsim.drafting.chain_rows import ChainRows, drawn
from specsim.drafting.variation import overlap_at, rung_of
from specsim.engine.state import Replica, Requests
from specsim.kernels import kernel
from specsim.uniforms import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL, LANE_RUNG
from specsim.verification.arrays import Rule
from specsim.verification.into import verify_rows_into


@kernel
def verify_chains(replica: Replica, requests: Requests, rows: ChainRows, rule: int) -> None:
    """Fill ``num_out`` and ``last_is_new`` of the replica's decodes, which draft and verify."""
    any_greedy = draft_chains(replica, requests, rows, rule)
    B, lengths, scratch = replica.counters.decodes[0], replica.batch.num_draft_tokens, replica.scratch
    verify_rows_into(
        Rule.BLOCK if rule == Rule.BLOCK else Rule.TOKEN,
        scratch.draft[:B],
        scratch.num_draft_tokens[:B],
        rows.q,
        scratch.q_row[:B],
        rows.p,
        scratch.p_row[:B],
        scratch.greedy[: B if any_greedy else 0],
        scratch.accept[:B],
        scratch.final[:B],
        scratch.out[:B],
        scratch.num_out[:B],
    )
    all_out, last_is_new = replica.batch.num_out, replica.batch.last_is_new
    for b in range(B):
        num_out = scratch.num_out[b]
        all_out[b], last_is_new[b] = num_out, lengths[b] > 0 and num_out == lengths[b] + 1


@kernel
def draft_chains(replica: Replica, requests: Requests, rows: ChainRows, rule: int) -> bool:
    """Draw the drafts of the replica's decodes, and what judges them; says whether any decodes at temperature 0.

    Under the token and greedy rules uniforms go by output position; under the block rule, which looks beyond its
    stopping point, drafting and accepting go by the start of the round as well (see `uniforms.draw_uniforms`).
    """
    B, lengths, scratch = replica.counters.decodes[0], replica.batch.num_draft_tokens, replica.scratch
    draft, accept, final = scratch.draft, scratch.accept, scratch.final
    rows_of, q_row, p_row, all_greedy = scratch.row, scratch.q_row, scratch.p_row, scratch.greedy
    lanes, by_round, longest, V = replica.lanes, replica.by_round, rows.longest, rows.p.shape[1]
    decodes, slots, domains, any_greedy = replica.batch.decodes, requests.slot, requests.domain, False
    emitted, first_position = requests.emitted, replica.batch.first_position
    variation, one_hot = rows.variation, len(rows.p) - V
    for b in range(B):
        request, num_draft_tokens = decodes[b], lengths[b]
        slot, domain = slots[request], domains[request]
        place = emitted[request] - first_position[slot]
        greedy, varies = rule == Rule.GREEDY or rows.greedy[domain], variation.varies[domain]
        by_start, first = rule == Rule.BLOCK and not greedy, variation.first[domain]
        all_greedy[b], any_greedy = greedy, any_greedy or greedy
        final[b], scratch.num_draft_tokens[b] = lanes[slot, LANE_FINAL, 0, place], num_draft_tokens
        for i in range(num_draft_tokens):
            if by_start:
                drafting, accept[b, i] = by_round[slot, LANE_DRAFT, i, place], by_round[slot, LANE_ACCEPT, i, place]
            else:
                drafting, accept[b, i] = lanes[slot, LANE_DRAFT, 0, place + i], lanes[slot, LANE_ACCEPT, 0, place + i]
            chosen, overlap = first, 0.0
            if varies:
                overlap = overlap_of(replica, requests, rows, request, num_draft_tokens, i)
                chosen += rung_of(overlap, replica.traits[slot, LANE_RUNG, 0, place + i])
            row = chosen * longest + i
            rows_of[b, i], p_row[b, i] = row, row + chosen
            if rows.sampled:
                draft[b, i], q_row[b, i] = drawn(rows.draft_cdf, rows.guide, row, drafting), row
            else:
                draft[b, i], q_row[b, i] = rows.choice[row], -1
            if greedy:  # the target's most likely token is the draft, with the acceptance of its row
                matches = accept[b, i] < (overlap if varies else rows.conditional[row])
                p_row[b, i] = one_hot + (draft[b, i] if matches else (draft[b, i] + 1) % V)
        p_row[b, num_draft_tokens] = one_hot if greedy else first * (longest + 1) + num_draft_tokens
    return bool(any_greedy)


@kernel
def overlap_of(
    replica: Replica, requests: Requests, rows: ChainRows, request: int, num_draft_tokens: int, i: int
) -> float:
    """The acceptance of a request's i-th draft token, where its domain's acceptance varies."""
    slot = requests.slot[request]
    return overlap_at(
        rows.variation,
        replica.traits[slot, :, 0],
        replica.batch.own_uniform[slot],
        replica.batch.first_position[slot],
        requests.domain[request],
        request,
        requests.emitted[request] + i,
        requests.prompt_tokens[request],
        requests.recording[request],
        num_draft_tokens,
        i,
    )
