"""What the verifiers require of their inputs, and the messages that say so.

Every check looks only at the values that will be read: padding may hold anything. Knows nothing of how the values are
used.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim.errors import InputError, Problem, invalid, raise_if_any
from specsim.verification.arrays import Bools, Floats, Int64s, Ints
from specsim.verification.drafts import Drafts
from specsim.verification.processing.processors import LazyTable
from specsim.verification.rows import distribution_problems, located

Form = tuple[str, Ints | Floats | Bools, tuple[int, ...], str]
KINDS = {"iu": "integers", "f": "floating-point numbers", "b": "booleans"}


def check_randomness(
    rng: np.random.Generator | None, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> None:
    """Check that there is either a generator or both arrays of uniforms [B, K] and [B].

    Raises:
        InputError: there is neither, or a mixture.
    """
    if rng is None and accept_uniforms is not None and final_uniforms is not None:
        return  # in every step of a simulation, so return early
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise invalid(
            "rng", "type", type(rng).__name__, "must be a numpy.random.Generator; write np.random.default_rng(seed)"
        )
    sources = {"rng": rng, "accept_uniforms": accept_uniforms, "final_uniforms": final_uniforms}
    given = [name for name, source in sources.items() if source is not None]
    if given not in (["rng"], ["accept_uniforms", "final_uniforms"]):
        found = ", ".join(given) or "nothing"
        remedy = "give either rng, or both accept_uniforms and final_uniforms"
        raise InputError([Problem("randomness", "", found, remedy)])


def refuse_lazy(**tables: object) -> None:
    """Refuse tables that are processed lazily: only `verify_tree` takes them, and for p alone.

    Raises:
        InputError: names the first such table.
    """
    for name, table in tables.items():
        if isinstance(table, LazyTable):
            raise invalid(
                name, "type", "LazyTable", "must be an array; only verify_tree takes a lazy table, and for p alone"
            )


def refuse_misfits(drafts: Drafts, greedy: Bools | None, accept: Floats, final: Floats) -> None:
    """Refuse shapes that disagree, as they would be read out of bounds; checks no values. Shapes as for `verify_chain`.

    Raises:
        InputError: shapes do not fit together.
    """
    (B, K), V = drafts.draft.shape, drafts.p.shape[-1]
    fitting = (
        drafts.num_draft.shape == final.shape == (B,)
        and accept.shape == (B, K)
        and (greedy is None or greedy.shape == (B,))
        and (drafts.q is None or drafts.q.shape[-1] == V)
        and (drafts.p_row is not None or drafts.p.shape == (B, K + 1, V))
        and (drafts.q is None or drafts.q_row is not None or drafts.q.shape == (B, K, V))
        and (drafts.p_row is None or drafts.p_row.shape == (B, K + 1))
        and (drafts.q_row is None or drafts.q_row.shape == (B, K))
    )
    if not fitting:
        raise invalid("shapes", "", "", "do not fit together; call with validate=True to hear which")


def check_chain(
    drafts: Drafts, greedy: Bools | None, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> None:
    """Check the inputs of `verify_chain`.

    Raises:
        InputError: lists all problems.
    """
    draft, q, p, num_draft = drafts.draft, drafts.q, drafts.p, drafts.num_draft
    B, K = batch_shape("draft", draft)
    V = p.shape[-1] if p.ndim else 0
    arrays: list[Form] = [("draft", draft, (B, K), "iu"), ("num_draft", num_draft, (B,), "iu")]
    arrays += [] if q is None else [("q", q, (B, K, V), "f")]
    arrays += [("p", p, (B, K + 1, max(V, 1)), "f"), *call_forms(B, K, greedy, accept_uniforms, final_uniforms)]
    raise_if_any(form_problems(arrays, "draft [B, K] and p [B, K+1, V]"))

    num_read = drafts_to_read(num_draft, K)
    sampled = num_read if greedy is None else np.where(greedy, np.minimum(num_read, 0), num_read)
    raise_if_any(
        count_problems("num_draft", num_draft, K),
        token_problems("draft", drafts, num_read, sampled),
        () if q is None else distribution_problems("q", q, *_dense_rows(sampled, K)),
        distribution_problems("p", p, *_dense_rows(num_read + 1, K + 1)),
        uniform_problems(accept_uniforms, final_uniforms, sampled, greedy),
    )


def check_greedy(draft: Ints, target_argmax: Ints, num_draft: Ints) -> None:
    """Check the inputs of `verify_greedy`.

    Raises:
        InputError: lists all problems.
    """
    B, K = batch_shape("draft", draft)
    arrays: list[Form] = [
        ("draft", draft, (B, K), "iu"),
        ("target_argmax", target_argmax, (B, K + 1), "iu"),
        ("num_draft", num_draft, (B,), "iu"),
    ]
    raise_if_any(form_problems(arrays, "draft [B, K]"))
    num_read = drafts_to_read(num_draft, K)
    raise_if_any(
        count_problems("num_draft", num_draft, K),
        _negative_id_problems("draft", draft, num_read),
        _negative_id_problems("target_argmax", target_argmax, num_read + 1),
    )


def batch_shape(name: str, draft: Ints) -> tuple[int, int]:
    """(B, K) of draft ids [B, K], against which every other shape is checked.

    Raises:
        InputError: the array does not have two axes.
    """
    if draft.ndim != 2:
        raise invalid(name, "shape", draft.shape, "must be [B, K]: a row per request, a column per position")
    return draft.shape


def call_forms(
    B: int, K: int, greedy: Bools | None, accept_uniforms: Floats | None, final_uniforms: Floats | None
) -> list[Form]:
    """Required shapes and types of the optional arguments: greedy [B], accept uniforms [B, K], final uniforms [B]."""
    forms: list[Form] = [] if greedy is None else [("greedy", greedy, (B,), "b")]
    if accept_uniforms is not None and final_uniforms is not None:
        forms += [
            ("accept_uniforms", np.asarray(accept_uniforms), (B, K), "f"),
            ("final_uniforms", np.asarray(final_uniforms), (B,), "f"),
        ]
    return forms


def form_problems(arrays: list[Form], fitting: str) -> Iterator[Problem]:
    """Arrays whose shape or type is not the required one."""
    for name, array, shape, kinds in arrays:
        if array.shape != shape:
            yield Problem(name, "shape", str(array.shape), f"must be {shape}, to fit {fitting}")
        if kinds == array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
            again = ", and normalise its rows again" if name in ("p", "q") else ""
            yield Problem(name, "dtype", str(array.dtype), f"must be float32 or float64; convert it{again}")
        elif array.dtype.kind not in kinds:
            yield Problem(name, "dtype", str(array.dtype), f"must be {KINDS[kinds]}; convert it first")


def drafts_to_read(num_draft: Ints, K: int) -> Int64s:
    """num_draft [B] as int64, and -1 where it is out of range, as nothing of such a row can be checked."""
    num_read = num_draft.astype(np.int64)
    # Judged by the number as given: a large unsigned one wraps around when converted.
    num_read[(num_draft < 0) | (num_draft > K)] = -1
    return num_read


def count_problems(name: str, num_draft: Ints, K: int) -> Iterator[Problem]:
    """Rows whose number of drafts [B] is negative or more than fit."""
    bad = np.flatnonzero((num_draft < 0) | (num_draft > K))
    size = "K" if name == "num_draft" else "N"
    yield from located(name, {"b": np.arange(len(num_draft))}, bad, num_draft[bad], f"must be from 0 to {size} = {K}")


def token_problems(name: str, drafts: Drafts, num_read: Int64s, sampled: Int64s) -> Iterator[Problem]:
    """Drafted ids [B, K] that are no tokens, and ids that q cannot have given.

    Args:
        name: what to call the ids.
        drafts: the drafts.
        num_read: ids to check in each row [B].
        sampled: ids of each row to check against q [B].
    """
    position = np.arange(drafts.draft.shape[1])
    b, i = np.nonzero(position < num_read[:, None])
    token, V = drafts.draft[b, i], drafts.p.shape[-1]
    outside = (token < 0) | (token >= V)
    bad = np.flatnonzero(outside)
    count = "num_draft" if name == "draft" else "num_nodes"
    remedy = f"must be from 0 to V - 1 = {V - 1}; shorten {count} if the position holds no draft"
    yield from located(name, {"b": b, "i": i}, bad, token[bad], remedy)
    judged = ~outside & (i < sampled[b])
    b, i, token = b[judged], i[judged], token[judged]
    bad = np.flatnonzero(drafts.q_of(b, i, token) == 0)
    remedy = "was drafted although q gives it probability 0; pass the q that the drafts were sampled from"
    yield from located(name, {"b": b, "i": i}, bad, token[bad], remedy)


def uniform_problems(
    accept_uniforms: Floats | None, final_uniforms: Floats | None, sampled: Int64s, greedy: Bools | None
) -> Iterator[Problem]:
    """Uniforms [B, K] and [B] outside [0, 1) among those that will be read; ``sampled`` positions per row [B]."""
    if accept_uniforms is None or final_uniforms is None:
        return
    accept, final = np.asarray(accept_uniforms), np.asarray(final_uniforms)
    # Written so that NaN counts as outside.
    b, i = np.nonzero((np.arange(accept.shape[1]) < sampled[:, None]) & ~((accept >= 0) & (accept < 1)))
    yield from located("accept_uniforms", {"b": b, "i": i}, np.arange(len(b)), accept[b, i], "must be in [0, 1)")
    drawn = np.ones(len(final), dtype=np.bool_) if greedy is None else ~greedy
    bad = np.flatnonzero(drawn & ~((final >= 0) & (final < 1)))
    yield from located("final_uniforms", {"b": np.arange(len(final))}, bad, final[bad], "must be in [0, 1)")


def _dense_rows(num_read: Int64s, width: int) -> tuple[tuple[Ints, ...], dict[str, Ints]]:
    """The first num_read[b] rows of each b, as an index into a dense table and by name."""
    b, i = np.nonzero(np.arange(width) < num_read[:, None])
    return (b, i), {"b": b, "i": i}


def _negative_id_problems(name: str, ids: Ints, num_read: Int64s) -> Iterator[Problem]:
    b, i = np.nonzero((ids < 0) & (np.arange(ids.shape[1]) < num_read[:, None]))
    yield from located(name, {"b": b, "i": i}, np.arange(len(b)), ids[b, i], "must be a token id, 0 or more")
