"""``costs: aiconfigurator``: measured products where there are some, and the result says which there are not."""

import json

import pandas as pd
import pytest

from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import device_rates
from specsim.errors import InputError
from specsim.forward import Pass
from specsim.inputs.measured import operator_tables
from specsim.inputs.measured.operator_tables import OperatorTable
from specsim.inputs.read.scenario import load_scenario, read_device
from specsim.reporting import inputs as report
from specsim.simulation.replica import Simulation

DEMO = "llama3.1-8b-h100-eagle3"
MEASURED = "deployment.costs=aiconfigurator"


@pytest.fixture
def tables(monkeypatch):
    """Every product takes twice as long as on the roofline."""
    rates = device_rates(read_device("h100-sxm"), ideal=False)
    rows = pd.DataFrame(
        [
            ("bf16", m, n, k, 2 * sum(linear_time([Linear(k, n)], [m], rates))[0])
            for m in (1, 64) for n in (256, 65536) for k in (256, 65536)
        ],
        columns=["precision", "rows", "outputs", "inputs", "seconds"],
    )  # fmt: skip
    found = OperatorTable("h100-sxm", "vllm 0", "matrix product", rows)
    monkeypatch.setattr(operator_tables, "installed", lambda where: (None, "0"))
    monkeypatch.setattr(operator_tables, "read_operators", lambda folder, device, operator: iter([found]))
    monkeypatch.setattr(report, "version", lambda package: "0.0")


def test_measured_times_enter_the_steps(tables):
    inputs = load_scenario(DEMO, [MEASURED])
    simulation = Simulation(inputs)
    assert [linear.outputs for linear in simulation.on_the_roofline()] == [128256]
    work = Pass(8, 8, 8, 8000, 8000)
    step, plain = (each.step_cost(False).price(work) for each in (simulation, Simulation(load_scenario(DEMO))))
    layers = sum(linear_time(simulation.target.linears, [8], simulation.rates))[0]
    assert sum(step) - sum(plain) == pytest.approx(layers)


def test_the_result_says_what_stayed_on_the_roofline(tables):
    inputs = load_scenario(DEMO, [MEASURED])
    (sentence,) = report.cost_sentences(inputs)
    assert sentence.endswith("not in the tables, so from the roofline: 128256 × 4096 (bf16).")
    assert json.loads(report.provenance_json(inputs))["sources"]["costs"] == sentence


def test_on_the_roofline_nothing_is_said():
    inputs = load_scenario(DEMO)
    assert report.cost_sentences(inputs) == []
    assert "costs" not in json.loads(report.provenance_json(inputs))["sources"]
    assert Simulation(inputs).on_the_roofline() == []


def test_a_device_without_tables(tables):
    with pytest.raises(InputError, match="has tables of h100-sxm, h200, a100-sxm-80gb, b200 only"):
        Simulation(load_scenario(DEMO, [MEASURED, "deployment.device=l40s"]))


def test_a_format_without_measurements(tables):
    with pytest.raises(InputError, match="no table holds products in fp8"):
        Simulation(load_scenario(DEMO, [MEASURED, "deployment.weight_format=fp8"]))


def test_ideal_devices_are_not_measured():
    with pytest.raises(InputError, match="cannot be measured ones"):
        load_scenario(DEMO, [MEASURED, "deployment.ideal=true"])


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(operator_tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"deployment.costs: needs the tables .*specsim-llm\[operators\]"):
        Simulation(load_scenario(DEMO, [MEASURED]))
