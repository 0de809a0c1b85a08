"""The README and the gallery show what the commands print today. Redraw them with `make gallery`."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.shared.points import Point, run_point

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "plots"
DEMO = "llama3.1-8b-h100-eagle3"


def test_the_pages_show_the_demo_as_it_was_printed():
    answer = (GALLERY / DEMO / "answer.txt").read_text()
    assert answer in (ROOT / "docs" / "example.md").read_text()
    assert "\n".join(answer.splitlines()[:2]) in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("folder", sorted(GALLERY.iterdir()), ids=lambda folder: folder.name)
def test_a_figure_comes_with_the_table_behind_it(folder):
    due = {
        "answer.txt",
        "manifest.json",
        "curve.csv",
        "curve.png",
        "curve.svg",
        "closed_form.csv",
        "scenario.yaml",
        "provenance.json",
    }
    assert {file.name for file in folder.iterdir()} == due


@pytest.mark.slow
@pytest.mark.parametrize("point", [Point(1, 3), Point(64, 0), Point(512, 5)])
@pytest.mark.parametrize("scenario", sorted(folder.name for folder in GALLERY.iterdir()))
def test_the_gallery_holds_what_is_simulated_today(scenario, point):
    """Pinned, to notice a change that moves simulated numbers; it belongs in the changelog, with by how much.

    Tables carry ten digits. Other processors may round sums differently in the last bit of a double, far below that.
    """
    table = pd.read_csv(GALLERY / scenario / "curve.csv").set_index(["batch", "num_draft_tokens"])
    runs = run_point(load_scenario(scenario), point)
    pinned = table.loc[tuple(point)]
    assert np.mean(runs.tokens_per_s) == pytest.approx(pinned["tokens_per_s"], rel=1e-8)
    assert np.mean(runs.acceptance_length) == pytest.approx(pinned["acceptance_length"], rel=1e-8)
