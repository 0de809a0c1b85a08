"""A scenario that can never run says so before anything is simulated."""

from dataclasses import replace

import pytest

from specsim.errors import InfeasibleError


def test_weights_that_do_not_fit(inputs, run):
    large = inputs("deployment.target=llama-3.1-70b", "speculation.drafter={kind: draft_model, model: llama-3.2-1b}")
    with pytest.raises(InfeasibleError, match=r"deployment: the weights need .* a larger device or a smaller model"):
        run(large, 1, 3)


def test_a_drafter_that_does_not_fit_beside_its_target(inputs, run):
    drafted = inputs("speculation.drafter={kind: draft_model, model: llama-3.1-70b}")
    with pytest.raises(InfeasibleError, match="a larger device or a smaller drafter: the target alone fits"):
        run(drafted, 1, 3)
    run(drafted, 1, 0)


def test_a_request_longer_than_the_kv_pool(inputs, run):
    """An engine that uses 40 % of an H100 keeps room for some 100,000 tokens of Llama-3.1-8B beside the weights."""
    scenario = inputs(prompt=120_000, output=8)
    small = replace(scenario, engine=scenario.engine.model_copy(update={"memory_fraction": 0.4}))
    message = r"workload\.lengths is 120008 tokens: the KV pool holds \d+ tokens, .*\(120008 \+ 3\)"
    with pytest.raises(InfeasibleError, match=message):
        run(small, 1, 3)
    assert run(scenario, 1, 3, num_requests=1).requests.output_tokens.tolist() == [8]


def test_a_request_longer_than_the_target_takes(inputs, run):
    with pytest.raises(InfeasibleError, match=r"131073 tokens: the target takes at most 131072 tokens"):
        run(inputs(prompt=131_072, output=1), 1, 3)
