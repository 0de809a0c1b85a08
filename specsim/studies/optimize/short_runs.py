"""Settings measured roughly: by short runs of few seeds, which are not those of a plan.

Runs are those of `measure_arm` with a wider width. They rank settings by mean rates, since a bound of three seeds is
mostly noise; all settings use the same requests and random numbers, so their sampling error cancels in the ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from specsim.errors import InfeasibleError
from specsim.inputs.models.plan import Plan, planned_policy
from specsim.inputs.models.policy import Policy, StaticPolicy
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.expected import LENGTH_SAMPLE
from specsim.simulation.replica import Simulation
from specsim.studies.curve.run import simulate_curve
from specsim.studies.decide.run import as_they_run
from specsim.studies.decide.schedules import schedule_of
from specsim.studies.optimize.optimum import Trial
from specsim.studies.optimize.space import Settings, changed
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.result import ArmResult
from specsim.studies.plan.run import measure_arm
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.points import Progress

OTHER_SEED = 2**32  # above the scenario's: one that no scenario uses
WIDTH, SEEDS, REQUESTS = 0.1, 3, (1000, 4000)  # of a short plan: rates in steps of a thirtieth, at least and at most
CURVE_BATCHES, CURVE_REPLICATIONS = 8, 3  # of the curve that a schedule comes from, at most

Key = tuple[int, int, int, str]


class ShortRuns:
    """Measures settings, each policy on the same devices and limits once.

    Args:
        inputs: the scenario and what it refers to.
        draft_lengths: that schedules are made of.
        jobs: processes; None for one per processor.

    Attributes:
        trials: measured so far, in the order in which they were asked for.
    """

    def __init__(self, inputs: Inputs, draft_lengths: tuple[int, ...], jobs: int | None) -> None:
        self._inputs, self._lengths, self._jobs = _roughly(inputs, draft_lengths), draft_lengths, jobs
        lengths = Simulation(inputs).lengths(LENGTH_SAMPLE, replication=0)
        self._tokens = float(lengths.output.mean())
        self._tables: dict[int, Policy | str | None] = {}
        self._measured: dict[Key, ArmResult | str] = {}
        self._asked: list[Settings] = []

    @property
    def trials(self) -> tuple[Trial, ...]:
        """See the class."""
        found = ((settings, self._known(settings)) for settings in self._asked)
        return tuple(self._trial(settings, result) for settings, result in found if result is not None)

    def arm(self, settings: Settings) -> Arm | str:
        """How settings draft, or why they cannot; a schedule's table is derived when it is first asked for.

        Raises:
            KeyboardInterrupt: when that was interrupted.
        """
        if settings.policy == "none":
            return Arm(None)
        if settings.policy != "schedule":
            return Arm(planned_policy(settings.policy, settings.num_draft_tokens))
        group = settings.tensor_parallel
        if group not in self._tables:
            self._tables[group] = self._table(group)
        found = self._tables[group]
        return found if isinstance(found, str) else Arm(found)

    def _table(self, group: int) -> Policy | str | None:
        """What the curve of this number of devices gives; one length for all batches is no table, but that length."""
        engine = self._inputs.engine
        own = Settings(group, engine.max_num_seqs, engine.max_num_batched_tokens, "schedule", 0)
        inputs = replace(changed(self._inputs, own, StaticPolicy(num_draft_tokens=self._lengths[-1])), engine=engine)
        try:
            curve = simulate_curve(inputs, jobs=self._jobs)
        except InfeasibleError as error:
            return f"TP {group}: {'; '.join(problem.remedy for problem in error.problems)}"
        if curve.interrupted:
            raise KeyboardInterrupt
        schedule = schedule_of(*as_they_run(curve), self._lengths)
        if len(schedule.rows) > 1:
            return schedule
        length = schedule.rows[0].num_draft_tokens
        return StaticPolicy(num_draft_tokens=length) if length else None

    def measure(self, batch: Sequence[Settings], progress: Progress = lambda share: None) -> dict[Settings, float]:
        """Settings → their cost, as of ``Trial.gpu_seconds``.

        Args:
            batch: which to measure.
            progress: told of the share of the batch that is finished.
        """
        todo: dict[Key, tuple[Inputs, Arm]] = {}
        for settings in batch:
            arm = self.arm(settings)
            self._asked.append(settings)
            key = self._key(settings)
            if isinstance(arm, str):
                self._measured[key] = arm
            elif key not in self._measured:
                todo[key] = changed(self._inputs, settings, arm.policy), arm
        keys = list(todo)
        for i, result in spread(measure_or_say, list(todo.values()), Workers(jobs=self._jobs)):
            self._measured[keys[i]] = result
            progress(1 / len(todo))
        return {settings: self._trial(settings, self._measured[self._key(settings)]).gpu_seconds for settings in batch}

    def _key(self, settings: Settings) -> Key:
        arm = self.arm(settings)
        how = arm if isinstance(arm, str) else arm.policy.model_dump_json() if arm.policy else ""
        return (*settings[:3], how)

    def _known(self, settings: Settings) -> ArmResult | str | None:
        return self._measured.get(self._key(settings))

    def _trial(self, settings: Settings, found: ArmResult | str) -> Trial:
        devices = settings.tensor_parallel * self._inputs.scenario.deployment.pipeline_parallel
        if isinstance(found, str):
            return Trial(settings, Arm(None), devices, None, self._tokens, found)
        return Trial(settings, found.arm, devices, found, self._tokens)


def measure_or_say(inputs: Inputs, arm: Arm) -> ArmResult | str:
    """``measure_arm``, or why a request could never be served."""
    try:
        return measure_arm(inputs, arm)
    except InfeasibleError as error:
        return "; ".join(problem.remedy for problem in error.problems)


def _roughly(inputs: Inputs, draft_lengths: Iterable[int]) -> Inputs:
    """The scenario under another seed, with a short plan and a short curve."""
    scenario, (least, most) = inputs.scenario, REQUESTS
    plan, curve = scenario.plan or Plan(), scenario.curve
    short_plan = plan.model_copy(
        update={
            "width": max(plan.width, WIDTH),
            "seeds": min(plan.seeds, SEEDS),
            "min_requests": min(plan.min_requests, least),
            "most_requests": min(plan.most_requests, most),
        }
    )
    places = np.linspace(0, len(curve.batches) - 1, min(CURVE_BATCHES, len(curve.batches))).round().astype(int)
    short_curve = curve.model_copy(
        update={
            "batches": tuple(curve.batches[place] for place in places),
            "replications": min(curve.replications, CURVE_REPLICATIONS),
            "num_draft_tokens": tuple(draft_lengths),
        }
    )
    changes = {"seed": scenario.seed + OTHER_SEED, "plan": short_plan, "curve": short_curve}
    return replace(inputs, scenario=scenario.model_copy(update=changes))
