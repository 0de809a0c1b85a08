"""From logits to the distribution that is sampled: temperature, min-p, top-k and top-p, per row and on demand.

A verifier is lossless for the p and q it is given. Both must be the distributions after processing: q what the drafts
were sampled from, p what the target would sample from. So one function processes both.

The order is vLLM's: temperature, min-p, top-k, top-p; each filter sees the rows as the one before left them, and
normalised. (Hugging Face applies min-p last.) What each keeps is said without an order among equals, so that tokens of
equal probability stay or go together and a permuted vocabulary gives a permuted result:

- min-p keeps a token with at least min_p times the highest probability;
- top-k keeps a token if fewer than k are more probable: ties with the k-th stay, as in vLLM and Hugging Face;
- top-p keeps a token if those more probable have less than top_p together: the token that crosses top_p stays. Where
  equals straddle it, vLLM and Hugging Face cut between them in the order their sort happens to give.

Knows nothing of drafts and targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.verification.arrays import Bools, Float64s, Floats, Ints
from specsim.verification.processing.inputs import check_parameters, check_rows
from specsim.verification.processing.top_p import above_top_p

Kind: TypeAlias = Literal["logits", "probabilities"]
Parameter: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Processors:
    """How each row of a table is processed; every parameter is one number or one per row, shape [R].

    Attributes:
        temperature: 0 or more; at 0 all mass is on the most likely token, the lowest id among equals. A number above 0
            divides the logits.
        top_k: 1 or more; None or V keeps all.
        top_p: in (0, 1]; None or 1 keeps all.
        min_p: in [0, 1]; None or 0 keeps all.
    """

    temperature: ArrayLike = 1.0
    top_k: ArrayLike | None = None
    top_p: ArrayLike | None = None
    min_p: ArrayLike | None = None


def process(
    table: Floats,
    *,
    kind: Kind = "logits",
    temperature: ArrayLike = 1.0,
    top_k: ArrayLike | None = None,
    top_p: ArrayLike | None = None,
    min_p: ArrayLike | None = None,
    rows: Ints | None = None,
) -> Float64s:
    """The distributions that rows of logits or probabilities are sampled from.

    All work is in float64, whatever comes in. Rows that are not asked for are not read, and their parameters neither.

    Args:
        table: logits, of which -inf masks a token, or probabilities; float32 or float64, shape [R, V].
        kind: which of the two it is. Probabilities need not sum to 1.
        temperature, top_k, top_p, min_p: see `Processors`; one number, or one per row [R].
        rows: the rows to process, in any order, shape [n]; None for all.

    Returns:
        Probabilities that sum to 1 to within `row_sum_tolerance`, shape [n, V], or [R, V] for all rows.

    Raises:
        InputError: a parameter is out of range or neither a number nor one per row, or a row that is asked for has no
            token left, +inf, NaN or a negative probability. All problems are listed at once.

    Example:
        >>> import numpy as np
        >>> process(np.log([[0.5, 0.25, 0.125, 0.125]]), top_p=0.7).round(3)
        array([[0.667, 0.333, 0.   , 0.   ]])
    """
    table = np.asarray(table)
    settings = Processors(temperature, top_k, top_p, min_p)
    parameters = check_parameters(table, kind, settings.__dict__, rows)
    chosen = table if rows is None else table[np.asarray(rows)]
    check_rows(chosen, kind, rows)
    return _process(chosen.astype(np.float64), kind, **parameters)


@dataclass(frozen=True)
class LazyTable:
    """A table of distributions that processes a row when it is asked for it: `lazy[rows]` is [n, V].

    `verify_tree` takes one for p, and asks it for no row but those that it comes to.

    Attributes:
        table: logits or probabilities, shape [R, V].
        processors: how its rows are processed.
        kind: what the table holds.
    """

    table: Floats
    processors: Processors = Processors()
    kind: Kind = "logits"

    @property
    def shape(self) -> tuple[int, ...]:
        """[R, V]."""
        return self.table.shape

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Ints) -> Float64s:
        return process(self.table, kind=self.kind, rows=np.asarray(rows), **self.processors.__dict__)


def _process(
    scores: Float64s,
    kind: Kind,
    temperature: Parameter,
    top_k: Parameter | None,
    top_p: Parameter | None,
    min_p: Parameter | None,
) -> Float64s:
    """Checked rows, which are overwritten, with one parameter per row."""
    p = _tempered(scores, kind, temperature)
    if min_p is not None:
        _drop(p, p < (min_p * p.max(axis=1))[:, None])
    if top_k is not None:
        _keep_top_k(p, top_k)
    if top_p is not None:
        cut = np.flatnonzero(top_p < 1)
        part = p[cut]
        _drop(part, above_top_p(part, top_p[cut]))
        p[cut] = part
    return p


def _tempered(scores: Float64s, kind: Kind, temperature: Parameter) -> Float64s:
    """Probabilities in proportion to exp(logit/T), or to probability^(1/T); all on the first highest one for T = 0."""
    highest = scores.max(axis=1, keepdims=True)
    first = scores.argmax(axis=1)
    cold = temperature == 0
    divisor = np.where(cold, 1.0, temperature)[:, None]
    with np.errstate(over="ignore"):  # close to T = 0, to exp(-inf) and x^inf: the limits that are due
        if kind == "logits":
            scores -= highest
            scores /= divisor
            np.exp(scores, out=scores)
        else:
            scores /= highest
            np.power(scores, 1 / divisor, out=scores)
    scores[cold] = 0.0
    scores[cold, first[cold]] = 1.0
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _keep_top_k(p: Float64s, top_k: Parameter) -> None:
    """Drop what is less probable than the k-th, found by partition; rows with the same k are done together."""
    V = p.shape[1]
    for k in np.unique(top_k[top_k < V]):
        rows = np.flatnonzero(top_k == k)
        part = p[rows]
        # From the top, as NumPy takes ten times as long to partition off the end of a row that is mostly zeros.
        threshold = -np.partition(-part, int(k) - 1, axis=1)[:, int(k) - 1]
        _drop(part, part < threshold[:, None])
        p[rows] = part


def _drop(p: Float64s, dropped: Bools) -> None:
    """Give what is dropped probability 0 and normalise the rest."""
    p[dropped] = 0.0
    p /= p.sum(axis=1, keepdims=True)
