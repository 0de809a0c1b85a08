"""A relative path is looked for beside the file that says it; one given to --set, in the current directory."""

import json

import pytest

from specsim.errors import InputError
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario


def model(layers):
    path = catalogue.find("model", "llama-3.1-8b", [], where="", path="")
    return json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"num_hidden_layers": layers})


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Three folders, each with a target.json of as many layers as its place here."""
    for layers, name in enumerate(("base", "mine", "here"), start=1):
        (tmp_path / name).mkdir()
        (tmp_path / name / "target.json").write_text(model(layers))
    base = "extends: llama3.1-8b-h100-eagle3\ndeployment: {target: target.json}\n"
    (tmp_path / "base" / "base.yaml").write_text(base)
    (tmp_path / "mine" / "mine.yaml").write_text("extends: ../base/base.yaml\nseed: 5\n")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def test_beside_the_base_that_says_it(folders):
    assert load_scenario("../mine/mine.yaml").target.num_hidden_layers == 1


def test_beside_the_scenario_that_says_it(folders):
    file = folders / "mine" / "mine.yaml"
    file.write_text(file.read_text() + "deployment: {target: ./target.json}\n")
    assert load_scenario(str(file)).target.num_hidden_layers == 2


def test_in_the_current_directory_for_an_override(folders):
    assert load_scenario("../mine/mine.yaml", ["deployment.target=target.json"]).target.num_hidden_layers == 3


def test_a_folder_of_a_catalogue_name_does_not_hide_it(folders):
    (folders / "here" / "llama3.1-8b-h100-eagle3").mkdir()
    assert load_scenario("llama3.1-8b-h100-eagle3").scenario.name == "llama3.1-8b-h100-eagle3"


def test_every_file_read_is_listed(folders):
    files = load_scenario("../mine/mine.yaml").files
    assert set(files) == {
        "scenario",
        "extends base",
        "extends llama3.1-8b-h100-eagle3",
        *("device", "engine", "target", "drafter"),
    }


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + ".yaml", "nul\0.yaml", "", ".", ".."])
def test_names_that_no_file_could_have(name):
    with pytest.raises(InputError, match=r"no such file|no scenario of that name"):
        load_scenario(name)
