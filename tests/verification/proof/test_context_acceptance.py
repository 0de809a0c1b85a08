"""Acceptance by context: what the statistic counts, where its limit lies, and what it finds that the law does not."""

import numpy as np
import pytest
from scipy.stats import norm

from specsim.verification import verify_block, verify_chain
from specsim.verification.proof.context_acceptance import context_acceptance_error, context_acceptance_limit
from specsim.verification.proof.losslessness import (
    START,
    decode,
    joint_chi_square,
    joint_chi_square_limit,
    one_hot_drafter,
    random_markov_pair,
    reversed_drafter,
)
from specsim.verification.proof.mutants.judging import accepts_the_targets_own_draw
from specsim.verification.proof.trials import unsampled

ROUNDS = 60_000


def pair_of(seed):
    return random_markov_pair(np.random.default_rng(seed))


def test_the_limit_is_that_of_four_standard_errors_over_five_contexts():
    assert 5 * norm.sf(context_acceptance_limit()) == pytest.approx(norm.sf(4), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_right_verifier_accepts_as_models_overlap(seed):
    rng = np.random.default_rng(100 + seed)
    for pair in (pair_of(seed), reversed_drafter(pair_of(seed))):
        assert context_acceptance_error(verify_chain, pair, ROUNDS, rng) <= context_acceptance_limit()
        one_hot = one_hot_drafter(pair)
        assert context_acceptance_error(unsampled(verify_chain), one_hot, ROUNDS, rng) <= context_acceptance_limit()


def test_a_verifier_whose_law_is_right_but_that_accepts_too_seldom_is_found():
    pair, rng = pair_of(1), np.random.default_rng(2)
    tokens = decode(accepts_the_targets_own_draw, pair, ROUNDS, rng).tokens
    assert joint_chi_square(tokens, pair.target) <= joint_chi_square_limit()
    assert context_acceptance_error(accepts_the_targets_own_draw, pair, ROUNDS, rng) > context_acceptance_limit()


@pytest.mark.parametrize("context", range(START + 1))
def test_a_mistake_in_one_context_alone_is_found(context):
    """There one round in ten keeps none of the drafts that it accepted."""
    pair, rng = pair_of(3), np.random.default_rng(4)

    def hesitant(draft, q, p, num_draft, **given):
        out, num_out = verify_chain(draft, q, p, num_draft, **given)
        in_context = (p[:, 0] == pair.target[context]).all(axis=1)
        return out, np.where(in_context & (rng.random(len(num_out)) < 0.1), 1, num_out)

    assert context_acceptance_error(hesitant, pair, ROUNDS, rng) > context_acceptance_limit()


def test_it_is_a_test_of_the_token_rule():
    """Blocks keep more of their first drafts than overlap: what follows can make up for them."""
    rng = np.random.default_rng(5)
    assert context_acceptance_error(verify_block, pair_of(6), ROUNDS, rng) > context_acceptance_limit()
