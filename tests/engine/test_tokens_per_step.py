"""Each rule yields as many tokens per step in the engine as the library says it does on the same distributions."""

import numpy as np
import pytest

from specsim.drafting.acceptance import PositionAcceptance
from specsim.engine.run import serve_closed_loop
from specsim.rng import stream
from specsim.verification import mean_tokens

CONDITIONAL = (0.8, 0.6, 0.7, 0.5)
K = len(CONDITIONAL)


def library_figure(rule):
    """Tokens per verify and its standard error; temperature 0 has the marginals of the token rule."""
    source = PositionAcceptance(CONDITIONAL, 8, stream(1, "distributions"))
    draft = source.propose(stream(2, "library figure").random((400_000, K)))
    return mean_tokens(draft, *source.score(draft), np.full(len(draft), K), "block" if rule == "block" else "token")


def simulated(serving, lengths, rule):
    """Tokens of every verify that the end of the output did not cut short: mean, standard error, by request."""
    pairs = lengths(*[(5, 400)] * 200)
    records = serve_closed_loop(serving(pairs, conditional=CONDITIONAL, rule=rule, decode_only=True), pairs, 8)
    tokens = records.rounds.num_accepted + 1.0
    means = np.bincount(records.rounds.request, tokens) / np.bincount(records.rounds.request)
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))


@pytest.mark.parametrize("rule", ["token", "block", "greedy"])
def test_tokens_per_step_are_the_librarys(serving, lengths, rule):
    expected, error = library_figure(rule)
    if rule != "block":
        assert abs(expected - (1 + np.cumprod(CONDITIONAL).sum())) < 4 * error
    found, sampling_error = simulated(serving, lengths, rule)
    assert abs(found - expected) < 4 * np.hypot(error, sampling_error)


def test_the_block_rule_yields_more(serving, lengths):
    (token, token_error), (block, block_error) = (simulated(serving, lengths, rule) for rule in ("token", "block"))
    assert block - token > 4 * np.hypot(token_error, block_error)
