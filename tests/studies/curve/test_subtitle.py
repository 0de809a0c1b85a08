"""A figure says what was simulated, whatever the scenario it was derived from says of itself."""

import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.reporting.deployment import subtitle

DEMO = "llama3.1-8b-h100-eagle3"


@pytest.mark.parametrize(
    ("scenario", "overrides", "words"),
    [
        (DEMO, [], "llama-3.1-8b with eagle3-llama-3.1-8b on NVIDIA H100 SXM5 80 GB; 100 tokens in, 256 out"),
        (DEMO, ["deployment.device=h200"], "on NVIDIA H200 SXM 141 GB; 100 tokens in"),
        ("azure-conversation-h100-eagle3", [], "; lengths of azure-2023-conversation"),
        ("llama3.1-70b-4xh100-draft-1b", [], "llama-3.1-70b with llama-3.2-1b on 4 × NVIDIA H100 SXM5 80 GB"),
        ("theory-h100-ideal", [], "80 GB, ideal; 100 tokens in, 256 out, decode only"),
    ],
)
def test_it_is_made_from_what_was_simulated(scenario, overrides, words):
    assert words in subtitle(load_scenario(scenario, overrides))


def test_a_config_file_is_named_after_its_folder(tmp_path):
    folder = tmp_path / "Llama-3.1-8B"
    folder.mkdir()
    source = load_scenario(DEMO).files["target"].read_text()
    (folder / "config.json").write_text(source)
    inputs = load_scenario(DEMO, [f"deployment.target={folder / 'config.json'}"])
    assert subtitle(inputs).startswith("Llama-3.1-8B with eagle3")
