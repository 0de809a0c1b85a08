"""What users state about acceptance and the conditional profile that follows: conversions, shapes, cut and hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from specsim.inputs.models.acceptance import (
    Acceptance,
    CountedAcceptance,
    ProfileAcceptance,
    conditional_from_marginal,
    extended,
    geometric_acceptance,
    minimum_variance_acceptance,
)

profiles = st.lists(st.floats(0, 1), min_size=1, max_size=8)
# away from zero, where a product of conditionals loses its digits to underflow
positive_profiles = st.lists(st.floats(1e-6, 1), min_size=1, max_size=8)


def stated(**acceptance):
    return TypeAdapter(Acceptance).validate_python(acceptance)


def mean_acceptance_length(conditional):
    return 1 + np.cumprod(conditional).sum()


@given(positive_profiles)
def test_conditional_to_marginal_and_back(conditional):
    # a product of up to 8 factors, and a quotient of two such
    back = conditional_from_marginal(np.cumprod(conditional))
    np.testing.assert_allclose(back, conditional, rtol=1e-15)


@given(profiles)
def test_marginal_to_conditional_and_back(values):
    marginal = np.sort(values)[::-1]
    back = np.cumprod(conditional_from_marginal(marginal))
    # each position divides and multiplies once more; subnormal marginals have fewer digits
    np.testing.assert_allclose(back, marginal, rtol=1e-14, atol=1e-300)


def test_a_position_that_is_never_reached_is_never_accepted():
    np.testing.assert_array_equal(conditional_from_marginal([0.5, 0.0, 0.0]), [0.5, 0.0, 0.0])


def test_a_published_marginal_profile_by_hand():
    given_values = [0.683, 0.471, 0.331]
    conditional = stated(kind="profile", basis="marginal", values=given_values).conditional(3)
    np.testing.assert_allclose(conditional, [0.683, 0.471 / 0.683, 0.331 / 0.471], rtol=1e-15)
    assert mean_acceptance_length(conditional) == pytest.approx(1 + sum(given_values))


@given(profiles, st.integers(0, 12))
def test_a_longer_profile_is_cut_and_beyond_a_shorter_one_the_last_value_is_held(values, length):
    profile = extended(values, length)
    assert len(profile) == length
    assert list(profile) == [values[min(i, len(values) - 1)] for i in range(length)]


def test_cut_and_hold_act_on_conditional_acceptance():
    marginal = stated(kind="profile", basis="marginal", values=[0.8, 0.4])
    np.testing.assert_allclose(marginal.conditional(4), [0.8, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(marginal.conditional(1), [0.8])
    assert marginal.conditional(0).shape == (0,)
    assert stated(kind="profile", basis="conditional", values=[0.8, 0.4]).conditional(3).tolist() == [0.8, 0.4, 0.4]


def test_an_acceptance_length_of_2925_at_three_drafts_in_both_shapes():
    """The same mean, other tails: vLLM's shape is minimum variance, llama.cpp's reading geometric."""
    length = {"kind": "mean_length", "mean_acceptance_length": 2.925, "num_draft_tokens": 3}
    geometric = stated(**length, shape="geometric").conditional(3)
    np.testing.assert_allclose(np.cumprod(geometric), [0.794, 0.630, 0.501], atol=5e-4)
    narrow = stated(**length, shape="minimum_variance").conditional(3)
    np.testing.assert_allclose(np.cumprod(narrow), [1.0, 0.925, 0.0], rtol=1e-15)
    for shape in (geometric, narrow):
        assert mean_acceptance_length(shape) == pytest.approx(2.925, rel=1e-14)


@given(st.integers(1, 16), st.floats(0, 1))
def test_both_shapes_have_the_stated_mean(num_draft, share):
    mean = 1 + share * num_draft
    # the root finder stops at 1e-15 in α; the mean moves by at most 1 + 2 + … + K times that, and rounds K times
    alpha = geometric_acceptance(mean, num_draft)
    assert 0 <= alpha <= 1
    assert mean_acceptance_length([alpha] * num_draft) == pytest.approx(mean, abs=num_draft**2 * 1e-14)
    narrow = minimum_variance_acceptance(mean, num_draft)
    assert mean_acceptance_length(narrow) == pytest.approx(mean, rel=1e-14)


@given(st.integers(1, 8), st.floats(0, 1))
def test_the_minimum_variance_shape_takes_two_neighbouring_lengths_at_most(num_draft, share):
    marginal = np.cumprod(minimum_variance_acceptance(1 + share * num_draft, num_draft))
    exactly = marginal - np.append(marginal[1:], 0.0)  # P(accepted = 1), P(accepted = 2), …
    lengths = np.flatnonzero(np.append(1 - marginal[0], exactly))
    assert len(lengths) <= 2
    assert lengths[-1] - lengths[0] <= 1


def test_a_geometric_shape_holds_at_other_draft_lengths_and_a_narrow_one_keeps_its_end():
    length = {"kind": "mean_length", "mean_acceptance_length": 2.5, "num_draft_tokens": 3}
    geometric = stated(**length, shape="geometric").conditional(5)
    assert len(set(geometric.tolist())) == 1
    assert stated(**length, shape="minimum_variance").conditional(5).tolist() == [1.0, 0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("acceptance", "remedy"),
    [
        ({"kind": "constant", "overlap": 1.01}, "less than or equal to 1"),
        ({"kind": "constant", "overlap": -0.1}, "greater than or equal to 0"),
        ({"kind": "constant", "overlap": float("nan")}, "finite"),
        ({"kind": "profile", "basis": "marginal", "values": [0.5, 0.6]}, "cannot rise from 0.5 to 0.6 at position 2"),
        ({"kind": "profile", "basis": "marginal", "values": []}, "at least 1 item"),
        ({"kind": "profile", "values": [0.5]}, "basis"),
        ({"kind": "mean_length", "mean_acceptance_length": 2.5, "num_draft_tokens": 3}, "shape"),
        (
            {"kind": "mean_length", "mean_acceptance_length": 4.5, "num_draft_tokens": 3, "shape": "geometric"},
            r"cannot exceed num_draft_tokens \+ 1 = 4",
        ),
    ],
)
def test_what_cannot_be_an_acceptance_is_refused(acceptance, remedy):
    with pytest.raises(ValidationError, match=remedy):
        stated(**acceptance)


def counted(drafts, *accepted):
    return CountedAcceptance(kind="counts", drafts=drafts, accepted=accepted)


def test_counts_are_marginals():
    np.testing.assert_allclose(counted(100, 80, 40).conditional(3), [0.8, 0.5, 0.5])
    assert counted(100, 80, 40).first_overlap == 0.8
    assert counted(100, 80, 40).measured_positions == 2


def test_the_error_of_counts_is_that_of_the_drafts_themselves():
    """Of ten drafts two have none accepted, four one and four two: the standard error of 1 + A over its mean."""
    lengths = 1 + np.repeat([0, 1, 2], [2, 4, 4])
    expected = lengths.std() / np.sqrt(10) / lengths.mean()
    assert counted(10, 8, 4).length_error == pytest.approx(expected, rel=1e-12)
    assert counted(10, 10).length_error == 0.0
    assert ProfileAcceptance(kind="profile", basis="marginal", values=(0.8, 0.4)).length_error == 0.0


@pytest.mark.parametrize(("drafts", "accepted"), [(10, (11,)), (10, (8, 9))])
def test_more_cannot_be_accepted_than_came_so_far(drafts, accepted):
    with pytest.raises(ValidationError, match="of only"):
        counted(drafts, *accepted)
