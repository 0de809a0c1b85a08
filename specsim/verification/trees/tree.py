"""Lossless verification of drafted trees: several candidates per position, tested one after the other.

The walk starts at the root and tests the children of the node it is at, in the order of their indices, each by the
rule of `siblings` for how it was drawn. The first that passes is where the walk goes on; if all fail, the last token is
drawn from what is left of the target's distribution; at a leaf, from the target's own (SpecInfer, arXiv:2305.09781;
Sequoia, arXiv:2402.12374). A tree without forks is a chain, and gives what `verify_chain` gives for the same uniforms.

Knows nothing of how trees are shaped and drawn, of time, or of what a request is: arrays in, arrays out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Floats, Int64s, Ints
from specsim.verification.draws import draw
from specsim.verification.mixed import uniforms_for
from specsim.verification.processing.processors import LazyTable
from specsim.verification.trees.forest import EmittedPath, Forest, Siblings, Table, forest_of
from specsim.verification.trees.inputs import check_siblings, check_tree
from specsim.verification.trees.siblings import SCHEMES, Scheme, Trial
from specsim.verification.trees.topology import Links, link
from specsim.verification.validation import check_randomness, refuse_lazy

# Entries of residuals held at a time (half a megabyte), whatever the batch: at most a few rows of V.
_ENTRIES_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Walk:
    """Where the walk through each tree ended.

    Attributes:
        nodes: the accepted nodes from the root on, then -1 [B, D].
        accepted: their number [B].
        weights: of the last token, unnormalised [B, V].
    """

    nodes: Int64s
    accepted: Int64s
    weights: Float64s


def verify_tree(
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
    """Accept a path of each tree and add one token, so that the output is distributed as the target's own.

    A tested child with token x passes iff u·q'(x) < r(x), strictly, where r is what earlier siblings left of p and q'
    is what the child was drawn from, both normalised; the module `siblings` has the rules. A residual without mass,
    which only rounding can leave, is not taken over: the last one with mass stays, as `verify_chain` falls back to p.
    No token with p = 0 is ever emitted.

    With the uniforms given, a row of the result is a function of the same row of the indices and of the table rows
    that they name, up to the width of the padding. Columns from num_nodes[b] on (in p_row: beyond num_nodes[b]) are
    padding and may hold anything, as may rows of the tables that nothing names. Inputs are not written to.

    Args:
        parents: the parent of each node, -1 for children of the root; parents come before their children; shape [B, N].
        token: the drafted token of each node, shape [B, N].
        num_nodes: how many nodes each row has, from 0 to N, shape [B].
        q_row: the row of q that each node's token was drawn from, shape [B, N]; -1 throughout, or None, for one_hot.
        p_row: the row of p that judges the root's children in column 0, and in column i + 1 the one that judges the
            children of node i and is the bonus distribution after it; shape [B, N+1].
        q: distributions of the drafter, shape [Rq, V]; None for one_hot.
        p: distributions of the target, shape [Rp, V]; or a `LazyTable` of logits, whose rows are processed, and
            checked, as the walk comes to them.
        siblings: how siblings were drawn: "with_replacement", independently; "without_replacement", each from what its
            earlier siblings left of q; or "one_hot", chosen and not drawn, such as the k most likely ones.
        rng: draws accept_uniforms and then final_uniforms; give either this or both arrays.
        accept_uniforms: one number in [0, 1) per node, shape [B, N].
        final_uniforms: one number in [0, 1) per row for the last token, shape [B].
        validate: check every value that may be read; switch off only where the caller vouches for them.

    Returns:
        out: the accepted tokens, then the recovered or bonus token, then -1; shape [B, D+1] where D is the number of
            nodes on the longest path of the batch; int64.
        num_out: tokens emitted per row, accepted + 1; shape [B], int64.
        nodes: the accepted nodes, then -1; shape [B, D], int64.

    Raises:
        InputError: neither or both sources of randomness are given, siblings is none of the three, or (if validating)
            the arrays do not fit together, a count, index, id or uniform is out of its range, a parent does not precede
            its child, siblings that cannot be equal are, a drafted token has q = 0, or a row of p or q that is named is
            not a distribution. All problems are listed at once.

    Example:
        >>> import numpy as np
        >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
        >>> q = np.array([[0.75, 0.25, 0.0]])
        >>> parents, token, num_nodes = np.array([[-1, -1]]), np.array([[0, 1]]), np.array([2])
        >>> q_row, p_row = np.array([[0, 0]]), np.array([[0, 1, 1]])
        >>> uniforms = {"accept_uniforms": np.array([[0.7, 0.9]]), "final_uniforms": np.array([0.5])}
        >>> verify_tree(parents, token, num_nodes, q_row, p_row, q, p, siblings="with_replacement", **uniforms)
        (array([[1, 2]]), array([2]), array([[1]]))
    """
    check_randomness(rng, accept_uniforms, final_uniforms)
    check_siblings(siblings)
    refuse_lazy(q=q)
    forest = forest_of(parents, token, num_nodes, q_row, p_row, q, p)
    if validate:
        check_tree(forest, siblings, accept_uniforms, final_uniforms)
    accept, final = uniforms_for(forest.token, rng, accept_uniforms, final_uniforms)
    accept, final = np.maximum(accept, 0.0), np.maximum(final, 0.0)  # below 0, p = 0 would pass
    return walk_and_draw(forest, link(forest.parents, forest.num_nodes), accept, final, SCHEMES[siblings])


def walk_and_draw(forest: Forest, links: Links, accept: Float64s, final: Float64s, scheme: Scheme) -> EmittedPath:
    """The result of `verify_tree` by uniforms [B, N] and [B], a few rows at a time where the vocabulary is large."""
    B = len(forest.token)
    last = np.empty(B, dtype=np.int64)
    nodes, accepted = np.full((B, links.depth), -1), np.zeros(B, dtype=np.int64)
    rows_at_a_time = max(1, _ENTRIES_AT_A_TIME // forest.p.shape[1])
    for first in range(0, B, rows_at_a_time):
        rows = slice(first, first + rows_at_a_time)
        done = walk(forest.of_rows(rows), links.of_rows(rows), accept[rows], scheme)
        nodes[rows], accepted[rows], last[rows] = done.nodes, done.accepted, draw(done.weights, final[rows])
    return assemble_path(forest.token, nodes, accepted, last)


def walk(forest: Forest, links: Links, accept: Float64s, scheme: Scheme) -> Walk:
    """Test nodes by uniforms [B, N], one of each row at a time, until all rows reach a leaf or run out of children."""
    B, V = len(forest.token), forest.p.shape[1]
    nodes, accepted = np.full((B, links.depth), -1), np.zeros(B, dtype=np.int64)
    column = np.zeros(B, dtype=np.int64)  # of p_row: where the walk is
    weights, weights_mass = np.empty((B, V)), np.ones(B)
    untouched = np.ones(B, dtype=np.bool_)  # weights are p itself, which is not copied before it has to be
    candidate = links.first_child[:, 0].copy()
    while len(b := np.flatnonzero(candidate >= 0)):
        trial = Trial(forest, links, b, candidate[b], forest.token[b, candidate[b]])
        if isinstance(forest.p, LazyTable):
            _copy_rows(forest, column, untouched, np.arange(B), weights)
        weight = _weight_of_token(forest, column, untouched, trial, weights)
        passed = passes(accept[b, trial.i], *scheme.proposal(trial), weight, weights_mass[b])
        passed &= trial.token >= 0  # an id of -1 means the last token to NumPy; it must not get out unvalidated

        b, i = trial.b[passed], trial.i[passed]
        nodes[b, accepted[b]] = i
        accepted[b] += 1
        column[b], candidate[b] = i + 1, links.first_child[b, i + 1]
        weights_mass[b], untouched[b] = 1.0, True

        failed = np.flatnonzero(~passed)
        trial, b = trial.of_rows(failed), trial.b[failed]
        candidate[b] = links.next_sibling[b, trial.i]
        _copy_rows(forest, column, untouched, b, weights)
        residual = scheme.shrink(trial, weights[b], weights_mass[b])
        has_mass = residual.any(axis=1)
        weights[b[has_mass]] = residual[has_mass]
        again = b[has_mass & (candidate[b] >= 0)]
        weights_mass[again] = scheme.measure(weights[again])
    _copy_rows(forest, column, untouched, np.arange(B), weights)
    return Walk(nodes, accepted, weights)


def _copy_rows(forest: Forest, column: Int64s, untouched: Bools, b: Int64s, weights: Float64s) -> None:
    """Copy p to the weights of those rows b that have not been changed since the walk reached its node."""
    b = b[untouched[b]]
    if len(b):
        weights[b] = forest.p[forest.p_row[b, column[b]]]
        untouched[b] = False


def _weight_of_token(forest: Forest, column: Int64s, untouched: Bools, trial: Trial, weights: Float64s) -> Float64s:
    """The weight of the tested tokens in p, or in what is left of it [n]."""
    weight: Float64s = weights[trial.b, trial.token]
    j = np.flatnonzero(untouched[trial.b])
    if len(j) and not isinstance(forest.p, LazyTable):
        weight[j] = forest.p[forest.p_row[trial.b[j], column[trial.b[j]]], trial.token[j]]
    return weight


def passes(u: Float64s, q: Float64s, q_mass: Float64s, r: Float64s, r_mass: Float64s) -> Bools:
    """Whether u·q(x)/Σq < r(x)/Σr, bool [n], strictly and without a division; weights [n]; NaN fails."""
    passed: Bools = u * (r_mass * q) < q_mass * r
    return passed


def assemble_path(token: Ints, nodes: Int64s, accepted: Int64s, last: Int64s) -> EmittedPath:
    """Tokens of the accepted nodes, then the last token, then -1 [B, D+1]; their number [B]; the nodes [B, D]."""
    B, D = nodes.shape
    out = np.full((B, D + 1), -1, dtype=np.int64)
    b, depth = np.nonzero(nodes >= 0)
    out[b, depth] = token[b, nodes[b, depth]]
    out[np.arange(B), accepted] = last
    return out, accepted + 1, nodes
