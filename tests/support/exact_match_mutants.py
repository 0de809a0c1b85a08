"""Exact matches that are wrong in one way each; `tests/verification/vocabularies` kills them."""

import numpy as np

from specsim.verification import verify_exact_match
from specsim.verification.draws import assemble, draw


def sampled(p, uniforms):
    """What the target samples at every position, padding included."""
    return np.column_stack([draw(p[:, i], uniforms[:, i]) for i in range(p.shape[1])])


def matches(draft, p, num_draft, uniforms):
    """The target's samples [B, K+1], and which drafts equal them, with a column that never does [B, K+1]."""
    token = sampled(p, uniforms)
    same = np.zeros(token.shape, bool)
    same[:, :-1] = (token[:, :-1] == draft) & (np.arange(draft.shape[1]) < num_draft[:, None])
    return token, same


def emit(draft, kept, token):
    return assemble(draft, kept, token[np.arange(len(kept)), kept])


def keeps_the_draft_that_differs(draft, p, num_draft, uniforms):
    """It emits the draft where the target says something else."""
    token, same = matches(draft, p, num_draft, uniforms)
    live = np.arange(draft.shape[1]) < num_draft[:, None]
    token[:, :-1][live] = draft[live]
    return emit(draft, same.argmin(axis=1), token)


def recovers_from_the_residual(draft, p, num_draft, uniforms):
    """It draws the token after a mismatch from p without the draft, once more: the residual of another rule."""
    token, same = matches(draft, p, num_draft, uniforms)
    kept = same.argmin(axis=1)
    n = np.flatnonzero(kept < num_draft)
    rows = p[n, kept[n]].copy()
    rows[np.arange(len(n)), draft[n, kept[n]]] = 0
    token[n, kept[n]] = draw(rows, uniforms[n, num_draft[n]])
    return emit(draft, kept, token)


def samples_again(draft, p, num_draft, uniforms):
    """It samples p again after a mismatch, which gives the draft a second chance."""
    token, same = matches(draft, p, num_draft, uniforms)
    kept = same.argmin(axis=1)
    n = np.flatnonzero(kept < num_draft)
    token[n, kept[n]] = draw(p[n, kept[n]], uniforms[n, num_draft[n]])
    return emit(draft, kept, token)


def one_uniform(draft, p, num_draft, uniforms):
    """It samples all positions with the first one's uniform."""
    return verify_exact_match(
        draft, p, num_draft, uniforms=np.repeat(uniforms[:, :1], uniforms.shape[1], axis=1), validate=False
    )


def counts_later_matches(draft, p, num_draft, uniforms):
    """It counts matches behind a mismatch, and so keeps the draft that differs."""
    token, same = matches(draft, p, num_draft, uniforms)
    return emit(draft, same.sum(axis=1), token)


def matches_beginnings(draft, p, num_draft, uniforms):
    """It keeps a draft whose text begins with what the target says, "ab" for "a"."""
    token, same = matches(draft, p, num_draft, uniforms)
    same[:, :-1] |= (token[:, :-1] == 0) & (draft == 2)
    return emit(draft, same.argmin(axis=1), token)


def bonus_from_the_row_before(draft, p, num_draft, uniforms):
    """It samples the token behind a draft that is kept whole from the last draft's own row."""
    p, n = p.copy(), np.flatnonzero(num_draft > 0)
    p[n, num_draft[n]] = p[n, num_draft[n] - 1]
    return verify_exact_match(draft, p, num_draft, uniforms=uniforms, validate=False)


def draws_at_equality(draft, p, num_draft, uniforms):
    """It takes the first token whose cumulative mass is u or more, which may have probability 0."""
    sums = np.nan_to_num(p).cumsum(axis=2)
    token = (sums >= uniforms[:, :, None]).argmax(axis=2)
    same = (token[:, :-1] == draft) & (np.arange(draft.shape[1]) < num_draft[:, None])
    return emit(draft, np.column_stack([same, np.zeros(len(same), bool)]).argmin(axis=1), token)


def last_draft_unread(draft, p, num_draft, uniforms):
    """It never verifies the last draft."""
    return verify_exact_match(draft, p, np.maximum(num_draft - 1, 0), uniforms=uniforms, validate=False)


def stops_after_one(draft, p, num_draft, uniforms):
    """It keeps one draft at most."""
    return verify_exact_match(draft, p, np.minimum(num_draft, 1), uniforms=uniforms, validate=False)


BY_THE_LAW = [
    keeps_the_draft_that_differs,
    recovers_from_the_residual,
    samples_again,
    one_uniform,
    counts_later_matches,
    matches_beginnings,
    bonus_from_the_row_before,
    draws_at_equality,
]
# What they emit is distributed as the target, in fewer tokens at once.
BY_ACCEPTANCE = [last_draft_unread, stops_after_one]
