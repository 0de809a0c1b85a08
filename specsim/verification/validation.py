"""What the verifiers demand of their inputs, and the words in which they say so.

Every check looks at the values that will be read and at no others: padding may hold anything. Knows nothing of how
the values are used.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim.errors import InputError, Problem, invalid
from specsim.verification.arrays import Floats, Int64s, Ints
from specsim.verification.rows import distribution_problems, located


def check_randomness(
    rng: np.random.Generator | None, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> None:
    """Raise InputError unless there is a generator or both arrays of uniforms, and not a mixture of them."""
    given = [
        name
        for name, source in (
            ("rng", rng),
            ("accept_uniforms", accept_uniforms),
            ("final_uniforms", final_uniforms),
        )
        if source is not None
    ]
    if given not in (["rng"], ["accept_uniforms", "final_uniforms"]):
        found = ", ".join(given) or "nothing"
        remedy = "give either rng, or both accept_uniforms and final_uniforms"
        raise InputError([Problem("randomness", "", found, remedy)])


def check_chain(
    draft: Ints,
    q: Floats,
    p: Floats,
    num_draft: Ints,
    accept_uniforms: Floats | None,
    final_uniforms: Floats | None,
) -> None:
    """Raise InputError listing all that is wrong with the inputs of `verify_chain`."""
    B, K = _batch_shape(draft)
    V = p.shape[-1] if p.ndim else 0
    arrays: list[tuple[str, Ints | Floats, tuple[int, ...], str]] = [
        ("num_draft", num_draft, (B,), "iu"),
        ("q", q, (B, K, V), "f"),
        ("p", p, (B, K + 1, max(V, 1)), "f"),
    ]
    if accept_uniforms is not None and final_uniforms is not None:
        accept_uniforms, final_uniforms = np.asarray(accept_uniforms), np.asarray(final_uniforms)
        arrays += [
            ("accept_uniforms", accept_uniforms, (B, K), "f"),
            ("final_uniforms", final_uniforms, (B,), "f"),
        ]
    _raise_if_any(_form_problems("draft", draft, (B, K), "iu"), *(_form_problems(*array) for array in arrays))

    drafts = _drafts_to_read(num_draft, K)
    _raise_if_any(
        _num_draft_problems(num_draft, K),
        _draft_problems(draft, q, drafts),
        distribution_problems("q", q, drafts),
        distribution_problems("p", p, drafts + 1),
        _uniform_problems(accept_uniforms, final_uniforms, drafts),
    )


def check_greedy(draft: Ints, target_argmax: Ints, num_draft: Ints) -> None:
    """Raise InputError listing all that is wrong with the inputs of `verify_greedy`."""
    B, K = _batch_shape(draft)
    _raise_if_any(
        _form_problems("draft", draft, (B, K), "iu"),
        _form_problems("target_argmax", target_argmax, (B, K + 1), "iu"),
        _form_problems("num_draft", num_draft, (B,), "iu"),
    )
    drafts = _drafts_to_read(num_draft, K)
    _raise_if_any(
        _num_draft_problems(num_draft, K),
        _negative_id_problems("draft", draft, drafts),
        _negative_id_problems("target_argmax", target_argmax, drafts + 1),
    )


def _batch_shape(draft: Ints) -> tuple[int, int]:
    """[B, K], which the draft decides: every other shape is judged against it."""
    if draft.ndim != 2:
        raise invalid("draft", "shape", draft.shape, "must be [B, K]: a row per request, a column per position")
    return draft.shape


def _raise_if_any(*groups: Iterator[Problem]) -> None:
    problems = [problem for group in groups for problem in group]
    if problems:
        raise InputError(problems)


def _form_problems(name: str, array: Ints | Floats, shape: tuple[int, ...], kinds: str) -> Iterator[Problem]:
    if array.shape != shape:
        yield Problem(name, "shape", str(array.shape), f"must be {shape}, to fit draft [B, K] and p [B, K+1, V]")
    if array.dtype.kind not in kinds:
        wanted = "integers" if kinds == "iu" else "floating-point numbers"
        yield Problem(name, "dtype", str(array.dtype), f"must be {wanted}; convert it first")


def _drafts_to_read(num_draft: Ints, K: int) -> Int64s:
    """num_draft as int64, and -1 where it is out of range: of such a row nothing can be said."""
    drafts = num_draft.astype(np.int64)
    # Judged by the number as given: a large unsigned one wraps around when converted.
    drafts[(num_draft < 0) | (num_draft > K)] = -1
    return drafts


def _num_draft_problems(num_draft: Ints, K: int) -> Iterator[Problem]:
    bad = np.flatnonzero((num_draft < 0) | (num_draft > K))
    yield from located("num_draft", bad, None, num_draft[bad], f"must be from 0 to K = {K}")


def _draft_problems(draft: Ints, q: Floats, drafts: Int64s) -> Iterator[Problem]:
    b, i = np.nonzero(np.arange(draft.shape[1]) < drafts[:, None])
    token = draft[b, i]
    V = q.shape[2]
    outside = (token < 0) | (token >= V)
    remedy = f"must be from 0 to V - 1 = {V - 1}; shorten num_draft if the position holds no draft"
    yield from located("draft", b[outside], i[outside], token[outside], remedy)
    b, i, token = b[~outside], i[~outside], token[~outside]
    impossible = q[b, i, token] == 0
    remedy = "was drafted although q gives it probability 0; pass the q that the drafts were sampled from"
    yield from located("draft", b[impossible], i[impossible], token[impossible], remedy)


def _uniform_problems(
    accept_uniforms: Floats | None, final_uniforms: Floats | None, drafts: Int64s
) -> Iterator[Problem]:
    if accept_uniforms is None or final_uniforms is None:
        return
    # Written so that NaN counts as outside.
    read = np.arange(accept_uniforms.shape[1]) < drafts[:, None]
    b, i = np.nonzero(read & ~((accept_uniforms >= 0) & (accept_uniforms < 1)))
    yield from located("accept_uniforms", b, i, accept_uniforms[b, i], "must be in [0, 1)")
    bad = np.flatnonzero(~((final_uniforms >= 0) & (final_uniforms < 1)))
    yield from located("final_uniforms", bad, None, final_uniforms[bad], "must be in [0, 1)")


def _negative_id_problems(name: str, ids: Ints, num_read: Int64s) -> Iterator[Problem]:
    b, i = np.nonzero((ids < 0) & (np.arange(ids.shape[1]) < num_read[:, None]))
    yield from located(name, b, i, ids[b, i], "must be a token id, 0 or more")
