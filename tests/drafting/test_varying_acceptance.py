"""Acceptance that varies: means are as stated, exactly; what varies around them follows its law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from specsim.drafting.beta import LEVELS, concentration, level_means, lost_variance
from specsim.drafting.expected_varied_tokens import accepted_law, mean_tokens_varied, tokens_by_level
from specsim.drafting.variation import ENTER, RUNGS, SHARE, STAY, factor_at, is_hard, rung_of
from specsim.drafting.varying import Chances, VaryingAcceptance, chances, overlap_table
from specsim.inputs.models.acceptance import ConstantAcceptance, ProfileAcceptance
from specsim.inputs.models.variation import HardStretches
from specsim.streams import stream
from specsim.uniforms import BY_TRAIT, LANE_HARD, NUM_LANES, draw_uniforms, uniforms_key

STRETCHES = HardStretches(share=0.3, mean_length=5, drop=0.4)
K = 4


def constant(overlap=0.7, **varied):
    return ConstantAcceptance(kind="constant", overlap=overlap, **varied)


@given(st.floats(0.01, 0.99), st.floats(0.02, 0.95))
def test_classes_of_requests_have_the_mean_exactly_and_a_little_less_variance(mean, part):
    sd = part * np.sqrt(mean * (1 - mean))
    means = level_means(mean, concentration(mean, sd))
    assert means.mean() == pytest.approx(mean, rel=1e-9)
    assert (np.diff(means) >= -1e-12).all()
    assert means.var() <= sd**2 * (1 + 1e-9)


@pytest.mark.parametrize(("mean", "sd", "most"), [(0.5, 0.2887, 3e-4), (0.7, 0.1, 0.012), (0.8, 0.2, 0.003)])
def test_how_much_variance_the_classes_lose(mean, sd, most):
    """Of the uniform distribution 1/64² = 0.02 %, of one with tails about 1 %."""
    assert 0 < lost_variance(mean, concentration(mean, sd)) < most
    if sd == 0.2887:
        assert lost_variance(0.5, 2.0) == pytest.approx(1 / LEVELS**2, rel=1e-9)


@pytest.mark.slow
@given(
    st.lists(st.floats(0.05, 0.95), min_size=1, max_size=K), st.floats(0.05, 0.9), st.floats(0.05, 0.9), st.floats(0, 1)
)
def test_the_mean_over_requests_and_positions_is_the_acceptance_stated(values, part, share, room):
    first = values[0]
    stretches = HardStretches(
        share=share, mean_length=20, drop=max(1e-6, room * min(1, (1 - first) / share, first / (1 - share)))
    )
    stated = ProfileAcceptance(
        kind="profile",
        basis="conditional",
        values=values,
        spread=min(0.49, part * np.sqrt(first * (1 - first))),
        hard_stretches=stretches,
        by_num_draft_tokens={2: [0.5, 0.25]},
    )
    table = overlap_table(stated, K)
    assert table.min() >= -1e-12
    assert table.max() <= 1 + 1e-12
    for drafts in range(1, K + 1):
        over_requests = table[drafts, :drafts].mean(axis=1)
        mean = (1 - share) * over_requests[:, 0] + share * over_requests[:, 1]
        np.testing.assert_allclose(mean, stated.conditional(drafts), rtol=1e-9)


def test_easy_and_hard_positions_lie_as_far_apart_as_stated():
    easy, hard = overlap_table(constant(hard_stretches=STRETCHES), 1)[1, 0, 0]
    assert easy - hard == pytest.approx(STRETCHES.drop, rel=1e-12)


@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_a_position_is_on_one_of_the_two_nearest_rungs(overlap, uniform):
    assert abs(rung_of(overlap, uniform) - overlap * RUNGS) <= 1
    assert 0 <= rung_of(overlap, uniform) <= RUNGS


@given(st.integers(0, 1000))
def test_the_mean_rung_is_the_overlap(numerator):
    """Of 1,000 equally spaced uniforms as many are on the upper rung as the overlap is above the lower, in 1,000ths."""
    overlap = numerator / 1000
    mean = np.mean([rung_of(overlap, (i + 0.5) / 1000) for i in range(1000)]) / RUNGS
    assert mean == pytest.approx(overlap, abs=0.5 / 1000 / RUNGS + 1e-12)


def test_rows_of_a_rung_overlap_by_it():
    source = VaryingAcceptance(constant(spread=0.1), K, stream(1, "distributions"), sampled=True, greedy=False)
    q, p = source.rows.q.reshape(RUNGS + 1, K, -1), source.rows.p[: -source.rows.p.shape[1]]
    overlap = np.minimum(q, p.reshape(RUNGS + 1, K + 1, -1)[:, :K]).sum(axis=2)
    np.testing.assert_allclose(
        overlap, np.broadcast_to(np.arange(RUNGS + 1)[:, None] / RUNGS, (RUNGS + 1, K)), atol=1e-12
    )


def variation_of(stretches, key):
    stated = constant(hard_stretches=stretches)
    source = VaryingAcceptance(stated, 1, stream(1, "distributions"), sampled=True, greedy=False)
    return source.rows.variation._replace(key=key)


def uniforms(key, request, first, number):
    traits = np.empty((NUM_LANES, 1, number))
    draw_uniforms(traits, key, request, first, BY_TRAIT)
    return traits[:, 0]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 50), st.integers(0, 40), st.sampled_from([(0.3, 5), (0.5, 1), (0.6, 1.5), (0.4, 1), (0.02, 1)]))
def test_the_kind_of_a_position_is_that_of_the_chain_run_from_the_start(request, first, chain):
    """Looking back to where it is settled finds the state that forward recursion has, from any window of uniforms."""
    key, (share, mean_length) = uniforms_key(1, 0), chain
    variation = variation_of(HardStretches(share=share, mean_length=mean_length, drop=0.1), key)
    chance, all_uniforms = variation.stretches[0], uniforms(key, request, 0, 60)[LANE_HARD]
    hard, states = all_uniforms[0] < chance[SHARE], []
    for place, uniform in enumerate(all_uniforms):
        if place:
            hard = uniform < chance[STAY if hard else ENTER]
        states.append(hard)
    traits = uniforms(key, request, first, 20)
    assert [is_hard(variation, traits, first, 0, request, first + i) for i in range(20)] == states[first : first + 20]


@pytest.mark.slow
def test_hard_positions_have_their_share_and_stretches_their_length():
    key, number = uniforms_key(3, 0), 400
    variation = variation_of(STRETCHES, key)
    kinds = np.array(
        [[is_hard(variation, uniforms(key, r, 0, 40), 0, 0, r, i) for i in range(40)] for r in range(number)]
    )
    per_request = kinds.mean(axis=1)  # requests are independent, their positions are not
    assert abs(per_request.mean() - STRETCHES.share) < 4 * per_request.std() / np.sqrt(number)
    for before, chance in ((True, 1 - STRETCHES.leave), (False, STRETCHES.enter)):
        following = kinds[:, 1:][kinds[:, :-1] == before]
        assert abs(following.mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / following.size)


def test_factors_are_interpolated_and_held():
    tokens, factor = np.array([100.0, 200.0, 400.0]), np.array([1.0, 0.5, 0.7])
    asked = np.array([0, 100, 150, 200, 350, 400, 9999])
    found = [factor_at(tokens, factor, context) for context in asked]
    np.testing.assert_allclose(found, np.interp(asked, tokens, factor), rtol=1e-12)


def test_without_stretches_the_law_is_geometric():
    alpha = np.array([0.8, 0.6, 0.3])
    law = accepted_law(np.stack([alpha, alpha], axis=1), chances(None))
    marginal = np.cumprod(alpha)
    np.testing.assert_allclose(law, np.append(1, marginal) - np.append(marginal, 0), rtol=1e-12)


def test_stretches_that_forget_at_once_are_no_stretches():
    """Where the next position is hard with the same probability whatever this one is, positions are independent."""
    overlap, share = np.array([[0.9, 0.2]] * K), 0.3
    law = accepted_law(overlap, Chances(share, share, share))
    mean = 0.7 * 0.9 + 0.3 * 0.2
    np.testing.assert_allclose(law, accepted_law(np.full((K, 2), mean), chances(None)), rtol=1e-12)


def test_endless_stretches_are_two_kinds_of_requests():
    """A position's kind is then its request's, and rounds of each kind go by how many tokens a round of it yields."""
    overlap, share, leave = np.array([[0.9, 0.2]] * K), 0.3, 1e-9
    law = accepted_law(overlap, Chances(share, 1 - leave, share / (1 - share) * leave))
    kinds = [accepted_law(np.full((K, 2), alpha), chances(None)) for alpha in (0.9, 0.2)]
    rounds = np.array([0.7, 0.3]) / [kind @ (1 + np.arange(K + 1)) for kind in kinds]
    np.testing.assert_allclose(law, rounds @ kinds / rounds.sum(), rtol=1e-6)


def test_spread_makes_the_first_round_beta_geometric():
    """Over requests P(at least i accepted) = E[α^i] = B(a+i, b)/B(a, b): fatter than α^i, with the same mean."""
    concentrated = concentration(0.7, 0.15)
    a, b = 0.7 * concentrated, 0.3 * concentrated
    levels = overlap_table(constant(spread=0.15), K)[K, 0, :, 0]
    for i in range(1, K + 1):
        exact = np.exp(betaln(a + i, b) - betaln(a, b))
        # x^i is convex with a second derivative of at most i(i-1), so classes lose at most half of that times variance
        lost = i * (i - 1) / 2 * 0.15**2 * lost_variance(0.7, concentrated)
        assert exact - lost * (1 + 1e-6) - 1e-12 < np.mean(levels**i) < exact + 1e-12
        assert i == 1 or exact > 0.7**i


def test_rounds_yield_fewer_tokens_the_more_requests_differ():
    """Requests with low acceptance have more rounds; a round's mean is the harmonic one over requests."""
    stated = constant(spread=0.2)
    tokens = tokens_by_level(stated, K, 0)
    assert mean_tokens_varied(stated, K, 0) == pytest.approx(1 / np.mean(1 / tokens))
    alike = float(np.sum(0.7 ** np.arange(K + 1)))
    assert tokens.mean() > alike > mean_tokens_varied(stated, K, 0)
