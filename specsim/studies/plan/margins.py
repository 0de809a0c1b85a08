"""Margins of a run against limits of latency percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from specsim.analysis.latencies import chunk_gaps, e2e, tallied_itl_percentile, tpot, ttft
from specsim.analysis.steady import Window, sent_within, steady_window
from specsim.arrays import Floats
from specsim.inputs.models.plan import Limit
from specsim.records import RunRecords

FEWEST = 50  # requests in the steady window; with fewer, a percentile says nothing


def percentiles_of(run: RunRecords, limits: Sequence[Limit], window: Window | None) -> Floats:
    """The percentile of each limit, over requests sent within a window, all by default, float64 [limits] [s].

    NaN where no request has such a latency. Percentiles of ITL are of the chunks of these requests, or of all chunks
    where rounds are only counted, as in long runs.

    Raises:
        ValueError: the run has neither rounds nor a tally of them.
    """
    chosen = np.ones(len(run.requests.finish), np.bool_) if window is None else sent_within(run.requests, window)
    values: dict[str, Floats] = {}
    found = []
    for limit in limits:
        if limit.latency == "itl" and run.tally is not None:
            found.append(tallied_itl_percentile(run.tally, limit.percentile))
            continue
        if limit.latency not in values:
            known = _latencies(run, limit.latency, chosen)
            values[limit.latency] = known[~np.isnan(known)]
        known = values[limit.latency]
        found.append(float(np.percentile(known, limit.percentile)) if known.size else np.nan)
    return np.array(found)


def steady_percentiles(run: RunRecords, limits: Sequence[Limit]) -> Floats | None:
    """Percentiles of the steady window [limits] [s]; None if it has fewer than FEWEST requests, as in overload."""
    window = steady_window(run.requests)
    if window is None or sent_within(run.requests, window).sum() < FEWEST:
        return None
    return percentiles_of(run, limits, window)


def log_margins(percentiles: Floats, limits: Sequence[Limit]) -> Floats:
    """Logarithm of each percentile [limits] [s] over its limit [limits]; −∞ for a latency that no request has."""
    ratios = np.log(percentiles / np.array([limit.seconds for limit in limits]))
    return np.where(np.isnan(ratios), -np.inf, ratios)


def _latencies(run: RunRecords, latency: str, chosen: NDArray[np.bool_]) -> Floats:
    match latency:
        case "ttft":
            return ttft(run.requests)[chosen]
        case "tpot":
            return tpot(run.requests)[chosen]
        case "e2e":
            return e2e(run.requests)[chosen]
        case _:
            return _gaps(run, chosen)


def _gaps(run: RunRecords, chosen: NDArray[np.bool_]) -> Floats:
    """Times between chunks of the requests chosen [s]."""
    if run.rounds is None:
        raise ValueError("records without rounds come with their tally")
    of_them = chosen[run.rounds.request]
    rounds = replace(run.rounds, **{f.name: getattr(run.rounds, f.name)[of_them] for f in fields(run.rounds)})
    return chunk_gaps(run.steps, rounds)[0]
