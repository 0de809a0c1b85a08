"""What a map must hold: cells as the closed form has them, paper's break-even, and what it takes to pay."""

import math
from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.closed_form import break_even_batch, expected_tokens, ridge_tokens
from specsim.analysis.intervals import t_quantile
from specsim.errors import InfeasibleError, InputError
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step
from specsim.simulation.replica import Simulation
from specsim.studies.map.grid import (
    at_context,
    chosen_batches,
    chosen_contexts,
    draft_lengths,
    lengths_at,
    positions,
    worth_running,
)
from specsim.studies.map.required import overlap_for, required
from specsim.studies.map.run import simulate_map
from specsim.studies.shared import points
from specsim.studies.shared.limits import running
from specsim.studies.shared.points import Point, PointRuns, run_point

pytestmark = pytest.mark.slow

DEMO, IDEAL = "llama3.1-8b-h100-eagle3", "theory-h100-ideal"
FEW = "map.replications=4"
STANDARD_ERRORS = 4


@pytest.fixture(scope="module")
def ideal_inputs():
    return load_scenario(
        IDEAL, (FEW, "map.contexts=[256, 512]", "map.batches=[16, 128, 256]", "map.num_draft_tokens=[4]")
    )


@pytest.fixture(scope="module")
def ideal(ideal_inputs):
    return simulate_map(ideal_inputs, jobs=1)


@pytest.fixture(scope="module")
def real_inputs():
    return load_scenario(
        DEMO, (FEW, "map.contexts=[256, 1536]", "map.batches=[4, 256, 512]", "map.num_draft_tokens=[1, 3]")
    )


@pytest.fixture(scope="module")
def real(real_inputs):
    return simulate_map(real_inputs, jobs=1)


def drafted(result):
    cells = result.cells
    return cells[cells["all_run"] & (cells["num_draft_tokens"] > 0)]


def standard_error(row, name):
    """Of a logarithm whose 95 % interval is stated, from as many replications as the maps here have."""
    width = math.log(getattr(row, f"{name}_high") / getattr(row, f"{name}_low"))
    return width / 2 / t_quantile(0.95, 3)


@pytest.mark.parametrize("name", ["ideal", "real"])
def test_cells_are_those_of_the_closed_form(request, name):
    """Log speedups within 4 standard errors and what the closed form leaves out.

    An output of n tokens takes R verifies of E tokens on average, which yield n and what the end cuts, at most K: so
    tokens per verify are E/(1 + K/n) at the least. The baseline's mean context is half a token below the middle, so
    that a step of it, and of the drafts, differs by at most 1/context.
    """
    result = request.getfixturevalue(name)
    assert len(drafted(result)) > 4
    for row in drafted(result).itertuples():
        off, noise = math.log(row.speedup / row.closed_form_speedup), standard_error(row, "speedup")
        cut = math.log1p(row.num_draft_tokens / result.lengths[row.context].output_tokens)
        assert abs(off + cut / 2) < cut / 2 + STANDARD_ERRORS * noise + 1 / row.context, row


def test_the_break_even_of_the_ideal_device_is_that_of_paper_at_every_context(ideal_inputs, ideal):
    """Within 4 standard errors, half a request, and tokens per verify between E and E/(1 + K/n)."""
    simulation = Simulation(at_context(ideal_inputs, 256, [1]))
    step, plain = (decode_step(simulation, 1, k, 256).seconds for k in (4, 0))
    draft_cost = (step / plain - 1) / 4  # verifying one request is free
    assert draft_cost == pytest.approx(0.05, abs=0.01)
    ridge = ridge_tokens(989e12, 3.35e12)
    most = break_even_batch(ridge, 0.8, 4, draft_cost)
    assert 180 < most < 190
    tokens = float(expected_tokens(0.8, 4))
    least = ridge * (tokens / (1 + 4 / 128) - 4 * draft_cost) / 5
    found = [ideal.crossings[context, 4].crossings for context in ideal.contexts]
    assert found[0] == found[1]  # nothing but weights is read, so a context costs nothing
    (crossing,) = found[0]
    noise = (crossing.high - crossing.low) / 2 / t_quantile(0.95, 3)
    assert least - STANDARD_ERRORS * noise - 0.5 < crossing.batch < most + STANDARD_ERRORS * noise + 0.5


def test_longer_contexts_move_large_batches_as_costs_say(real):
    """More of a step is KV, which is read once however many tokens are verified: speculation pays more."""
    rows = {row.context: row for row in drafted(real).query("batch == 256 and num_draft_tokens == 3").itertuples()}
    assert rows[256].closed_form_speedup < rows[1536].closed_form_speedup
    assert rows[256].speedup_high < rows[1536].speedup_low
    assert rows[256].required_tokens_low > rows[1536].required_tokens_high


@pytest.mark.parametrize("name", ["ideal", "real"])
def test_what_it_takes_is_the_acceptance_length_over_the_speedup(request, name):
    for row in drafted(request.getfixturevalue(name)).itertuples():
        # geometric means against an arithmetic one: apart by half the variance over replications
        spread = standard_error(row, "acceptance_length") * 2
        assert row.required_tokens == pytest.approx(row.acceptance_length / row.speedup, rel=spread**2)
        assert row.required_tokens_low <= row.required_tokens <= row.required_tokens_high


def test_it_is_the_time_of_a_step_with_drafts_over_that_without(real_inputs):
    """Of whole batches; but for the K tokens at most that the end of an output cuts from it."""
    inputs = at_context(real_inputs, 1536, [32])
    simulation, seconds = Simulation(inputs), {}
    for k in (0, 3):
        run = simulation.run(
            ClosedLoop(kind="closed_loop", concurrency=32), num_draft_tokens=k, num_requests=256, replication=0
        )
        whole = run.steps.num_running == 32
        seconds[k] = float((run.steps.end - run.steps.start)[whole].mean())
    found = {k: run_point(inputs, Point(32, k)) for k in (0, 3)}
    needed = found[3].acceptance_length / (found[3].tokens_per_s / found[0].tokens_per_s)
    noise = STANDARD_ERRORS * needed.std(ddof=1) / math.sqrt(len(needed))
    ratio = seconds[3] / seconds[0]
    assert ratio - noise < needed.mean() < ratio * (1 + 3 / 128) + noise


def test_where_the_speedup_is_one_the_acceptance_needed_is_the_one_stated(ideal):
    """At any speedup s it is the α that gives E(0.8)/s tokens; within 4 standard errors."""
    rows = [row for row in drafted(ideal).itertuples() if abs(row.speedup - 1) < 0.05]
    assert rows
    for row in rows:
        expected = overlap_for(float(expected_tokens(0.8, 4)) / row.speedup, 4)
        noise = (row.required_overlap_high - row.required_overlap_low) / 2 / t_quantile(0.95, 3)
        noise += standard_error(row, "speedup")  # of s itself, an α moves by less
        assert abs(row.required_overlap - expected) < STANDARD_ERRORS * noise


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
def test_overlaps_are_the_inverse_of_expected_tokens(k, alpha):
    assert overlap_for(float(expected_tokens(alpha, k)), k) == pytest.approx(alpha, abs=1e-9)


def test_no_overlap_gives_more_than_all_drafts():
    assert math.isnan(overlap_for(4.01, 3))
    assert overlap_for(0.9, 3) == 0  # drafts that are all rejected would do


def test_batches_that_do_not_run_at_once_are_no_cells(real):
    waiting = real.cells[~real.cells["all_run"]]
    assert set(zip(waiting["context"], waiting["batch"], strict=True)) == {(1536, 512)}
    assert waiting[["closed_form_speedup", "required_tokens"]].isna().all(axis=None)
    assert real.largest_running(1536) == 256
    assert 512 not in real.best_draft_lengths(1536)
    assert 512 in real.best_draft_lengths(256)
    assert real.crossings[1536, 3].verdict == "always pays"


def test_where_no_batch_runs_at_once_there_is_no_map():
    settings = (FEW, "map.contexts=[1900]", "map.batches=[400, 500]", "map.num_draft_tokens=[3]", "map.replications=2")
    with pytest.raises(InfeasibleError, match=r"map.batches is \[400, 500\]: of the smallest, 2\d\d requests run"):
        simulate_map(load_scenario(DEMO, settings), jobs=1)


def test_a_batch_is_simulated_right_at_the_break_even(ideal):
    (crossing,) = ideal.crossings[256, 4].crossings
    batches = ideal.cells.query("context == 256 and num_draft_tokens == 4")["batch"]
    assert (batches / crossing.batch - 1).abs().min() < 0.03


@pytest.mark.parametrize("scenario", [DEMO, "llama3.1-70b-4xh100-draft-1b", "deepseek-r1-8xb200-mtp"])
def test_requests_are_at_the_context_in_mid_decode(scenario):
    inputs = load_scenario(scenario)
    for context in (48, 49, 100, 255, 256, 1000, 1999, 2024):
        lengths = lengths_at(inputs, context)
        assert lengths.prompt_tokens + lengths.output_tokens / 2 == context
        assert lengths.output_tokens >= 24  # four verifies of five drafts
        assert lengths.prompt_tokens + lengths.output_tokens <= min(positions(inputs))


def test_by_default_contexts_are_powers_of_two():
    assert chosen_contexts(load_scenario(DEMO)) == tuple(256 << i for i in range(8))


def test_by_default_contexts_end_with_what_the_target_takes():
    inputs = load_scenario(DEMO)
    short = replace(inputs, target=inputs.target.model_copy(update={"max_position_embeddings": 2048}))
    assert chosen_contexts(short) == (256, 384, 512, 768, 1024, 1536)


def test_by_default_batches_are_a_part_of_the_curves():
    assert chosen_batches(load_scenario(DEMO).scenario) == tuple(1 << i for i in range(10))
    assert chosen_batches(load_scenario(DEMO, ("curve.batches=[3, 5, 90]",)).scenario) == (3, 5, 90)


def test_draft_lengths_hold_the_policys_own():
    scenario = load_scenario(DEMO, ("map.num_draft_tokens=[1, 2]",)).scenario
    assert draft_lengths(scenario) == (1, 2, 3)


def test_all_but_the_requests_stays_as_it_is():
    """Classes keep their temperatures, and requests are all as long."""
    inputs = load_scenario("llama3.1-8b-h100-language-models")
    found = at_context(inputs, 512, [1, 8]).scenario
    assert found.speculation == inputs.scenario.speculation
    assert found.deployment == inputs.scenario.deployment
    assert [part.temperature for part in found.workload.mixture] == [None, 0]
    lengths = Simulation(at_context(inputs, 512, [1, 8])).lengths(64, 0)
    assert set(lengths.prompt) == {448}
    assert set(lengths.domain) == {0, 1}


def test_acceptance_that_changes_with_the_context_does_so_on_a_map():
    """At half the acceptance for contexts twice as long tokens per verify fall from 1 + 0.8 to 1 + 0.4."""
    settings = (
        *(FEW, "map.contexts=[256, 1024]", "map.batches=[8]", "map.num_draft_tokens=[1]"),
        *("speculation.policy.num_draft_tokens=1", "speculation.acceptance.overlap=0.8"),
        "speculation.acceptance.by_context=[{tokens: 500, factor: 1.0}, {tokens: 800, factor: 0.5}]",
    )
    cells = simulate_map(load_scenario(IDEAL, settings), jobs=1).cells
    rows = {row.context: row for row in cells[cells["num_draft_tokens"] == 1].itertuples()}
    for context, tokens in ((256, 1.8), (1024, 1.4)):
        noise = standard_error(rows[context], "acceptance_length") * tokens
        assert abs(rows[context].acceptance_length - tokens) < STANDARD_ERRORS * noise


def test_prefixes_are_not_shared_on_a_map():
    inputs = load_scenario("llama3.1-8b-4xh100-fleet", ("fleet=null",))
    found = at_context(inputs, 512, [1]).scenario
    assert not found.deployment.prefix_caching
    assert found.workload.shared_prefix is None


def test_a_fleet_has_no_map():
    with pytest.raises(InputError, match="a map is that of one replica"):
        simulate_map(load_scenario("llama3.1-8b-4xh100-fleet"))


def test_points_that_wait_are_told_by_their_batch(real_inputs):
    inputs = at_context(real_inputs, 1536, [4, 512])
    grid = [Point(batch, k) for batch in (4, 512) for k in (0, 3)]
    runs = {point: run_point(inputs, point) for point in grid}
    assert set(running(runs)) == set(grid[:2])
    assert np.all(runs[Point(512, 3)].running_batch < 300)


def test_of_batches_that_cannot_run_at_once_the_first_alone_is_simulated():
    """420,496 tokens hold 285 requests of 1,472 tokens of prompt; the engine takes 1024 at once."""
    inputs = load_scenario(DEMO)
    assert worth_running(inputs, 1536, [1, 256, 285, 286, 500]) == [1, 256, 285, 286]
    assert worth_running(inputs, 64, [1, 1024, 2000, 3000]) == [1, 1024, 2000]
    assert worth_running(inputs, 1536, [400, 500]) == [400]


@pytest.mark.parametrize(
    ("drafter", "known"),
    [
        ("speculation.verifier=token", (True, True)),
        ("speculation.verifier=block", (True, False)),
        ("speculation.drafter={kind: ngram, host_time_per_step: 1 ms, host_time_per_sequence: 1 us}", (False, False)),
    ],
)
def test_what_it_takes_is_stated_where_it_is_known(drafter, known):
    """Blocks do not follow from an overlap alone, and lookups that find nothing leave steps without a verify."""
    found = required(
        np.array([2.4, 2.5]), np.array([1.2, 1.3]), 3, load_scenario(DEMO, (drafter,)).scenario.speculation
    )
    assert tuple(not math.isnan(one.estimate) for one in found) == known


def test_no_break_even_is_sought_among_batches_that_wait(monkeypatch):
    """Where 400 of 512 requests run, half as fast with drafts as without, nothing follows for any batch."""

    def faked(inputs, point, policy):
        factor = 1.0 if point.num_draft_tokens == 0 else 0.5 if point.batch == 512 else 1.5
        noise = np.array([0.99, 1.0, 1.01, 1.0]) if point.num_draft_tokens else np.ones(4)
        known, ones = min(point.batch, 400) * np.ones(4), np.ones(4)
        waiting = point.batch * np.ones(4) - known
        return PointRuns(100 * factor * noise, ones, known, 2.5 * ones, *[ones] * 7, *[0 * ones] * 2, waiting)

    monkeypatch.setattr(points, "run_point", faked)
    settings = (FEW, "map.contexts=[256]", "map.batches=[1, 64, 512]", "map.num_draft_tokens=[3]")
    result = simulate_map(load_scenario(DEMO, settings), jobs=1)
    assert result.crossings[256, 3].verdict == "always pays"
    assert set(result.cells["batch"]) == {1, 64, 512}  # no batch between is looked at
