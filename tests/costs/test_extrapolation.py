"""What leaves the shapes that a device's figures were fitted to, and that saying so moves no price."""

from dataclasses import replace

import pytest

from specsim.analysis.metrics import reach
from specsim.costs.extrapolation import beyond_device, beyond_profile
from specsim.costs.shapes import target_shape
from specsim.forward import Reach
from specsim.inputs.models.engine import CalibratedRange, Kernels
from specsim.inputs.models.hardware import MeasuredRange
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario, read_device, read_model
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.calibrate.replay import record

DEMO = "llama3.1-8b-h100-eagle3"


@pytest.mark.parametrize("name", catalogue.names("device"))
def test_every_device_says_what_its_figures_were_fitted_to(name):
    """Rows up to 1025 in all tables used; weights from 32 MB, on the L40S from 100 MB beside its L2 cache of 96."""
    found = read_device(name).measured_range
    assert found == MeasuredRange(linear_rows=1025, linear_weights="100 MB" if name == "l40s" else "32 MB")


def test_rows_beyond_the_measured_ones(h100, llama_8b):
    """Llama-8B's smallest matrix has 4096 x 4096 numbers, 33.6 MB, so only rows can leave the range."""
    shapes = [target_shape(llama_8b)]
    assert beyond_device(h100, shapes, 1025) is None
    found = beyond_device(h100, shapes, 1026)
    assert (found.rows, found.small_share, found.smallest_bytes) == (1026, 0, 2 * 4096**2)


def test_matrices_smaller_than_measured(h100, llama_8b):
    """On two devices each holds half: of a layer, 16.8 MB of the output and 25.2 of the projections are too small."""
    found = beyond_device(h100, [target_shape(llama_8b, 2)], 1)
    small = 32 * (4096 * 2048 + 4096 * 3072)
    everything = small + 32 * 3 * 4096 * 7168 + 4096 * 64128
    assert found.rows is None
    assert found.smallest_bytes == 2 * 4096 * 2048
    assert found.small_share == pytest.approx(small / everything, rel=1e-12)


def test_of_a_mixture_each_experts_matrix_counts_as_itself(h100):
    found = beyond_device(h100, [target_shape(read_model("qwen3-30b-a3b"))], 1)
    # the router, 2048 x 128 in BF16, is smaller than an expert's 768 x 2048
    assert found.smallest_bytes == 2 * 2048 * 128
    assert 0.9 < found.small_share < 1


def test_a_device_that_states_no_range_is_not_warned_of(h100, llama_8b):
    silent = h100.model_copy(update={"measured_range": None})
    assert beyond_device(silent, [target_shape(llama_8b, 2)], 10**6) is None
    rows_only = h100.model_copy(update={"measured_range": MeasuredRange(linear_rows=8)})
    assert beyond_device(rows_only, [target_shape(llama_8b, 2)], 8) is None
    assert beyond_device(rows_only, [target_shape(llama_8b, 2)], 9).rows == 9


def test_no_range_binds_the_ideal_device_or_an_engines_own_figures():
    inputs, many = load_scenario(DEMO), Reach(5000, 1, 1)
    assert Simulation(inputs).extrapolation(many).device.rows == 5000
    assert Simulation(load_scenario(DEMO, ["deployment.ideal=true"])).extrapolation(many) is None
    own = Kernels.model_validate({"linear": {"launch": "4 us"}})
    calibrated = inputs.engine.model_copy(update={"kernels": own})
    assert Simulation(replace(inputs, engine=calibrated)).extrapolation(many) is None


def fitted_to(engine, **measured):
    return engine.model_copy(update={"measured_range": CalibratedRange(**measured)})


@pytest.mark.parametrize("farther", Reach._fields)
def test_steps_beyond_those_that_a_profile_was_fitted_to(farther):
    inputs = load_scenario(DEMO)
    within = Reach(64, 16, 9000)
    assert beyond_profile(inputs.engine, Reach(10**9, 10**9, 10**9)) is None, "it states no range"
    engine = fitted_to(inputs.engine, **within._asdict())
    assert beyond_profile(engine, within) is None
    beyond = within._replace(**{farther: getattr(within, farther) + 1})
    assert beyond_profile(engine, beyond) == beyond
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


def test_prices_do_not_know_the_range():
    inputs = load_scenario(DEMO)
    silent = inputs.device.model_copy(update={"measured_range": None})
    runs = [
        Simulation(found).run(found.scenario.workload.load, num_draft_tokens=3, num_requests=64, replication=0)
        for found in (inputs, replace(inputs, device=silent))
    ]
    assert (runs[0].steps.end == runs[1].steps.end).all()
