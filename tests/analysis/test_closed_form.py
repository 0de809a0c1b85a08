"""The laws of design.md §3 and §5 against a sum, a bisection and the numbers published in the field."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.analysis import closed_form as law

H100 = law.ridge_tokens(peak=989e12, bandwidth=3.35e12)
alphas = st.floats(0, 1)
gammas = st.integers(0, 16)
costs = st.floats(0, 1)


@given(alphas, gammas)
def test_expected_tokens_is_the_geometric_sum(alpha, gamma):
    by_hand = math.fsum(alpha**i for i in range(gamma + 1))
    assert law.expected_tokens(alpha, gamma) == pytest.approx(by_hand, rel=1e-12)


@given(st.integers(1, 50), gammas)
def test_expected_tokens_keeps_its_digits_near_full_acceptance(digits, gamma):
    lost = 10.0**-digits
    expansion = gamma + 1 - lost * gamma * (gamma + 1) / 2
    assert law.expected_tokens(1 - lost, gamma) == pytest.approx(expansion, abs=gamma**3 * lost**2 / 6 + 1e-13)


@pytest.mark.parametrize("gamma", range(9))
def test_expected_tokens_is_exact_at_its_limits(gamma):
    assert law.expected_tokens(1.0, gamma) == gamma + 1
    assert law.expected_tokens(0.0, gamma) == 1.0


def test_vectors_equal_the_loop_over_scalars():
    alpha, gamma = np.linspace(0, 1, 11)[:, None], np.arange(6)
    looped = [[float(law.expected_tokens(a, g)) for g in gamma] for a in alpha.ravel()]
    np.testing.assert_array_equal(law.expected_tokens(alpha, gamma), looped)


@given(alphas, st.integers(1, 12))
def test_a_constant_profile_is_the_closed_form(alpha, gamma):
    assert law.expected_tokens_of([alpha] * gamma) == pytest.approx(law.expected_tokens(alpha, gamma), rel=1e-12)


def test_a_profile_is_summed_over_its_last_axis():
    np.testing.assert_allclose(law.expected_tokens_of([[0.5, 0.5], [1.0, 0.0]]), [1.75, 2.0], rtol=1e-15)
    assert law.expected_tokens_of([]) == 1.0


def test_the_numbers_everyone_quotes():
    tokens = law.expected_tokens(0.8, 4)
    assert tokens == pytest.approx(3.3616, abs=1e-12)
    assert law.speedup(tokens, 4, 0.05) == pytest.approx(3.3616 / 1.2, abs=1e-12)
    assert round(float(law.speedup(tokens, 4, 0.05)), 2) == 2.80


def test_an_h100_in_bf16():
    assert abs(H100 - 295.2) < 0.05
    assert law.ridge_tokens(1979e12, 3.35e12, bytes_per_weight=1) == pytest.approx(295.4, abs=0.05)
    assert law.free_verify_batch(H100, 4) == 59
    paying_up_to = law.break_even_batch(H100, 0.8, 4, 0.05)
    assert paying_up_to == pytest.approx(186.7, abs=0.05)
    assert round(paying_up_to) == 187


@given(alphas, costs, st.integers(0, 12))
def test_best_gamma_is_the_best_of_a_loop(alpha, cost, max_gamma):
    speedups = [float(law.speedup(law.expected_tokens(alpha, g), g, cost)) for g in range(max_gamma + 1)]
    assert law.best_gamma(alpha, cost, max_gamma) == speedups.index(max(speedups))


def test_best_gamma_at_its_limits():
    assert law.best_gamma(0.0, 0.05, 8) == 0
    assert law.best_gamma(0.0, 0.0, 8) == 0
    assert law.best_gamma(1.0, 0.0, 8) == 8


@given(st.floats(1, 2000), gammas)
def test_verifying_is_free_up_to_the_free_batch_and_no_further(ridge, gamma):
    batch = law.free_verify_batch(ridge, gamma)
    assert law.pass_cost(batch * (gamma + 1), ridge) == 1.0
    assert (batch + 1) * (gamma + 1) > ridge * (1 - 1e-12)


@given(st.floats(10, 2000), alphas, st.integers(0, 10), costs)
def test_break_even_separates_the_batches_that_pay_from_those_that_do_not(ridge, alpha, gamma, cost):
    batch = law.break_even_batch(ridge, alpha, gamma, cost)
    if batch is None:
        everywhere = np.geomspace(1e-3, 100 * ridge, 400)
        assert np.all(law.speedup_at_batch(everywhere, ridge, alpha, gamma, cost) <= 1 + 1e-12)
        return
    assert 0 < batch <= ridge * (1 + 1e-12)
    assert law.speedup_at_batch(batch, ridge, alpha, gamma, cost) == pytest.approx(1, rel=1e-9)
    assert law.speedup_at_batch(batch * 0.99, ridge, alpha, gamma, cost) > 1
    assert law.speedup_at_batch(batch * 1.01, ridge, alpha, gamma, cost) <= 1 + 1e-12


def test_a_free_perfect_drafter_breaks_even_at_the_ridge_and_a_useless_one_nowhere():
    assert law.break_even_batch(300.0, 1.0, 4, 0.0) == 300.0
    assert law.speedup_at_batch([300.0, 600.0, 6000.0], 300.0, 1.0, 4, 0.0) == pytest.approx(1)
    assert law.break_even_batch(300.0, 0.0, 4, 0.0) is None
    assert law.break_even_batch(300.0, 0.8, 0, 0.05) is None
    assert law.break_even_batch(300.0, 0.8, 4, 0.6) is None
