"""Lossless verification of drafted chains as blocks, on dense arrays.

Knows nothing of where drafts and distributions come from, of time, or of what a request is: arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Floats, Ints
from specsim.verification.drafts import dense
from specsim.verification.mixed import verified
from specsim.verification.validation import check_chain, check_randomness, refuse_lazy


def verify_block(
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
    """Accept the longest part of each draft that passes as a block, and add one token: the same law, more tokens.

    The rule, and why it is exact, are in `block_rule`. It never accepts fewer drafts on average than `verify_chain`,
    and as many where K = 1 or no draft was sampled (q = None). Accept uniform i decides whether the first i + 1 drafts
    pass; any of them may be consulted, also beyond where the row stops, so none may be used again for the request.

    Args:
        draft, q, p, num_draft, greedy, rng, accept_uniforms, final_uniforms, validate: as for `verify_chain`; the
            block of row b are its own num_draft[b] drafts.

    Returns:
        out [B, K+1] and num_out [B], as `verify_chain` does.

    Raises:
        InputError: as `verify_chain` does.

    Example:
        >>> import numpy as np
        >>> p, q = np.full((1, 3, 2), [1 / 3, 2 / 3]), np.full((1, 2, 2), [2 / 3, 1 / 3])
        >>> u, v = np.array([[0.6, 0.9]]), np.array([0.5])
        >>> verify_block(np.array([[0, 1]]), q, p, np.array([2]), accept_uniforms=u, final_uniforms=v)
        (array([[0, 1, 1]]), array([3]))
    """
    check_randomness(rng, accept_uniforms, final_uniforms)
    refuse_lazy(p=p, q=q)
    drafts = dense(np.asarray(draft), None if q is None else np.asarray(q), np.asarray(p), np.asarray(num_draft))
    greedy = None if greedy is None else np.asarray(greedy)
    if validate:
        check_chain(drafts, greedy, accept_uniforms, final_uniforms)
    return verified(drafts, "block", greedy, rng, accept_uniforms, final_uniforms)
