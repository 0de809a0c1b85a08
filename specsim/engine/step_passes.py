"""What a step computes, in the sums that its cost depends on."""

from __future__ import annotations

from specsim.arrays import Ints
from specsim.drafting.passes import DrafterForm, fill_passes
from specsim.engine.scheduler_limits import Limits
from specsim.engine.state import Replica, Requests
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
    count, target = replica.counters, replica.passes[0]
    target[:] = 0
    scratch, decoding = replica.scratch, count.decodes[0]
    _add_chunks(replica, requests, target, scratch.prompts)
    _add_decodes(replica, requests, limits, target)
    context, catch_up, num_draft = scratch.context[:decoding], scratch.catch_up[:decoding], scratch.num_draft[:decoding]
    drafter_passes = fill_passes(drafter, num_draft, catch_up, context, scratch.prompts, replica.passes[1:])
    count.passes[0] = 1 + drafter_passes


@kernel
def _add_decodes(replica: Replica, requests: Requests, limits: Limits, target: Ints) -> None:
    """Each decode's last token with its draft tokens.

    Logits are computed for every verified token. A draft token attends to the context, to the drafts it follows and to
    itself; the entries of all draft tokens are read.
    """
    decodes, lengths = replica.seats.decodes, replica.seats.num_draft
    prompt_tokens, emitted, num_nodes, total_depth = (
        requests.prompt_tokens,
        requests.emitted,
        limits.num_nodes,
        limits.total_depth,
    )
    scratch, catch_up = replica.scratch, requests.catch_up
    tokens, reads, pairs, verifying = 0, 0, 0, 0
    for b in range(replica.counters.decodes[0]):
        request, num_draft = decodes[b], lengths[b]
        nodes, context = num_nodes[num_draft], prompt_tokens[request] + emitted[request]
        scratch.context[b], scratch.catch_up[b], scratch.num_draft[b] = context, catch_up[request], num_draft
        tokens += 1 + nodes
        reads += context + nodes
        pairs += (1 + nodes) * context + total_depth[num_draft]
        if nodes > 0:
            verifying += context + nodes
    target[TOKENS] += tokens
    target[LOGIT_ROWS] += tokens
    target[SEQUENCES] += replica.counters.decodes[0]
    target[CONTEXT_TOKENS] += reads
    target[QUERY_CONTEXT] += pairs
    target[VERIFY_CONTEXT] += verifying


@kernel
def _add_chunks(replica: Replica, requests: Requests, target: Ints, sums: Ints) -> None:
    """The prompt chunks, and their sums; logits are computed for the last token of each prompt that ends."""
    sums[:] = 0
    for i in range(replica.counters.chunks[0]):
        request, tokens = replica.seats.chunks[i], replica.seats.chunk_tokens[i]
        left = requests.left[request] - tokens
        end = requests.prompt_tokens[request] + requests.emitted[request] - left
        sums[0] += tokens
        sums[1] += 1
        sums[2] += end
        sums[3] += attended(tokens, end)
        target[LOGIT_ROWS] += left == 0
    target[TOKENS], target[PROMPT_TOKENS], target[SEQUENCES] = sums[0], sums[0], sums[1]
    target[CONTEXT_TOKENS], target[QUERY_CONTEXT], target[PROMPT_QUERY_CONTEXT] = sums[2], sums[3], sums[3]
