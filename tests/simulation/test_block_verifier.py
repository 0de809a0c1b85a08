"""The closed form of a curve follows the verifier: blocks yield what the simulated rounds yield."""

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.studies.shared.points import Point, run_point

SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 200}",
    "curve={batches: [8], num_draft_tokens: [4], replications: 8, requests_per_slot: 6}",
)


def tokens(verifier, **changes):
    changes = [f"speculation.{key}={value}" for key, value in changes.items()]
    inputs = load_scenario("theory-h100-ideal", (*SHORT, f"speculation.verifier={verifier}", *changes))
    return tokens_per_verify(Simulation(inputs), 4), run_point(inputs, Point(8, 4)).acceptance_length


@pytest.mark.parametrize("concentration", [0.3, 3.0])
def test_blocks_yield_what_is_expected_of_them(concentration):
    expected, simulated = tokens("block", **{"acceptance.concentration": concentration})
    # 16,384 drafts put an error of 0.5 % at most on what is expected
    error = np.hypot(0.005 / 4 * expected, simulated.std(ddof=1) / np.sqrt(len(simulated)))
    assert abs(simulated.mean() - expected) < 4 * error


def test_blocks_yield_more_than_token_by_token_and_the_more_the_evener_the_shapes():
    token, _ = tokens("token")
    found = [tokens("block", **{"acceptance.concentration": concentration})[0] for concentration in (0.3, 1.0, 10.0)]
    assert [token, *found] == sorted([token, *found])


@pytest.mark.slow
def test_at_temperature_zero_the_verifier_named_makes_no_difference():
    (expected, simulated), (again, simulated_again) = (tokens(rule, temperature=0) for rule in ("token", "block"))
    assert expected == again
    np.testing.assert_array_equal(simulated, simulated_again)
