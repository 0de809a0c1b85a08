"""The passes of one step in which every request has the same context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.drafting.drafters import PromptWork, catch_up_tokens, draft_passes
from specsim.forward import Pass, attended
from specsim.schema.speculation import Drafter


class StepWork(NamedTuple):
    """What a step computes.

    Attributes:
        target: the target's pass.
        drafts: the drafter's passes, in order.
    """

    target: Pass
    drafts: tuple[Pass, ...]


def step_work(
    drafter: Drafter, batch: int, num_draft_tokens: int, context: int, *, accepted: int, prompt_tokens: int = 0
) -> StepWork:
    """The passes of a step.

    Args:
        drafter: which kind.
        batch: requests that decode.
        num_draft_tokens: draft tokens per verify.
        context: tokens of prompt and output so far per request.
        accepted: drafts accepted in each request's last round, which the drafter catches up with.
        prompt_tokens: of the first chunk of a longer prompt, computed in the same step.
    """
    queries, keys = 1 + num_draft_tokens, context + num_draft_tokens
    prompts = PromptWork()
    if prompt_tokens:
        prompts = PromptWork(prompt_tokens, 1, prompt_tokens, attended(prompt_tokens, prompt_tokens))
    target = Pass(
        tokens=batch * queries + prompts.tokens,
        logit_rows=batch * queries,
        sequences=batch + prompts.sequences,
        context_tokens=batch * keys + prompts.context_tokens,
        query_context=batch * attended(queries, keys) + prompts.query_context,
        prompt_query_context=prompts.query_context,
    )
    if not num_draft_tokens:
        return StepWork(target, ())
    wanted, contexts = np.full(batch, num_draft_tokens), np.full(batch, context)
    catch_up = catch_up_tokens(drafter, np.full(batch, accepted), wanted)
    return StepWork(target, tuple(draft_passes(drafter, wanted, catch_up, contexts, prompts)))
