"""Lossless verification of drafted chains, token by token, on dense arrays.

Knows nothing of where drafts and distributions come from, of time, or of what a request is: arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Floats, Ints
from specsim.verification.drafts import dense
from specsim.verification.mixed import verified
from specsim.verification.validation import check_chain, check_randomness, refuse_lazy


def verify_chain(
    draft: Ints,
    q: Floats | None,
    p: Floats,
    num_draft: Ints,
    *,
    greedy: Bools | None = None,
    rng: np.random.Generator | None = None,
    accept_uniforms: Floats | None = None,
    final_uniforms: Floats | None = None,
    validate: bool = True,
) -> Emitted:
    """Accept a prefix of each draft and add one token, so that the output is distributed as the target's own.

    Position i of row b survives iff u·q(x) < p(x), strictly. At the first rejection the recovered token is drawn from
    max(0, p - q), or from p where that has no mass; if all drafts survive, the bonus token is drawn from p at position
    num_draft[b]. A draw takes the first token whose cumulative mass exceeds u times the total, summed in float64.

    With q = None no draft was sampled (n-gram and suffix drafters, argmax heads): x survives iff u < p(x), and the
    residual is p without x. A greedy row (temperature 0) takes drafts while they are the target's most likely token,
    the lowest id among equals, and then that token itself; its uniforms and its rows of q are not read.

    With the uniforms given, a row of the result is a function of the same row of the inputs. Positions from
    num_draft[b] on (in p: beyond num_draft[b]) are padding: they are never read and may hold anything. Inputs are not
    written to and may be read-only broadcast views.

    Args:
        draft: drafted token ids, shape [B, K].
        q: the distributions the drafts were sampled from, shape [B, K, V]; None if they were not sampled.
        p: the target's distributions at the drafted positions and the one after, shape [B, K+1, V].
        num_draft: how many drafts each row has, from 0 to K, shape [B].
        greedy: which rows decode at temperature 0, shape [B]; None for none.
        rng: draws accept_uniforms and then final_uniforms; give either this or both arrays.
        accept_uniforms: one number in [0, 1) per drafted position, shape [B, K].
        final_uniforms: one number in [0, 1) per row for the recovered or bonus token, shape [B].
        validate: check every value that will be read; switch off only where the caller vouches for them.

    Returns:
        out: the accepted tokens, then the recovered or bonus token, then -1; shape [B, K+1], int64.
        num_out: tokens emitted per row, accepted + 1; shape [B], int64.

    Raises:
        InputError: neither or both sources of randomness are given, or (if validating) the arrays do not fit together,
            num_draft leaves [0, K], a drafted id leaves [0, V) or has q = 0, a row of p or q is not a distribution, or
            a uniform leaves [0, 1). All problems are listed at once.

    Example:
        >>> import numpy as np
        >>> p = np.array([[[0.5, 0.5], [0.9, 0.1]]])
        >>> q = np.array([[[1.0, 0.0]]])
        >>> u, v = np.array([[0.4]]), np.array([0.95])
        >>> verify_chain(np.array([[0]]), q, p, np.array([1]), accept_uniforms=u, final_uniforms=v)
        (array([[0, 1]]), array([2]))
    """
    check_randomness(rng, accept_uniforms, final_uniforms)
    refuse_lazy(p=p, q=q)
    drafts = dense(np.asarray(draft), None if q is None else np.asarray(q), np.asarray(p), np.asarray(num_draft))
    greedy = None if greedy is None else np.asarray(greedy)
    if validate:
        check_chain(drafts, greedy, accept_uniforms, final_uniforms)
    return verified(drafts, "token", greedy, rng, accept_uniforms, final_uniforms)
