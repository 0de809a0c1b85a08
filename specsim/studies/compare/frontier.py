"""Tokens/s/user against tokens/s/GPU of everything compared: what is on the frontier, what differs significantly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specsim.analysis.intervals import Interval, mean_interval, paired_speedup_interval, unpaired_speedup_interval
from specsim.analysis.pareto import ROUNDING, on_frontier
from specsim.arrays import Floats
from specsim.studies.compare.alike import share_requests
from specsim.studies.compare.run import Comparison, Subject
from specsim.studies.plan.arms import Arm
from specsim.studies.shared.limits import limit_of
from specsim.studies.shared.points import Point, PointRuns


@dataclass(frozen=True)
class Cell:
    """One arm of one scenario at one batch.

    Attributes:
        subject: the scenario, and what was found of it.
        arm: how it drafts.
        batch: requests in flight, of a fleet in all of it.
        runs: of its replications.
        frontier: whether no mean of any cell is better in both tokens/s/user and tokens/s/GPU.
        own_frontier: the same among the cells of its scenario.
        ties: indices, among all cells, of those from which a member of the frontier does not differ significantly:
            it is clearly better (95 %) in neither of the two. Empty for all others.
    """

    subject: Subject
    arm: Arm
    batch: int
    runs: PointRuns
    frontier: bool = False
    own_frontier: bool = False
    ties: tuple[int, ...] = ()

    @property
    def per_user(self) -> Floats:
        """tokens/s/user [replications]."""
        return self.runs.tokens_per_s_per_user

    @property
    def per_gpu(self) -> Floats:
        """tokens/s/GPU, the throughput over all devices [replications]."""
        return self.runs.tokens_per_s / self.subject.num_devices

    @property
    def limit(self) -> str:
        """What requests that do not run at once wait for; empty where all run."""
        return limit_of(Point(self.batch, self.arm.num_draft_tokens), self.runs)


def cells_of(comparison: Comparison) -> tuple[Cell, ...]:
    """Every cell, scenario by scenario, arm by arm, by batch."""
    cells = [
        Cell(subject, subject.arms[arm], batch, runs)
        for subject in comparison.subjects
        for (arm, batch), runs in subject.points.items()
    ]
    best_of_own = [
        best
        for subject in comparison.subjects
        for best in _frontier([cell for cell in cells if cell.subject is subject])
    ]
    return tuple(
        replace(cell, frontier=best, own_frontier=own, ties=tuple(_ties(i, cells)) if best else ())
        for i, (cell, best, own) in enumerate(zip(cells, _frontier(cells), best_of_own, strict=True))
    )


def _frontier(cells: Sequence[Cell]) -> list[bool]:
    """Judged on means."""
    per_user = [mean_interval(cell.per_user).estimate for cell in cells]
    per_gpu = [mean_interval(cell.per_gpu).estimate for cell in cells]
    return [bool(best) for best in on_frontier(per_user, per_gpu)]


def _ties(i: int, cells: Sequence[Cell]) -> list[int]:
    """Cells than which a cell is clearly better in neither coordinate."""
    own, found = cells[i], []
    for other, cell in enumerate(cells):
        if other == i or not np.isfinite(cell.per_user).all():
            continue
        pairs = ((own.per_user, cell.per_user), (own.per_gpu, cell.per_gpu))
        paired = are_paired(own, cell)
        if all(_ratio(*pair, paired=paired).low <= 1 + ROUNDING for pair in pairs):
            found.append(other)
    return found


def are_paired(one: Cell, other: Cell) -> bool:
    """Whether replications of equal number met the same requests and random numbers."""
    return one.batch == other.batch and (
        one.subject is other.subject or share_requests(one.subject.inputs, other.subject.inputs)
    )


def _ratio(own: Floats, other: Floats, *, paired: bool) -> Interval:
    return (paired_speedup_interval if paired else unpaired_speedup_interval)(own, other)


def frontier(cells: Sequence[Cell]) -> list[Cell]:
    """The members of the overall frontier, from the fastest for users on; of equals by name."""
    members = [cell for cell in cells if cell.frontier]
    return sorted(members, key=lambda cell: (-cell.per_user.mean(), cell.per_gpu.mean(), cell.subject.name))


def rivals_of(cell: Cell, cells: Sequence[Cell]) -> list[Cell]:
    """Cells of other arms or scenarios from which a member of the frontier does not differ significantly."""
    tied = (cells[place] for place in cell.ties)
    return [rival for rival in tied if rival.subject is not cell.subject or rival.arm != cell.arm]
