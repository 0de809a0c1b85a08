"""Drafts of any vocabulary, compared as text with what the target samples: string-level exact match (SLEM).

Timor et al. 2025 (arXiv:2502.05202), section 3. The drafter's tokens become text, and the text tokens of the target.
The target samples a token at each of them; the draft is kept as far as it says the same, and the first token that
differs is the target's own. The output is thus the target's samples whatever the drafter and the tokenizers do; these
decide only how much of it comes at once. Where ψ(x) is the probability that the drafter's text is tokenised as x, a
draft is accepted with probability Σ p·ψ, at most the Σ min(p, ψ) of the rejection rule, which however needs ψ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from specsim.errors import Problem, raise_if_any
from specsim.verification.arrays import Emitted, Float64s, Floats, Int64s, Ints
from specsim.verification.drafts import Drafts, dense
from specsim.verification.draws import assemble, draw_rows
from specsim.verification.rows import distribution_problems, located
from specsim.verification.validation import (
    Form,
    batch_shape,
    count_problems,
    drafts_to_read,
    form_problems,
    refuse_lazy,
    token_problems,
)
from specsim.verification.vocabularies.rows import uniforms_of

Text = TypeVar("Text", str, bytes)


def retokenise(
    draft: Ints,
    num_draft: Ints,
    decode: Callable[[Sequence[int]], Text],
    encode: Callable[[Text], Sequence[int]],
) -> tuple[Int64s, Int64s]:
    """Drafts in the target's tokens: the text of each row's drafter tokens, tokenised as the target does.

    Texts are tokenised alone, as the target's context consists of tokens that it has sampled, which must stay as they
    are. Tokenizers need not invert each other; a text that is tokenised as the target would never say it is rejected.

    Args:
        draft: the drafter's ids, shape [B, K]; positions from num_draft[b] on are padding and may hold anything.
        num_draft: how many drafts each row has, from 0 to K, shape [B].
        decode: the drafter's tokenizer from ids to text; it should add nothing (no cleaning up of spaces).
        encode: the target's tokenizer from text to ids; it should add nothing (no token that begins a sequence).

    Returns:
        draft: the target's ids, then -1; shape [B, K'] with K' the most that a row has, int64.
        num_draft: how many each row has, shape [B], int64.

    Raises:
        InputError: the arrays do not fit together or num_draft leaves [0, K].

    Example:
        >>> import re
        >>> import numpy as np
        >>> decode = lambda ids: "".join("ab"[x] for x in ids)
        >>> encode = lambda text: [["a", "b", "ab"].index(piece) for piece in re.findall("ab|a|b", text)]
        >>> retokenise(np.array([[0, 0, 1], [1, -1, -1]]), np.array([3, 1]), decode, encode)
        (array([[ 0,  2],
               [ 1, -1]]), array([2, 1]))
    """
    draft, num_draft = np.asarray(draft), np.asarray(num_draft)
    B, K = batch_shape("draft", draft)
    raise_if_any(form_problems([("draft", draft, (B, K), "iu"), ("num_draft", num_draft, (B,), "iu")], "draft [B, K]"))
    raise_if_any(count_problems("num_draft", num_draft, K))
    rows = [encode(decode(ids[:n])) if n else () for ids, n in zip(draft.tolist(), num_draft.tolist(), strict=True)]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((B, int(lengths.max(initial=0))), -1, dtype=np.int64)
    for b, row in enumerate(rows):
        ids[b, : len(row)] = row
    return ids, lengths


def verify_exact_match(
    draft: Ints,
    p: Floats,
    num_draft: Ints,
    *,
    rng: np.random.Generator | None = None,
    uniforms: Floats | None = None,
    validate: bool = True,
) -> Emitted:
    """Sample the target at each draft and keep the draft while both agree; the last token is where they do not.

    At position i the token is the first whose cumulative mass in p exceeds u times the total, summed in float64. Only
    positions that are reached read their uniform, so uniforms may be keyed by output position: with the same ones the
    output is, token for token, what the target says without drafts. At temperature 0 use `verify_greedy`.

    Positions from num_draft[b] on (in p and uniforms: beyond num_draft[b]) are padding: they are never read.

    Args:
        draft: drafts in the target's ids, as `retokenise` returns them, shape [B, K].
        p: the target's distributions at the drafted positions and the one after, shape [B, K+1, V].
        num_draft: how many drafts each row has, from 0 to K, shape [B].
        rng: draws the uniforms; give either this or them.
        uniforms: one number in [0, 1) for each position, shape [B, K+1].
        validate: check every value that may be read; switch off only where the caller vouches for them.

    Returns:
        out: the tokens that the target sampled, then -1; shape [B, K+1], int64.
        num_out: tokens emitted per row, accepted + 1; shape [B], int64.

    Raises:
        InputError: neither or both sources of randomness are given, the arrays do not fit together, or (if validating)
            num_draft leaves [0, K], a drafted id leaves [0, V), a row of p is not a distribution or a uniform leaves
            [0, 1). All problems are listed at once.

    Example:
        >>> import numpy as np
        >>> p = np.array([[[0.5, 0.5], [0.9, 0.1]]])
        >>> verify_exact_match(np.array([[0]]), p, np.array([1]), uniforms=np.array([[0.4, 0.95]]))
        (array([[0, 1]]), array([2]))
    """
    refuse_lazy(p=p)
    drafts = dense(np.asarray(draft), None, np.asarray(p), np.asarray(num_draft))
    B, K = batch_shape("draft", drafts.draft)
    u = uniforms_of((B, K + 1), rng, uniforms)
    V = drafts.p.shape[-1] if drafts.p.ndim else 0
    forms: list[Form] = [
        ("draft", drafts.draft, (B, K), "iu"),
        ("num_draft", drafts.num_draft, (B,), "iu"),
        ("p", drafts.p, (B, K + 1, max(V, 1)), "f"),
    ]
    raise_if_any(form_problems(forms, "draft [B, K] and p [B, K+1, V]"))
    if validate:
        raise_if_any(_problems(drafts, u))
    accepted, token = np.zeros((2, B), dtype=np.int64)
    following = np.arange(B)
    for i in range(K + 1):
        accepted[following] = i
        token[following] = _sampled(drafts, following, i, u[following, i])
        following = following[drafts.num_draft[following] > i]
        if not len(following):
            break
        following = following[drafts.draft[following, i] == token[following]]
    return assemble(drafts.draft, accepted, token)


def _sampled(drafts: Drafts, b: Int64s, i: int, uniforms: Float64s) -> Int64s:
    """What the target samples at position i of rows b, int64 [len(b)]."""
    return draw_rows(lambda n: drafts.p_rows(b[n], np.full(len(n), i)), uniforms, drafts.p.shape[-1])


def _problems(drafts: Drafts, uniforms: Float64s) -> Iterator[Problem]:
    """What is wrong with values that may be read."""
    K = drafts.draft.shape[1]
    num_read = drafts_to_read(drafts.num_draft, K)
    yield from count_problems("num_draft", drafts.num_draft, K)
    yield from token_problems("draft", drafts, num_read, num_read)
    b, i = np.nonzero(np.arange(K + 1) <= num_read[:, None])
    yield from distribution_problems("p", drafts.p, (b, i), {"b": b, "i": i})
    u = uniforms[b, i]
    bad = np.flatnonzero(~((u >= 0) & (u < 1)))  # NaN is outside
    yield from located("uniforms", {"b": b, "i": i}, bad, u[bad], "must be in [0, 1)")
