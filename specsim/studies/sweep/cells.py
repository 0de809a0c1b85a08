"""A cell of a sweep: what travels to the process that simulates it, and what comes back."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from specsim.analysis.intervals import Interval, mean_interval, paired_speedup_interval
from specsim.analysis.run_metrics import METRICS, THROUGHPUT, TPOT, Metric
from specsim.analysis.stability import Balance, Verdict, verdict
from specsim.arrays import Floats
from specsim.errors import SpecsimError
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.portable import Places, places_of, portable_inputs, portable_text
from specsim.inputs.read.scenario import Inputs
from specsim.provenance import code_version
from specsim.studies.simulate.run import LoadResult, simulate_load

TPOT_P50 = TPOT[0]


class Task(NamedTuple):
    """What travels to a worker.

    Attributes:
        text: everything the cell is a function of but code; of large files the content's hash.
        places: where those files are.
        code: that the result is to come from.
    """

    text: str
    places: Places
    code: str

    @property
    def key(self) -> str:
        """Names the result: cells with equal keys have the same."""
        return hashlib.sha256(f"{self.code}\n{self.text}".encode()).hexdigest()


def task_of(inputs: Inputs) -> Task:
    """The task that simulates the inputs by the code that runs here."""
    return Task(portable_text(inputs), places_of(inputs), code_version())


@dataclass(frozen=True)
class Arm:
    """What the runs of one arm of a cell yield.

    Attributes:
        values: [replications, len(METRICS)] in the metrics' units.
        steady_share: as of ``LoadResult``.
        balance: what each run says of whether the rate offered is served.
        open_loop: whether a rate was offered.
    """

    values: Floats
    steady_share: float | None
    balance: tuple[Balance, ...]
    open_loop: bool

    def column(self, metric: Metric) -> Floats:
        """The values of a metric [replications]."""
        return self.values[:, METRICS.index(metric)]

    @property
    def keeps_up(self) -> Verdict | None:
        """Whether the rate offered is served, as far as the runs show; None where none is offered."""
        return verdict(self.balance) if self.open_loop else None

    def interval(self, metric: Metric) -> Interval:
        """Its mean with a 95 % interval."""
        return mean_interval(self.column(metric))


@dataclass(frozen=True)
class CellResult:
    """What a cell yields.

    Attributes:
        arms: draft length (0: no speculation) → its runs.
        beyond: whether steps left the ranges that the figures used were measured over.
    """

    arms: dict[int, Arm]
    beyond: bool

    @property
    def num_draft_tokens(self) -> int:
        """Draft length of the speculating arm; 0 where there is none."""
        return max(self.arms)

    @property
    def open_loop(self) -> bool:
        """Whether a rate was offered: then latencies tell the arms apart, and throughput is what is offered."""
        return self.arms[0].open_loop

    def speedup(self) -> Interval | None:
        """Output tokens/s with speculation over without, same load, paired; None where nothing is drafted."""
        return self._ratio(THROUGHPUT, self.num_draft_tokens, 0)

    def latency_speedup(self) -> Interval | None:
        """Median TPOT without speculation over with, paired; None also where outputs have but one token."""
        found = self._ratio(TPOT_P50, 0, self.num_draft_tokens)
        return found if found and math.isfinite(found.estimate) else None

    def _ratio(self, metric: Metric, over: int, under: int) -> Interval | None:
        if not self.num_draft_tokens:
            return None
        return paired_speedup_interval(self.arms[over].column(metric), self.arms[under].column(metric))


class Failure(NamedTuple):
    """Why a cell has no result.

    Attributes:
        error: in words.
        lasting: whether it would fail again.
        stranger: whether it is the worker's: its code is another.
    """

    error: str
    lasting: bool = True
    stranger: bool = False


def run_cell(task: Task) -> str:
    """Simulate a cell, in whatever process; its result or its failure as JSON, see ``outcome_of``."""
    if code_version() != task.code:
        return _failed(Failure(f"a worker runs {code_version()}, not {task.code}", lasting=False, stranger=True))
    try:
        inputs = portable_inputs(task.text, task.places)
        result = simulate_load(inputs)
    except SpecsimError as error:
        return _failed(Failure("; ".join(map(str, error.problems))))
    except Exception as error:  # whatever it is, it is this cell's, and the others go on
        return _failed(Failure(f"{type(error).__name__}: {error}", lasting=False))
    if result.missing:
        raise KeyboardInterrupt
    return _text(result, not isinstance(inputs.scenario.workload.load, ClosedLoop))


def _failed(failure: Failure) -> str:
    return json.dumps({"failure": failure._asdict()}, sort_keys=True)


def _text(result: LoadResult, open_loop: bool) -> str:
    arms = {
        str(k): {
            "values": [[value if math.isfinite(value) else None for value in row] for row in values.tolist()],
            "steady_share": result.steady_share and result.steady_share[k],
            "balance": [[value if math.isfinite(value) else None for value in run] for run in result.balance[k]],
            "open_loop": open_loop,
        }
        for k, values in result.values.items()
    }
    return json.dumps({"arms": arms, "beyond": result.extrapolation is not None}, sort_keys=True)


def outcome_of(text: str) -> CellResult | Failure:
    """What a text of ``run_cell`` says."""
    data: dict[str, Any] = json.loads(text)
    if "failure" in data:
        return Failure(**data["failure"])
    arms = {
        int(k): Arm(
            np.array(arm["values"], np.float64),
            arm["steady_share"],
            tuple(Balance(*(math.nan if value is None else value for value in run)) for run in arm["balance"]),
            arm["open_loop"],
        )
        for k, arm in data["arms"].items()
    }
    return CellResult(arms, data["beyond"])
