"""Every file under valid/ is read; what it stands for is written in it as ``# gives: path = value`` lines."""

from pathlib import Path

import pytest
import yaml

from specsim.inputs.read.scenario import load_scenario

FILES = sorted((Path(__file__).parent / "valid").glob("*.yaml"))
MARK = "# gives: "


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_means_what_it_says(file):
    scenario = load_scenario(str(file)).scenario
    claims = [line.removeprefix(MARK) for line in file.read_text(encoding="utf-8").splitlines() if MARK in line]
    assert claims
    for claim in claims:
        path, _, text = claim.partition(" = ")
        found = scenario
        for key in path.split("."):
            found = getattr(found, key)
        expected = yaml.safe_load(text)
        assert found == (tuple(expected) if isinstance(expected, list) else expected), claim
