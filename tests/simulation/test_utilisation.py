"""What a run makes of bandwidth and arithmetic, against figures by hand."""

import numpy as np
import pytest

from specsim.analysis.resources import bandwidth_share, flops_share
from specsim.costs.usage import pass_usage, total
from specsim.forward import Pass
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of
from specsim.simulation.replica import Simulation
from specsim.simulation.step_passes import step_passes

WEIGHTS = 2 * (32 * (4096 * 6144 + 4096 * 4096 + 4096 * 28672 + 14336 * 4096) + 4096 * 128256)
"""Bytes of Llama-3.1-8B's matrices in BF16, its output head among them."""
KV = 2 * 2 * 32 * 8 * 128
"""Bytes of keys and values of a token."""


def test_alone_on_the_ideal_device_a_request_takes_all_the_bandwidth(ideal, run):
    """Weights are all the traffic there is, and arithmetic hides behind them."""
    inputs = ideal(0.8, 64)
    records = run(inputs, 1, 0, num_requests=1)
    assert records.steps.used[0, 0] == WEIGHTS
    assert bandwidth_share(records.steps, inputs.device.memory.bandwidth) == pytest.approx(1, rel=1e-12)
    operations = 2 * WEIGHTS / 2
    seconds = WEIGHTS / inputs.device.memory.bandwidth
    assert flops_share(records.steps) == pytest.approx(operations / (seconds * inputs.device.peak.bf16), rel=1e-12)


def test_alone_on_a_real_device_it_is_weights_and_kv_over_the_time(inputs, run):
    """Beside them only the rows themselves are moved: of one token, less than a thousandth of the weights."""
    scenario = inputs(prompt=4000, output=64)
    records = run(scenario, 1, 0, num_requests=1)
    decodes = records.steps.num_decodes == 1
    moved = WEIGHTS + KV * records.steps.context_tokens[decodes]
    counted = records.steps.used[decodes, 0]
    assert (counted > moved).all()
    np.testing.assert_allclose(counted, moved, rtol=1e-3)


def test_the_drafters_passes_count(inputs, run):
    """A step of four requests with three drafts each lies between the cost model's accounts of the least and the most.

    Contexts are of 65 to 128 tokens, and of the last drafts none to three were accepted; rounds behind prompts differ.
    """
    scenario = inputs(prompt=64, output=64)
    records, simulation = run(scenario, 4, 3), Simulation(scenario)
    device = scenario.engine.on(scenario.device)

    def account(context, accepted):
        (work,) = step_passes(simulation, 4, 3, context, accepted=accepted)
        drafts = [pass_usage(simulation.drafter, device, draft, ideal=False) for draft in work.drafts]
        return total([pass_usage(simulation.target, device, work.target, ideal=False), *drafts]), total(drafts)

    (least, drafted), (most, _) = account(65, 0), account(128, 3)
    used = records.steps.used[(records.steps.num_decodes == 4) & (records.steps.num_draft_tokens == 12)]
    for column, name in enumerate(("bytes", "operations", "peak_seconds")):
        low, high = getattr(least, name), getattr(most, name)
        assert low <= np.median(used[:, column]) <= high
        assert high - low < getattr(drafted, name)  # so that leaving the drafter out would show


def test_stages_share_the_targets_pass(inputs, run):
    one = run(inputs("deployment.num_devices=1"), 2, 0).steps.used
    two = run(inputs("deployment.num_devices=2", "deployment.pipeline_parallel=2"), 2, 0).steps.used
    np.testing.assert_allclose(two, one / 2, rtol=1e-12)


def test_prices_from_outside_leave_it_unknown(inputs, run):
    scenario = inputs()
    simulation = Simulation(scenario)

    class Slow:
        def price(self, target_pass: Pass, draft_passes=(), num_lookups=0):
            return simulation.step_cost(False).price(target_pass)

    load = scenario.scenario.workload.load
    assert simulation.run(load, num_draft_tokens=0, num_requests=40, replication=0, cost=Slow()).steps.used is None


@pytest.mark.parametrize(
    ("settings", "watts"),
    [
        ((), 700.0),
        (("deployment.num_devices=2", "deployment.tensor_parallel=2"), 2 * 700.0),
        (("fleet.replicas=3",), 3 * 700.0),
        (("fleet={replicas: [{deployment: {device: l40s}}, {count: 2}]}",), 350.0 + 2 * 700.0),
    ],
)
def test_power_is_that_of_all_devices(settings, watts):
    """Of an H100 SXM 700 W, of an L40S 350 W, by their data sheets."""
    assert simulation_of(load_scenario("llama3.1-8b-h100-eagle3", list(settings))).power == watts
