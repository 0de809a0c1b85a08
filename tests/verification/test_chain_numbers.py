"""Numbers that theory gives for verify_chain, met within 4 standard errors, or exactly where nothing is random."""

import numpy as np
import pytest

from specsim.verification import verify_chain
from specsim.verification.proof.mutants.drawing import missing_bonus
from specsim.verification.proof.mutants.residuals import resample_from_target

P = np.array([0.5, 0.3, 0.15, 0.05])
UNIFORM = np.full(4, 0.25)
ROWS = 400_000


def verified(verify, p, q, K, num_rows, seed):
    """Verify num_rows drafts of K tokens where every position has the same p and q."""
    rng = np.random.default_rng(seed)
    draft = rng.choice(len(q), size=(num_rows, K), p=q)
    q_rows = np.broadcast_to(q, (num_rows, K, len(q)))
    p_rows = np.broadcast_to(p, (num_rows, K + 1, len(p)))
    return verify(draft, q_rows, p_rows, np.full(num_rows, K), rng=rng, validate=False)


def standard_errors(sample, truth):
    return abs(sample.mean() - truth) / (sample.std() / np.sqrt(len(sample)))


def test_tokens_per_verify_against_the_closed_form():
    alpha = np.minimum(P, UNIFORM).sum()
    assert alpha == pytest.approx(0.70)
    expected = (1 - alpha**4) / (1 - alpha)  # Leviathan et al. 2023, equation 1
    assert expected == pytest.approx(2.533)
    _, num_out = verified(verify_chain, P, UNIFORM, K=3, num_rows=ROWS, seed=1)
    assert standard_errors(num_out, expected) < 4


def test_without_the_bonus_it_would_be_fewer():
    expected = 2.533 - 0.70**3
    assert expected == pytest.approx(2.19)
    _, num_out = verified(missing_bonus, P, UNIFORM, K=3, num_rows=ROWS, seed=2)
    assert standard_errors(num_out, expected) < 4
    assert standard_errors(num_out, 2.533) > 100


@pytest.mark.parametrize("seed", range(10))
def test_acceptance_is_the_overlap_for_random_pairs(seed):
    p, q = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=2)
    overlap = np.minimum(p, q).sum()
    assert overlap == pytest.approx(1 - np.abs(p - q).sum() / 2)
    _, num_out = verified(verify_chain, p, q, K=1, num_rows=50_000, seed=100 + seed)
    assert standard_errors(num_out - 1.0, overlap) < 4


def test_acceptance_at_each_position_is_the_overlap_of_its_own_rows():
    rng = np.random.default_rng(5)
    K, V, B = 4, 8, 200_000
    q, p = rng.dirichlet(np.ones(V), size=K), rng.dirichlet(np.ones(V), size=K + 1)
    draft = np.column_stack([rng.choice(V, size=B, p=row) for row in q])
    q_rows, p_rows = np.broadcast_to(q, (B, K, V)), np.broadcast_to(p, (B, K + 1, V))
    _, num_out = verify_chain(draft, q_rows, p_rows, np.full(B, K), rng=rng)
    for i in range(K):
        reached = num_out > i  # positions 0..i-1 were accepted
        assert standard_errors(num_out[reached] > i + 1, np.minimum(p[i], q[i]).sum()) < 4


@pytest.mark.parametrize("position", [0, 1])
def test_the_law_at_a_position_is_the_targets(position):
    p, q = np.array([0.4, 0.1, 0.0, 0.5]), np.array([0.1, 0.6, 0.3, 0.0])
    out, _ = verified(verify_chain, p, q, K=1, num_rows=ROWS, seed=6 + position)
    emitted = out[:, position][out[:, position] >= 0]
    assert not (emitted == 2).any()
    for x in (0, 1, 3):
        assert standard_errors(emitted == x, p[x]) < 4


def test_resampling_from_the_target_gives_28_percent_where_40_are_due():
    p, q = np.array([0.40, 0.35, 0.25, 0.0]), np.array([0.10, 0.35, 0.10, 0.45])
    overlap = np.minimum(p, q).sum()
    assert overlap == pytest.approx(0.55)
    wrong = 0.10 + (1 - overlap) * 0.40
    assert wrong == pytest.approx(0.28)
    for verify, share in ((resample_from_target, wrong), (verify_chain, 0.40)):
        out, _ = verified(verify, p, q, K=1, num_rows=ROWS, seed=8)
        assert standard_errors(out[:, 0] == 0, share) < 4


def test_no_drafts_sample_one_token_of_the_target():
    B = ROWS
    draft, q, p = np.zeros((B, 0), np.int64), np.zeros((B, 0, 4)), np.broadcast_to(P, (B, 1, 4))
    out, num_out = verify_chain(draft, q, p, np.zeros(B, np.int64), rng=np.random.default_rng(9))
    assert (num_out == 1).all()
    for x in range(4):
        assert standard_errors(out[:, 0] == x, P[x]) < 4


@pytest.mark.parametrize("K", [0, 3])
def test_no_rows_give_no_rows(K):
    none = np.zeros(0, np.int64)
    rng = np.random.default_rng(0)
    out, num_out = verify_chain(none.reshape(0, K), np.zeros((0, K, 4)), np.zeros((0, K + 1, 4)), none, rng=rng)
    assert out.shape == (0, K + 1)
    assert num_out.shape == (0,)
    assert out.dtype == num_out.dtype == np.int64
