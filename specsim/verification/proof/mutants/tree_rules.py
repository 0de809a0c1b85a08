"""Tree verifiers that judge siblings by a wrong rule, each in one way; see `mutants.tree`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specsim.verification.arrays import Float64s
from specsim.verification.proof.mutants.tree_steps import Given, walking_by
from specsim.verification.trees import siblings
from specsim.verification.trees.siblings import SCHEMES, Scheme, Trial


@walking_by
def rule_of_independent_draws(given: Given) -> Given:
    """It judges siblings drawn without replacement by the rule for those drawn with it, that is, by q itself.

    Striking the earlier siblings out of q without scaling up the rest is equivalent, as a rejected token has left the
    residual too.
    """
    return given._replace(scheme=SCHEMES["with_replacement"])


@walking_by
def all_of_the_drafter_subtracted(given: Given) -> Given:
    """It tests by what earlier siblings left of q, but then subtracts all of q."""
    return given._replace(scheme=Scheme(siblings.weight_among_remaining, siblings.subtract_drafter))


@walking_by
def drafted_as_if_certain(given: Given) -> Given:
    """It accepts a sampled token with probability p(x), as if q(x) were 1 (EAGLE issue 183), and subtracts q."""
    return given._replace(scheme=Scheme(siblings.certain, given.scheme.shrink))


@walking_by
def only_the_token_struck_out(given: Given) -> Given:
    """It accepts a sampled token with probability p(x)/q(x), but then only strikes it out of the residual."""
    return given._replace(scheme=Scheme(given.scheme.proposal, siblings.strike_out))


@walking_by
def rejected_token_kept(given: Given) -> Given:
    """It leaves a rejected token in the residual, from where it can come right back."""
    return given._replace(scheme=replace(given.scheme, shrink=keep))


def keep(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
    """The residuals [n, V] as they were before the rejection."""
    return residual


@walking_by
def residual_not_normalised(given: Given) -> Given:
    """It tests later siblings against the residual as it is, which no longer sums to 1."""
    return given._replace(scheme=replace(given.scheme, measure=lambda rows: np.ones(len(rows))))


@walking_by
def residual_without_a_clamp(given: Given) -> Given:
    """Its residual is |r - q|: a token that was rejected because q overrates it can come right back."""

    def shrink(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
        left: Float64s = np.abs(residual / residual_mass[:, None] - siblings.drafter_distribution(trial))
        return left

    return given._replace(scheme=replace(given.scheme, shrink=shrink))


@walking_by
def sampled_judged_as_chosen(given: Given) -> Given:
    """It judges sampled siblings by the one-hot rule, which is right for whatever token comes, and slow."""
    return given._replace(scheme=SCHEMES["one_hot"])
