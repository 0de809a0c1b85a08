"""Every acceptance shown in docs/drafting.md is read and runs."""

import json
import re
from pathlib import Path

import pytest
import yaml

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

PAGE = Path(__file__).parents[2] / "docs" / "drafting.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
EXAMPLES = [block for block in BLOCKS if "acceptance:" in block]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example.split())[:40])
def test_it_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recorded = {"prompt_tokens": 30, "output_tokens": 5, "eagle": [1, 3, 2]}
    Path("recording.jsonl").write_text(json.dumps(recorded) + "\n")
    Path("my-text.txt").write_text("a text of one's own, with a word and another word and a last one\n")
    stated = yaml.safe_load(example)
    if "speculation" not in stated:
        stated = {"speculation": stated}
    Path("mine.yaml").write_text(yaml.safe_dump({"extends": "llama3.1-8b-h100-eagle3", **stated}))
    inputs = load_scenario("./mine.yaml")
    load = inputs.scenario.workload.load
    records = Simulation(inputs).run(load, num_draft_tokens=3, num_requests=40, replication=0)
    assert records.requests.finish.size == 40


def test_the_examples_are_found():
    assert len(EXAMPLES) == 4
