"""Measured products are met where they were measured and interpolated between; elsewhere the roofline goes on."""

import numpy as np
import pytest

from specsim.costs.linear import Linear, linear_time
from specsim.costs.operator_tables import MeasuredProducts
from specsim.costs.passes import PassCost
from specsim.costs.roofline import device_rates
from specsim.costs.shapes import target_shape
from specsim.forward import Pass
from specsim.inputs.checkpoints.quantisation import BF16, FORMATS
from specsim.inputs.read.scenario import read_device, read_model

H100 = read_device("h100-sxm")
RATES = device_rates(H100, ideal=False)
ROWS, SIZES = np.array([1, 8, 64, 512]), np.array([256, 4096, 65536])


def roofline(outputs, inputs, rows):
    return sum(linear_time([Linear(inputs, outputs)], rows, RATES))


def table(ratio, without=()):
    """Measurements that are ``ratio(outputs, inputs, rows)`` times the roofline, on a grid of sizes."""
    cells = [(n, k, m) for n in SIZES for k in SIZES for m in ROWS if (n, k) not in without]
    outputs, inputs, rows = np.array(cells[::-1]).T  # in no special order
    seconds = [ratio(n, k, m) * roofline(n, k, [m])[0] for n, k, m in cells[::-1]]
    return MeasuredProducts(BF16, rows, outputs, inputs, np.array(seconds), RATES)


def test_a_measured_product_takes_what_was_measured():
    products = table(lambda n, k, m: 1 + n / 1e5 + k / 1e6 + m / 1e3)
    for n, k in ((256, 65536), (4096, 4096)):
        expected = (1 + n / 1e5 + k / 1e6 + ROWS / 1e3) * roofline(n, k, ROWS)
        np.testing.assert_allclose(sum(products([Linear(k, n)], ROWS)), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(4096, 4096), (28672, 4096), (4096, 14336), (1000, 5000)])
def test_a_constant_ratio_is_kept_everywhere_between(shape):
    rows = np.array([1, 5, 100, 512, 4096])
    found = table(lambda n, k, m: 1.25)([Linear(shape[1], shape[0], repeats=3)], rows)
    for part, modelled in zip(found, linear_time([Linear(shape[1], shape[0], repeats=3)], rows, RATES), strict=True):
        np.testing.assert_allclose(part, 1.25 * modelled, rtol=1e-12)


def test_halfway_between_shapes_is_their_geometric_mean():
    products = table(lambda n, k, m: 2.0 if n == 65536 else 1.0)
    middle = round(np.sqrt(4096 * 65536))
    assert sum(products([Linear(4096, middle)], [8]))[0] == pytest.approx(np.sqrt(2) * roofline(middle, 4096, [8])[0])


def test_halfway_between_rows_too():
    products = table(lambda n, k, m: 2.0 if m >= 512 else 1.0)
    middle = round(np.sqrt(64 * 512))  # 181 for 181.02
    found = sum(products([Linear(4096, 4096)], [middle]))[0]
    assert found == pytest.approx(np.sqrt(2) * roofline(4096, 4096, [middle])[0], rel=1e-3)


def test_a_missing_corner_leaves_the_others():
    products = table(lambda n, k, m: 1.5, without=[(65536, 65536)])
    assert sum(products([Linear(20000, 20000)], [1]))[0] == pytest.approx(1.5 * roofline(20000, 20000, [1])[0])
    assert not products.covers(Linear(65536, 65536))


@pytest.mark.parametrize(
    "linear",
    [Linear(4096, 128256), Linear(128, 4096), Linear(4096, 4096, stacked=8), Linear(4096, 4096, format=FORMATS["fp8"])],
)
def test_what_is_not_surrounded_stays_on_the_roofline(linear):
    products = table(lambda n, k, m: 1.5)
    assert not products.covers(linear)
    for part, modelled in zip(products([linear], ROWS), linear_time([linear], ROWS, RATES), strict=True):
        np.testing.assert_array_equal(part, modelled)


def test_no_rows_take_no_time():
    assert sum(table(lambda n, k, m: 1.5)([Linear(4096, 4096)], [0]))[0] == 0


def test_a_pass_is_made_of_them():
    shape, work = target_shape(read_model("llama-3.1-8b")), Pass(8, 8, 8, 8000, 8000)
    plain = PassCost(shape, H100, ideal=False).price(work)
    measured = PassCost(shape, H100, ideal=False, products=table(lambda n, k, m: 1.5)).price(work)
    assert measured.kv == plain.kv
    layers = sum(linear_time(shape.linears, [8], RATES))[0]
    assert sum(measured) - sum(plain) == pytest.approx(0.5 * layers)  # the LM head's 128,256 outputs are outside
