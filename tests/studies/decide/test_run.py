"""What a schedule is worth: from hand-made throughputs, and simulated where it is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from specsim.errors import InputError
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import CurveResult
from specsim.studies.decide.run import as_they_run, better_of, decision_of, simulate_decision
from specsim.studies.decide.schedules import schedule_of
from specsim.studies.shared.points import Point

pytestmark = pytest.mark.slow

LUCK = np.array([0.9, 1.0, 1.1])
TABLE = {1: {0: 100, 1: 150, 3: 200}, 8: {0: 400, 1: 500, 3: 480}, 64: {0: 800, 1: 700, 3: 600}}
SMALL = (
    "workload.lengths={kind: fixed, prompt_tokens: 16, output_tokens: 24}",
    "curve={batches: [1, 4], num_draft_tokens: [2], replications: 4, requests_per_slot: 4, min_requests: 12}",
    "speculation.policy.num_draft_tokens=2",
)


def curve_of(batches, found, running):
    at_once = dict(zip(batches, running, strict=True))
    rows = [(batch, at_once[batch], "KV cache" if at_once[batch] < 0.98 * batch else "") for batch, _ in found]
    points = pd.DataFrame(rows, columns=["batch", "mean_running_batch", "limit"])
    return CurveResult(batches, points, pd.DataFrame(), {}, {}, throughputs=found)


def decision(under_schedule, table=TABLE, running=None):
    found = {Point(b, k): mean * LUCK for b, lengths in table.items() for k, mean in lengths.items()}
    curve = curve_of(tuple(table), found, running or tuple(table))
    schedule = schedule_of(found, curve.batches, (1, 3))
    longest = schedule.num_draft_tokens
    return decision_of(curve, schedule, {Point(b, longest): mean * LUCK for b, mean in under_schedule.items()})


@pytest.fixture
def known():
    """The best length everywhere, but that at 64 the idle drafter costs 1 %."""
    return decision({1: 200, 8: 500, 64: 792})


def test_lengths_and_gains_by_batch(known):
    assert [choice.num_draft_tokens for choice in known.choices] == [3, 1, 0]
    assert [choice.over_none.estimate for choice in known.choices] == pytest.approx([2, 1.25, 0.99])
    assert [choice.tokens_per_s for choice in known.choices] == pytest.approx([200, 500, 792])


def test_requests_that_wait_do_not_count_for_the_length():
    """The table changes at 6 and 29; of 64 requests in flight 20 run at once."""
    crowded = decision({1: 200, 8: 500, 64: 792}, running=(1, 8, 20))
    assert [choice.num_draft_tokens for choice in crowded.choices] == [3, 1, 1]


def test_batches_that_do_not_run_make_no_ranges():
    """Of 64 and 100 in flight 20 run: the table changes at 8 · 2.5^(ln 1.25 / ln(10/7)) = 14.2, not at 29."""
    table = TABLE | {100: {0: 800, 1: 900, 3: 700}}
    found = {Point(b, k): mean * LUCK for b, lengths in table.items() for k, mean in lengths.items()}
    curve = curve_of(tuple(table), found, (1, 8, 20, 20))
    throughputs, batches = as_they_run(curve)
    assert batches == [1, 8, 20]
    rows = schedule_of(throughputs, batches, (1, 3)).rows
    assert [(*row.batch, row.num_draft_tokens) for row in rows] == [(1, 6, 3), (7, 14, 1), (15, None, 0)]
    everything = as_they_run(curve_of(tuple(table), found, tuple(table)))
    assert everything == (found, list(table))


def test_averages_are_over_batches_that_run():
    """At 64 a fifth of the requests runs; what is gained and lost there counts for no average, but is in the table."""
    found = decision({1: 200, 8: 500, 64: 792}, running=(1, 8, 13))
    assert found.over_none.estimate == pytest.approx((2 * 1.25) ** 0.5)
    assert found.fixed[1].regret.estimate == pytest.approx(1 - (150 / 200 * 500 / 500) ** 0.5)
    assert [choice.over_none.estimate for choice in found.choices] == pytest.approx([2, 1.25, 0.99])
    nothing_runs = decision({1: 200, 8: 500, 64: 792}, running=(0.5, 4, 13))
    assert nothing_runs.over_none.estimate == pytest.approx((2 * 1.25 * 0.99) ** (1 / 3))


def test_the_gain_over_batches_is_a_geometric_mean(known):
    """Luck that all runs of a replication share leaves no interval."""
    gain = known.over_none
    assert gain.estimate == pytest.approx((2 * 1.25 * 0.99) ** (1 / 3))
    assert gain.high - gain.low == pytest.approx(0, abs=1e-12)


def test_regret_of_one_length(known):
    none, one, three = known.fixed
    assert [fixed.num_draft_tokens for fixed in known.fixed] == [0, 1, 3]
    assert none.regret.estimate == pytest.approx(1 - (1 / (2 * 1.25 * 0.99)) ** (1 / 3))
    assert (none.worst.estimate, none.worst_batch) == (pytest.approx(0.5), 1)
    assert one.regret.estimate == pytest.approx(1 - (150 / 200 * 500 / 500 * 700 / 792) ** (1 / 3))
    assert (one.worst.estimate, one.worst_batch) == (pytest.approx(0.25), 1)
    assert three.regret.estimate == pytest.approx(1 - (480 / 500 * 600 / 792) ** (1 / 3))
    assert (three.worst.estimate, three.worst_batch) == (pytest.approx(1 - 600 / 792), 64)
    assert known.best_fixed is three
    assert known.over_fixed.estimate == pytest.approx(1 / (1 - three.regret.estimate))
    assert three.over_none.estimate == pytest.approx((2 * 480 / 400 * 600 / 800) ** (1 / 3))


def test_a_regret_has_the_interval_of_paired_ratios():
    """Logarithms of the ratio at -0.01, 0 and 0.01 about its own: a half-width of t(2) · 0.01 / sqrt(3)."""
    table = {1: {0: 100, 1: 150, 3: 200}}
    found = {Point(b, k): mean * LUCK for b, lengths in table.items() for k, mean in lengths.items()}
    curve = curve_of((1,), found, (1,))
    scheduled = 200 * LUCK * np.exp([-0.01, 0, 0.01])
    result = decision_of(curve, schedule_of(found, (1,), (1, 3)), {Point(1, 3): scheduled})
    half = stats.t.ppf(0.975, 2) * 0.01 / np.sqrt(3)
    regret = result.fixed[1].regret
    assert regret.estimate == pytest.approx(0.25)
    assert (regret.low, regret.high) == pytest.approx((1 - 0.75 * np.exp(half), 1 - 0.75 * np.exp(-half)))


@pytest.mark.parametrize(("at_64", "length"), [(700, None), (500, 3)])
def test_a_table_that_loses_to_one_length_is_not_recommended(at_64, length):
    """Switching at 64 from 3 drafts to 1 costs more than it gains there, whatever fixed lengths promised."""
    table = {1: {0: 100, 1: 150, 3: 200}, 64: {0: 400, 1: 620, 3: 600}}
    found = decision({1: 200, 64: at_64}, table)
    assert len(found.schedule.rows) == 2
    better = better_of(found.curve, found)
    if length is None:
        assert better is found
        return
    assert [row.num_draft_tokens for row in better.schedule.rows] == [length]
    assert better.over_fixed.estimate == 1
    assert better.over_none.estimate == pytest.approx((2 * 1.5) ** 0.5)
    lost = 100 * (1 - (500 / 600) ** 0.5)
    (warning,) = better.warnings
    assert f"(2 ranges) was simulated and yields {lost:.1f} % [{lost:.1f}, {lost:.1f}] less than always" in warning


@pytest.mark.parametrize(("step_error", "kept"), [(0.0, False), (0.02, False), (0.03, True)])
def test_a_table_that_loses_within_the_models_error_stays(step_error, kept):
    """1 always, where 3 always is 4 % faster: 0.03 √2 = 0.042 does not tell them apart, 0.02 √2 = 0.028 does."""
    found = {Point(b, k): mean * LUCK for b in (1, 8) for k, mean in {0: 100, 1: 150, 3: 156}.items()}
    curve = curve_of((1, 8), found, (1, 8))
    shortest = schedule_of(found, (1, 8), (1, 3), 0.1)
    assert [row.num_draft_tokens for row in shortest.rows] == [1]
    table = decision_of(curve, shortest, {Point(b, 1): 150 * LUCK for b in (1, 8)})
    assert (better_of(curve, table, step_error) is table) == kept


def test_where_nothing_pays_no_speculation_loses_nothing():
    never = decision({}, {1: {0: 100, 1: 90, 3: 80}, 8: {0: 400, 1: 300, 3: 200}})
    assert never.schedule.num_draft_tokens == 0
    assert never.best_fixed.num_draft_tokens == 0
    assert never.over_none.estimate == 1
    assert never.best_fixed.regret.estimate == 0


def test_a_schedule_of_one_length_is_that_length():
    """The schedule's own runs, to the byte those of the fixed length."""
    found = simulate_decision(load_scenario("llama3.1-8b-h100-eagle3", SMALL), jobs=1)
    assert [row.num_draft_tokens for row in found.schedule.rows] == [2]
    assert {(choice.over_fixed.low, choice.over_fixed.high) for choice in found.choices} == {(1, 1)}
    assert found.best_fixed.regret.estimate == 0
    by_batch = found.curve.points.query("num_draft_tokens == 2").set_index("batch")["speedup"]
    assert [choice.over_none.estimate for choice in found.choices] == [by_batch[1], by_batch[4]]


def test_an_idle_drafter_costs_what_the_engine_says():
    """At 512 5 drafts do not pay; but a drafter that idles for 0.1 s a step costs more than they do.

    Prompts, which the drafter computes too, would come in every step.
    """
    changes = (
        "workload.decode_only=true",
        "curve.batches=[1, 512]",
        "curve.num_draft_tokens=[5]",
        "speculation.policy.num_draft_tokens=5",
    )
    inputs = load_scenario("llama3.1-8b-h100-eagle3", (*SMALL, *changes))
    slow = inputs.engine.model_copy(update={"host_time_when_idle_drafter": 0.1})
    found = simulate_decision(replace(inputs, engine=slow), jobs=1)
    assert [choice.num_draft_tokens for choice in found.choices] == [5, 5]
    assert "(2 ranges) was simulated and yields" in found.warnings[0]
    free = simulate_decision(inputs, jobs=1)
    assert [choice.num_draft_tokens for choice in free.choices] == [5, 0]
    assert "was simulated and yields" not in " ".join(free.warnings)


@pytest.mark.parametrize(
    ("scenario", "path"),
    [("llama3.1-8b-4xh100-fleet", "fleet"), ("llama3.1-8b-h100-eagle3-tree", "speculation.tree")],
)
def test_what_engines_have_no_tables_for_is_refused(scenario, path):
    with pytest.raises(InputError) as error:
        simulate_decision(load_scenario(scenario), jobs=1)
    assert [problem.path for problem in error.value.problems] == [path]
