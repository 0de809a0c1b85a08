"""The output law in whole numbers: right for verify_chain, wrong for every mutant, down to < against ≤."""

import numpy as np
import pytest

from specsim.verification import verify_chain
from specsim.verification.chain import assemble, draw_final, leading_accepted, passing, residual_or_bonus
from specsim.verification.exact import CELLS, DRAFTER, TARGET, exact_law_errors
from specsim.verification.mutants import LAW_BREAKERS, missing_bonus
from specsim.verification.reference import chain_by_loops


def test_the_law_of_verify_chain_is_exactly_the_targets():
    assert exact_law_errors(verify_chain) == 0


def test_so_is_that_of_the_scalar_loop():
    def by_loops(*arrays, validate, **uniforms):
        return chain_by_loops(*arrays, **uniforms)

    assert exact_law_errors(by_loops) == 0


@pytest.mark.parametrize(("name", "mutant"), LAW_BREAKERS)
def test_every_law_breaker_is_found_out(name, mutant):
    assert exact_law_errors(mutant) > 0


def test_the_missing_bonus_is_not_as_it_leaves_the_law_right():
    assert exact_law_errors(missing_bonus) == 0


def accepts_at_equality(draft, q, p, num_draft, *, accept_uniforms, final_uniforms, validate):
    just_below = np.nextafter(accept_uniforms, -1)
    accepted = leading_accepted(passing(draft, q, p, num_draft, just_below))
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final_uniforms, residual_or_bonus))


def draws_at_equality(draft, q, p, num_draft, *, accept_uniforms, final_uniforms, validate):
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept_uniforms))
    just_below = np.nextafter(final_uniforms, -1)
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, just_below, residual_or_bonus))


def bonus_from_the_last_row(draft, q, p, num_draft, *, accept_uniforms, final_uniforms, validate):
    p = np.where(np.isnan(p), 1 / p.shape[2], p)
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept_uniforms))

    def weights_of(q, p, num_draft, accepted):
        weights = residual_or_bonus(q, p, num_draft, accepted)
        weights[accepted == num_draft] = p[accepted == num_draft, -1]
        return weights

    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final_uniforms, weights_of))


def residual_from_the_first_position(draft, q, p, num_draft, *, accept_uniforms, final_uniforms, validate):
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept_uniforms))
    at = np.where(accepted < num_draft, 0, accepted)
    return assemble(draft, accepted, draw_final(q, p, num_draft, at, final_uniforms, residual_or_bonus))


def final_draw_reuses_an_accept_uniform(draft, q, p, num_draft, *, accept_uniforms, final_uniforms, validate):
    reused = np.where(num_draft > 0, accept_uniforms[:, 0], final_uniforms)
    return verify_chain(draft, q, p, num_draft, accept_uniforms=accept_uniforms, final_uniforms=reused, validate=False)


@pytest.mark.parametrize(
    "mutant",
    [
        accepts_at_equality,
        draws_at_equality,
        bonus_from_the_last_row,
        residual_from_the_first_position,
        final_draw_reuses_an_accept_uniform,
    ],
)
def test_it_sees_what_a_sample_may_miss(mutant):
    assert exact_law_errors(mutant) > 0


def test_the_tables_lie_on_the_grid():
    assert (TARGET.sum(axis=1) == CELLS).all()
    assert (DRAFTER.sum(axis=1) == CELLS).all()
    for p, q in zip(TARGET, DRAFTER, strict=True):
        below = (p < q) & (q > 0)
        assert (CELLS * p[below] % q[below] == 0).all(), "an acceptance ratio falls within a cell"
        residual = np.maximum(p - q, 0)
        assert residual.sum() == 0 or (CELLS * residual % residual.sum() == 0).all(), "a residual step falls in a cell"
