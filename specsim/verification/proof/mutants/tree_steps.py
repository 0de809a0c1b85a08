"""Bare steps of a tree verifier given the signature of `verify_tree`, so that a variant is only the steps that differ.

Knows nothing of what the steps do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeAlias

import numpy as np

from specsim.verification.arrays import Float64s, Floats, Ints
from specsim.verification.mixed import uniforms_for
from specsim.verification.trees.forest import EmittedPath, Forest, Siblings, Table, TreeVerifier, forest_of
from specsim.verification.trees.inputs import check_siblings, check_tree
from specsim.verification.trees.siblings import SCHEMES, Scheme
from specsim.verification.trees.topology import Links, link
from specsim.verification.trees.tree import walk_and_draw
from specsim.verification.validation import check_randomness

Steps: TypeAlias = Callable[[Forest, Links, Float64s, Float64s, Scheme], EmittedPath]


class Given(NamedTuple):
    """The arguments of `walk_and_draw`: trees, their links, accept uniforms [B, N], final uniforms [B], the scheme."""

    forest: Forest
    links: Links
    accept: Float64s
    final: Float64s
    scheme: Scheme


def walking_by(wrong: Callable[[Given], Given]) -> TreeVerifier:
    """A verifier that walks right, but by wrong trees, links, uniforms or rules."""

    @wraps(wrong)
    def steps(forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme) -> EmittedPath:
        return walk_and_draw(*wrong(Given(forest, links, accept, final, scheme)))

    return as_tree_verifier(steps)


def as_tree_verifier(steps: Steps) -> TreeVerifier:
    """Give the bare steps (forest, links, accept uniforms, final uniforms, scheme) the signature of verify_tree."""

    @wraps(steps)
    def verify(
        parents: Ints,
        token: Ints,
        num_nodes: Ints,
        q_row: Ints | None,
        p_row: Ints,
        q: Floats | None,
        p: Table,
        *,
        siblings: Siblings,
        rng: np.random.Generator | None = None,
        accept_uniforms: Floats | None = None,
        final_uniforms: Floats | None = None,
        validate: bool = True,
    ) -> EmittedPath:
        check_randomness(rng, accept_uniforms, final_uniforms)
        check_siblings(siblings)
        forest = forest_of(parents, token, num_nodes, q_row, p_row, q, p)
        if validate:
            check_tree(forest, siblings, accept_uniforms, final_uniforms)
        accept, final = uniforms_for(forest.token, rng, accept_uniforms, final_uniforms)
        return steps(forest, link(forest.parents, forest.num_nodes), accept, final, SCHEMES[siblings])

    return verify
