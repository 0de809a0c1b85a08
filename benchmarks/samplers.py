"""The token rule as it is commonly written in NumPy, for comparison: whole arrays of B·K·V numbers at every step."""

import numpy as np


def plain_numpy(draft, q, p, num_draft, accept, final):
    """Accept, build every residual, pick the row that is needed, draw by its cumulative sum."""
    B, K = draft.shape
    b, i = np.arange(B), np.arange(K)
    p_x, q_x = p[b[:, None], i, draft], q[b[:, None], i, draft]
    passed = (accept * q_x < p_x) & (i < num_draft[:, None])
    accepted = np.append(passed, np.zeros((B, 1), bool), axis=1).argmin(axis=1)
    residual = np.maximum(p[:, :K].astype(np.float64) - q, 0.0)
    residual /= np.maximum(residual.sum(axis=2, keepdims=True), 1e-300)
    rows = np.concatenate([residual, p[:, K:]], axis=1)
    rows[b, num_draft] = p[b, num_draft]
    cumulative = rows[b, accepted].cumsum(axis=1)
    token = (cumulative > final[:, None] * cumulative[:, -1:]).argmax(axis=1)
    out = np.full((B, K + 1), -1)
    out[:, :K] = np.where(i < accepted[:, None], draft, -1)
    out[b, accepted] = token
    return out, accepted + 1
