"""The order of additions is the documented one, and large vocabularies are drawn from exactly."""

from fractions import Fraction

import numpy as np
import pytest

from specsim.verification import verify_chain
from specsim.verification.draws import draw
from specsim.verification.proof.loops import drawn, running_sums
from specsim.verification.rows import extremes
from specsim.verification.summation import BLOCK, SEQUENTIAL, mass, partial_sums

pytestmark = pytest.mark.usefixtures("core")
SIZES = [1, 7, SEQUENTIAL, SEQUENTIAL + 1, 3 * BLOCK, 3 * BLOCK + 33, 5000]


@pytest.mark.parametrize("V", SIZES)
def test_sums_follow_the_documented_order_to_the_bit(V):
    weights = np.random.default_rng(V).random((3, V)) ** 5
    for row, sums in zip(weights, partial_sums(weights), strict=True):
        assert sums.tolist() == running_sums(row.tolist())


@pytest.mark.parametrize("V", SIZES)
def test_the_sum_is_within_the_rounding_of_its_longest_chain_of_additions(V):
    weights = np.random.default_rng(V).random((1, V))
    longest = V if V <= SEQUENTIAL else BLOCK + V // BLOCK
    exact = sum(map(Fraction, weights[0].tolist()))
    # Each of n additions in a chain rounds by at most a unit roundoff (Higham, section 4.2).
    assert abs(Fraction(float(mass(weights)[0])) - exact) <= exact * longest * Fraction(1, 2**53) * 2


@pytest.mark.parametrize("V", SIZES)
def test_draws_equal_the_scalar_loop(V):
    rng = np.random.default_rng(V)
    weights = rng.random((50, V)) * (rng.random((50, V)) < 0.3)
    weights[:, V // 2] = 1.0
    uniforms = np.append(rng.random(48), [0.0, np.nextafter(1.0, 0.0)])
    expected = [drawn(row.tolist(), u) for row, u in zip(weights, uniforms.tolist(), strict=True)]
    assert draw(weights, uniforms).tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_vocabulary_has_exactly_the_right_law(dtype):
    """Whole fractions of a power of two are summed without rounding, so the middles of cells give the law in counts."""
    V, cells = 3000, 4096
    rng = np.random.default_rng(0)
    p_counts, q_counts = (rng.multinomial(cells, rng.dirichlet(np.full(V, 0.05))) for _ in range(2))
    p, q = (np.broadcast_to((c / cells).astype(dtype), (cells, 1, V)) for c in (p_counts, q_counts))
    middles = (np.arange(cells) + 0.5) / cells
    nothing = np.zeros((cells, 0))
    bonus, _ = verify_chain(
        nothing.astype(int), None, p, np.zeros(cells, int), accept_uniforms=nothing, final_uniforms=middles
    )
    assert (np.bincount(bonus[:, 0], minlength=V) == p_counts).all()

    surplus = np.maximum(p_counts - q_counts, 0)
    x = int(np.argmax(q_counts - p_counts))
    u, total = np.full((surplus.sum(), 1), np.nextafter(1.0, 0.0)), surplus.sum()
    both = np.broadcast_to(p[:1], (total, 1, V)).repeat(2, axis=1)
    recovered, _ = verify_chain(
        np.full((total, 1), x),
        q[:total],
        both,
        np.ones(total, int),
        accept_uniforms=u,
        final_uniforms=(np.arange(total) + 0.5) / total,
    )
    assert (np.bincount(recovered[:, 0], minlength=V) == surplus).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("V", SIZES)
def test_extremes_of_rows(V, dtype):
    table = np.random.default_rng(V).normal(size=(4, 3, V)).astype(dtype)
    b, i = np.array([3, 0, 1]), np.array([2, 1, 0])
    lowest, total = extremes(table, (b, i))
    np.testing.assert_array_equal(lowest, table[b, i].min(axis=1, initial=0))
    assert total.tolist() == mass(table[b, i]).tolist()
