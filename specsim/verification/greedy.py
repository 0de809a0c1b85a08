"""Verification at temperature 0: a draft survives as long as it is what the target would have said itself.

The limit of `verify_chain` for one-hot target distributions (Leviathan et al. 2023, arXiv:2211.17192, section 2). No
uniform is read. `verify_greedy` takes the target's argmax from the caller; `greedy_rule` takes it from p, and only at
positions that are reached.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Emitted, Int64s, Ints, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import assemble, parts
from specsim.verification.token_rule import leading_accepted
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


def greedy_rule(drafts: Drafts) -> Outcome:
    """Drafts of each chain that equal the target's argmax, and the argmax that follows them, int64 [B] each."""
    accepted, token = np.zeros((2, len(drafts.draft)), dtype=np.int64)
    following = np.arange(len(token))
    for i in range(drafts.draft.shape[1] + 1):
        accepted[following] = i
        token[following] = argmax_of(drafts, following, i)
        following = following[drafts.num_draft[following] > i]
        if not len(following):
            break
        following = following[drafts.draft[following, i] == token[following]]
    return accepted, token


def argmax_of(drafts: Drafts, b: Int64s, i: int) -> Int64s:
    """The target's most likely token of chains b at position i, the lowest id among equals, int64 [len(b)]."""
    best = np.empty(len(b), dtype=np.int64)
    for part in parts(len(b), drafts.p.shape[-1]):
        best[part] = drafts.p_rows(b[part], np.full(len(b[part]), i)).argmax(axis=1)
    return best
