"""Tree verifiers that lose their way, each in one way: wrong rows, wrong nodes, wrong uniforms; see `mutants.tree`.

Those that differ in their last steps too return out [B, D+1], num_out [B] and nodes [B, D], as `verify_tree`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specsim.verification.arrays import Float64s, Int64s, Ints
from specsim.verification.draws import draw
from specsim.verification.proof.mutants.tree_rules import keep
from specsim.verification.proof.mutants.tree_steps import Given, as_tree_verifier, walking_by
from specsim.verification.trees.forest import EmittedPath, Forest
from specsim.verification.trees.siblings import Scheme, Trial
from specsim.verification.trees.topology import Links
from specsim.verification.trees.tree import Walk, assemble_path, walk


def _finish(forest: Forest, done: Walk, weights: Float64s, final: Float64s) -> EmittedPath:
    """Draw the last tokens from these weights."""
    return assemble_path(forest.token, done.nodes, done.accepted, draw(weights, final))


def _last_column(done: Walk) -> Int64s:
    """The column of p_row at which each walk ended."""
    column: Int64s = done.nodes.max(axis=1, initial=-1) + 1  # children come after their parents
    return column


@as_tree_verifier
def siblings_against_the_target(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It tests every sibling against p, and takes q off only once, for the last draw."""
    done = walk(forest, links, accept, replace(scheme, shrink=keep))
    weights, column = done.weights, _last_column(done)
    b = np.flatnonzero(links.first_child[np.arange(len(column)), column] >= 0)
    child = links.first_child[b, column[b]]
    residual = scheme.shrink(Trial(forest, links, b, child, forest.token[b, child]), weights[b], np.ones(len(b)))
    has_mass = residual.any(axis=1)
    weights[b[has_mass]] = residual[has_mass]
    return _finish(forest, done, weights, final)


@as_tree_verifier
def target_after_all_rejected(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """When every child is rejected it draws from p, not from what the children left of it."""
    done = walk(forest, links, accept, scheme)
    rows = forest.p_row[np.arange(len(final)), _last_column(done)]
    return _finish(forest, done, forest.p[rows].astype(np.float64), final)


@walking_by
def bonus_from_the_parents_row(given: Given) -> Given:
    """At a leaf it draws from the row that judged the leaf, not from the one after it."""
    forest = given.forest
    leaf = given.links.first_child[:, 1:] < 0
    leaf &= np.arange(leaf.shape[1]) < forest.num_nodes[:, None]
    b, i = leaf.nonzero()
    p_row = forest.p_row.copy()
    p_row[b, i + 1] = forest.p_row[b, forest.parents[b, i] + 1]
    return given._replace(forest=replace(forest, p_row=p_row))


@walking_by
def rows_of_the_node_before(given: Given) -> Given:
    """It looks the target up at column i for node i, forgetting that column 0 is the root's."""
    p_row = np.concatenate([given.forest.p_row[:, :1], given.forest.p_row[:, :-1]], axis=1)
    return given._replace(forest=replace(given.forest, p_row=p_row))


@as_tree_verifier
def children_of_a_rejected_node(
    forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme
) -> EmittedPath:
    """It tests the children of a rejected node too, and looks its path up by where it ends: the rejected node is on it.

    Testing them alone would do no harm: the residual does not care whose children they are.
    """
    below = links.first_child[:, 1:]
    onward = np.where(below >= 0, below, links.next_sibling)
    done = walk(forest, replace(links, next_sibling=onward), accept, scheme)
    nodes = _paths_to(done.nodes.max(axis=1, initial=-1), forest.parents, links.depth)
    return assemble_path(forest.token, nodes, (nodes >= 0).sum(axis=1), draw(done.weights, final))


def _paths_to(node: Int64s, parents: Ints, depth: int) -> Int64s:
    """The nodes from the root to these, then -1; shape [B, depth]."""
    upward = np.full((len(node), depth), -1)
    for j in range(depth):
        upward[:, j] = node
        node = np.where(node >= 0, parents[np.arange(len(node)), node] if parents.size else -1, -1)
    downward: Int64s = upward[:, ::-1]
    order = (downward < 0).argsort(axis=1, kind="stable")
    return np.take_along_axis(downward, order, axis=1)


@walking_by
def one_uniform_for_all_siblings(given: Given) -> Given:
    """It tests all children of a node with one uniform: after a rejection the next is likely to be rejected too."""
    forest, accept = given.forest, given.accept
    b, i = (np.arange(accept.shape[1]) < forest.num_nodes[:, None]).nonzero()
    shared = accept.copy()
    shared[b, i] = accept[b, given.links.first_child[b, forest.parents[b, i] + 1]]
    return given._replace(accept=shared)


@walking_by
def final_draw_reuses_an_accept_uniform(given: Given) -> Given:
    """It draws the last token with the uniform that tested the first node."""
    reused = given.final.copy()
    if given.accept.shape[1]:
        np.copyto(reused, given.accept[:, 0], where=given.forest.num_nodes > 0)
    return given._replace(final=reused)


@walking_by
def only_the_first_child(given: Given) -> Given:
    """It tests only the first child of each node: the distribution stays right and only the speed is lost."""
    none = np.full_like(given.links.next_sibling, -1)
    return given._replace(links=replace(given.links, next_sibling=none))
