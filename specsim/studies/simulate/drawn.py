"""What the figure of a load shows of its first runs."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from specsim.analysis.latencies import tpot, ttft
from specsim.arrays import Floats
from specsim.inputs.models.plan import Plan, limits_of
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.reporting.deployment import subtitle
from specsim.reporting.wording import policy_words
from specsim.studies.simulate.figure import MARKS, DrawnRun, load_figure
from specsim.studies.simulate.run import LoadResult


def drawn_load(inputs: Inputs, result: LoadResult, title: str) -> Figure:
    """Replication 0 of both arms."""
    scenario, k = inputs.scenario, result.num_draft_tokens
    names = {k: policy_words(scenario)} | {0: "no speculation"}
    limits: dict[str, list[tuple[float, float]]] = {}
    for limit in limits_of(scenario.plan or Plan(), scenario.slo):
        limits.setdefault(limit.latency, []).append((limit.percentile, limit.seconds))
    return load_figure(
        [_drawn(names[arm], run) for arm, run in result.records.items()],
        limits,
        title=title,
        subtitle=f"{subtitle(inputs)}; first run of each arm, whole",
    )


def _drawn(name: str, run: RunRecords) -> DrawnRun:
    requests = run.requests
    times = np.linspace(0.0, float(requests.finish.max()), MARKS)
    sent, taken, done = (_before(at, times) for at in (requests.arrival, requests.admitted, requests.finish))
    per_token = tpot(requests)
    return DrawnRun(name, ttft(requests), per_token[np.isfinite(per_token)], times, taken - done, sent - taken)


def _before(at: Floats, times: Floats) -> Floats:
    """How many of what happens ``at`` has happened by each of ``times``."""
    return np.searchsorted(np.sort(at), times, side="right").astype(np.float64)
