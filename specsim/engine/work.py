"""What a step computes, in the sums that its cost depends on."""

from __future__ import annotations

import numpy as np

from specsim.drafting.passes import DrafterForm, fill_passes
from specsim.engine.limits import Limits
from specsim.engine.state import CHUNKS, DECODES, PASSES, Ints, Replica, Requests
from specsim.forward import (
    CONTEXT_TOKENS,
    LOGIT_ROWS,
    PROMPT_QUERY_CONTEXT,
    PROMPT_TOKENS,
    QUERY_CONTEXT,
    SEQUENCES,
    TOKENS,
    VERIFY_CONTEXT,
    attended,
)
from specsim.kernels import kernel


@kernel
def fill_work(replica: Replica, requests: Requests, limits: Limits, drafter: DrafterForm) -> None:
    """Write the passes of the step that was scheduled: the target's, then the drafter's."""
    count, target = replica.count, replica.passes[0]
    target[:] = 0
    prompts = _add_chunks(replica, requests, target)
    _add_decodes(replica, requests, limits, target)
    decodes = replica.decodes[: count[DECODES]]
    context, catch_up = np.zeros(len(decodes), np.int64), np.zeros(len(decodes), np.int64)
    for b in range(len(decodes)):
        context[b] = requests.prompt_tokens[decodes[b]] + requests.emitted[decodes[b]]
        catch_up[b] = requests.catch_up[decodes[b]]
    num_draft = replica.num_draft[: len(decodes)]
    count[PASSES] = 1 + fill_passes(drafter, num_draft, catch_up, context, prompts, replica.passes[1:])


@kernel
def _add_decodes(replica: Replica, requests: Requests, limits: Limits, target: Ints) -> None:
    """Each decode's last token with its draft tokens.

    Logits are computed for every verified token. A draft token attends to the context, to the drafts it follows and to
    itself; the entries of all draft tokens are read.
    """
    for b in range(replica.count[DECODES]):
        request, num_draft = replica.decodes[b], replica.num_draft[b]
        nodes, context = limits.num_nodes[num_draft], requests.prompt_tokens[request] + requests.emitted[request]
        target[TOKENS] += 1 + nodes
        target[LOGIT_ROWS] += 1 + nodes
        target[SEQUENCES] += 1
        target[CONTEXT_TOKENS] += context + nodes
        target[QUERY_CONTEXT] += (1 + nodes) * context + limits.total_depth[num_draft]
        if nodes > 0:
            target[VERIFY_CONTEXT] += context + nodes


@kernel
def _add_chunks(replica: Replica, requests: Requests, target: Ints) -> Ints:
    """The prompt chunks; logits are computed for the last token of each prompt that ends. Returns their sums."""
    sums = np.zeros(4, np.int64)
    for i in range(replica.count[CHUNKS]):
        request, tokens = replica.chunks[i], replica.chunk_tokens[i]
        left = requests.left[request] - tokens
        end = requests.prompt_tokens[request] + requests.emitted[request] - left
        sums[0] += tokens
        sums[1] += 1
        sums[2] += end
        sums[3] += attended(tokens, end)
        target[LOGIT_ROWS] += left == 0
    target[TOKENS], target[PROMPT_TOKENS], target[SEQUENCES] = sums[0], sums[0], sums[1]
    target[CONTEXT_TOKENS], target[QUERY_CONTEXT], target[PROMPT_QUERY_CONTEXT] = sums[2], sums[3], sums[3]
    return sums
