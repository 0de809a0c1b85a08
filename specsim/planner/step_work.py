"""The passes of one step in which every request has the same context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.costs.step import StepTime
from specsim.drafting.drafters import PromptWork, catch_up_tokens, draft_passes
from specsim.forward import Pass, attended
from specsim.schema.speculation import NgramLookup
from specsim.simulation import Simulation


class StepWork(NamedTuple):
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


def step_work(
    simulation: Simulation,
    batch: int,
    num_draft_tokens: int,
    context: int,
    *,
    accepted: int,
    prompt_tokens: int = 0,
) -> StepWork:
    """The passes of a step.

    Args:
        simulation: whose drafter, and whose way of drafting.
        batch: requests that decode.
        num_draft_tokens: draft tokens per verify, or levels of the tree.
        context: tokens of prompt and output so far per request.
        accepted: drafts accepted in each request's last round, which the drafter catches up with.
        prompt_tokens: of the first chunk of a longer prompt, computed in the same step.
    """
    prompts = PromptWork()
    if prompt_tokens:
        prompts = PromptWork(prompt_tokens, 1, prompt_tokens, attended(prompt_tokens, prompt_tokens))
    target = _target_pass(simulation, batch, num_draft_tokens, context, prompts)
    drafter = simulation.inputs.scenario.speculation.drafter
    if num_draft_tokens == 0:
        return StepWork(target)
    if isinstance(drafter, NgramLookup):
        return StepWork(target, num_lookups=batch, speculating=True)
    wanted, contexts = np.full(batch, num_draft_tokens), np.full(batch, context)
    last = np.full(batch, accepted)
    shape = simulation.draft_shape(num_draft_tokens)
    verified = np.full(batch, shape.max_nodes + 1) if simulation.hands_on_all else None
    catch_up = catch_up_tokens(drafter, last, last == wanted, verified)
    passes = draft_passes(drafter, shape, wanted, catch_up, contexts, prompts)
    return StepWork(target, tuple(passes), speculating=True)


def _target_pass(simulation: Simulation, batch: int, num_draft_tokens: int, context: int, prompts: PromptWork) -> Pass:
    """Each request's last token with its drafts, and the prompt chunk, which yields no logits yet."""
    shape = simulation.draft_shape(num_draft_tokens)
    queries = 1 + shape.max_nodes
    reads, pairs = batch * (context + shape.max_nodes), queries * context + int(shape.total_depth[-1])
    return Pass(
        tokens=batch * queries + prompts.tokens,
        logit_rows=batch * queries,
        sequences=batch + prompts.sequences,
        context_tokens=reads + prompts.context_tokens,
        query_context=batch * pairs + prompts.query_context,
        prompt_query_context=prompts.query_context,
        verify_context=reads if num_draft_tokens else 0,
        prompt_tokens=prompts.tokens,
    )
