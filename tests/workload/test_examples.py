"""Every example in docs/workloads.md is read and runs."""

import re
from pathlib import Path

import pytest
import yaml

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example.split())[:40])
def test_it_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my-trace.csv").write_text("arrival_s,prompt_tokens,output_tokens\n0,30,5\n0.5,20,7\n2,40,3\n")
    Path("my-domains.csv").write_text("arrival_s,prompt_tokens,output_tokens,domain\n0,30,5,3\n0.5,20,7,0\n")
    workload = {"num_requests": 8, "load": {"kind": "closed_loop", "concurrency": 4}} | yaml.safe_load(example)
    Path("mine.yaml").write_text(yaml.safe_dump({"extends": "llama3.1-8b-h100-eagle3", "workload": workload}))
    inputs = load_scenario("./mine.yaml")
    number = inputs.scenario.workload.num_requests
    load = inputs.scenario.workload.load
    records = Simulation(inputs).run(load, num_draft_tokens=3, num_requests=number, replication=0)
    assert records.requests.finish.size == number


def test_every_kind_has_an_example():
    kinds = set(re.findall(r"kind: (\w+)", " ".join(EXAMPLES)))
    loads = {"poisson", "gamma", "constant", "rate_profile", "replay", "closed_loop"}
    lengths = {"fixed", "uniform", "normal", "lognormal", "quantiles", "trace"}
    assert kinds == loads | lengths
