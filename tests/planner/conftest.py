"""A curve small enough for every test, with a crossing inside."""

import pytest

from specsim.planner.curve import CurveResult, simulate_curve
from specsim.schema.load import Inputs, load_scenario

TINY = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 12}",
    "curve={batches: [8, 64, 512], num_draft_tokens: [1, 4], replications: 3, requests_per_slot: 3}",
)


@pytest.fixture(scope="session")
def tiny() -> Inputs:
    return load_scenario("theory-h100-ideal", TINY)


@pytest.fixture(scope="session")
def curve(tiny) -> CurveResult:
    return simulate_curve(tiny, jobs=1)
