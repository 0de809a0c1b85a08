"""Policies in the form that compiled code takes: what they are told and what they remember, as numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.inputs.models.policy import (
    ConfidencePolicy,
    GoodputPolicy,
    OffAbovePolicy,
    OraclePolicy,
    PerRequestPolicy,
    Policy,
    StaticPolicy,
)
from specsim.inputs.models.schedule import SchedulePolicy

TABLE, GOODPUT, PER_REQUEST, CONFIDENCE, ORACLE, OUTSIDE = range(6)
"""What decides: a table; expected goodput; each request's last round; the drafter's confidence; what will be accepted;
a function outside of compiled code."""


class PolicyForm(NamedTuple):
    """A policy.

    Attributes:
        kind: what decides.
        longest: the longest draft.
        start: of requests that have a draft length of their own, the first.
        edges: mean contexts at which another row of the table begins, ascending [R - 1].
        table: draft lengths by row and number of decoding requests [R, S + 1].
        off_above, on_below: the table is switched off when more decode, and on again when no more than these do.
        threshold: least probability of a drafted token after which drafting goes on.
        forget: what an earlier verify counts beside the one after it.
        initial: acceptance that is taken for granted where nothing was seen.
    """

    kind: int
    longest: int
    start: int
    edges: Ints
    table: Ints
    off_above: int
    on_below: int
    threshold: float
    forget: float
    initial: float


def policy_form(policy: Policy, max_num_seqs: int) -> PolicyForm:
    """The form of a policy.

    Args:
        policy: of the scenario.
        max_num_seqs: the most requests that can decode at once.
    """
    longest, never = policy.num_draft_tokens, max_num_seqs + 1
    everywhere = np.full((1, max_num_seqs + 1), longest)
    form = PolicyForm(TABLE, longest, longest, np.zeros(0, np.int64), everywhere, never, never, 0.0, 1.0, 0.0)
    match policy:
        case StaticPolicy():
            return form
        case OffAbovePolicy():
            return form._replace(off_above=policy.batch, on_below=policy.resume_at or policy.batch)
        case SchedulePolicy():
            edges, table = _schedule(policy, max_num_seqs)
            return form._replace(edges=edges, table=table)
        case GoodputPolicy():
            return form._replace(kind=GOODPUT, forget=0.5 ** (1 / policy.half_life), initial=policy.initial_acceptance)
        case PerRequestPolicy():
            return form._replace(kind=PER_REQUEST, start=policy.start)
        case ConfidencePolicy():
            return form._replace(kind=CONFIDENCE, threshold=policy.threshold)
        case OraclePolicy():
            return form._replace(kind=ORACLE)


def _schedule(policy: SchedulePolicy, max_num_seqs: int) -> tuple[Ints, Ints]:
    """Where contexts begin that have another row, and the rows."""
    edges = sorted({row.context[0] for row in policy.rows} - {0})
    table = np.zeros((len(edges) + 1, max_num_seqs + 1), np.int64)
    for row in policy.rows:
        first, last = row.batch
        end = max_num_seqs + 1 if last is None else last + 1
        table[np.searchsorted(edges, row.context[0], side="right"), first:end] = row.num_draft_tokens
    return np.array(edges, np.int64), table


INITIAL_WEIGHT = 20.0
"""Verifies that an initial estimate counts as: a handful of rejections does not decide against a position."""
ON, TRIED = 0, 1
"""Places in what a policy remembers: whether the table is on; how often each position was judged. From
``TRIED + longest`` on, how often it was accepted."""


def first_memory(policy: Policy) -> Floats:
    """What a policy remembers before it has seen anything [1 + 2K]."""
    longest = policy.num_draft_tokens
    memory = np.zeros(1 + 2 * longest)
    memory[ON] = 1.0
    if isinstance(policy, GoodputPolicy):
        memory[TRIED : TRIED + longest] = INITIAL_WEIGHT
        memory[TRIED + longest :] = INITIAL_WEIGHT * policy.initial_acceptance
    return memory
