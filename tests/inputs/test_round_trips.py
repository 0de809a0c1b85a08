"""What was read can be written and read again without loss."""

import json
from pathlib import Path

import pytest
import yaml

from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario, read_device, read_engine, read_model
from specsim.reporting.inputs import resolved_scenario

SCENARIOS, DEVICES, ENGINES, MODELS = (catalogue.names(kind) for kind in ("scenario", "device", "engine", "model"))


def through_json(value):
    """The value as its own JSON says it: number keys become text on the way."""
    return type(value).model_validate(json.loads(json.dumps(value.model_dump(mode="json"))))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name):
    scenario = load_scenario(name).scenario
    assert through_json(scenario) == scenario
    assert isinstance(scenario, Scenario)


@pytest.mark.parametrize("name", DEVICES)
def test_devices(name):
    device = read_device(name)
    assert through_json(device) == device
    assert isinstance(device, Device)


@pytest.mark.parametrize("name", ENGINES)
def test_engines(name):
    engine = read_engine(name)
    assert through_json(engine) == engine
    assert isinstance(engine, Engine)


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model = read_model(name)
    assert through_json(model) == model
    assert isinstance(model, ModelConfig)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_resolved_scenario_is_the_scenario(name, tmp_path):
    first = load_scenario(name, ["slo.e2e=0.1 s", "speculation.policy.num_draft_tokens=2"])
    file = tmp_path / "resolved.yaml"
    file.write_text(resolved_scenario(first), encoding="utf-8")
    second = load_scenario(str(file))
    assert second.scenario == first.scenario
    assert resolved_scenario(second) == resolved_scenario(first)


@pytest.mark.parametrize(
    "fleet",
    [
        "{replicas: 3, router: {kind: kv_aware}}",
        "{replicas: [{count: 2}, {deployment: {device: h200}, policy: {num_draft_tokens: 1}}]}",
        "{disaggregation: {prefill: 1, decode: [{count: 2}], kv_transfer: {bandwidth: 50 GB/s, latency: 1 ms}}}",
    ],
)
def test_the_resolved_fleet_is_the_fleet(fleet, tmp_path):
    first = load_scenario("llama3.1-8b-h100-eagle3", [f"fleet={fleet}"])
    file = tmp_path / "resolved.yaml"
    file.write_text(resolved_scenario(first), encoding="utf-8")
    second = load_scenario(str(file))
    assert second.scenario == first.scenario
    assert [group.scenario for group in second.groups] == [group.scenario for group in first.groups]
    assert through_json(first.scenario) == first.scenario


def test_the_resolved_scenario_names_a_groups_files_by_paths_that_hold_from_anywhere(tmp_path, monkeypatch):
    source = catalogue.find("device", "h200", [], where="", path="").read_text(encoding="utf-8")
    (tmp_path / "my device.yaml").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    fleet = "fleet.replicas=[{count: 1}, {deployment: {device: my device.yaml}}]"
    data = yaml.safe_load(resolved_scenario(load_scenario("llama3.1-8b-h100-eagle3", [fleet])))
    assert data["fleet"]["replicas"][1]["deployment"]["device"] == str(tmp_path / "my device.yaml")


def test_the_resolved_scenario_names_files_by_paths_that_hold_from_anywhere(tmp_path, monkeypatch):
    source = catalogue.find("model", "llama-3.1-8b", [], where="", path="").read_text(encoding="utf-8")
    (tmp_path / "my model.json").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = resolved_scenario(load_scenario("llama3.1-8b-h100-eagle3", ["deployment.target=my model.json"]))
    data = yaml.safe_load(text)
    assert data["deployment"]["target"] == str(tmp_path / "my model.json")
    assert data["deployment"]["device"] == "h100-sxm"


VALID = sorted((Path(__file__).parent / "valid").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_the_resolved_scenario_means_the_same_from_anywhere(file, tmp_path, monkeypatch):
    first = load_scenario(str(file))
    monkeypatch.chdir(tmp_path)
    Path("resolved.yaml").write_text(resolved_scenario(first), encoding="utf-8")
    second = load_scenario("./resolved.yaml")
    assert second.files | {"scenario": None} == {
        name: None if name == "scenario" else path for name, path in first.files.items() if "extends" not in name
    }
    assert resolved_scenario(second) == resolved_scenario(first)
