"""The passes of a step, in the sums that its cost depends on."""

from __future__ import annotations

from specsim.drafting.passes import DrafterForm, PromptChunks, fill_draft_passes
from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.state import Replica, Requests
from specsim.forward import Pass, attended, write_pass
from specsim.kernels import kernel


@kernel
def fill_step_passes(replica: Replica, requests: Requests, limits: SchedulerLimits, drafter: DrafterForm) -> None:
    """Write the passes of the step that was scheduled: the target's, then the drafter's."""
    scratch, decodes = replica.scratch, replica.counters.decodes[0]
    prompts = _prompt_chunks(replica, requests)
    _write_target_pass(replica, requests, limits, prompts)
    num_draft_tokens, catch_up, context = (
        scratch.num_draft_tokens[:decodes],
        scratch.catch_up[:decodes],
        scratch.context[:decodes],
    )
    drafts = fill_draft_passes(drafter, num_draft_tokens, catch_up, context, prompts, replica.passes)
    replica.counters.passes[0] = 1 + drafts


@kernel
def _write_target_pass(replica: Replica, requests: Requests, limits: SchedulerLimits, prompts: PromptChunks) -> None:
    """The prompt chunks, and each decode's last token with its draft tokens.

    Logits are computed for every verified token, and for the last token of each prompt that ends. A draft token attends
    to the context, to the drafts it follows and to itself; the entries of all draft tokens are read.
    """
    decodes, lengths, scratch = replica.batch.decodes, replica.batch.num_draft_tokens, replica.scratch
    prompt_tokens, emitted, catch_up = requests.prompt_tokens, requests.emitted, requests.catch_up
    num_nodes, total_depth = limits.num_nodes, limits.total_depth
    num_decodes, verified, reads, pairs, verifying = replica.counters.decodes[0], 0, 0, 0, 0
    for b in range(num_decodes):
        request, num_draft_tokens = decodes[b], lengths[b]
        nodes, context = num_nodes[num_draft_tokens], prompt_tokens[request] + emitted[request]
        scratch.context[b], scratch.catch_up[b], scratch.num_draft_tokens[b] = (
            context,
            catch_up[request],
            num_draft_tokens,
        )
        verified += 1 + nodes
        reads += context + nodes
        pairs += (1 + nodes) * context + total_depth[num_draft_tokens]
        if nodes > 0:
            verifying += context + nodes
    target = Pass(
        prompts.tokens + verified,
        verified + _prompts_that_end(replica, requests),
        prompts.sequences + num_decodes,
        prompts.context_tokens + reads,
        prompts.query_context + pairs,
        0,
        prompts.query_context,
        verifying,
        prompts.tokens,
        0,
    )
    write_pass(replica.passes, 0, target)


@kernel
def _prompt_chunks(replica: Replica, requests: Requests) -> PromptChunks:
    """The sums of the step's prompt chunks."""
    chunks, sizes, sequences = replica.batch.chunks, replica.batch.chunk_tokens, replica.counters.chunks[0]
    tokens, reads, pairs = 0, 0, 0
    for i in range(sequences):
        request, size = chunks[i], sizes[i]
        end = requests.prompt_tokens[request] + requests.emitted[request] - (requests.left[request] - size)
        tokens += size
        reads += end
        pairs += attended(size, end)
    return PromptChunks(tokens, sequences, reads, pairs)


@kernel
def _prompts_that_end(replica: Replica, requests: Requests) -> int:
    """Prompts whose last token is in the step."""
    number = 0
    for i in range(replica.counters.chunks[0]):
        if requests.left[replica.batch.chunks[i]] == replica.batch.chunk_tokens[i]:
            number += 1
    return number
