"""Commands that show what there is: list, schema, doctor."""

import json

import pytest

from specsim.inputs.read import catalogue

LISTED = {"hardware": "device", "engines": "engine", "models": "model", "scenarios": "scenario"}
LISTED |= {kind: kind for kind in ("lengths", "measurements", "steps")}


@pytest.mark.parametrize(("word", "kind"), LISTED.items())
def test_list_names_everything_of_a_kind(command, word, kind):
    code, out, err = command("list", word)
    assert (code, err) == (0, "")
    assert catalogue.names(kind)
    for name in catalogue.names(kind):
        assert f" {name} " in out


def test_listed_figures(command):
    _, out, _ = command("list", "hardware")
    (h100,) = [line for line in out.splitlines() if " h100-sxm " in line]
    assert all(figure in h100 for figure in ("80 GiB", "3.35 TB/s", "989 TFLOP/s", "measured"))
    _, out, _ = command("list", "models")
    (llama,) = [line for line in out.splitlines() if " llama-3.1-8b " in line]
    assert all(figure in llama for figure in ("8.03 B", "32/8", "128256"))
    _, out, _ = command("list", "engines")
    (trtllm,) = [line for line in out.splitlines() if " trtllm-1.x " in line]
    assert all(figure in trtllm for figure in ("TensorRT-LLM 1.x", " any ", "0.3 ms", "8192"))


@pytest.mark.parametrize("kind", ["scenario", "device", "engine"])
def test_schema_prints_json(command, kind):
    code, out, _ = command("schema", kind)
    assert code == 0
    assert json.loads(out)["$schema"].startswith("https://json-schema.org/")
    assert out.endswith("}\n")


def test_schema_is_of_scenarios_unless_told(command):
    assert command("schema").out == command("schema", "scenario").out


@pytest.mark.slow
def test_doctor(command):
    code, out, err = command("doctor")
    assert (code, err) == (0, "")
    for finding in ("python", "numpy", "catalogue", "verifier", "simulator"):
        assert f" {finding} " in out
