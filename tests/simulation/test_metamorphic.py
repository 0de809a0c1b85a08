"""How a run must change when one thing changes."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.latencies import tpot
from specsim.records import PARTS


def faster(device, **factors):
    """The device with some of its figures multiplied."""
    memory = device.memory.model_copy(update={"bandwidth": device.memory.bandwidth * factors.get("bandwidth", 1)})
    peak = device.peak.model_copy(update={"bf16": device.peak.bf16 * factors.get("peak", 1)})
    linear = device.linear.model_copy(update={"launch": device.linear.launch / factors.get("launch", 1)})
    return device.model_copy(update={"memory": memory, "peak": peak, "linear": linear})


def median_tpot(records):
    return np.median(tpot(records.requests))


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [1, 3, 5])
def test_full_acceptance_cuts_the_time_per_token_and_none_raises_it(inputs, run, num_draft_tokens):
    plain = median_tpot(run(inputs(), 4, 0))
    assert median_tpot(run(inputs(overlap=1.0), 4, num_draft_tokens)) < plain
    assert median_tpot(run(inputs(overlap=0.0), 4, num_draft_tokens)) > plain


@pytest.mark.slow
def test_more_acceptance_takes_less_time(inputs, run):
    """1, 1.33, 1.88, 2.73 and 4 tokens per verify: far apart for the thousand rounds and more of each run."""
    durations = [run(inputs(overlap=a), 4, 3, num_requests=40).requests.finish.max() for a in (0, 0.25, 0.5, 0.75, 1)]
    assert (np.diff(durations) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [0, 3])
@pytest.mark.parametrize("figure", ["bandwidth", "peak", "launch"])
def test_a_faster_device_is_never_slower(inputs, run, figure, num_draft_tokens):
    """In a closed loop steps hold the same work whatever they take, so every single time falls."""
    scenario = inputs()
    slow = run(scenario, 8, num_draft_tokens)
    fast = run(replace(scenario, device=faster(scenario.device, **{figure: 1.5})), 8, num_draft_tokens)
    np.testing.assert_array_equal(fast.steps.num_decodes, slow.steps.num_decodes)
    assert (fast.requests.finish < slow.requests.finish).all()
    assert (fast.requests.first_token < slow.requests.first_token).all()


@pytest.mark.slow
def test_drafts_that_are_never_accepted_only_cost(inputs, run):
    finish = np.array([run(inputs(overlap=0.0), 4, k).requests.finish for k in range(7)])
    assert (np.diff(finish, axis=0) > 0).all()


def test_a_longer_context_takes_longer_and_a_larger_batch_slows_each_request(inputs, run):
    short, long = (run(inputs(prompt=prompt), 4, 3) for prompt in (100, 1000))
    assert median_tpot(long) > median_tpot(short)
    assert median_tpot(run(inputs(), 32, 0)) > median_tpot(run(inputs(), 4, 0))


def test_decode_only_computes_no_prompt(inputs, run):
    prefilled = run(inputs("workload.decode_only=true"), 4, 3)
    assert not prefilled.steps.num_prompt_tokens.any()
    assert not prefilled.rounds.from_prompt.any()
    assert prefilled.requests.finish.max() < run(inputs(), 4, 3).requests.finish.max()


def test_the_ideal_deployment_spends_time_on_weights_arithmetic_and_drafts_only(inputs, run):
    parts = run(inputs("deployment.ideal=true"), 4, 3).steps.parts.sum(axis=0)
    used = {part for part, seconds in zip(PARTS, parts, strict=True) if seconds > 0}
    assert used <= {"weights", "compute", "draft"}
    assert {"weights", "draft"} <= used
    measured = run(inputs(), 4, 3).steps.parts.sum(axis=0)
    assert {part for part, seconds in zip(PARTS, measured, strict=True) if seconds > 0} == set(PARTS) - {
        "communication"
    }


def test_a_group_of_devices_is_faster_though_it_communicates(inputs, run):
    pair = inputs("deployment.num_devices=2", "deployment.tensor_parallel=2")
    one, two = run(inputs(), 4, 3), run(pair, 4, 3)
    assert two.steps.parts[:, PARTS.index("communication")].min() > 0
    assert two.requests.finish.max() < one.requests.finish.max()


def test_temperature_zero_takes_as_long_as_the_token_rule_on_average(inputs, run):
    """The verifiers differ, their acceptance does not: tokens per verify agree within 4 standard errors."""
    means, variances = [], []
    for temperature in (0, 1):
        rounds = run(inputs(f"speculation.temperature={temperature}", output=200), 32, 3).rounds
        accepted = rounds.num_accepted[~rounds.from_prompt]
        means.append(accepted.mean())
        variances.append(accepted.var() / len(accepted))
    assert abs(means[0] - means[1]) <= 4 * np.sqrt(sum(variances))


RULES = {
    "token": (),
    "block": ("speculation.verifier=block",),
    "argmax": ("speculation.drafts=argmax",),
    "greedy": ("speculation.temperature=0",),
    "tree": (
        "speculation.verifier=tree",
        "speculation.tree={branching: [2, 2, 1], siblings: without_replacement}",
        "curve.num_draft_tokens=[1, 2, 3]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_full_acceptance_never_yields_fewer_tokens_than_none(inputs, run, rule, num_draft_tokens):
    """In every round of every request, whichever verifier runs."""
    none, full = (run(inputs(*RULES[rule], overlap=a), 8, num_draft_tokens).rounds for a in (0.0, 1.0))
    none_kept, full_kept = (rounds.num_accepted[~rounds.from_prompt] for rounds in (none, full))
    assert full_kept.min() == num_draft_tokens
    if rule != "tree":  # a sibling can be accepted where the first candidate never is
        assert none_kept.max() == 0
    assert full_kept.min() >= none_kept.max()
