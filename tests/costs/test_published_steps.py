"""Validation: the published vLLM step times of Llama-3.1-8B on an H100, by batch and EAGLE draft length.

Contexts are not stated with the table; 150 to 300 tokens are plausible, and every one of them has to do. The host times
of the engine profile were read off this very table, so this checks the sum, not a prediction. Errors seen: median 2.2
to 3.8 %, worst 5.6 to 10.3 % (batch 64 without drafts), all on the low side.
"""

import numpy as np
import pytest

from specsim.planner.expected import decode_step
from specsim.schema.load import load_scenario
from specsim.simulation import Simulation

MEASURED_MS = {
    (1, 0): 6.87,
    (16, 0): 7.30,
    (32, 0): 7.64,
    (64, 0): 8.53,
    (1, 3): 9.41,
    (16, 3): 9.95,
    (32, 3): 10.78,
    (64, 3): 13.16,
}
# most of a step is matrix products, and their profile states a 90th-percentile error of 12.7 % for this stack
WORST = 0.127
# authors of such tables state 5 % between jobs
MEDIAN = 0.05


@pytest.fixture(scope="module")
def simulation():
    drafter = "speculation.drafter={kind: eagle, generation: eagle, model: eagle-llama-3.1-8b}"
    acceptance = "speculation.acceptance={kind: constant, overlap: 0.6}"
    return Simulation(load_scenario("llama3.1-8b-h100-eagle3", [drafter, acceptance]))


@pytest.mark.parametrize("context", [150, 200, 300])
def test_step_times_are_within_the_profiles_stated_error(simulation, context):
    modelled = [1e3 * decode_step(simulation, batch, k, context).seconds for batch, k in MEASURED_MS]
    errors = np.abs(np.array(modelled) / np.array(list(MEASURED_MS.values())) - 1)
    assert errors.max() < WORST
    assert np.median(errors) < MEDIAN
