"""Every example in docs/fleets.md is read and runs."""

import re
from pathlib import Path
from typing import Annotated, get_args

import pytest
import yaml

from specsim.inputs.models.fleet import Balancer, PrefixAware, Router
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of

PAGE = Path(__file__).parents[2] / "docs" / "fleets.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example.split())[:50])
def test_it_runs(example, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"extends": "llama3.1-8b-h100-eagle3"} | yaml.safe_load(example)))
    inputs = load_scenario(str(file))
    load, policy = inputs.scenario.workload.load, inputs.scenario.speculation.policy
    records = simulation_of(inputs).run(load, num_draft_tokens=3, num_requests=40, replication=0, policy=policy)
    assert records.requests.finish.size == 40
    assert len(set(records.steps.replica.tolist())) > 1


def test_every_router_is_explained():
    classes = (*get_args(get_args(Balancer)[0]), PrefixAware)
    kinds = [get_args(kind.model_fields["kind"].annotation)[0] for kind in classes]
    assert Router == Annotated[Balancer | PrefixAware, get_args(Router)[1]]  # there are no others
    assert len(kinds) == 5
    assert all(f"| `{kind}`" in TEXT for kind in kinds)
