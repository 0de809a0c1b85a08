"""Draft and verify chains for the decodes of a step: where drafts become tokens; for trees see ``trees``.

The verifier of ``specsim.verification`` is called once on the step's arrays, and what it returns is what the requests
receive.
"""

from __future__ import annotations

from specsim.drafting.chain_rows import ChainRows
from specsim.drafting.variation import overlap_at, rung_of
from specsim.engine.state import Replica, Requests
from specsim.kernels import kernel
from specsim.uniforms import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL, LANE_RUNG
from specsim.verification.into import BLOCKWISE, TOKEN, verify_rows_into

TOKEN_RULE, BLOCK_RULE, GREEDY_RULE, TREE_RULE, TEXT_RULE = 0, 1, 2, 3, 4
"""The last two are carried out outside, by ``trees`` and ``texts``."""


@kernel
def verify_chains(replica: Replica, requests: Requests, rows: ChainRows, rule: int) -> None:
    """Fill ``num_out`` and ``last_is_new`` of the replica's decodes.

    Under the token and greedy rules uniforms go by output position; under the block rule, which looks beyond its
    stopping point, drafting and accepting go by the start of the round as well (`luck.draw_luck`).
    """
    B, lengths, scratch = replica.counters.decodes[0], replica.seats.num_draft, replica.scratch
    draft, accept, final = scratch.draft, scratch.accept, scratch.final
    q_row, p_row, all_greedy = scratch.q_row, scratch.p_row, scratch.greedy
    lanes, by_round, longest, V = replica.lanes, replica.by_round, rows.longest, rows.p.shape[1]
    decodes, slots, domains, any_greedy = replica.seats.decodes, requests.slot, requests.domain, False
    emitted, first_position, draft_cdf = requests.emitted, replica.seats.first_position, rows.draft_cdf
    variation, one_hot = rows.variation, len(rows.p) - V
    for b in range(B):
        request, num_draft = decodes[b], lengths[b]
        slot, domain = slots[request], domains[request]
        place = emitted[request] - first_position[slot]
        greedy, varies = rule == GREEDY_RULE or rows.greedy[domain], variation.varies[domain]
        by_start, first = rule == BLOCK_RULE and not greedy, variation.first[domain]
        all_greedy[b], any_greedy = greedy, any_greedy or greedy
        final[b], scratch.num_draft[b] = lanes[slot, LANE_FINAL, 0, place], num_draft
        for i in range(num_draft):
            if by_start:
                drafting, accept[b, i] = by_round[slot, LANE_DRAFT, i, place], by_round[slot, LANE_ACCEPT, i, place]
            else:
                drafting, accept[b, i] = lanes[slot, LANE_DRAFT, 0, place + i], lanes[slot, LANE_ACCEPT, 0, place + i]
            chosen, overlap = first, 0.0
            if varies:
                overlap = overlap_of(replica, requests, rows, request, num_draft, i)
                chosen += rung_of(overlap, replica.traits[slot, LANE_RUNG, 0, place + i])
            row, token = chosen * longest + i, 0
            if rows.sampled:  # by inverse CDF, searched from where the guide says
                token = rows.guide[row, int(drafting * V)]
                while not draft_cdf[row, token] > drafting:
                    token += 1
                q_row[b, i] = row
            else:
                token, q_row[b, i] = rows.choice[row], -1
            draft[b, i], p_row[b, i] = token, row + chosen
            if greedy:  # the target's most likely token is the draft, with the acceptance stated
                matches = accept[b, i] < (overlap if varies else rows.conditional[row])
                p_row[b, i] = one_hot + (token if matches else (token + 1) % V)
        p_row[b, num_draft] = one_hot if greedy else first * (longest + 1) + num_draft
    verify_rows_into(
        BLOCKWISE if rule == BLOCK_RULE else TOKEN,
        draft[:B],
        scratch.num_draft[:B],
        rows.q,
        q_row[:B],
        rows.p,
        p_row[:B],
        all_greedy[: B if any_greedy else 0],
        accept[:B],
        final[:B],
        scratch.out[:B],
        scratch.num_out[:B],
    )
    all_out, last_is_new = replica.seats.num_out, replica.seats.last_is_new
    for b in range(B):
        num_out = scratch.num_out[b]
        all_out[b], last_is_new[b] = num_out, lengths[b] > 0 and num_out == lengths[b] + 1


@kernel
def overlap_of(replica: Replica, requests: Requests, rows: ChainRows, request: int, num_draft: int, i: int) -> float:
    """The acceptance of the i-th of so many drafts of a request whose domain's acceptance varies."""
    slot = requests.slot[request]
    return overlap_at(
        rows.variation,
        replica.traits[slot, :, 0],
        replica.seats.own_luck[slot],
        replica.seats.first_position[slot],
        requests.domain[request],
        request,
        requests.emitted[request] + i,
        requests.prompt_tokens[request],
        requests.recording[request],
        num_draft,
        i,
    )
