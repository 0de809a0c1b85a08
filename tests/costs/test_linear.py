"""The matrix products of a model: their sizes, and their time against a computation one product at a time."""

import math

import numpy as np
import pytest

from specsim.costs.layers import Parallelism, layer_operators
from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import device_rates


def layer_linears(model, tensor_parallel, attention_inputs=None):
    parallelism = Parallelism(tensor_parallel)
    return list(
        layer_operators(model.layers, model.hidden_size, parallelism, attention_inputs=attention_inputs).linears
    )


ROWS = [0, 1, 2, 16, 63, 64, 65, 128, 129, 295, 296, 1024, 8192]


def seconds_by_hand(linear, rows, device):
    """The profile's formula for one matrix product, in plain floats."""
    if rows == 0:
        return 0.0
    first, then = device.linear.row_tile
    computed = first if rows <= first else math.ceil(rows / then) * then
    flops = 2 * linear.inputs * linear.outputs * computed
    moved = 2 * (linear.inputs * linear.outputs + rows * (linear.inputs + linear.outputs))
    arithmetic = flops / (device.linear.compute_efficiency * device.peak.bf16)
    traffic = moved / (device.linear.bandwidth_efficiency * device.memory.bandwidth)
    n = device.linear.sharpness
    return linear.repeats * (device.linear.launch + (arithmetic**n + traffic**n) ** (1 / n))


@pytest.mark.parametrize("device", ["h100", "a100"])
@pytest.mark.parametrize("tensor_parallel", [1, 4])
def test_the_time_is_that_of_one_product_after_another(device, tensor_parallel, llama_8b, request):
    device = request.getfixturevalue(device)
    linears = layer_linears(llama_8b, tensor_parallel)
    time = linear_time(linears, ROWS, device_rates(device, ideal=False))
    by_hand = [math.fsum(seconds_by_hand(linear, rows, device) for linear in linears) for rows in ROWS]
    np.testing.assert_allclose(time.weights + time.compute + time.launch, by_hand, rtol=1e-13)


def test_a_product_worked_out_by_hand(h100):
    """4096 x 14336 at 256 rows on an H100: 127 MB of traffic at 2.99 TB/s and 30 GFLOP at 849 TFLOP/s."""
    time = linear_time([Linear(4096, 14336)], 256, device_rates(h100, ideal=False))
    traffic = 2 * (4096 * 14336 + 256 * (4096 + 14336)) / (0.893 * 3.35e12)
    arithmetic = 2 * 4096 * 14336 * 256 / (0.858 * 989e12)
    assert traffic == pytest.approx(42.41e-6, rel=1e-3)
    assert arithmetic == pytest.approx(35.43e-6, rel=1e-3)
    assert time.launch == pytest.approx(4.25e-6)
    assert time.weights == pytest.approx(traffic)
    assert time.weights + time.compute == pytest.approx((traffic**2.95 + arithmetic**2.95) ** (1 / 2.95))


def test_every_part_is_nothing_for_no_rows_and_positive_otherwise(h100, llama_8b):
    for part in linear_time(layer_linears(llama_8b, 1), np.arange(4), device_rates(h100, ideal=False)):
        assert part[0] == 0
        assert (part[1:] > 0).all()


def test_launches_do_not_depend_on_the_rows(h100, llama_8b):
    launch = linear_time(layer_linears(llama_8b, 1), [1, 100, 1000], device_rates(h100, ideal=False)).launch
    np.testing.assert_allclose(launch, 4 * 32 * 4.25e-6)


def test_the_products_hold_the_models_matrix_parameters(llama_8b, llama_70b):
    for model in (llama_8b, llama_70b):
        weights = sum(linear.weights for linear in layer_linears(model, 1))
        assert weights == model.matrix_parameters


@pytest.mark.parametrize("group", [2, 4, 8])
def test_each_device_of_a_group_has_its_share(llama_8b, group):
    whole = sum(linear.weights for linear in layer_linears(llama_8b, 1))
    assert sum(linear.weights for linear in layer_linears(llama_8b, group)) == whole // group


def test_the_shapes_of_llama_8b(llama_8b):
    assert layer_linears(llama_8b, 1) == [
        Linear(4096, 6144, 32),  # query, key, value: 32 + 8 + 8 heads of 128
        Linear(4096, 4096, 32),
        Linear(4096, 28672, 32),  # gate and up
        Linear(14336, 4096, 32),
    ]


def test_a_two_matrix_mlp_has_no_gate(llama_8b):
    two = llama_8b.model_copy(update={"mlp_matrices": 2})
    assert layer_linears(two, 1)[2] == Linear(4096, 14336, 32)


def test_an_eagle3_head_attends_from_an_input_twice_as_wide(llama_8b):
    assert layer_linears(llama_8b, 1, attention_inputs=8192)[0] == Linear(8192, 6144, 32)
