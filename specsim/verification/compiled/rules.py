"""The token, block and greedy rules as compiled loops over the rows of a batch: the same bits as the NumPy rules.

Sums follow `summation` term by term; nothing is reordered or fused (no fastmath). What is called from outside is cached
on disk with all that it calls; the inner functions are not cached themselves, since from a cache they come as machine
code that can no longer be inlined. They are all in this file: a cached function does not notice a change elsewhere.
Handing an array to a function counts a reference, which for few tokens takes longer than summing them: so the steps
loop over the batch themselves, and small rows are drawn from without a call.

Needs numba, and is imported only when a verifier is called. Checks no inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from specsim.verification.arrays import Bools, Emitted, Float64s, Floats, Int64s, Ints, RuleName
from specsim.verification.compiled.forms import OPTIONS, cached, kept, read_only
from specsim.verification.summation import BLOCK, LANES, SEQUENTIAL
from specsim.verification.tables import Tables

TOKEN, BLOCKWISE = 0, 1
_NONE = np.zeros(0, dtype=np.bool_)
_inner = njit(**OPTIONS)


@_inner
def _uniform(u: float) -> float:
    """The uniform, or 0 for a negative number, with which p = 0 would pass."""
    return 0.0 if u < 0.0 else u


@_inner
def _weight(scale: float, p_x: float, q_x: float) -> float:
    """max(0, scale·p - q), 0 if that is no number."""
    weight = scale * p_x - q_x
    return weight if weight > 0.0 else 0.0


@_inner
def _sums_of_blocks(scale: float, p: Floats, i: int, q: Floats, j: int, w: Float64s, sums: Float64s) -> None:
    """The sum of each full block of weights, written to sums; w is overwritten. Four numbers per lane at a time."""
    for k in range(p.shape[1] // BLOCK):
        w[:LANES] = 0.0
        for start in range(k * BLOCK, (k + 1) * BLOCK, 4 * LANES):
            p_4 = p[i, start : start + 4 * LANES]
            if j >= 0:
                q_4 = q[j, start : start + 4 * LANES]
                for x in range(LANES):
                    lane = w[x] + _weight(scale, p_4[x], q_4[x])
                    lane += _weight(scale, p_4[x + LANES], q_4[x + LANES])
                    lane += _weight(scale, p_4[x + 2 * LANES], q_4[x + 2 * LANES])
                    w[x] = lane + _weight(scale, p_4[x + 3 * LANES], q_4[x + 3 * LANES])
            else:
                for x in range(LANES):
                    lane = w[x] + _weight(scale, p_4[x], 0.0)
                    lane += _weight(scale, p_4[x + LANES], 0.0)
                    lane += _weight(scale, p_4[x + 2 * LANES], 0.0)
                    w[x] = lane + _weight(scale, p_4[x + 3 * LANES], 0.0)
        for x in range(16):
            w[x] += w[x + 16]
        for x in range(8):
            w[x] += w[x + 8]
        sums[k] = ((w[0] + w[4]) + (w[2] + w[6])) + ((w[1] + w[5]) + (w[3] + w[7]))


@_inner
def _fill(w: Float64s, scale: float, p: Floats, i: int, q: Floats, j: int, struck: int, start: int, stop: int) -> None:
    """Write the weights of the tokens from start to stop to w."""
    if j >= 0:
        for x in range(stop - start):
            w[x] = _weight(scale, p[i, start + x], q[j, start + x])
    else:
        for x in range(stop - start):
            w[x] = _weight(scale, p[i, start + x], 0.0)
    if start <= struck < stop:
        w[struck - start] = 0.0


@_inner
def _sum_of_part(
    scale: float, p: Floats, i: int, q: Floats, j: int, struck: int, start: int, stop: int, w: Float64s
) -> float:
    """The sum of the weights of the tokens from start to stop, at most BLOCK; w is overwritten."""
    w[:] = 0.0
    _fill(w, scale, p, i, q, j, struck, start, stop)
    for k in range(1, BLOCK // LANES):
        for x in range(LANES):
            w[x] += w[x + k * LANES]
    half = LANES // 2
    while half:
        for x in range(half):
            w[x] += w[x + half]
        half //= 2
    return float(w[0])


@_inner
def _partial_sums(
    scale: float, p: Floats, i: int, q: Floats, j: int, struck: int, w: Float64s, sums: Float64s
) -> float:
    """`summation.partial_sums` of the weights max(0, scale·p[i] - q[j]), written to sums; returns the total.

    There is no q where j < 0, and the token struck has no weight.
    """
    V, total = p.shape[1], 0.0
    if V <= SEQUENTIAL:
        _fill(sums, scale, p, i, q, j, struck, 0, V)
        for x in range(V):
            total += sums[x]
            sums[x] = total
        return total
    _sums_of_blocks(scale, p, i, q, j, w, sums)
    if 0 <= struck < V:
        start = struck // BLOCK * BLOCK
        sums[start // BLOCK] = _sum_of_part(scale, p, i, q, j, struck, start, min(V, start + BLOCK), w)
    if V % BLOCK:
        sums[V // BLOCK] = _sum_of_part(scale, p, i, q, j, struck, V // BLOCK * BLOCK, V, w)
    for k in range(-(-V // BLOCK)):
        total += sums[k]
        sums[k] = total
    return total


@_inner
def _draw_in_block(
    block: int, threshold: float, scale: float, p: Floats, i: int, q: Floats, j: int, struck: int, sums: Float64s
) -> int:
    """The token of a block at which the running sum exceeds the threshold, as `draws` finds it."""
    running = sums[block - 1] if block else 0.0
    start = last = block * BLOCK
    for x in range(start, min(p.shape[1], start + BLOCK)):
        weight = _weight(scale, p[i, x], q[j, x] if j >= 0 else 0.0) if x != struck else 0.0
        running += weight
        if running > threshold:
            return x
        if weight > 0.0:
            last = x
    return last


@_inner
def _greedy_rule(
    draft: Int64s, num_draft: Int64s, p: Floats, p_row: Int64s, greedy: Bools, accepted: Int64s, token: Int64s
) -> None:
    """`greedy.greedy_rule` in greedy rows."""
    for b in range(len(greedy)):
        while greedy[b]:
            token[b] = np.argmax(p[p_row[b, accepted[b]]])
            if accepted[b] == num_draft[b] or draft[b, accepted[b]] != token[b]:
                break
            accepted[b] += 1


@_inner
def _token_rule(
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    accept: Float64s,
    accepted: Int64s,
) -> None:
    """How many drafts survive `token_rule` in rows that are not greedy."""
    V = p.shape[1]
    for b in range(len(num_draft)):
        if len(greedy) and greedy[b]:
            continue
        survive = n = num_draft[b]
        for i in range(n):
            x, j = draft[b, i], q_row[b, i]
            u = _uniform(accept[b, i])
            if not 0 <= x < V or not u * (q[j, x] if j >= 0 else 1.0) < p[p_row[b, i], x]:
                survive = i
                break
        accepted[b] = survive


@_inner
def _block_rule(
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    accept: Float64s,
    accepted: Int64s,
    scale: Float64s,
    w: Float64s,
    sums: Float64s,
) -> None:
    """How many drafts survive `block_rule` in rows that are not greedy, and the weight w_i of what survives."""
    V = p.shape[1]
    weight = np.ones(draft.shape[1] + 1)
    for b in range(len(num_draft)):
        if len(greedy) and greedy[b]:
            continue
        n = num_draft[b]
        for i in range(n):
            x, j = draft[b, i], q_row[b, i]
            inside = 0 <= x < V
            q_x = (q[j, x] if inside else 0.0) if j >= 0 else 1.0
            reach = weight[i] * p[p_row[b, i], x] if inside else 0.0
            weight[i + 1] = reach / q_x if reach < q_x else (1.0 if reach >= q_x and q_x > 0.0 else 0.0)
        survive = 0
        for i in range(n, 0, -1):
            u = _uniform(accept[b, i - 1])
            if i == n:
                passes = u < weight[i]
            else:
                struck = draft[b, i] if q_row[b, i] < 0 else -1
                surplus = _partial_sums(weight[i], p, p_row[b, i], q, q_row[b, i], struck, w, sums)
                passes = u * (surplus + (1.0 - weight[i])) < surplus
            if passes:
                survive = i
                break
        accepted[b], scale[b] = survive, weight[survive]


@_inner
def _last_tokens(
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    final: Float64s,
    accepted: Int64s,
    scale: Float64s,
    w: Float64s,
    sums: Float64s,
    token: Int64s,
) -> None:
    """`token_rule.last_token` in rows that are not greedy."""
    V = p.shape[1]
    for b in range(len(num_draft)):
        if len(greedy) and greedy[b]:
            continue
        k, i, x = accepted[b], p_row[b, accepted[b]], 0
        for of_p in range(0 if k < num_draft[b] else 1, 2):  # p itself if nothing was rejected, or nothing is left
            s, j, struck = (1.0, -1, -1) if of_p else (scale[b], q_row[b, k], draft[b, k])
            if j >= 0:
                struck = -1
            total = 0.0
            if V > SEQUENTIAL:
                total = _partial_sums(s, p, i, q, j, struck, w, sums)
            else:
                if j >= 0:
                    for y in range(V):
                        sums[y] = _weight(s, p[i, y], q[j, y])
                else:
                    for y in range(V):
                        sums[y] = _weight(s, p[i, y], 0.0)
                if 0 <= struck < V:
                    sums[struck] = 0.0
                for y in range(V):
                    total += sums[y]
                    sums[y] = total
            if not total > 0.0:
                continue
            threshold = _uniform(final[b]) * total
            if not threshold < total:
                threshold = np.nextafter(total, 0.0)
            x = 0
            for y in range(V if V <= SEQUENTIAL else -(-V // BLOCK)):
                x += not sums[y] > threshold  # sums rise, so this counts up to the first that exceeds it
            if V > SEQUENTIAL:
                x = _draw_in_block(x, threshold, s, p, i, q, j, struck, sums)
            break
        token[b] = x


@_inner
def _check_rows(num_draft: Int64s, q: Floats, q_row: Int64s, p: Floats, p_row: Int64s, greedy: Bools) -> None:
    """Compiled code must not read what is not there."""
    for b in range(len(num_draft)):
        n = num_draft[b]
        if not 0 <= n <= q_row.shape[1]:
            raise IndexError("num_draft is not from 0 to K")
        read = 0 if len(greedy) and greedy[b] else n
        for i in range(n + 1):
            if not 0 <= p_row[b, i] < len(p) or (i < read and q_row[b, i] >= len(q)):
                raise IndexError("p_row or q_row names a row that its table does not have")


def verify_rows(
    rule: int,
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    accept: Float64s,
    final: Float64s,
    out: Int64s,
    num_out: Int64s,
) -> None:
    """What `verify_rows` does, for callers that are compiled themselves: nothing is checked, the result is written.

    Args:
        rule: TOKEN or BLOCKWISE.
        draft, num_draft: drafted ids [B, K] and how many of them are real [B].
        q, q_row: a table [Rq, V], and the row each draft was sampled from, -1 for none, [B, K].
        p, p_row: a table [Rp, V], and the rows that judge the drafts and follow them, [B, K+1].
        greedy: which rows decode at temperature 0, [B]; [0] for none.
        accept, final: uniforms [B, K] and [B].
        out, num_out: receive the result, [B, K+1] and [B].
    """
    B, K = draft.shape
    V = p.shape[1]
    _check_rows(num_draft, q, q_row, p, p_row, greedy)
    accepted, token, scale = np.zeros(B, np.int64), np.zeros(B, np.int64), np.ones(B)
    w, sums = np.empty(BLOCK), np.empty(V if V <= SEQUENTIAL else -(-V // BLOCK))
    _greedy_rule(draft, num_draft, p, p_row, greedy, accepted, token)
    if rule == TOKEN:
        _token_rule(draft, num_draft, q, q_row, p, p_row, greedy, accept, accepted)
    else:
        _block_rule(draft, num_draft, q, q_row, p, p_row, greedy, accept, accepted, scale, w, sums)
    _last_tokens(draft, num_draft, q, q_row, p, p_row, greedy, final, accepted, scale, w, sums, token)
    for b in range(B):
        for i in range(K):
            out[b, i] = draft[b, i] if i < accepted[b] else -1
        out[b, K] = -1
        out[b, accepted[b]] = token[b]
        num_out[b] = accepted[b] + 1


verify_rows_into = kept(verify_rows)


@cache
def _verify_for(q: np.dtype[Any], p: np.dtype[Any]) -> Callable[..., None]:
    """`verify_rows` for tables of these types."""
    ids, counts = read_only(types.int64, 2), read_only(types.int64, 1)
    tables = read_only(from_dtype(q), 2), ids, read_only(from_dtype(p), 2), ids
    uniforms = read_only(types.float64, 2), read_only(types.float64, 1)
    result = types.Array(types.int64, 2, "C"), types.Array(types.int64, 1, "C")
    return cached(verify_rows, types.int64, ids, counts, *tables, read_only(types.boolean, 1), *uniforms, *result)


def verify(
    rule: RuleName,
    tables: Tables,
    draft: Ints,
    num_draft: Ints,
    greedy: Bools | None,
    accept: Float64s,
    final: Float64s,
) -> Emitted:
    """The result of a rule on tables; shapes as for `verify_rows`."""
    B, K = draft.shape
    out, num_out = np.empty((B, K + 1), np.int64), np.empty(B, np.int64)
    _verify_for(tables.q.dtype, tables.p.dtype)(
        TOKEN if rule == "token" else BLOCKWISE,
        np.ascontiguousarray(draft, np.int64),
        np.ascontiguousarray(num_draft, np.int64),
        *tables,
        _NONE if greedy is None else np.ascontiguousarray(greedy),
        np.ascontiguousarray(accept),
        np.ascontiguousarray(final),
        out,
        num_out,
    )
    return out, num_out
