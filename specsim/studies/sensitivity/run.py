"""How far the break-even moves when one input is off: a curve per change, same batches and random numbers."""

from __future__ import annotations

from dataclasses import replace

from specsim.analysis.intervals import paired_speedup_interval
from specsim.errors import invalid
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.read.scenario import Inputs
from specsim.studies.curve.run import CurveResult, simulate_curve
from specsim.studies.sensitivity.changes import CHANGEABLE, changed
from specsim.studies.sensitivity.shifts import Outcome, SensitivityResult, Shift
from specsim.studies.shared.points import Point, Progress

SLOPES = (1.5, 3.0)
"""Percent of the break-even for each percent of an input, at which all curves have a batch on either side.

Most inputs move it by about their own share at the most, since costs are sums of parts, and acceptance, which costs
nothing, by about three times its share; so most ends lie between batches that are near to them.
"""

CHANGES = (0.01, 0.9)
"""The least share that inputs are changed by, and the most."""


def check_change(change: float) -> None:
    """Refuse a change that is none, or that leaves next to nothing of an input.

    Raises:
        InputError: when it is no number within the limits.
    """
    least, most = CHANGES
    if not least <= change <= most:  # nan is neither
        remedy = f"must be a share from {least:g} to {most:g} of each input; write 0.1 for 10 % lower and higher"
        raise invalid("--change", "", change, remedy)


def simulate_sensitivity(
    inputs: Inputs,
    change: float,
    *,
    jobs: int | None = None,
    progress: Progress = lambda share: None,
) -> SensitivityResult:
    """The curve of the policy's (longest) draft as the scenario stands, and with each input lower and higher by itself.

    An interruption (Ctrl-C) ends it; the inputs finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to.
        change: share by which each input is lower and higher, above 0 and below 1.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InputError: when the policy never drafts.
        InfeasibleError: when some request could never be served.
        KeyboardInterrupt: before the first input was finished.
    """
    num_draft_tokens = inputs.scenario.speculation.policy.num_draft_tokens
    if num_draft_tokens == 0:
        where = str(inputs.files["scenario"])
        raise invalid(
            where, "speculation.policy.num_draft_tokens", 0, "drafts nothing; write how many tokens it drafts"
        )
    alone = _alone(inputs, num_draft_tokens)
    fixed = {part.name: reason for part in CHANGEABLE if (reason := part.why_not(alone))}
    varied = [part for part in CHANGEABLE if part.name not in fixed]
    share = 1 / (2 + 2 * len(varied))

    def curve_of(one: Inputs, *, refine: bool = False) -> CurveResult:
        found = simulate_curve(one, jobs=jobs, progress=lambda done: progress(share * done), refine=refine)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def outcome_of(one: Inputs) -> Outcome:
        return _outcome(curve_of(one), num_draft_tokens)

    shared = _at_batches(alone, _shared_batches(curve_of(alone, refine=True), num_draft_tokens, change))
    base = curve_of(shared)
    shifts: dict[str, Shift] = {}
    try:
        for part in varied:
            lower, higher = (outcome_of(changed(shared, part, factor)) for factor in (1 - change, 1 + change))
            shifts[part.name] = Shift(part.name, lower, higher)
    except KeyboardInterrupt:
        if not shifts:
            raise
    return SensitivityResult(
        num_draft_tokens=num_draft_tokens,
        change=change,
        batches=base.batches,
        base=_outcome(base, num_draft_tokens),
        shifts=tuple(shifts.values()),
        fixed=fixed,
        missing=tuple(part.name for part in varied if part.name not in shifts),
        extrapolation=base.extrapolation,
        run_lengths=base.run_lengths,
    )


def _alone(inputs: Inputs, num_draft_tokens: int) -> Inputs:
    scenario = inputs.scenario
    policy = StaticPolicy(num_draft_tokens=num_draft_tokens)
    update = {
        "speculation": scenario.speculation.model_copy(update={"policy": policy}),
        "curve": scenario.curve.model_copy(update={"num_draft_tokens": (num_draft_tokens,)}),
    }
    return replace(inputs, scenario=scenario.model_copy(update=update))


def _shared_batches(curve: CurveResult, num_draft_tokens: int, change: float) -> tuple[int, ...]:
    """Batches at which all are compared: those of the grid that run at once, and more around the break-even.

    Were each curve refined at its own crossing, ends would differ by the sampling error of different batches as well.

    Args:
        curve: of the scenario as it stands, with batches right at its crossings.
        num_draft_tokens: whose break-even it is.
        change: by which share inputs are lower and higher.
    """
    stops = _outcome(curve, num_draft_tokens).break_even
    if stops is None:
        return curve.averaged
    powers = [sign * slope for slope in SLOPES for sign in (-1, 1)]
    around = {round(stops.batch * (1 + change) ** power) for power in powers}
    within = {batch for batch in around if curve.running[0] < batch < curve.running[-1]}
    return tuple(sorted({*curve.running, *within}))


def _at_batches(inputs: Inputs, batches: tuple[int, ...]) -> Inputs:
    scenario = inputs.scenario
    curve = scenario.curve.model_copy(update={"batches": batches})
    return replace(inputs, scenario=scenario.model_copy(update={"curve": curve}))


def _outcome(curve: CurveResult, num_draft_tokens: int) -> Outcome:
    largest = curve.batches[-1]
    drafted, plain = (curve.throughputs[Point(largest, k)] for k in (num_draft_tokens, 0))
    return Outcome(curve.crossings[num_draft_tokens], paired_speedup_interval(drafted, plain))
