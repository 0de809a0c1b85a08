"""Prices of GPUs: which goes before which, what a mixed fleet costs, and what is no price."""

import pytest

from specsim.errors import InputError
from specsim.inputs.read.prices import ALL, devices_of, parse_prices, price_of, wrong_devices
from specsim.inputs.read.scenario import load_scenario

DEMO = "llama3.1-8b-h100-eagle3"
MIXED = "fleet={replicas: [{count: 3}, {count: 1, deployment: {device: h200, num_devices: 2, tensor_parallel: 2}}]}"


def test_one_for_all_and_one_by_device():
    assert parse_prices(["2.5"]) == {ALL: 2.5}
    assert parse_prices(["2", "h200=3.2,h100-sxm=2.5"]) == {ALL: 2, "h200": 3.2, "h100-sxm": 2.5}


@pytest.mark.parametrize("text", ["-1", "0", "x", "=2", "h200=", "nan", "inf", " ", "2 3", "h200=2 h200=2"])
def test_what_is_no_price(text):
    with pytest.raises(InputError) as caught:
        parse_prices([text])
    assert caught.value.problems[0].where == "--price"


def test_a_device_goes_before_all_and_that_before_the_scenario():
    bare, own = load_scenario(DEMO), load_scenario(DEMO, ["plan.price_per_gpu_hour=7"])
    assert price_of(bare, {}) is None
    assert price_of(bare, {"h200": 3.0}) is None
    assert price_of(own, {"h200": 3.0}) == 7
    assert price_of(own, {ALL: 2.0}) == 2
    assert price_of(own, {ALL: 2.0, "h100-sxm": 2.5}) == 2.5


def test_a_fleet_costs_what_its_devices_do():
    fleet = load_scenario(DEMO, [MIXED])
    assert devices_of(fleet) == {"h100-sxm": 3, "h200": 2}
    assert price_of(fleet, {"h100-sxm": 2.0, "h200": 4.0}) == pytest.approx((3 * 2 + 2 * 4) / 5)
    assert price_of(fleet, {"h100-sxm": 2.0}) is None
    assert price_of(fleet, {ALL: 0.1}) == 0.1


def test_a_device_that_nobody_has_is_named_with_those_that_there_are():
    [problem] = wrong_devices({ALL: 1.0, "h100-sxm5": 2.5, "h200": 2.0}, [load_scenario(DEMO, [MIXED])])
    assert "'h100-sxm5=2.5'" in str(problem)
    assert "they have h100-sxm, h200" in str(problem)
