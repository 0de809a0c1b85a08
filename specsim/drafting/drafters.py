"""Which forward passes a drafter runs to propose tokens for a batch. Knows no device, time or acceptance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim.forward import Pass
from specsim.schema.speculation import DraftModel, EagleHead

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PromptWork:
    """Prompt tokens that the drafter has to take in, since they enter the target in the same step.

    Attributes:
        tokens, sequences: how many, of how many requests.
        context_tokens, query_context: their attention, as in ``forward.Pass``.
    """

    tokens: int = 0
    sequences: int = 0
    context_tokens: int = 0
    query_context: int = 0


NO_PROMPTS = PromptWork()


def catch_up_tokens(drafter: DraftModel | EagleHead, num_accepted: Ints, num_draft: Ints) -> Ints:
    """Tokens of the last round that the drafter has not computed itself, per request.

    A draft model has drafted (and so computed) all but the token the verifier added, plus the last draft where every
    draft survived. An EAGLE head recomputes the whole round, since only now are the target's hidden states known.
    """
    if isinstance(drafter, EagleHead):
        return num_accepted + 1
    every_draft_survived: Ints = ((num_accepted == num_draft) & (num_draft > 0)).astype(np.int64)
    return 1 + every_draft_survived


def draft_passes(
    drafter: DraftModel | EagleHead, num_draft: Ints, catch_up: Ints, context: Ints, prompts: PromptWork = NO_PROMPTS
) -> Iterator[Pass]:
    """The passes that propose ``num_draft`` tokens per request, and that take in the step's prompt tokens.

    The first pass catches up; each later one adds a token to the requests that still want one, so the longest draft
    decides how many passes run.

    Args:
        drafter: which kind.
        num_draft: tokens wanted per request [B].
        catch_up: tokens that the first pass computes per request [B].
        context: tokens of prompt and output so far per request [B].
        prompts: the step's prompt chunks.
    """
    first = num_draft > 0
    wanted, queries, keys = num_draft[first], catch_up[first], context[first]
    tokens = int(queries.sum()) + prompts.tokens
    if tokens:
        pairs = int((queries * keys - queries * (queries - 1) // 2).sum()) + prompts.query_context
        reads = int(keys.sum()) + prompts.context_tokens
        fused = tokens if isinstance(drafter, EagleHead) and drafter.generation == "eagle3" else 0
        yield Pass(tokens, len(wanted), len(wanted) + prompts.sequences, reads, pairs, fused)
    for position in range(1, int(wanted.max(initial=0))):
        active = keys[wanted > position]
        reads = int(active.sum()) + position * len(active)
        yield Pass(len(active), len(active), len(active), reads, reads)
