"""Which forward passes a drafter runs to propose tokens for a batch. Knows no device, time or acceptance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim.drafting.shape import DraftShape
from specsim.forward import Pass
from specsim.schema.speculation import DraftModel, EagleHead

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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


def catch_up_tokens(drafter: DraftModel | EagleHead, num_accepted: Ints, last_is_new: Bools) -> Ints:
    """Tokens of the last round that the drafter has not computed itself, per request.

    A draft model has computed every draft that it drafted on from: all but the token the verifier added, and the last
    accepted one where nothing was drafted after it. An EAGLE head recomputes the whole round, since only now are the
    target's hidden states known.

    Args:
        drafter: which kind.
        num_accepted: drafts accepted per request [B].
        last_is_new: whether a draft was accepted after which none was drafted, per request [B]: the last of a chain,
            or a leaf of a tree.
    """
    if isinstance(drafter, EagleHead):
        return num_accepted + 1
    return 1 + last_is_new.astype(np.int64)


def draft_passes(
    drafter: DraftModel | EagleHead,
    shape: DraftShape,
    num_draft: Ints,
    catch_up: Ints,
    context: Ints,
    prompts: PromptWork = NO_PROMPTS,
) -> Iterator[Pass]:
    """The passes that propose drafts of ``num_draft`` levels per request, and that take in the step's prompt tokens.

    The first pass catches up, and all candidates for the next token come from its logits. Each later one computes the
    nodes of a level that have children, for the requests that still want another level, so the longest draft decides
    how many passes run. In a chain that is one token per request. A node attends to the context and to its ancestors;
    the entries of all nodes computed before are read.

    Args:
        drafter: which kind.
        shape: how drafts hang together.
        num_draft: levels wanted per request [B]; in a chain, tokens.
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
    computed = 0
    for level in range(1, int(wanted.max(initial=0))):
        active, nodes = keys[wanted > level], int(shape.num_inner[level])
        computed += nodes
        tokens, contexts = nodes * len(active), int(active.sum())
        pairs = nodes * contexts + level * tokens
        yield Pass(tokens, tokens, len(active), contexts + computed * len(active), pairs)
