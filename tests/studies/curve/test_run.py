"""What a curve must hold: its grid, a baseline of exactly 1, crossings that its own points bear out."""

import numpy as np
import pytest

from specsim.inputs.read.scenario import Inputs, load_scenario
from specsim.studies.curve.grid_runs import NEAR
from specsim.studies.curve.run import CurveResult, simulate_curve
from specsim.studies.shared.points import Point, num_requests, run_point

TINY = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 12}",
    "curve={batches: [8, 64, 512], num_draft_tokens: [1, 4], replications: 3, requests_per_slot: 3}",
)


@pytest.fixture(scope="session")
def tiny() -> Inputs:
    return load_scenario("theory-h100-ideal", TINY)


@pytest.fixture(scope="session")
def curve(tiny) -> CurveResult:
    return simulate_curve(tiny, jobs=1)


GRID = [8, 64, 512]
COLUMNS = {
    *("batch", "num_draft_tokens", "tokens_per_s", "tokens_per_s_low", "tokens_per_s_high"),
    *("speedup", "speedup_low", "speedup_high", "closed_form_speedup", "acceptance_length"),
    *("mean_running_batch", "limit", "ttft_p50_s", "tpot_p50_s"),
}


def rows(curve, num_draft_tokens):
    points = curve.points
    return points[points["num_draft_tokens"] == num_draft_tokens]


@pytest.mark.slow
def test_columns_and_grid(curve):
    assert set(curve.points.columns) == COLUMNS
    assert not curve.points.isna().any().any()
    for num_draft_tokens in (0, 1, 4):
        batches = rows(curve, num_draft_tokens)["batch"].tolist()
        assert set(GRID) <= set(batches)
        assert batches == sorted(set(batches))


def test_the_baseline_is_exactly_one(curve):
    baseline = rows(curve, 0)
    for column in ("speedup", "speedup_low", "speedup_high", "acceptance_length", "closed_form_speedup"):
        assert (baseline[column] == 1).all()


def test_intervals_hold_their_estimates(curve):
    for name in ("tokens_per_s", "speedup"):
        low, value, high = (curve.points[column] for column in (f"{name}_low", name, f"{name}_high"))
        assert ((low <= value) & (value <= high) & (low > 0)).all()


@pytest.mark.parametrize("num_draft_tokens", [1, 4])
def test_speedup_is_the_geometric_mean_of_paired_ratios(tiny, curve, num_draft_tokens):
    drafted, plain = (run_point(tiny, Point(64, k)).tokens_per_s for k in (num_draft_tokens, 0))
    (found,) = rows(curve, num_draft_tokens).query("batch == 64")["speedup"]
    assert found == pytest.approx(np.exp(np.log(drafted / plain).mean()), rel=1e-12)


def test_the_crossing_lies_where_the_points_change_sides(curve):
    found = curve.crossings[4]
    (crossing,) = [crossing for crossing in found.crossings if crossing.established]
    assert found.verdict == "crosses"
    assert crossing.stops_paying
    assert crossing.low <= crossing.batch <= crossing.high
    points = rows(curve, 4)
    assert (points.loc[points["batch"] < crossing.low, "speedup_low"] > 1).all()
    assert (points.loc[points["batch"] > crossing.high, "speedup_high"] < 1).all()
    # α = .8, γ = 4 stops paying before the 198 of a drafter that costs nothing
    assert 59 < crossing.batch < 198


def test_a_batch_is_simulated_right_at_the_crossing(curve):
    (crossing,) = [crossing for crossing in curve.crossings[4].crossings if crossing.established]
    for num_draft_tokens in (0, 4):
        nearest = (rows(curve, num_draft_tokens)["batch"] / crossing.batch - 1).abs().min()
        assert nearest <= NEAR + 1 / crossing.batch


def test_verifying_stops_being_free_where_paper_says(curve):
    # 989e12 / 3.35e12 = 295.2 tokens
    assert curve.free_batch == {1: 147, 4: 59}


def test_the_closed_form_spans_the_batches(curve):
    frame = curve.closed_form
    assert list(frame.columns) == ["batch", "num_draft_tokens", "closed_form_speedup"]
    assert set(frame["num_draft_tokens"]) == {1, 4}
    assert (frame["batch"].min(), frame["batch"].max()) == (8, 512)
    for _, part in frame.groupby("num_draft_tokens"):
        assert part["batch"].is_monotonic_increasing
        assert len(part) > 40
    # while verifying is free: 3.3616 tokens a round over one target pass and four drafts of a head of known size
    free = frame[(frame["num_draft_tokens"] == 4) & (frame["batch"] < 59)]["closed_form_speedup"]
    assert free.between(2.5, 3.36).all()


def test_the_best_draft_length_is_the_largest_throughput(curve):
    best = curve.best_draft_lengths()
    assert best.index.tolist() == GRID
    assert best.loc[8] == 4
    assert best.loc[512] == 0


@pytest.mark.parametrize("num_draft_tokens", [1, 4])
def test_acceptance_lengths_are_those_stated(tiny, curve, num_draft_tokens):
    """Within 4 standard errors, from the fewest rounds there can be: every one of them emitting all it can."""
    emits = np.arange(1, num_draft_tokens + 2)
    chance = 0.8 ** (emits - 1) * np.where(emits <= num_draft_tokens, 0.2, 1.0)
    mean = (chance * emits).sum()
    deviation = np.sqrt((chance * emits**2).sum() - mean**2)
    assert mean == pytest.approx((1 - 0.8 ** (num_draft_tokens + 1)) / 0.2)
    untouched_tokens = tiny.scenario.workload.lengths.output_tokens - num_draft_tokens
    for row in rows(curve, num_draft_tokens).itertuples():
        requests = tiny.scenario.curve.replications * num_requests(tiny, row.batch)
        rounds = requests * -(-untouched_tokens // (num_draft_tokens + 1))
        assert abs(row.acceptance_length - mean) < 4 * deviation / np.sqrt(rounds)
