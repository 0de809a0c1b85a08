"""What one forward pass computes, in the few sums that determine its cost. Shared by drafting, engine and costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from specsim.arrays import new_records
from specsim.kernels import kernel

Mode = Literal["graph", "piecewise", "eager"]  # replayed whole; all but attention replayed; launched kernel by kernel


class Pass(NamedTuple):
    """One forward pass over a batch.

    Attributes:
        tokens: query tokens in all sequences.
        logit_rows: tokens whose logits are computed.
        sequences: requests that take part.
        context_tokens: Σ over sequences of the KV entries read; each is read once, whatever the number of queries.
        query_context: Σ over query tokens of the KV entries each attends to.
        fused_tokens: tokens whose hidden states, taken from the target, a drafter fuses first.
        prompt_query_context: the part of ``query_context`` that belongs to prompt chunks.
        verify_context: the part of ``context_tokens`` that requests with several tokens to verify read.
        prompt_tokens: the part of ``tokens`` that belongs to prompt chunks.
        corrected_rows: rows of logits that are shifted by the token drawn before them; such a pass computes no tokens.
    """

    tokens: int
    logit_rows: int
    sequences: int
    context_tokens: int
    query_context: int
    fused_tokens: int = 0
    prompt_query_context: int = 0
    verify_context: int = 0
    prompt_tokens: int = 0
    corrected_rows: int = 0


class Passes(np.recarray[Any, Any]):
    """Forward passes, one entry each, with the fields of ``Pass``, int64 [P]."""


def new_passes(number: int) -> Passes:
    """Passes that compute nothing."""
    return new_records(Passes, number, [(name, np.int64) for name in Pass._fields])


def passes_of(passes: Sequence[Pass]) -> Passes:
    """The same passes as a table [P]."""
    table = new_passes(len(passes))
    table[:] = passes
    return table


@kernel
def pass_at(passes: Passes, i: int) -> Pass:
    """The i-th of the passes."""
    return Pass(
        passes.tokens[i],
        passes.logit_rows[i],
        passes.sequences[i],
        passes.context_tokens[i],
        passes.query_context[i],
        passes.fused_tokens[i],
        passes.prompt_query_context[i],
        passes.verify_context[i],
        passes.prompt_tokens[i],
        passes.corrected_rows[i],
    )


@kernel
def write_pass(passes: Passes, i: int, one: Pass) -> None:
    """Replace the i-th of the passes."""
    passes.tokens[i], passes.logit_rows[i], passes.sequences[i] = one.tokens, one.logit_rows, one.sequences
    passes.context_tokens[i], passes.query_context[i] = one.context_tokens, one.query_context
    passes.fused_tokens[i], passes.prompt_query_context[i] = one.fused_tokens, one.prompt_query_context
    passes.verify_context[i], passes.prompt_tokens[i] = one.verify_context, one.prompt_tokens
    passes.corrected_rows[i] = one.corrected_rows


class Reach(NamedTuple):
    """The largest sums that steps reach, as far as their cost depends on them.

    Attributes:
        step_tokens: most tokens computed in a step: those decoded, their drafts, and prompts.
        requests: most requests in a step.
        context_tokens: most KV entries read in a step, over all its requests.
        beyond_device, beyond_profile: share of the time in steps that have more tokens than the device's matrix
            products were measured with, or go beyond what the engine profile was calibrated on.
    """

    step_tokens: int
    requests: int
    context_tokens: int
    beyond_device: float = 1.0
    beyond_profile: float = 1.0


def farthest(reached: Iterable[Reach]) -> Reach:
    """The maximum of each sum."""
    return Reach(*map(max, zip(*reached, strict=True)))


@kernel
def attended(queries: int, context: int) -> int:
    """KV entries attended to by the last ``queries`` of ``context`` tokens under a causal mask, summed over queries."""
    return queries * context - queries * (queries - 1) // 2
