"""The passes of steps in which every request has the same context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Ints
from specsim.drafting.drafters import catch_up_tokens, draft_passes
from specsim.drafting.lookups import drafts_of_batches
from specsim.drafting.passes import PromptChunks
from specsim.forward import Pass, attended
from specsim.inputs.models.drafters import NgramLookup
from specsim.records import StepTime
from specsim.simulation.replica import Simulation
from specsim.streams import stream

BATCH_SAMPLE = 64  # batches; each request's own share of drafts is then exact to 1 / 64 of a draft


class StepPasses(NamedTuple):
    """What a step computes.

    Attributes:
        target: the target's pass.
        drafts: the drafter's passes, in order.
        num_lookups: requests whose drafts are looked up.
        speculating: whether there are drafts.
    """

    target: Pass
    drafts: tuple[Pass, ...] = ()
    num_lookups: int = 0
    speculating: bool = False

    def price(self, simulation: Simulation) -> StepTime:
        """Seconds by part."""
        return simulation.step_cost(self.speculating).price(self.target, self.drafts, self.num_lookups)


def step_passes(
    simulation: Simulation,
    batch: int,
    num_draft_tokens: int,
    context: int,
    *,
    accepted: int,
    prompt_tokens: int = 0,
) -> tuple[StepPasses, ...]:
    """The passes of a step; where lookups may find nothing, of several that are equally likely.

    Args:
        simulation: whose drafter, and whose way of drafting.
        batch: requests that decode.
        num_draft_tokens: draft tokens per verify, or levels of the tree.
        context: tokens of prompt and output so far per request.
        accepted: drafts accepted in each request's last round, which the drafter catches up with.
        prompt_tokens: of the first chunk of a longer prompt, computed in the same step.
    """
    prompts = PromptChunks()
    if prompt_tokens:
        prompts = PromptChunks(prompt_tokens, 1, prompt_tokens, attended(prompt_tokens, prompt_tokens))
    wanted, contexts = np.full(batch, num_draft_tokens), np.full(batch, context)
    target = _target_pass(simulation, wanted, context, prompts)
    drafter = simulation.inputs.scenario.speculation.drafter
    if num_draft_tokens == 0:
        return (StepPasses(target),)
    if isinstance(drafter, NgramLookup):
        rng = stream(simulation.inputs.scenario.seed, "expected lookups")
        batches = drafts_of_batches(BATCH_SAMPLE, batch, simulation.sources.share_at_least(num_draft_tokens), rng)
        targets = [_target_pass(simulation, found, context, prompts) for found in batches]
        return tuple(StepPasses(target, num_lookups=batch, speculating=True) for target in targets)
    last = np.full(batch, accepted)
    shape = simulation.sources.draft_shape(num_draft_tokens)
    verified = np.full(batch, shape.max_nodes + 1) if simulation.first_pass_over_verified else None
    catch_up = catch_up_tokens(drafter, last, last == wanted, verified)
    passes = draft_passes(drafter, shape, wanted, catch_up, contexts, prompts)
    return (StepPasses(target, tuple(passes), speculating=True),)


def _target_pass(simulation: Simulation, num_draft_tokens: Ints, context: int, prompts: PromptChunks) -> Pass:
    """Each request's last token with its drafts [batch], and the prompt chunk, which yields no logits yet."""
    shape = simulation.sources.draft_shape(int(num_draft_tokens.max()))
    num_nodes = shape.num_nodes[num_draft_tokens]
    queries, reads = int((1 + num_nodes).sum()), context + num_nodes
    return Pass(
        tokens=queries + prompts.tokens,
        logit_rows=queries,
        sequences=len(num_draft_tokens) + prompts.sequences,
        context_tokens=int(reads.sum()) + prompts.context_tokens,
        query_context=queries * context + int(shape.total_depth[num_draft_tokens].sum()) + prompts.query_context,
        prompt_query_context=prompts.query_context,
        verify_context=int(reads[num_nodes > 0].sum()),
        prompt_tokens=prompts.tokens,
    )
