"""Which forward passes a drafter runs to propose tokens for a batch. Knows no device, time or acceptance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim.arrays import Bools, Ints
from specsim.drafting.passes import PromptChunks, drafter_form, fill_draft_passes, most_passes, tokens_to_take_in
from specsim.drafting.shape import DraftShape, chain
from specsim.forward import Pass, new_passes
from specsim.inputs.models.drafters import ModelDrafter

NO_PROMPTS = PromptChunks()


def catch_up_tokens(
    drafter: ModelDrafter, num_accepted: Ints, last_is_new: Bools, num_verified: Ints | None = None
) -> Ints:
    """Tokens of the last round that the drafter's first pass takes in, int64 [B]: those it has not computed itself.

    A draft model has computed every draft that it drafted on from: all but the token the verifier added, and the last
    accepted one where nothing was drafted after it. A drafter that reads the target's hidden states takes in the whole
    round, since only now are they known; Medusa heads read only the last of them.

    Args:
        drafter: its kind.
        num_accepted: drafts accepted per request [B].
        last_is_new: whether the last accepted draft had none drafted after it [B]: the last of a chain, or a leaf.
        num_verified: tokens of the round that the target computed [B], where the engine hands all of them to the
            drafter; None where it sorts out the rejected ones first.
    """
    form = drafter_form(drafter, chain(1), first_pass_over_verified=num_verified is not None)
    verified = np.zeros_like(num_accepted) if num_verified is None else num_verified
    rows = zip(num_accepted.tolist(), last_is_new.tolist(), verified.tolist(), strict=True)
    return np.array([tokens_to_take_in(form.takes_in, *row) for row in rows], dtype=np.int64)


def draft_passes(
    drafter: ModelDrafter,
    shape: DraftShape,
    num_draft_tokens: Ints,
    catch_up: Ints,
    context: Ints,
    prompts: PromptChunks = NO_PROMPTS,
) -> Iterator[Pass]:
    """The passes that propose drafts for each request, and that take in the step's prompt tokens.

    Args:
        drafter: its kind.
        shape: chain or tree; a block is a chain.
        num_draft_tokens: levels to draft per request [B]; in a chain, tokens.
        catch_up: tokens that the first pass computes per request [B].
        context: tokens of prompt and output up to now per request [B].
        prompts: the step's prompt chunks.
    """
    form, longest = drafter_form(drafter, shape, first_pass_over_verified=False), int(num_draft_tokens.max(initial=0))
    passes = new_passes(1 + most_passes(form, longest))
    filled = fill_draft_passes(form, num_draft_tokens, catch_up, context, prompts, passes)
    for one in passes[1 : 1 + filled].tolist():
        yield Pass(*one)
