"""Verification at temperature 0: a draft survives as long as it is what the target would have said itself.

The limit of `verify_chain` for one-hot target distributions (Leviathan et al. 2023, arXiv:2211.17192, section 2). Knows
nothing of probabilities: the caller has taken the target's argmax.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Emitted, Ints
from specsim.verification.chain import assemble, leading_accepted
from specsim.verification.validation import check_greedy


def verify_greedy(draft: Ints, target_argmax: Ints, num_draft: Ints) -> Emitted:
    """Accept drafts while they equal the target's most likely token, then add the target's own next token.

    Args:
        draft: drafted token ids, shape [B, K]; positions from num_draft[b] on are padding and may hold anything.
        target_argmax: the target's most likely token at each drafted position and the one after, shape [B, K+1];
            positions beyond num_draft[b] are padding.
        num_draft: how many drafts each row has, from 0 to K, shape [B].

    Returns:
        out: the accepted tokens, then the target's next token, then -1; shape [B, K+1], int64.
        num_out: tokens emitted per row, accepted + 1; shape [B], int64.

    Raises:
        InputError: the arrays do not fit together, num_draft leaves [0, K] or a token id that is read is negative.
    """
    draft, target_argmax, num_draft = np.asarray(draft), np.asarray(target_argmax), np.asarray(num_draft)
    check_greedy(draft, target_argmax, num_draft)
    B, K = draft.shape
    matched = np.zeros((B, K + 1), dtype=np.bool_)
    matched[:, :K] = (draft == target_argmax[:, :K]) & (np.arange(K) < num_draft[:, None])
    accepted = leading_accepted(matched)
    return assemble(draft, accepted, target_argmax[np.arange(B), accepted])
