"""Draft and verify chains that language models make: what is emitted is the context of what is drafted next.

``verify_rows`` is called once per decode step on the step's arrays, and what it returns is what the requests receive.
It runs outside of compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import verification
from specsim.arrays import Floats, Ints, Words
from specsim.drafting.text_models import TextModels, drawn
from specsim.engine.state import Replica, Requests
from specsim.uniforms import BY_POSITION, BY_REQUEST, LANE_ACCEPT, LANE_DRAFT, LANE_FINAL, uniforms_at


@dataclass
class Texts:
    """How far the text of each request is known.

    Attributes:
        context: after its tokens so far [N].
        known: how many output tokens that are; -1 before the first round [N].
    """

    context: Ints
    known: Ints


def new_texts(num_requests: int) -> Texts:
    """Texts that have not begun."""
    return Texts(np.zeros(num_requests, np.int64), np.full(num_requests, -1))


def verify_texts(replica: Replica, requests: Requests, models: TextModels, texts: Texts, key: Words) -> None:
    """Fill ``num_out`` and ``last_is_new`` of the replica's decodes, and go on with their texts.

    Uniforms go by output position (see `uniforms.draw_uniforms`).
    """
    B = int(replica.counters.decodes[0])
    decodes, num_draft_tokens = replica.batch.decodes[:B], replica.batch.num_draft_tokens[:B]
    slots, longest = requests.slot[decodes], int(num_draft_tokens.max(initial=0))
    places = requests.emitted[decodes] - replica.batch.first_position[slots]
    _read_on(requests, decodes, models, texts, key)
    by_place = slots[:, None], places[:, None] + np.arange(longest)
    drafting, accept = (replica.lanes[by_place[0], lane, 0, by_place[1]] for lane in (LANE_DRAFT, LANE_ACCEPT))
    draft, q_row, p_row = propose(models, texts.context[decodes], drafting)
    # rows are valid by construction (tested), so the per-call validation is left out
    out, num_out = verification.verify_rows(
        np.broadcast_to(np.arange(longest) - 1, draft.shape),
        draft,
        num_draft_tokens,
        models.q if models.sampled else None,
        q_row,
        models.p,
        p_row,
        greedy=models.greedy[requests.domain[decodes]],
        accept_uniforms=accept,
        final_uniforms=replica.lanes[slots, LANE_FINAL, 0, places],
        validate=False,
    )
    for i in range(longest + 1):
        more = np.flatnonzero(num_out > i)
        _append(models, texts, decodes[more], out[more, i])
    replica.batch.num_out[:B] = num_out
    replica.batch.last_is_new[:B] = (num_draft_tokens > 0) & (num_out == num_draft_tokens + 1)


def propose(models: TextModels, context: Ints, uniforms: Floats) -> tuple[Ints, Ints, Ints]:
    """Drafts after these contexts [B], by uniforms [B, K]: tokens and their rows of q [B, K], rows of p [B, K+1]."""
    draft, q_row = np.empty(uniforms.shape, np.int64), np.full(uniforms.shape, -1)
    p_row = np.empty((len(context), uniforms.shape[1] + 1), np.int64)
    p_row[:, 0] = context
    for i in range(uniforms.shape[1]):
        rows = models.q_row[p_row[:, i]]
        draft[:, i] = drawn(models.q_cdf[rows], uniforms[:, i])  # a one-hot row yields its token
        p_row[:, i + 1] = models.step[p_row[:, i], draft[:, i]]
        if models.sampled:
            q_row[:, i] = rows
    return draft, q_row, p_row


def _read_on(requests: Requests, decodes: Ints, models: TextModels, texts: Texts, key: Words) -> None:
    """Begin new texts at a random place of the domain's text; draw the tokens that prompts yielded."""
    new = decodes[texts.known[decodes] < 0]
    domain, own = requests.domain[new], uniforms_at(key, new, np.zeros_like(new), BY_REQUEST)[0]
    first, end = models.first_start[domain], models.first_start[domain + 1]
    texts.context[new], texts.known[new] = models.starts[first + (own * (end - first)).astype(np.int64)], 0
    while (behind := decodes[texts.known[decodes] < requests.emitted[decodes]]).size:
        uniforms = uniforms_at(key, behind, texts.known[behind], BY_POSITION)[LANE_FINAL]
        _append(models, texts, behind, drawn(models.p_cdf[texts.context[behind]], uniforms))


def _append(models: TextModels, texts: Texts, requests: Ints, tokens: Ints) -> None:
    texts.context[requests] = models.step[texts.context[requests], tokens]
    texts.known[requests] += 1
