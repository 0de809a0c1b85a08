"""Blocks and reading under a soft maximum, and the ramp of reading, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.costs.attention import AttentionCost, KVAttention
from specsim.costs.roofline import device_rates, soft_maximum
from specsim.forward import Pass
from specsim.inputs.read.scenario import read_device

RATES = replace(
    device_rates(read_device("h100-sxm"), ideal=False),
    attention_bandwidth=1e12, attention_flops=1e30, attention_per_kv_head=10e-9, attention_sharpness=1.0,
    attention_ramp=0.0,
)  # fmt: skip
LAYERS, HEADS, BYTES = 4, 8, 4 * 4096.0


def traffic(sequences, context, rates, window=None):
    attention = KVAttention(LAYERS, BYTES, 1.0, 1.0, HEADS, window)
    work = Pass(sequences, sequences, sequences, sequences * context, sequences * context)
    return AttentionCost([attention], [], rates).price(work)[0]


def parts(sequences, context):
    """(reading at the full rate, blocks) [s]."""
    return BYTES * sequences * context / 1e12, 10e-9 * LAYERS * HEADS * sequences


def test_without_either_the_two_add_up():
    reading, blocks = parts(64, 1000)
    assert traffic(64, 1000, RATES) == reading + blocks


@pytest.mark.parametrize("sharpness", [1.3, 3.0, 40.0])
@pytest.mark.parametrize("context", [1, 20, 5000])
@pytest.mark.parametrize("window", [None, 100_000])
def test_blocks_overlap_with_reading(sharpness, context, window):
    rates = replace(RATES, attention_sharpness=sharpness)
    expected = soft_maximum(*np.array(parts(256, context))[:, None], sharpness)
    assert traffic(256, context, rates, window) == pytest.approx(expected[0])


def test_the_first_bytes_come_at_half_the_rate():
    rates = replace(RATES, attention_ramp=5e-6)
    reading, blocks = parts(1, 100)
    assert reading < LAYERS * 5e-6
    assert traffic(1, 100, rates) == pytest.approx(2 * reading + blocks)
    reading, blocks = parts(64, 1000)
    assert traffic(64, 1000, rates) == pytest.approx(reading + LAYERS * 5e-6 + blocks)


def test_a_layer_of_its_own_costs_as_much_as_among_others():
    rates = replace(RATES, attention_sharpness=1.5, attention_ramp=5e-6)
    one = KVAttention(1, BYTES / LAYERS, 1.0, 1.0, HEADS)
    work = Pass(64, 64, 64, 64_000, 64_000)
    assert LAYERS * AttentionCost([one], [], rates).price(work)[0] == pytest.approx(traffic(64, 1000, rates))


def test_an_empty_pass_takes_no_time():
    assert traffic(0, 0, replace(RATES, attention_sharpness=1.5, attention_ramp=5e-6)) == 0
