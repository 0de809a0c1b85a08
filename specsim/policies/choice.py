"""How many tokens to draft: pure functions of what an engine can know."""

from __future__ import annotations

from specsim.arrays import Floats
from specsim.kernels import kernel
from specsim.policies.form import INITIAL_WEIGHT, ON, TRIED, PolicyForm


@kernel
def choose_by_table(policy: PolicyForm, memory: Floats, decoding: int, context_tokens: int) -> int:
    """The table's draft length, or none while it is switched off.

    Args:
        policy: which.
        memory: what it remembers; changes.
        decoding: requests about to draft and verify.
        context_tokens: Σ of their contexts.
    """
    if decoding > policy.off_above:
        memory[ON] = 0.0
    elif decoding <= policy.on_below:
        memory[ON] = 1.0
    if memory[ON] == 0.0:
        return 0
    row = 0
    while row < len(policy.edges) and context_tokens >= policy.edges[row] * max(decoding, 1):
        row += 1
    return int(policy.table[row, decoding])


@kernel
def choose_by_goodput(policy: PolicyForm, memory: Floats, seconds: Floats, share_at_least: Floats) -> int:
    """The draft length with the most expected tokens per second.

    Args:
        policy: which.
        memory: acceptance seen so far.
        seconds: of a step that verifies drafts of 0, 1, .. K tokens [K+1].
        share_at_least: share of look-ups that find at least 1, 2, .. K of the tokens asked for [K].
    """
    best, most, tokens, reached = 0, 0.0, 1.0, 1.0
    for num_draft_tokens in range(policy.longest + 1):
        if num_draft_tokens > 0:
            reached *= memory[TRIED + policy.longest + num_draft_tokens - 1] / memory[TRIED + num_draft_tokens - 1]
            tokens += reached * share_at_least[num_draft_tokens - 1]
        goodput = tokens / seconds[num_draft_tokens]
        if goodput > most:
            best, most = num_draft_tokens, goodput
    return best


@kernel
def remember(policy: PolicyForm, memory: Floats, num_draft_tokens: int, num_accepted: int) -> None:
    """Count a round: each position drafted for, up to the first rejection, was judged; of all a little is forgotten."""
    faded = (1.0 - policy.forget) * INITIAL_WEIGHT
    for position in range(policy.longest):
        tried, passed = TRIED + position, TRIED + policy.longest + position
        memory[tried] = memory[tried] * policy.forget + faded
        memory[passed] = memory[passed] * policy.forget + faded * policy.initial
        if position < num_draft_tokens and position <= num_accepted:
            memory[tried] += 1.0
            memory[passed] += 1.0 if position < num_accepted else 0.0


@kernel
def next_length(num_draft_tokens: int, num_accepted: int, longest: int) -> int:
    """A request's next draft length after a round."""
    if num_accepted == num_draft_tokens:
        return min(num_draft_tokens + 2, longest)
    return max(num_draft_tokens - 1, 1)
