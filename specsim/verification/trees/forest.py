"""A batch of drafted trees as rows of indices into tables of distributions: the input of a tree verifier.

And the signature that `verify_tree`, its scalar reference and its mutants share. Knows nothing of how trees are drawn
or judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from specsim.verification.arrays import Floats, Int64s, Ints
from specsim.verification.processing.processors import LazyTable

Siblings: TypeAlias = Literal["with_replacement", "without_replacement", "one_hot"]
Table: TypeAlias = Floats | LazyTable
EmittedPath: TypeAlias = tuple[Int64s, Int64s, Int64s]


class TreeVerifier(Protocol):
    """The signature of `verify_tree`, of its scalar reference and of its mutants."""

    def __call__(
        self,
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
        """Verify a batch of trees; see `verify_tree`."""
        ...


@dataclass(frozen=True)
class Forest:
    """One tree per row; for the shapes see `verify_tree`.

    Attributes:
        parents: [B, N].
        token: [B, N].
        num_nodes: [B].
        q_row: [B, N], or None where no token was sampled.
        p_row: [B, N+1].
        q: [Rq, V], or None where no token was sampled.
        p: [Rp, V], or one that processes its rows when they are asked for.
    """

    parents: Ints
    token: Ints
    num_nodes: Ints
    q_row: Ints | None
    p_row: Ints
    q: Floats | None
    p: Table

    def of_rows(self, rows: slice) -> Forest:
        """Some of the trees, with the same tables."""
        q_row = None if self.q_row is None else self.q_row[rows]
        return Forest(
            self.parents[rows], self.token[rows], self.num_nodes[rows], q_row, self.p_row[rows], self.q, self.p
        )

    def drafter_rows(self, b: Int64s, i: Int64s) -> tuple[Floats, Ints]:
        """The drafter's table [Rq, V], and the row of it that node i[j] of tree b[j] was sampled from [len(b)].

        Raises:
            TypeError: the trees were not sampled.
        """
        if self.q is None or self.q_row is None:
            raise TypeError("these trees were not sampled: they have no q")
        return self.q, self.q_row[b, i]


def forest_of(
    parents: Ints, token: Ints, num_nodes: Ints, q_row: Ints | None, p_row: Ints, q: Floats | None, p: Table
) -> Forest:
    """The arguments of `verify_tree` as arrays."""
    return Forest(
        np.asarray(parents),
        np.asarray(token),
        np.asarray(num_nodes),
        None if q_row is None else np.asarray(q_row),
        np.asarray(p_row),
        None if q is None else np.asarray(q),
        p if isinstance(p, LazyTable) else np.asarray(p),
    )
