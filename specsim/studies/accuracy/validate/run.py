"""Every point of a table of measurements, run as its benchmark ran it, beside what was measured.

Nothing is fitted here: a row's settings lie over a base scenario, and the profiles that it names are used as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from specsim.analysis.run_metrics import CLIENT_METRICS
from specsim.arrays import Floats
from specsim.costs.extrapolation import Extrapolation
from specsim.engine.run import warm_up
from specsim.errors import InputError, Problem, SpecsimError, raise_if_any
from specsim.inputs.measured.measurements import LATENCIES, MERITS, Located, Measurement
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.validate.arms import ArmRuns, run_arm
from specsim.studies.accuracy.validate.bounds import fastest_step, impossible_figure
from specsim.studies.accuracy.validate.measured import BASE, Arm, arm, arm_inputs, left_out, why_not
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.points import Progress

REPLICATIONS = 3
QUICK_REQUESTS = (16, 4)  # at most this many requests, or this many per request in flight, where a run has to be quick

INTERRUPTED = "the command was interrupted before it was simulated"


@dataclass(frozen=True)
class Compared:
    """A measured row and what the simulator says to it.

    Attributes:
        line: of the row in its file.
        row: what was measured.
        baseline, with_speculation: the row's metric, [replications]; None where it was not simulated.
        reasons: why an arm was not simulated; empty where both were.
        beyond: of each arm, under what it ran, and what lay beyond the ranges that the figures were measured over.
    """

    line: int
    row: Measurement
    baseline: Floats | None
    with_speculation: Floats | None
    reasons: tuple[str, ...]
    beyond: tuple[tuple[Inputs, Extrapolation | None], ...] = ()

    @property
    def speedup(self) -> Floats | None:
        """How many times better with speculation, [replications]; None without both arms or with another metric."""
        if self.baseline is None or self.with_speculation is None or self.row.metric not in MERITS:
            return None
        ratio = self.with_speculation / self.baseline
        return 1 / ratio if self.row.metric in LATENCIES else ratio


def validate(
    rows: Sequence[Located],
    *,
    where: str,
    scenario: str | None = None,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = lambda share: None,
    general: bool = False,
) -> tuple[Compared, ...]:
    """Simulate every row that can be, equal arms once; the result does not depend on ``jobs``.

    An interruption (Ctrl-C, a lost worker) ends it; rows whose arms were not simulated by then say so.

    Args:
        rows: of one table.
        where: the table, for messages.
        scenario: what rows are laid over; without it each row has to say everything itself.
        quick: one replication of a shorter run, at the smallest and the largest load of each sweep and draft length.
        jobs: processes; None for one per processor.
        progress: told of finished work.
        general: in place of calibrated profiles take those that they were fitted from.

    Raises:
        InputError: when not one arm can be simulated, or figures are faster than any device.
        KeyboardInterrupt: before any arm was simulated.
    """
    wanted = [_shorter(located) for located in _ends(rows)] if quick else list(rows)
    replications = 1 if quick else REPLICATIONS
    reasons, inputs = _prepared([located.row for located in wanted], scenario, general=general)
    if not inputs:
        raise InputError(
            Problem(where, "", "", f"no row can be simulated: {reason}") for reason in sorted(set(reasons.values()))
        )
    _refuse_impossible(wanted, inputs, where)
    runs = _run_all(inputs, replications, jobs or os.cpu_count() or 1, progress)
    missing = {
        (chosen, located.row.sweep): INTERRUPTED
        for located in wanted
        for chosen in _arms(located.row).values()
        if chosen in inputs and chosen not in runs
    }
    reasons |= missing
    return tuple(_compared(located, inputs, runs, reasons) for located in wanted)


def _ends(rows: Sequence[Located]) -> list[Located]:
    """The rows at the smallest and the largest load of their sweep and draft length."""
    loads: dict[tuple[str, int], list[float]] = {}
    for _, row in rows:
        loads.setdefault((row.sweep, row.num_draft_tokens), []).append(row.load)
    return [r for r in rows if r.row.load in (min(of := loads[r.row.sweep, r.row.num_draft_tokens]), max(of))]


def _shorter(located: Located) -> Located:
    """The same point with fewer requests; its ramp and tail then weigh more than in the benchmark."""
    least, per_load = QUICK_REQUESTS
    most = max(least, round(per_load * located.row.load))
    number = min(located.row.num_requests or most, most)
    return Located(located.line, located.row.model_copy(update={"num_requests": number}))


def _arms(row: Measurement) -> dict[bool, Arm]:
    """The runs that a row compares, by whether they speculate; one that has no figure is needed for the speedup."""
    speculating = row.num_draft_tokens > 0 and (row.with_speculation or row.speedup)
    plain = row.baseline or row.speedup
    return {which: arm(row, speculating=which) for which, needed in ((False, plain), (True, speculating)) if needed}


def _prepared(
    rows: Iterable[Measurement], scenario: str | None, *, general: bool
) -> tuple[dict[tuple[Arm, str], str], dict[Arm, Inputs]]:
    """(why an arm of a row cannot be simulated, the inputs of the arms that can be)."""
    failed: dict[Arm, str] = {}
    reasons: dict[tuple[Arm, str], str] = {}
    inputs: dict[Arm, Inputs] = {}
    for row in rows:
        for speculating, chosen in _arms(row).items():
            lacking = "" if scenario else left_out(row, speculating=speculating)
            if not lacking and chosen not in inputs and chosen not in failed:
                try:
                    inputs[chosen] = _checked(arm_inputs(scenario or BASE, chosen, general=general), chosen)
                except SpecsimError as error:
                    failed[chosen] = why_not(error)
            reason = lacking or failed.get(chosen, "")
            if reason:
                reasons[chosen, row.sweep] = reason
    return reasons, inputs


def _refuse_impossible(rows: Sequence[Located], inputs: dict[Arm, Inputs], where: str) -> None:
    fastest = {chosen: fastest_step(found) for chosen, found in inputs.items()}
    raise_if_any(
        problem
        for line, row in rows
        for speculating, chosen in _arms(row).items()
        if chosen in inputs
        for problem in impossible_figure(where, line, row, inputs[chosen], fastest[chosen], speculating=speculating)
    )


def _checked(inputs: Inputs, chosen: Arm) -> Inputs:
    """The inputs, unless one of the requests could never be served."""
    simulation, number = Simulation(inputs), inputs.scenario.workload.num_requests
    simulation.lengths_checked(number, chosen.num_draft_tokens, replication=0)
    return inputs


def _run_all(inputs: dict[Arm, Inputs], replications: int, jobs: int, progress: Progress) -> dict[Arm, ArmRuns]:
    """The longest start first, so that processes finish together."""
    ordered = sorted(inputs, key=lambda chosen: -_work(inputs[chosen], chosen))
    total = sum(_work(inputs[chosen], chosen) for chosen in ordered)
    given = [(inputs[chosen], chosen.num_draft_tokens, replications) for chosen in ordered]
    warm_up()  # or each process would compile for itself
    runs = {}
    try:
        for i, result in spread(run_arm, given, Workers(jobs=jobs)):
            runs[ordered[i]] = result
            progress(_work(inputs[ordered[i]], ordered[i]) / total)
    except KeyboardInterrupt:
        if not runs:
            raise
    return runs


def _work(inputs: Inputs, chosen: Arm) -> float:
    """Roughly proportional to an arm's wall time: its rounds, and the steps that hold them."""
    workload = inputs.scenario.workload
    output = workload.lengths.output_tokens if isinstance(workload.lengths, FixedLengths) else 1000
    batch = workload.load.concurrency if isinstance(workload.load, ClosedLoop) else 1
    return workload.num_requests * output / (1 + chosen.num_draft_tokens / 2) * (0.03 + 1 / batch)


def _compared(
    located: Located, inputs: dict[Arm, Inputs], runs: dict[Arm, ArmRuns], reasons: dict[tuple[Arm, str], str]
) -> Compared:
    line, row = located
    column = list(CLIENT_METRICS).index(row.metric)
    arms = _arms(row)
    ran = {which: chosen for which, chosen in arms.items() if (chosen, row.sweep) not in reasons}
    values = {which: runs[chosen].values[:, column] for which, chosen in ran.items()}
    none = [which for which, found in values.items() if not np.isfinite(found).all()]
    beyond = tuple((inputs[chosen], runs[chosen].beyond) for chosen in ran.values())
    why = [reasons[chosen, row.sweep] for chosen in arms.values() if (chosen, row.sweep) in reasons]
    if none:
        why.append(f"an output of one token has no {row.metric}")
        values = {which: found for which, found in values.items() if which not in none}
    return Compared(line, row, values.get(False), values.get(True), tuple(dict.fromkeys(why)), beyond)
