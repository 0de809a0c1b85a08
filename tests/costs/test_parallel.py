"""Experts and stages on several devices: who sends what, who holds what."""

import numpy as np
import pytest

from specsim.costs.collectives import all_reduce_seconds, all_to_all_seconds, send_seconds
from specsim.costs.layers import Parallelism
from specsim.costs.memory import memory_plan
from specsim.costs.passes import PassCost
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.forward import Pass
from specsim.inputs.models.drafters import MTPLayers
from specsim.inputs.read.scenario import load_scenario, read_device, read_engine, read_model
from specsim.simulation.replica import Simulation

H200, QWEN = read_device("h200"), read_model("qwen3-30b-a3b")
STATE = 2 * 2048  # bytes of a token's hidden state


def decode(tokens):
    return Pass(tokens, tokens, tokens, 1000 * tokens, 1000 * tokens)


def communication(tokens, **how):
    return PassCost(target_shape(QWEN, **how), H200, ideal=False).price(decode(tokens)).communication


@pytest.mark.parametrize("spread", [1, 2, 4])
def test_a_device_holds_as_much_however_experts_are_spread(spread):
    shapes = [target_shape(QWEN, parallelism=Parallelism(4, expert)) for expert in (1, spread)]
    assert shapes[0].resident_bytes == shapes[1].resident_bytes
    one, other = ([product.weights for product in shape.operators.experts] for shape in shapes)
    assert one == other


def test_whole_experts_are_wider_and_fewer():
    shared, spread = (target_shape(QWEN, parallelism=Parallelism(4, expert)).operators.experts[1] for expert in (1, 4))
    assert (shared.inputs, shared.devices) == (192, 1)
    assert (spread.inputs, spread.devices) == (768, 4)


def test_at_one_token_whole_experts_wait_for_the_busiest_device():
    """Experts that are split share 8 evenly; whole ones fall unevenly, 2 a device on average, 3.3 on the busiest."""
    even, uneven = (
        PassCost(target_shape(QWEN, parallelism=Parallelism(4, expert)), H200, ideal=True).price(decode(1)).weights
        for expert in (1, 4)
    )
    assert 1.2 * even < uneven < 1.8 * even


def test_reductions_by_hand():
    for tokens in (1, 64):
        expected = 2 * 48 * all_reduce_seconds(tokens * STATE, 4, H200)
        assert communication(tokens, parallelism=Parallelism(4)) == pytest.approx(expected, rel=1e-12)
        assert communication(tokens, parallelism=Parallelism(4, 4)) == pytest.approx(expected, rel=1e-12)


def test_all_to_all_by_hand():
    """One reduction a layer instead of two, and tokens · 8 · hidden there and back, a fourth from each device."""
    for tokens in (1, 64):
        once = all_reduce_seconds(tokens * STATE, 4, H200) + 2 * all_to_all_seconds(tokens * 8 * STATE / 4, 4, H200)
        found = communication(tokens, parallelism=Parallelism(4, 4), exchange="all_to_all")
        assert found == pytest.approx(48 * once, rel=1e-12)


def test_a_device_keeps_its_own_part_of_an_all_to_all():
    figures = H200.allreduce
    link = figures.efficiency[4] * H200.interconnect.bandwidth
    large = 1e12
    assert all_to_all_seconds(large, 4, H200) == pytest.approx(0.75 * large / link, rel=1e-2)
    assert all_to_all_seconds(large, 1, H200) == 0


def test_stages_hand_on_hidden_states_and_share_memory():
    whole, halves = target_shape(QWEN), target_shape(QWEN, stages=2)
    assert halves.resident_bytes == pytest.approx(whole.resident_bytes / 2)
    assert halves.kv_bytes_per_token == whole.kv_bytes_per_token / 2
    assert communication(16, stages=2) == pytest.approx(send_seconds(16 * STATE, H200), rel=1e-12)
    one, two = (PassCost(shape, H200, ideal=False).price(decode(16)) for shape in (whole, halves))
    assert two[:4] == one[:4]


def test_the_fullest_of_uneven_stages_decides():
    shape = target_shape(read_model("llama-3.1-8b"), stages=3)
    assert shape.resident_bytes == pytest.approx(2 * 8_030_261_248 * 11 / 32)


def test_a_drafter_can_sit_on_fewer_devices_than_its_target():
    base = "llama3.1-70b-4xh100-draft-1b"
    shared, alone = (
        Simulation(load_scenario(base, [f"speculation.drafter.tensor_parallel={group}"])) for group in (4, 1)
    )
    assert alone.memory(True).draft_weights == 4 * shared.memory(True).draft_weights
    assert alone.memory(True).kv_tokens < shared.memory(True).kv_tokens
    one, four = (sum(s.step_cost(True).draft_time(decode(1))) for s in (alone, shared))
    weights = [PassCost(s.drafter, s.inputs.device, ideal=False).price(decode(1)) for s in (alone, shared)]
    assert weights[0].communication == 0 < weights[1].communication
    assert weights[0].weights > weights[1].weights
    assert one != four


def test_the_target_does_not_notice_its_drafters_devices():
    base = "llama3.1-70b-4xh100-draft-1b"
    plans = [
        Simulation(load_scenario(base, [f"speculation.drafter.tensor_parallel={group}"])).memory(False)
        for group in (4, 1)
    ]
    assert plans[0].kv_tokens == plans[1].kv_tokens


def test_deepseek_v3_fits_eight_h200_in_its_own_format_and_not_four():
    engine, model = read_engine("vllm"), read_model("deepseek-v3")
    fp8 = load_scenario(
        "llama3.1-8b-h100-eagle3",
        [
            "deployment={device: h200, num_devices: 8, tensor_parallel: 8, target: deepseek-v3, engine: vllm}",
            "speculation.drafter={kind: mtp}",
        ],
    ).target_quantisation
    shape = target_shape(model, parallelism=Parallelism(8, 8, fp8))
    draft = drafter_shape(MTPLayers(kind="mtp"), model.mtp_model, parallelism=Parallelism(8, 8, fp8))
    plan = memory_plan(H200, engine, shape, draft, where="")
    # 671 B bytes over 8 devices, BF16 tables, and what each device holds again of the projections to the latent
    assert plan.weights == pytest.approx(671.9e9 / 8, rel=0.02)
    assert plan.kv_tokens > 100_000
    assert target_shape(model, parallelism=Parallelism(4, 4, fp8)).resident_bytes > 0.9 * H200.memory.capacity


def test_devices_that_hold_the_same_matrix_are_counted():
    """The projections to MLA's latent are not shared out: of 61 layers' 7168 x 2112 numbers each device holds all."""
    model = read_model("deepseek-v3")
    one, eight = target_shape(model), target_shape(model, 8)
    again = 61 * 7168 * (1536 + 576) * 2 + 58 * 7168 * 256 * 2  # and the routers
    assert eight.resident_bytes - one.resident_bytes / 8 == pytest.approx(again * 7 / 8, rel=1e-9)
    np.testing.assert_allclose(one.resident_bytes, 2 * model.num_parameters)
