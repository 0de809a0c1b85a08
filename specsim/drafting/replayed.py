"""A source of chains that are accepted exactly as far as recorded.

At temperature 0 a draft is accepted while it is the target's most likely token, so the target's one-hot rows agree with
as many drafts as the recording says for the output position at which the round starts, and with no more. The tokens of
the drafts make no difference.
"""

from __future__ import annotations

import numpy as np

from specsim.arrays import Ints
from specsim.drafting.chain_rows import ChainRows
from specsim.drafting.variation import no_variation
from specsim.drafting.varying import rung_rows


class ReplayedAcceptance:
    """Proposes and scores chains of one domain.

    Args:
        starts: where each request's list starts in ``emitted``, and where the last one ends [R+1].
        emitted: tokens of a verify that starts at an output position, one request after the other [positions].
        num_draft_tokens: the longest draft, K.
        vocabulary, rng, sampled: as for ``PositionAcceptance``.
    """

    def __init__(
        self,
        starts: Ints,
        emitted: Ints,
        num_draft_tokens: int,
        vocabulary: int,
        rng: np.random.Generator,
        *,
        sampled: bool,
    ) -> None:
        rows = rung_rows(num_draft_tokens, vocabulary, rng, 1.0, sampled=sampled)
        variation = no_variation(num_draft_tokens)._replace(
            varies=np.array([True]), num_recorded=np.array([len(starts) - 1]), starts=starts, emitted=emitted
        )
        self.rows: ChainRows = rows._replace(greedy=np.array([True]), variation=variation)


def mean_recorded_tokens(starts: Ints, emitted: Ints, output_tokens: Ints, num_draft_tokens: int) -> float:
    """Mean tokens per verify over all rounds of all recorded requests, each walked through once.

    The first token of a request comes from its prompt; tokens of a last round beyond the output count as well. Lists as
    for ``ReplayedAcceptance``, starts [R+1] and emitted [positions]; output_tokens [R] are the outputs' lengths.
    """
    tokens = rounds = 0
    for request, end in enumerate(output_tokens.tolist()):
        found, position = emitted[starts[request] : starts[request + 1]].tolist(), 1
        while position < end:
            step = min(found[position % len(found)], num_draft_tokens + 1)
            tokens, rounds, position = tokens + step, rounds + 1, position + step
    return tokens / rounds if rounds else 1.0
