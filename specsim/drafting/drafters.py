"""Which forward passes a drafter runs to propose tokens for a batch. Knows no device, time or acceptance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from specsim.drafting.shape import DraftShape
from specsim.forward import Pass
from specsim.schema.speculation import BlockParallelHead, DraftModel, EagleHead, MedusaHeads, ModelDrafter, MTPLayers

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


def catch_up_tokens(
    drafter: ModelDrafter, num_accepted: Ints, last_is_new: Bools, num_verified: Ints | None = None
) -> Ints:
    """Tokens of the last round that the drafter's first pass takes in, per request: those it has not computed itself.

    A draft model has computed every draft that it drafted on from: all but the token the verifier added, and the last
    accepted one where nothing was drafted after it. What reads the target's hidden states takes in the whole round,
    since only now are they known; Medusa heads read the last of them only.

    Args:
        drafter: which kind.
        num_accepted: drafts accepted per request [B].
        last_is_new: whether a draft was accepted after which none was drafted, per request [B]: the last of a chain,
            or a leaf of a tree.
        num_verified: tokens of the round that the target computed, per request [B], where the engine hands all of
            them to the drafter; None where it sorts out the rejected ones first.
    """
    match drafter:
        case EagleHead() | MTPLayers() | BlockParallelHead():
            return num_accepted + 1 if num_verified is None else num_verified
        case MedusaHeads():
            return np.ones_like(num_accepted)
        case DraftModel():
            # it is handed the whole round too, and the token that the verifier added
            return 1 + (last_is_new.astype(np.int64) if num_verified is None else num_verified)
        case _:
            assert_never(drafter)


def draft_passes(
    drafter: ModelDrafter,
    shape: DraftShape,
    num_draft: Ints,
    catch_up: Ints,
    context: Ints,
    prompts: PromptWork = NO_PROMPTS,
) -> Iterator[Pass]:
    """The passes that propose drafts of ``num_draft`` levels per request, and that take in the step's prompt tokens.

    Args:
        drafter: which kind.
        shape: how drafts hang together; a block is a chain.
        num_draft: levels wanted per request [B]; in a chain, tokens.
        catch_up: tokens that the first pass computes per request [B].
        context: tokens of prompt and output so far per request [B].
        prompts: the step's prompt chunks.
    """
    first = num_draft > 0
    wanted, queries, keys = num_draft[first], catch_up[first], context[first]
    match drafter:
        case DraftModel() | EagleHead() | MTPLayers():
            fuses = isinstance(drafter, EagleHead) and drafter.generation == "eagle3"
            yield from _one_token_a_pass(shape, wanted, queries, keys, prompts, fuses=fuses)
        case MedusaHeads():
            if len(wanted):
                yield Pass(len(wanted), len(wanted), len(wanted), 0, 0)
        case BlockParallelHead():
            yield from _one_block(drafter.block_size, wanted, queries, keys, prompts)
            if drafter.sequential_correction:
                yield from _corrections(wanted)
        case _:
            assert_never(drafter)


def _one_token_a_pass(
    shape: DraftShape, wanted: Ints, queries: Ints, keys: Ints, prompts: PromptWork, *, fuses: bool
) -> Iterator[Pass]:
    """The first pass catches up, and all candidates for the next token come from its logits.

    Each later one computes the nodes of a level that have children, for the requests that still want another level, so
    the longest draft decides how many passes run. In a chain that is one token per request. A node attends to the
    context and to its ancestors; the entries of all nodes computed before are read.
    """
    tokens = int(queries.sum()) + prompts.tokens
    if tokens:
        seen = np.maximum(keys, queries)  # rejected drafts that an engine hands on stand beyond a short context
        pairs = int((queries * seen - queries * (queries - 1) // 2).sum()) + prompts.query_context
        reads = int(keys.sum()) + prompts.context_tokens
        yield Pass(
            tokens,
            len(wanted),
            len(wanted) + prompts.sequences,
            reads,
            pairs,
            fused_tokens=tokens if fuses else 0,
            prompt_query_context=prompts.query_context,
            prompt_tokens=prompts.tokens,
        )
    computed = 0
    for level in range(1, int(wanted.max(initial=0))):
        active, nodes = keys[wanted > level], int(shape.num_inner[level])
        computed += nodes
        tokens, contexts = nodes * len(active), int(active.sum())
        pairs = nodes * contexts + level * tokens
        yield Pass(tokens, tokens, len(active), contexts + computed * len(active), pairs)


def _one_block(block: int, wanted: Ints, queries: Ints, keys: Ints, prompts: PromptWork) -> Iterator[Pass]:
    """Every token of the block sees the whole context and the whole block.

    Tokens that the target has computed, prompts among them, only become keys and values.
    """
    fused = int(queries.sum()) + prompts.tokens
    if fused:
        reads = int(keys.sum()) + block * len(wanted)
        yield Pass(block * len(wanted), int(wanted.sum()), len(wanted), reads, block * reads, fused)


def _corrections(wanted: Ints) -> Iterator[Pass]:
    """One position of the block after another, each for the requests that want it."""
    for position in range(int(wanted.max(initial=0))):
        active = int(np.count_nonzero(wanted > position))
        yield Pass(0, 0, active, 0, 0, corrected_rows=active)
