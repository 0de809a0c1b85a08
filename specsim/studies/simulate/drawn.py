"""What the figure of a load shows of its first runs."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from specsim.analysis.latencies import tpot, ttft
from specsim.analysis.steady import sent_within, steady_window
from specsim.arrays import Floats
from specsim.inputs.models.plan import Plan, limits_of
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.reporting.deployment import subtitle
from specsim.reporting.wording import policy_words
from specsim.studies.simulate.figure import MARKS, DrawnRun, load_figure
from specsim.studies.simulate.run import LoadResult


def drawn_load(inputs: Inputs, result: LoadResult, title: str) -> Figure:
    """Replication 0 of both arms; latencies of the requests that tables count."""
    scenario, k = inputs.scenario, result.num_draft_tokens
    names = {k: policy_words(scenario)} | {0: "no speculation"}
    limits: dict[str, list[tuple[float, float]]] = {}
    for limit in limits_of(scenario.plan or Plan(), scenario.slo):
        limits.setdefault(limit.latency, []).append((limit.percentile, limit.seconds))
    steady = result.steady_share is not None
    return load_figure(
        [_drawn(names[arm], run, steady=steady) for arm, run in result.records.items()],
        limits,
        title=title,
        subtitle=f"{subtitle(inputs)}; first run of each arm, latencies of {'the steady window' if steady else 'all'}",
    )


def _drawn(name: str, run: RunRecords, *, steady: bool) -> DrawnRun:
    requests, window = run.requests, steady_window(run.requests) if steady else None
    counted = np.ones(len(requests.arrival), bool) if window is None else sent_within(requests, window)
    times = np.linspace(0.0, float(requests.finish.max()), MARKS)
    sent, taken, done = (_before(at, times) for at in (requests.arrival, requests.admitted, requests.finish))
    per_token = tpot(requests)[counted]
    first = ttft(requests)[counted]
    return DrawnRun(name, first, per_token[np.isfinite(per_token)], times, taken - done, sent - taken)


def _before(at: Floats, times: Floats) -> Floats:
    """How many of what happens ``at`` has happened by each of ``times``."""
    return np.searchsorted(np.sort(at), times, side="right").astype(np.float64)
