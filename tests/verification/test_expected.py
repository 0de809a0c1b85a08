"""Mean tokens per verify: on the toy to the last digit, and what the verifiers yield within 4 standard errors."""

import numpy as np
import pytest

from specsim.verification import keeping_probability, mean_tokens, verify_block, verify_chain

VERIFIERS = {"token": verify_chain, "block": verify_block}
TOY = {"token": 10 / 9, "block": 11 / 9}


def random_batch(seed, B=200_000, K=4, V=5):
    """Ragged drafts of one random pair of rows per position, with -1 in the padding."""
    rng = np.random.default_rng(seed)
    q, p = rng.dirichlet(np.ones(V), K), rng.dirichlet(np.ones(V), K + 1)
    draft = np.column_stack([rng.choice(V, B, p=row) for row in q])
    num_draft = rng.integers(0, K + 1, B)
    draft[np.arange(K) >= num_draft[:, None]] = -1
    return (draft, np.broadcast_to(q, (B, K, V)), np.broadcast_to(p, (B, K + 1, V)), num_draft), rng


@pytest.mark.parametrize("rule", VERIFIERS)
def test_the_toy_by_enumeration(rule):
    """Two drafts, p = (1/3, 2/3) and q = (2/3, 1/3): the four drafts weighted with their probabilities."""
    p, q = np.array([1, 2]) / 3, np.array([2, 1]) / 3
    draft = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    q_rows, p_rows = np.broadcast_to(q, (4, 2, 2)), np.broadcast_to(p, (4, 3, 2))
    kept = keeping_probability(draft, q_rows, p_rows, np.full(4, 2), rule)
    assert (q[draft].prod(axis=1) * kept.sum(axis=1)).sum() == pytest.approx(TOY[rule], rel=1e-14)


@pytest.mark.parametrize("rule", VERIFIERS)
def test_drafts_are_kept_as_often_as_stated_whatever_their_length(rule):
    batch, rng = random_batch(1)
    kept = keeping_probability(*batch, rule)
    _, num_out = VERIFIERS[rule](*batch, rng=rng)
    for i in range(kept.shape[1]):
        surplus = (num_out - 1 > i) - kept[:, i]
        assert abs(surplus.mean()) < 4 * surplus.std() / np.sqrt(len(surplus))
    assert (kept[np.arange(kept.shape[1]) >= batch[3][:, None]] == 0).all()


@pytest.mark.parametrize("rule", VERIFIERS)
def test_the_mean_is_that_of_the_verifier_with_less_noise(rule):
    batch, rng = random_batch(2)
    mean, error = mean_tokens(*batch, rule)
    _, num_out = VERIFIERS[rule](*batch, rng=rng)
    sampling_error = num_out.std() / np.sqrt(len(num_out))
    assert error < sampling_error
    assert abs(num_out.mean() - mean) < 4 * sampling_error


def test_where_no_draft_was_sampled_both_rules_keep_alike():
    (draft, _, p, num_draft), _ = random_batch(3, B=1000)
    token, block = (keeping_probability(draft, None, p, num_draft, rule) for rule in VERIFIERS)
    np.testing.assert_allclose(token, block, rtol=1e-14)
