"""The tables in hardware/measured/: read without complaint, cited, split honestly, one profile per (device, engine)."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from specsim.inputs.measured.measurements import Measurement
from specsim.inputs.measured.serving_tables import read_measurements
from specsim.inputs.measured.steps import Step, read_steps
from specsim.inputs.read import catalogue

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "hardware" / "measured"


def tables(kind):
    return [catalogue.find(kind, name, [], where="", path="") for name in catalogue.names(kind)]


def published():
    return [row for _, row in read_measurements(MEASURED / "serving" / "published.csv")]


@pytest.mark.parametrize("file", tables("measurements"), ids=lambda file: file.stem)
def test_serving_points_say_where_they_come_from(file):
    for _, row in read_measurements(file):
        assert row.citation
        assert row.engine
        assert row.model
        assert row.drafter


@pytest.mark.parametrize("file", tables("steps"), ids=lambda file: file.stem)
def test_steps_say_where_they_come_from(file):
    for _, row in read_steps(file):
        assert row.citation
        assert row.use_device
        assert row.use_model


@pytest.mark.parametrize("file", tables("measurements"), ids=lambda file: file.stem)
def test_the_split_is_honest(file):
    """Calibration sees of one curve per device, engine, drafter and formats the smallest and the largest load."""
    seen = defaultdict(set)
    loads = defaultdict(set)
    for _, row in read_measurements(file):
        curve = (row.sweep, row.num_draft_tokens)
        if row.counted:
            loads[curve].add(row.load)
        if row.split == "calibration":
            seen[_kind(row)].add((curve, row.load))
    for points in seen.values():
        curves = {curve for curve, _ in points}
        assert len(curves) == 1, "one designated curve"
        (curve,) = curves
        assert {load for _, load in points} == {min(loads[curve]), max(loads[curve])}


def _kind(row):
    return row.device, row.engine, row.drafter, row.weight_format, row.kv_format


def test_every_drafter_with_counted_points_can_be_calibrated():
    """But for FP8 weights on an H100 and gpt-oss on a B200, which general profiles predict."""
    counted = {_kind(row) for row in published() if row.counted}
    seen = {_kind(row) for row in published() if row.split == "calibration"}
    assert {kind[0] for kind in counted - seen} == {"H100-80GB", "B200"}
    assert {kind[3] for kind in counted - seen} == {"fp8", None}


def test_the_counted_sweeps_are_the_unconfounded_ones_with_known_acceptance():
    counted = [row for row in published() if row.counted]
    assert {row.sweep.partition("-")[0] for row in counted} == {"N01", "N03", "S03", "S04", "S12", "S13", "S15"}
    assert all(row.acceptance or row.acceptance_length for row in counted)


def test_one_profile_serves_every_sweep_of_a_device_and_engine():
    profiles = defaultdict(set)
    for file in tables("measurements"):
        for _, row in read_measurements(file):
            if row.use_device:  # named one way, or one pair would count as two
                profiles[row.use_device, row.engine].add((row.device, row.use_engine))
    assert all(len(found) == 1 for found in profiles.values()), profiles


@pytest.mark.parametrize(
    ("table", "calibrated"),
    [
        ("gh200-apertus-8b-forward", 6),
        ("h100-qwen3-1.7b-forward", 8),
        ("h100-llama-3.1-8b-batch-by-k", 4 + 2),
        ("a100-llama-3.1-8b-median-itl", 12 + 2),
        ("a100-llama-3.1-8b-quantised-itl", 8 + 4),
        ("h200-llama-3.1-8b-forward", 0),
    ],
)
def test_how_many_steps_calibration_may_see(table, calibrated):
    rows = [row for _, row in read_steps(MEASURED / "steps" / f"{table}.csv")]
    assert sum(row.split == "calibration" for row in rows) == calibrated


def test_the_published_points_are_the_medians_of_the_runs():
    """Published with four digits, so half a unit of the fourth: 0.05 of 90; of quantised targets there are no runs."""
    runs = defaultdict(list)
    for _, row in read_measurements(MEASURED / "serving" / "a100-llama-3.1-8b-eagle3-runs.csv"):
        if row.metric == "output_tokens_per_s":
            runs[row.sweep.removesuffix("-runs"), row.load].append((row.baseline, row.with_speculation))
    aggregated = [row for row in published() if row.sweep in ("S03-gsm8k", "S03-humaneval", "S03-rag")]
    assert len(aggregated) == len(runs) == 12
    for row in aggregated:
        baselines, drafted = zip(*runs[row.sweep, row.load], strict=True)
        assert row.baseline == pytest.approx(median(baselines), abs=0.051)
        assert row.with_speculation == pytest.approx(median(drafted), abs=0.051)


@pytest.mark.parametrize(
    ("sweep", "lengths"),
    [("S04-eagle3", {1: 1.51, 3: 1.89}), ("S04-dspark", {1: 1.57, 2: 1.86, 3: 2.00, 5: 2.10, 7: 2.12})],
)
def test_acceptance_between_the_logged_draft_lengths_reproduces_the_logged_means(sweep, lengths):
    """Per position to four digits, so at most seven halves of the last."""
    for row in published():
        if row.sweep == sweep and row.num_draft_tokens in lengths:
            assert 1 + sum(row.acceptance) == pytest.approx(lengths[row.num_draft_tokens], abs=4e-4)


def test_our_forward_steps_are_those_of_the_whole_table():
    with (MEASURED / "h200_llama-3.1-8b_forward.csv").open() as file:
        whole = [row for row in csv.DictReader(file) if row["quantity"] == "forward"]
    steps = [row for _, row in read_steps(MEASURED / "steps" / "h200-llama-3.1-8b-forward.csv")]
    expected = [tuple(int(row[name]) for name in ("batch", "query_tokens", "context")) for row in whole]
    assert [(row.requests, *row.query_tokens, *row.context) for row in steps] == expected
    assert [row.ms for row in steps] == [float(row["median_ms"]) for row in whole]


@pytest.mark.parametrize("model", [Measurement, Step], ids=lambda model: model.__name__)
def test_the_documentation_has_every_column_in_the_words_of_the_model(model):
    page = (ROOT / "docs" / "measurements.md").read_text()
    for name, field in model.model_fields.items():
        meaning = " ".join(field.description.split())
        assert f"| `{name}` | {meaning} |" in page
