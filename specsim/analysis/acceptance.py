"""What the verifier accepted, from the records of one run, in the terms that engines log.

Knows nothing of the drafter or of the acceptance that a simulation was given: it counts what came out, so that a
measured run and a simulated one are compared on the same numbers. Everywhere here a *verify* is a round with drafts,
and a position of a tree is one of its levels, accepted when any of the candidates is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Bools, Floats, Ints
from specsim.records import RequestRecords, RoundRecords, RoundTally


@dataclass(frozen=True)
class AcceptanceSummary:
    """Acceptance over one run; NaN, or empty, where nothing was drafted.

    Attributes:
        verifies: rounds with drafts.
        acceptance_length: tokens received per verify; the end of an output cuts some short [tokens].
        untouched_verifies: verifies in which the output could not end; see ``untouched``.
        untouched_acceptance_length: tokens per verify over those; the mean that closed forms predict [tokens].
        marginal: verifies that accepted positions 1..i over all verifies, as engines log it [K]; 1 + Σ marginal is the
            mean of accepted + 1. With ragged drafts it also falls where no draft was proposed.
        conditional: of the verifies that drafted position i and accepted all before it, the share that accepted it [K].
        wasted_draft_fraction: draft tokens that no request received over all draft tokens.
    """

    verifies: int
    acceptance_length: float
    untouched_verifies: int
    untouched_acceptance_length: float
    marginal: Floats
    conditional: Floats
    wasted_draft_fraction: float


def acceptance(requests: RequestRecords, rounds: RoundRecords) -> AcceptanceSummary:
    """Acceptance of one run from its rounds."""
    verify = (rounds.num_draft > 0) & ~rounds.from_prompt
    return _summary(
        rounds.num_draft[verify],
        rounds.num_nodes[verify],
        rounds.num_accepted[verify],
        rounds.num_emitted[verify],
        untouched(requests, rounds)[verify],
        np.ones(np.count_nonzero(verify), dtype=np.int64),
    )


def tallied_acceptance(tally: RoundTally) -> AcceptanceSummary:
    """Acceptance of one run from the tally of its rounds."""
    verify = tally.num_draft > 0
    return _summary(
        tally.num_draft[verify],
        tally.num_nodes[verify],
        tally.num_accepted[verify],
        tally.num_emitted[verify],
        tally.free[verify],
        tally.count[verify],
    )


def _summary(drafted: Ints, nodes: Ints, accepted: Ints, emitted: Ints, free: Bools, count: Ints) -> AcceptanceSummary:
    """Summary of kinds of verifies; ``count`` says how many there were of each, all [kinds]."""
    reached, passed = _by_position(drafted, accepted, count)
    verifies, untouched_verifies = int(count.sum()), int(count[free].sum())
    return AcceptanceSummary(
        verifies=verifies,
        acceptance_length=_ratio((emitted * count).sum(), verifies),
        untouched_verifies=untouched_verifies,
        untouched_acceptance_length=_ratio((emitted * count)[free].sum(), untouched_verifies),
        marginal=passed / max(verifies, 1),
        conditional=np.divide(passed, reached, out=np.full(passed.shape, np.nan), where=reached > 0),
        wasted_draft_fraction=_ratio(((nodes - np.minimum(accepted, emitted)) * count).sum(), (nodes * count).sum()),
    )


def acceptance_length(accepted: NDArray[np.integer]) -> Floats:
    """Mean of accepted + 1 over the verifies of each request [requests] [tokens]; NaN where nothing was drafted.

    Args:
        accepted: as in ``RequestRecords`` [requests, K + 1]. The end of an output cuts nothing short here.
    """
    verifies = accepted.sum(axis=1)
    tokens = accepted @ np.arange(1, accepted.shape[1] + 1)
    length: Floats = np.divide(tokens, verifies, out=np.full(len(accepted), np.nan), where=verifies > 0)
    return length


def untouched(requests: RequestRecords, rounds: RoundRecords) -> Bools:
    """Whether the output could not end within the round, whatever the verifier did, bool [rounds].

    These are rounds that begin with more tokens left than the longest draft of the run. The choice must depend on what
    was left before the round: choosing rounds that *were* not cut short would keep short runs of acceptance near the
    end of an output, drop long ones, and bias the mean.
    """
    order = np.argsort(rounds.request, kind="stable")
    request, emitted = rounds.request[order], rounds.num_emitted[order]
    before = np.cumsum(emitted) - emitted
    first_of_request = np.flatnonzero(np.diff(request, prepend=-1))
    before -= np.repeat(before[first_of_request], np.diff(first_of_request, append=request.size))
    left = np.empty_like(before)
    left[order] = requests.output_tokens[request] - before
    longest: int = rounds.num_draft.max(initial=0)
    return np.asarray(left > longest)


def _by_position(drafted: Ints, accepted: Ints, count: Ints) -> tuple[Floats, Floats]:
    """Verifies that drafted position i and accepted all before it, and those that also accepted it, both [K]."""
    positions = np.arange(1, drafted.max(initial=0) + 1)[:, None]
    reached = ((accepted >= positions - 1) & (drafted >= positions)) @ count
    return reached.astype(np.float64), ((accepted >= positions) @ count).astype(np.float64)


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else float("nan")
