"""The break-even moves as paper says where paper knows, and what has none says so."""

import math

import pytest

from specsim.analysis.crossings import find_crossings
from specsim.analysis.intervals import Interval
from specsim.errors import InputError
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import simulate_curve
from specsim.studies.sensitivity import run as sensitivity
from specsim.studies.sensitivity.run import simulate_sensitivity

pytestmark = pytest.mark.slow

RIDGE = 989e12 / 3.35e12  # tokens that fill an H100's compute while it reads its weights
OUTPUT = 60
# drafts that cost nothing, two of which are always accepted: a verify of 4 drafts emits 3 tokens, without any luck
CERTAIN = (
    "speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}",
    "speculation.acceptance={kind: mean_length, mean_acceptance_length: 3, num_draft_tokens: 4, "
    "shape: minimum_variance}",
    f"workload.lengths={{kind: fixed, prompt_tokens: 20, output_tokens: {OUTPUT}}}",
    "curve={batches: [70, 150, 250, 290], replications: 2, requests_per_slot: 3}",
)


@pytest.fixture(scope="module")
def certain():
    return simulate_sensitivity(load_scenario("theory-h100-ideal", CERTAIN), 0.1, jobs=1)


def ends(result, name):
    (shift,) = [shift for shift in result.shifts if shift.name == name]
    return shift.lower.break_even.batch, shift.higher.break_even.batch


def test_the_break_even_is_that_of_paper(certain):
    """E·t(B) = t(5·B) with E = 3: between a fifth of the ridge and the ridge its logarithm is a straight line."""
    assert certain.base.break_even.batch == pytest.approx(3 / 5 * RIDGE, rel=1e-9)


@pytest.mark.parametrize(("name", "power"), [("compute achieved", 1), ("bandwidth achieved", -1)])
def test_the_ridge_moves_it(certain, name, power):
    assert ends(certain, name) == pytest.approx([3 / 5 * RIDGE * factor**power for factor in (0.9, 1.1)], rel=1e-9)


def test_lower_acceptance_moves_it(certain):
    """Drafts accepted with 0.9 and 0.9 emit 2.71 tokens; a request needs no more than one round beyond its mean."""
    lower, higher = ends(certain, "acceptance")
    assert higher == pytest.approx(3 / 5 * RIDGE, rel=1e-9), "what is certain cannot become more so"
    (shift,) = [shift for shift in certain.shifts if shift.name == "acceptance"]
    crossing, expected = shift.lower.break_even, 1 + 0.9 + 0.81
    standard_errors = 4 * (crossing.high - crossing.low) / 2 / 12.71  # t of one degree of freedom
    most = expected / 5 * RIDGE
    assert most / (1 + expected / OUTPUT) - standard_errors <= lower <= most + standard_errors


def test_what_moves_it_most_comes_first(certain):
    swings = [certain.swing(shift) for shift in certain.by_swing]
    assert swings == sorted(swings, reverse=True)
    assert {shift.name for shift in certain.shifts} == {"acceptance", "compute achieved", "bandwidth achieved"}
    assert set(certain.fixed) == {"draft time", "host time", "communication time"}


def test_its_slope_is_that_of_logarithms(certain):
    slopes = {shift.name: certain.elasticity(shift) for shift in certain.shifts}
    assert slopes["compute achieved"] == pytest.approx(1, rel=1e-8)
    assert slopes["bandwidth achieved"] == pytest.approx(math.log(0.9 / 1.1) / math.log(1.1 / 0.9), rel=1e-8)


def test_where_it_pays_everywhere_the_speedup_is_what_moves():
    """Verifying is free at these batches, so it is E; neither bandwidth nor compute moves it."""
    small = [*CERTAIN[:3], "curve={batches: [2, 4], replications: 2, requests_per_slot: 3}"]
    result = simulate_sensitivity(load_scenario("theory-h100-ideal", small), 0.1, jobs=1)
    assert result.base.break_even is None
    assert not result.has_break_even
    assert result.base.speedup.estimate == pytest.approx(3, rel=1e-9)
    slopes = {shift.name: result.elasticity(shift) for shift in result.shifts}
    assert slopes["compute achieved"] == pytest.approx(0, abs=1e-9)
    assert slopes["bandwidth achieved"] == pytest.approx(0, abs=1e-9)
    (moved,) = [shift for shift in result.shifts if shift.name == "acceptance"]
    assert moved.higher.speedup.estimate == pytest.approx(3, rel=1e-9)
    assert moved.lower.speedup.estimate < 2.9  # 2.71 tokens a verify with a standard error below 0.05


def test_a_policy_that_never_drafts_is_refused():
    inputs = load_scenario("theory-h100-ideal", ["speculation.policy.num_draft_tokens=0"])
    with pytest.raises(InputError, match="drafts nothing"):
        simulate_sensitivity(inputs, 0.1)


@pytest.fixture(scope="module")
def noisy():
    """Few short requests whose acceptance is luck, and the grids of the curves that were simulated."""
    grids = []

    def recorded(inputs, *, refine, **kwargs):
        curve = simulate_curve(inputs, refine=refine, **kwargs)
        grids.append((refine, tuple(sorted(set(curve.points["batch"])))))
        return curve

    few = (
        "speculation.acceptance={kind: constant, overlap: 0.6}",
        "workload.lengths={kind: fixed, prompt_tokens: 16, output_tokens: 12}",
        "curve={batches: [20, 100, 290], replications: 3, requests_per_slot: 3}",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitivity, "simulate_curve", recorded)
        return simulate_sensitivity(load_scenario("theory-h100-ideal", few), 0.1, jobs=1), grids


def test_all_are_compared_at_the_same_batches(noisy):
    """Those right at the base's break-even among them."""
    result, ((refined, first), *others) = noisy
    assert refined
    assert set(others) == {(False, result.batches)}
    assert len(others) == 1 + 2 * len(result.shifts)
    assert set(first) < set(result.batches)
    around = [result.base.break_even.batch * 1.1**power for power in (-3, -1.5, 1.5, 3)]
    assert all(min(abs(batch - near) for batch in result.batches) < 2 for near in around)


@pytest.mark.parametrize(
    ("name", "sign"), [("acceptance", 1), ("compute achieved", 1), ("bandwidth achieved", -1), ("draft time", -1)]
)
def test_the_base_lies_between_the_ends(noisy, name, sign):
    result, _ = noisy
    lower, higher = ends(result, name)
    assert sign * lower < sign * result.base.break_even.batch < sign * higher


def outcome(speedups):
    """Of means at batches 1, 8 and 64, two replications 2 % apart each."""
    drawn = [[factor * speedup for speedup in speedups] for factor in (0.99, 1.01)]
    return sensitivity.Outcome(find_crossings([1, 8, 64], drawn), Interval(1.0, 0.9, 1.1, confidence=0.95, n=2))


@pytest.mark.parametrize(
    ("speedups", "where", "left_open"),
    [
        ((2, 2, 0.5), "found", ()),
        ((2, 2, 2), "beyond", ()),
        ((0.5, 0.5, 2), "beyond", ()),
        ((0.5, 0.5, 0.5), "below", ()),
        ((2, 2, 1), "open", (64,)),
        ((1, 0.5, 0.5), "open", (1,)),
        ((1, 1, 1), "open", (64,)),
    ],
)
def test_where_the_break_even_lies(speedups, where, left_open):
    found = outcome(speedups)
    assert (found.where, found.left_open) == (where, left_open)
