"""The passes of a drafter before a verify, for the requests of a batch. A kernel: numbers in, passes out."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from specsim.arrays import Ints
from specsim.drafting.shape import DraftShape
from specsim.forward import Pass, Passes, write_pass
from specsim.inputs.models.drafters import (
    BlockParallelHead,
    DraftModel,
    EagleHead,
    MedusaHeads,
    ModelDrafter,
    MTPLayers,
)
from specsim.kernels import kernel

NO_PASSES, TOKEN_A_PASS, ALL_HEADS, WHOLE_BLOCK = 0, 1, 2, 3
ACCEPTED, VERIFIED, LAST, LACKING, LACKING_OF_VERIFIED = 0, 1, 2, 3, 4


class PromptChunks(NamedTuple):
    """The prompt chunks of a step, which the drafter takes in too.

    Attributes:
        tokens, sequences: number of tokens, and of requests.
        context_tokens, query_context: their attention, as in ``forward.Pass``.
    """

    tokens: int = 0
    sequences: int = 0
    context_tokens: int = 0
    query_context: int = 0


class DrafterForm(NamedTuple):
    """What decides which passes a drafter runs.

    Attributes:
        runs: NO_PASSES; TOKEN_A_PASS, first for what it lacks and then level by level; ALL_HEADS at once on the last
            state; or a WHOLE_BLOCK.
        takes_in: tokens of a round that its next first pass computes. What reads the target's hidden states takes in
            the ACCEPTED ones and the one the verifier added, since only now are they known, or, where the engine does
            not sort them out, all those VERIFIED; heads without a cache read the LAST one only. A draft model has
            computed every draft that it drafted on from, so it is LACKING the token the verifier added and the last
            accepted one where nothing was drafted after it; where the engine sorts nothing out, it is handed all of
            them (LACKING_OF_VERIFIED).
        fuses: whether hidden states of the target are fused first.
        block: tokens that a block's pass computes for each request.
        corrects: whether the positions of a block are then corrected one by one.
        num_inner: nodes of level 0 (the root), 1, .. D that have children [D+1].
    """

    runs: int
    takes_in: int
    fuses: bool
    block: int
    corrects: bool
    num_inner: Ints


def drafter_form(drafter: ModelDrafter | None, shape: DraftShape, *, first_pass_over_verified: bool) -> DrafterForm:
    """The form of a drafter; None where no model drafts.

    Args:
        drafter: its kind.
        shape: chain or tree.
        first_pass_over_verified: the engine hands on all tokens of a round, and not only those accepted.
    """
    inner, whole = shape.num_inner, VERIFIED if first_pass_over_verified else ACCEPTED
    match drafter:
        case None:
            return DrafterForm(NO_PASSES, LAST, False, 0, False, inner)
        case EagleHead():
            return DrafterForm(TOKEN_A_PASS, whole, drafter.generation == "eagle3", 0, False, inner)
        case MTPLayers():
            return DrafterForm(TOKEN_A_PASS, whole, False, 0, False, inner)
        case DraftModel():
            takes_in = LACKING_OF_VERIFIED if first_pass_over_verified else LACKING
            return DrafterForm(TOKEN_A_PASS, takes_in, False, 0, False, inner)
        case MedusaHeads():
            return DrafterForm(ALL_HEADS, LAST, False, 0, False, inner)
        case BlockParallelHead():
            corrects = drafter.sequential_correction is not None
            return DrafterForm(WHOLE_BLOCK, whole, True, drafter.block_size, corrects, inner)
        case _:
            assert_never(drafter)


@kernel
def tokens_to_take_in(takes_in: int, num_accepted: int, last_is_new: bool, num_verified: int) -> int:
    """Tokens of a round that the drafter's next first pass computes, for one request.

    Args:
        takes_in: as in ``DrafterForm``.
        num_accepted: drafts accepted.
        last_is_new: whether the last accepted draft had none drafted after it: the last of a chain, or a leaf.
        num_verified: tokens of the round that the target computed.
    """
    if takes_in == ACCEPTED:
        return num_accepted + 1
    if takes_in == VERIFIED:
        return num_verified
    if takes_in == LACKING:
        return 2 if last_is_new else 1
    if takes_in == LACKING_OF_VERIFIED:
        return 1 + num_verified
    return 1


@kernel
def fill_draft_passes(
    form: DrafterForm, num_draft_tokens: Ints, catch_up: Ints, context: Ints, prompts: PromptChunks, passes: Passes
) -> int:
    """Write the drafter's passes, in order, behind the target's; returns their number.

    Args:
        form: of the drafter.
        num_draft_tokens: levels to draft per request [B]; in a chain, tokens.
        catch_up: tokens that the first pass computes per request [B].
        context: tokens of prompt and output up to now per request [B].
        prompts: the step's prompt chunks.
        passes: entries from 1 on receive the passes [1 + most passes].
    """
    if form.runs == NO_PASSES:
        return 0
    wanting, tokens, reads, pairs, rows, longest = 0, 0, 0, 0, 0, 0
    for b in range(len(num_draft_tokens)):
        if num_draft_tokens[b] > 0:
            queries = catch_up[b]
            wanting += 1
            tokens += queries
            reads += context[b]
            # rejected drafts that an engine hands on stand beyond a short context
            pairs += queries * max(context[b], queries) - queries * (queries - 1) // 2
            rows += num_draft_tokens[b]
            longest = max(longest, num_draft_tokens[b])
    if form.runs == ALL_HEADS:
        if wanting:
            write_pass(passes, 1, Pass(wanting, wanting, wanting, 0, 0, 0, 0, 0, 0, 0))
        return min(wanting, 1)
    tokens += prompts.tokens
    if not tokens:
        return 0
    if form.runs == WHOLE_BLOCK:
        # every token of the block sees the whole context and the whole block; tokens that the target has computed,
        # prompts among them, only become keys and values
        reads += form.block * wanting
        queries = form.block * wanting
        write_pass(passes, 1, Pass(queries, rows, wanting, reads, form.block * reads, tokens, 0, 0, 0, 0))
        return 1 + (_fill_corrections(num_draft_tokens, longest, passes) if form.corrects else 0)
    fused, reads, pairs = tokens if form.fuses else 0, reads + prompts.context_tokens, pairs + prompts.query_context
    sequences = wanting + prompts.sequences
    first = Pass(tokens, wanting, sequences, reads, pairs, fused, prompts.query_context, 0, prompts.tokens, 0)
    write_pass(passes, 1, first)
    return 1 + _fill_levels(form, num_draft_tokens, context, longest, passes)


@kernel
def _fill_levels(form: DrafterForm, num_draft_tokens: Ints, context: Ints, longest: int, passes: Passes) -> int:
    """The pass that proposes each level but the first, whose candidates come from the first pass.

    It computes the nodes of the level above that have children, for the requests that still draft another level, so the
    longest draft decides how many passes run. In a chain that is one token per request. A node attends to the context
    and to its ancestors; the entries of all nodes computed before are read.
    """
    computed = 0
    for level in range(1, longest):
        active, contexts, nodes = 0, 0, form.num_inner[level]
        for b in range(len(num_draft_tokens)):
            if num_draft_tokens[b] > level:
                active += 1
                contexts += context[b]
        computed += nodes
        tokens = nodes * active
        reads, pairs = contexts + computed * active, nodes * contexts + level * tokens
        write_pass(passes, 1 + level, Pass(tokens, tokens, active, reads, pairs, 0, 0, 0, 0, 0))
    return max(longest - 1, 0)


@kernel
def _fill_corrections(num_draft_tokens: Ints, longest: int, passes: Passes) -> int:
    """One position of the block after another, each for the requests that draft it."""
    for position in range(longest):
        active = 0
        for b in range(len(num_draft_tokens)):
            if num_draft_tokens[b] > position:
                active += 1
        write_pass(passes, 2 + position, Pass(0, 0, active, 0, 0, 0, 0, 0, 0, active))
    return longest


def most_passes(form: DrafterForm, longest: int) -> int:
    """The most passes of a draft of ``longest`` levels."""
    return longest + 1 if form.corrects else max(longest, 1)
