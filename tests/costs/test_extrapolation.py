"""What leaves the shapes that a device's figures were fitted to, and that saying so moves no price."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.metrics import reach
from specsim.costs.extrapolation import BeyondDevice, beyond_device, beyond_profile
from specsim.costs.shapes import target_shape
from specsim.forward import Reach
from specsim.inputs.measured.operator_tables import SYSTEMS
from specsim.inputs.models.engine import CalibratedRange, Kernels
from specsim.inputs.models.hardware import MeasuredRange
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario, read_device, read_model
from specsim.records import PARTS, StepRecords
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.calibrate.replay import record

DEMO = "llama3.1-8b-h100-eagle3"


RANGE = MeasuredRange(
    linear_rows=1025, linear_weights="32 MB", more_rows_error=0.05, smaller_weights_error={"8 MB": 0.2, "32 MB": 0.1}
)


@pytest.mark.parametrize("name", catalogue.names("device"))
def test_every_device_says_what_its_figures_were_fitted_to(name):
    """Rows up to 1025 in all tables used; weights from 32 MB, on the L40S from 100 MB beside its L2 cache of 96.

    Errors beyond are known of devices with operator tables, and of those that carry these devices' figures.
    """
    found = read_device(name).measured_range
    known = name in (*SYSTEMS, "a100-sxm-40gb", "gh200", "h100-pcie", "h20", "b300")
    assert found.linear_rows == 1025
    assert found.linear_weights in ((32e6,) if known else (32e6, 100e6))
    assert (found.more_rows_error is not None) == known
    assert (found.smaller_weights_error is not None) == known


def test_rows_beyond_the_measured_ones_count_by_time_and_error(llama_8b):
    """Llama-8B's smallest matrix has 4096 x 4096 numbers, 33.6 MB, so only rows can leave the range."""
    shapes = [target_shape(llama_8b)]
    assert beyond_device(RANGE, shapes, Reach(1025, 1, 1)) is None
    half = Reach(1026, 1, 1, beyond_device=0.5)
    assert beyond_device(RANGE, shapes, half) == BeyondDevice(rows=0.5, rows_effect=0.025)
    assert beyond_device(RANGE, shapes, half._replace(beyond_device=0.49)) is None, "it moves times by less than 2.5 %"


def test_matrices_smaller_than_measured(llama_8b):
    """On two devices each holds half: of a layer, 16.8 MB of the output and 25.2 of the projections are too small."""
    small = 32 * (4096 * 2048 + 4096 * 3072)
    share = small / (small + 32 * 3 * 4096 * 7168 + 4096 * 64128)
    within = Reach(1, 1, 1)
    assert beyond_device(RANGE, [target_shape(llama_8b, 2)], within) is None, "a tenth of 15 % of the weights"
    worse = RANGE.model_copy(update={"smaller_weights_error": {16e6: 0.9, 32e6: 0.5}})
    found = beyond_device(worse, [target_shape(llama_8b, 2)], within)
    assert found == pytest.approx((0, 0, share, 0.5 * share), rel=1e-12)


def test_of_a_mixture_each_experts_matrix_counts_as_itself():
    """An expert's 768 x 2048 numbers are 3.1 MB, below 8 MB as the router's are."""
    found = beyond_device(RANGE, [target_shape(read_model("qwen3-30b-a3b"))], Reach(1, 1, 1))
    assert 0.9 < found.small < 1
    assert 0.9 * 0.2 < found.small_effect < found.small * 0.2


def test_an_error_that_nobody_measured_is_taken_for_a_quarter(llama_8b):
    silent = MeasuredRange(linear_rows=8, linear_weights="32 MB")
    assert beyond_device(silent, [target_shape(llama_8b)], Reach(9, 1, 1, beyond_device=0.1)).rows_effect == 0.025
    assert beyond_device(silent, [target_shape(llama_8b)], Reach(9, 1, 1, beyond_device=0.09)) is None
    found = beyond_device(silent, [target_shape(llama_8b, 2)], Reach(1, 1, 1))
    assert found.small_effect == pytest.approx(found.small / 4)


def test_a_device_that_states_no_range_is_not_warned_of(llama_8b):
    assert beyond_device(None, [target_shape(llama_8b, 2)], Reach(10**6, 1, 1)) is None
    rows_only = MeasuredRange(linear_rows=8)
    assert beyond_device(rows_only, [target_shape(llama_8b, 2)], Reach(8, 1, 1)) is None
    assert beyond_device(rows_only, [target_shape(llama_8b, 2)], Reach(9, 1, 1)).rows == 1.0


def test_no_range_binds_the_ideal_device_or_an_engines_own_figures():
    inputs, many = load_scenario(DEMO), Reach(5000, 1, 1)
    assert Simulation(inputs).extrapolation(many).device.rows == 1.0
    assert Simulation(load_scenario(DEMO, ["deployment.ideal=true"])).extrapolation(many) is None
    own = Kernels.model_validate({"linear": {"launch": "4 us"}})
    calibrated = inputs.engine.model_copy(update={"kernels": own})
    assert Simulation(replace(inputs, engine=calibrated)).extrapolation(many) is None


def fitted_to(engine, **measured):
    return engine.model_copy(update={"measured_range": CalibratedRange(**measured)})


@pytest.mark.parametrize("farther", list(CalibratedRange.model_fields))
def test_steps_beyond_those_that_a_profile_was_fitted_to(farther):
    inputs = load_scenario(DEMO)
    within = Reach(64, 16, 9000)
    assert beyond_profile(inputs.engine, Reach(10**9, 10**9, 10**9)) is None, "it states no range"
    engine = fitted_to(inputs.engine, step_tokens=64, requests=16, context_tokens=9000)
    assert beyond_profile(engine, within) is None
    beyond = within._replace(**{farther: getattr(within, farther) + 1})
    assert beyond_profile(engine, beyond) == beyond
    assert beyond_profile(engine, beyond._replace(beyond_profile=0.09)) is None, (
        "of a tenth of the time nothing is said"
    )
    simulation = Simulation(replace(inputs, engine=engine))
    assert simulation.extrapolation(within) is None
    assert simulation.extrapolation(beyond) == (None, beyond)


def test_a_calibrated_profile_binds_though_it_brings_its_own_figures():
    inputs = load_scenario(DEMO)
    own = inputs.engine.model_copy(update={"kernels": Kernels.model_validate({"linear": {"launch": "4 us"}})})
    found = Simulation(replace(inputs, engine=fitted_to(own, step_tokens=8, requests=8, context_tokens=800)))
    assert found.extrapolation(Reach(5000, 1, 1)) == (None, Reach(5000, 1, 1))


def test_the_reach_of_a_run_is_that_of_its_passes():
    """What the engine prices, step by step."""
    simulation = Simulation(load_scenario(DEMO))
    run = record(simulation, 3)
    passes = [work.target for work in run.kinds]
    found = reach(run.records.steps)
    assert found.step_tokens == max(work.tokens for work in passes)
    assert found.context_tokens == max(work.context_tokens for work in passes)
    assert found.requests == max(work.sequences for work in passes)


def test_the_time_beyond_is_that_of_the_steps_beyond():
    """Of steps of 1, 2 and 4 s with 10, 20 and 30 tokens 4 of 7 s have more than 20, and 6 more than 10."""
    seconds = np.array([1.0, 2.0, 4.0])
    end, zeros = np.cumsum(seconds), np.zeros(3, np.int64)
    running, contexts = np.array([1, 2, 1]), np.array([5, 5, 5])
    steps = StepRecords(
        end - seconds, end, np.zeros((3, len(PARTS))), np.array([10, 20, 30]), zeros, zeros, running, zeros, zeros,
        contexts, zeros,
    )  # fmt: skip
    assert reach(steps) == Reach(30, 2, 5, 0.0, 0.0)
    assert reach(steps, 20) == Reach(30, 2, 5, 4 / 7, 0.0)
    assert reach(steps, 30, Reach(10, 1, 5)) == Reach(30, 2, 5, 0.0, 6 / 7)


def test_prices_do_not_know_the_range():
    inputs = load_scenario(DEMO)
    silent = inputs.device.model_copy(update={"measured_range": None})
    runs = [
        Simulation(found).run(found.scenario.workload.load, num_draft_tokens=3, num_requests=64, replication=0)
        for found in (inputs, replace(inputs, device=silent))
    ]
    assert (runs[0].steps.end == runs[1].steps.end).all()
