"""Tree verifiers that judge siblings by a wrong rule, each in one way; see `mutants.tree`.

Arguments of each, as of `walk_and_draw`: trees, their links, accept uniforms [B, N], final uniforms [B] and the scheme;
returns out [B, D+1], num_out [B] and nodes [B, D], as `verify_tree`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specsim.verification.arrays import Float64s
from specsim.verification.proof.mutants.tree_steps import as_tree_verifier
from specsim.verification.trees.forest import EmittedPath, Forest
from specsim.verification.trees.siblings import (
    SCHEMES,
    Scheme,
    Trial,
    certain,
    drafter_distribution,
    strike_out,
    subtract_drafter,
    weight_among_remaining,
)
from specsim.verification.trees.topology import Links
from specsim.verification.trees.tree import walk_and_draw


@as_tree_verifier
def rule_of_independent_draws(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It judges siblings drawn without replacement by the rule for those drawn with it, that is, by q itself.

    Striking the earlier siblings out of q without scaling up the rest is equivalent, as a rejected token has left the
    residual too.
    """
    return walk_and_draw(forest, links, accept, final, SCHEMES["with_replacement"])


@as_tree_verifier
def all_of_the_drafter_subtracted(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It tests by what earlier siblings left of q, but then subtracts all of q."""
    return walk_and_draw(forest, links, accept, final, Scheme(weight_among_remaining, subtract_drafter))


@as_tree_verifier
def drafted_as_if_certain(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It accepts a sampled token with probability p(x), as if q(x) were 1 (EAGLE issue 183), and subtracts q."""
    return walk_and_draw(forest, links, accept, final, Scheme(certain, scheme.shrink))


@as_tree_verifier
def only_the_token_struck_out(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It accepts a sampled token with probability p(x)/q(x), but then only strikes it out of the residual."""
    return walk_and_draw(forest, links, accept, final, Scheme(scheme.proposal, strike_out))


@as_tree_verifier
def rejected_token_kept(forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme) -> EmittedPath:
    """It leaves a rejected token in the residual, from where it can come right back."""
    return walk_and_draw(forest, links, accept, final, replace(scheme, shrink=keep))


def keep(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
    """The residuals [n, V] as they were before the rejection."""
    return residual


@as_tree_verifier
def residual_not_normalised(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It tests later siblings against the residual as it is, which no longer sums to 1."""
    return walk_and_draw(forest, links, accept, final, replace(scheme, measure=lambda rows: np.ones(len(rows))))


@as_tree_verifier
def residual_without_a_clamp(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """Its residual is |r - q|: a token that was rejected because q overrates it can come right back."""

    def shrink(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
        left: Float64s = np.abs(residual / residual_mass[:, None] - drafter_distribution(trial))
        return left

    return walk_and_draw(forest, links, accept, final, replace(scheme, shrink=shrink))


@as_tree_verifier
def sampled_judged_as_chosen(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It judges sampled siblings by the one-hot rule, which is right for whatever token comes, and slow."""
    return walk_and_draw(forest, links, accept, final, SCHEMES["one_hot"])
