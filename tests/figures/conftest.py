"""Curves of known shape, as the planner would hand them over."""

import numpy as np
import pandas as pd
import pytest

from specsim.analysis.crossings import find_crossings
from specsim.analysis.intervals import mean_band
from specsim.figures.curve import curve_figure

BATCHES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])
SHAPES = {
    "none": 2.0 - 0.1 * np.arange(9),
    "one": 2.2 - 0.2 * np.arange(9),
    "several": 1.05 + 0.5 * np.sin(np.arange(9) * 1.3),
}


def rows_of(num_draft_tokens, throughput, speedup, replications, rng):
    """Table rows of one draft length, and the speedups [replications, batches] behind them."""
    noisy = speedup * np.exp(0.01 * rng.normal(size=(replications, BATCHES.size)))
    columns = {"batch": BATCHES, "num_draft_tokens": num_draft_tokens, "closed_form_speedup": np.nan}
    for name, values in (("tokens_per_s", throughput * noisy), ("speedup", noisy)):
        mean, half = mean_band(values)
        columns |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
    return pd.DataFrame(columns), noisy


def make_curve(shape, replications=5, free_verify_batch=73, running_limit=None):
    rng = np.random.default_rng(3)
    throughput = 100.0 * BATCHES / (1 + BATCHES / 64)
    without, _ = rows_of(0, throughput, np.ones(9), replications, rng)
    short, _ = rows_of(1, throughput, 1 + (SHAPES[shape] - 1) / 2, replications, rng)
    long, speedups = rows_of(3, throughput, SHAPES[shape], replications, rng)
    long["closed_form_speedup"] = 2.2
    return curve_figure(
        pd.concat([without, short, long]),
        title="a title",
        subtitle="a subtitle",
        highlight=3,
        crossings=find_crossings(BATCHES, speedups),
        free_verify_batch=free_verify_batch,
        running_limit=running_limit,
    )


@pytest.fixture
def draw():
    return make_curve


@pytest.fixture(params=SHAPES)
def shape(request) -> str:
    return request.param
