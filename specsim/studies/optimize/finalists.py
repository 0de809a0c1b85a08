"""The best of a search and the scenario as it stands, measured as a plan measures its arms: with its own seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from specsim.inputs.read.scenario import Inputs
from specsim.studies.optimize.optimum import Finalist
from specsim.studies.optimize.short_runs import measure_or_say
from specsim.studies.optimize.space import Settings, changed
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.result import ArmResult
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.points import Progress


class Candidate(NamedTuple):
    """What is to be measured.

    Attributes:
        settings: the combination; None for the scenario as it stands.
        arm: how it drafts.
        inputs: the scenario with these settings.
        as_it_stands: whether these are its own.
    """

    settings: Settings | None
    arm: Arm
    inputs: Inputs
    as_it_stands: bool


class Measured(NamedTuple):
    """What came of candidates.

    Attributes:
        finalists: the cheapest at mean rates first; the scenario as it stands last, where it is none of the
            combinations.
        own_reason: why the scenario as it stands could not be measured; empty where it was, or was not asked for.
        interrupted: whether some are missing.
    """

    finalists: tuple[Finalist, ...]
    own_reason: str
    interrupted: bool


def candidates(inputs: Inputs, arms: Mapping[Settings, Arm]) -> list[Candidate]:
    """Settings with their arms, of those that come to the same the first; and the scenario as it stands, last."""
    policy = inputs.scenario.speculation.policy
    own = Arm(policy if policy.num_draft_tokens else None)
    found: list[Candidate] = []
    for settings, arm in arms.items():
        variant = changed(inputs, settings, arm.policy)
        at = (arm, variant.scenario.deployment, variant.engine)
        stands = at == (own, inputs.scenario.deployment, inputs.engine)
        if all(at != (one.arm, one.inputs.scenario.deployment, one.inputs.engine) for one in found):
            found.append(Candidate(settings, arm, variant, stands))
    if not any(one.as_it_stands for one in found):
        found.append(Candidate(None, own, inputs, True))
    return found


def measure(chosen: Sequence[Candidate], jobs: int | None, progress: Progress) -> Measured:
    """Measure candidates; an interruption leaves those that are finished."""
    found: dict[int, ArmResult | str] = {}
    try:
        for i, result in spread(measure_or_say, [(one.inputs, one.arm) for one in chosen], Workers(jobs=jobs)):
            found[i] = result
            progress(1 / len(chosen))
    except KeyboardInterrupt:
        pass
    finalists = [
        Finalist(one.settings, one.arm, one.inputs, known, one.as_it_stands)
        for i, one in enumerate(chosen)
        if isinstance(known := found.get(i), ArmResult)
    ]
    reasons = [why for i, one in enumerate(chosen) if one.as_it_stands and isinstance(why := found.get(i), str)]
    return Measured(tuple(sorted(finalists, key=_order)), "".join(reasons), len(found) < len(chosen))


def _order(one: Finalist) -> tuple[bool, float, bool, int]:
    """The cheapest first; of equals what is there already, then what is simplest to run."""
    kinds = {"none": 0, "static": 1}
    kind = one.settings.policy if one.settings else "static"
    return one.settings is None, one.mean_gpu_seconds, not one.as_it_stands, kinds.get(kind, 2)
