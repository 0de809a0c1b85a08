"""docs/accuracy/ holds what `specsim validate` finds today. Renew it with `make published`."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from specsim.inputs.measured.serving_tables import read_measurements
from specsim.inputs.read import catalogue
from specsim.studies.accuracy.validate.run import validate

DOCS = Path(__file__).parents[2] / "docs" / "accuracy"


@pytest.fixture(scope="module")
def points():
    return pd.read_csv(DOCS / "accuracy.csv")


@pytest.fixture(scope="module")
def published():
    return read_measurements(catalogue.find("measurements", "published", [], where="", path=""))


def test_the_page_says_what_its_table_says(points):
    counted = points[points["split"].isin(["calibration", "validation"])]
    error = counted["error_speedup"].dropna()
    page = (DOCS / "accuracy.md").read_text()
    assert f"Predicted speedups are {error.abs().mean():.1%} off on average (bias {error.mean():+.1%})" in page


def test_the_table_has_every_published_point(points, published):
    assert points["sweep"].tolist() == [row.sweep for _, row in published]
    assert points["load"].tolist() == [row.load for _, row in published]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sweep", "load", "k"), [("S03-gsm8k", 64, 5), ("S04-eagle3", 32, 2), ("S12-eagle3-cnn", 16, 3)]
)
def test_the_table_holds_what_is_simulated_today(points, published, sweep, load, k):
    """Pinned, to notice a change that moves predictions. Tables carry ten digits."""
    (chosen,) = [
        found
        for found in published
        if (found.row.sweep, found.row.load, found.row.num_draft_tokens) == (sweep, load, k)
    ]
    (result,) = validate([chosen], where="", jobs=1)
    (pinned,) = points.query(f"sweep == '{sweep}' and load == {load} and num_draft_tokens == {k}").itertuples()
    assert np.exp(np.log(result.speedup).mean()) == pytest.approx(pinned.predicted_speedup, rel=1e-8)
