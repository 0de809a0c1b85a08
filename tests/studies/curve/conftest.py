"""Curves of known shape, as the planner would hand them over."""

import numpy as np
import pandas as pd
import pytest

from specsim.analysis.crossings import find_crossings
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import CurveResult

BATCHES = (1, 4, 16, 64, 256)
K = 3


def curve_of(speedups, running=None, batches=BATCHES, spread=0.001, free=67, notes=()):
    """A curve of one draft length with the given speedups, each replicated three times within ``spread``."""
    speedups, running = np.asarray(speedups, dtype=float), running or batches
    replications = speedups * np.exp(spread * np.array([[-1], [0], [1]]))
    rows = []
    for i, batch in enumerate(batches):
        for k, speedup in ((0, 1.0), (K, speedups[i])):
            row = {"batch": batch, "num_draft_tokens": k, "tokens_per_s": 100.0 * speedup, "speedup": speedup}
            low, high = speedup * (1 - 3 * spread), speedup * (1 + 3 * spread)
            limit = "KV cache" if running[i] < 0.98 * batch else ""
            row |= {"mean_running_batch": running[i], "limit": limit}
            rows.append(row | {"speedup_low": low, "speedup_high": high})
    found = {K: find_crossings(batches, replications)}
    return CurveResult(tuple(batches), pd.DataFrame(rows), pd.DataFrame(), found, {K: free}, notes)


@pytest.fixture(scope="session")
def curve():
    return curve_of


@pytest.fixture(scope="session")
def scenario():
    """The demo's scenario on the curve's grid."""

    def make(*overrides, batches=BATCHES):
        grid = [f"curve.batches={list(batches)}", f"curve.num_draft_tokens=[{K}]"]
        return load_scenario("llama3.1-8b-h100-eagle3", [*grid, *overrides]).scenario

    return make
