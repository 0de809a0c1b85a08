"""A source of chains that two language models make: what they draft and score depends on the text up to now.

Both models' distributions go through temperature and top-p before anything is drawn or judged, as in an engine, so that
the verifier's output is distributed as the target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Bools, Floats, Ints
from specsim.drafting.ngrams import Ngrams
from specsim.verification.processing.processors import process


class TextModels(NamedTuple):
    """The models of all domains. A context is a row of ``p``; those of a domain are contiguous.

    Attributes:
        p: of the target, after processing [R, V].
        p_cdf: running sums of p, the last of a row 1 [R, V].
        q: of the drafter [Rq, V].
        q_cdf: its running sums [Rq, V].
        q_row: of a context, its row of q [R].
        step: context and token → next context [R, V].
        starts: contexts that outputs may begin with, one domain after the other.
        first_start: where each domain's starts begin, and where the last one's end [D+1].
        greedy: of each domain, whether the target decodes at temperature 0 [D].
        sampled: whether drafts are drawn from q; otherwise they are its most likely tokens.
    """

    p: Floats
    p_cdf: Floats
    q: Floats
    q_cdf: Floats
    q_row: Ints
    step: Ints
    starts: Ints
    first_start: Ints
    greedy: Bools
    sampled: bool


def text_models(
    models: Ngrams, drafter_order: int, *, temperature: float, drafter_temperature: float, top_p: float, sampled: bool
) -> TextModels:
    """The models of one domain.

    Args:
        models: of the target's order and below.
        drafter_order: of the drafter.
        temperature, drafter_temperature: of the two; at 0 only the most likely token is left.
        top_p: of both.
        sampled: drafts are drawn.
    """
    p = process(models.rows, kind="probabilities", temperature=temperature, top_p=top_p)
    contexts = int(models.first[drafter_order])
    drafter = process(models.rows[:contexts], kind="probabilities", temperature=drafter_temperature, top_p=top_p)
    q_row = np.arange(len(p))
    while (q_row >= contexts).any():
        q_row = np.where(q_row >= contexts, models.shorter[q_row], q_row)
    q = drafter if sampled else np.eye(p.shape[1])[drafter.argmax(axis=1)]
    return TextModels(
        p, _cdf(p), q, _cdf(q), q_row, models.step, models.starts, np.array([0, len(models.starts)]),
        np.array([temperature == 0]), sampled,
    )  # fmt: skip


def joined_texts(domains: Sequence[TextModels]) -> TextModels:
    """The models of several domains, in order; smaller vocabularies are padded with tokens that have no probability."""
    V = max(part.p.shape[1] for part in domains)
    first_p, first_q = (np.cumsum([0, *(len(getattr(part, name)) for part in domains)]) for name in ("p", "q"))
    p, q = (np.concatenate([_padded(getattr(part, name), V) for part in domains]) for name in ("p", "q"))
    return TextModels(
        p=p,
        p_cdf=_cdf(p),
        q=q,
        q_cdf=_cdf(q),
        q_row=np.concatenate([part.q_row + first for part, first in zip(domains, first_q, strict=False)]),
        step=np.concatenate([_padded(part.step, V) + first for part, first in zip(domains, first_p, strict=False)]),
        starts=np.concatenate([part.starts + first for part, first in zip(domains, first_p, strict=False)]),
        first_start=np.cumsum([0, *(len(part.starts) for part in domains)]),
        greedy=np.concatenate([part.greedy for part in domains]),
        sampled=domains[0].sampled,
    )


def drawn(cdf: Floats, uniforms: Floats) -> Ints:
    """A token of each row of ``cdf`` [B, V] by inverse CDF at uniforms in [0, 1) [B]; never one without probability."""
    tokens: Ints = (cdf <= uniforms[:, None]).sum(axis=1)
    return tokens


def _cdf(rows: Floats) -> Floats:
    sums = np.cumsum(rows, axis=1)
    cdf: Floats = sums / sums[:, -1:]
    return cdf


def _padded(table: NDArray[np.generic], V: int) -> NDArray[np.generic]:
    return np.pad(table, ((0, 0), (0, V - table.shape[1])))
