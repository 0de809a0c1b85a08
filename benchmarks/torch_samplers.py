"""Rejection sampling in PyTorch the way two public libraries do it, written anew; for comparison of speed only.

Hugging Face transformers verifies one sequence at a time (`_speculative_sampling`, generation/utils.py); vLLM's V0
sampler works on the whole batch (`RejectionSampler`, model_executor/layers/rejection_sampler.py): probabilities of
acceptance, residuals of every position, and exponential noise to draw from them.
"""

import numpy as np
import torch


def as_hugging_face(draft, q, p, num_draft):
    """Sequence by sequence: ratio, first rejection, residual of that position, one multinomial draw."""
    out = np.full((len(draft), p.shape[1]), -1)
    tokens, targets, drafters = (torch.from_numpy(array) for array in (draft, p, q))
    for b in range(len(draft)):
        n = int(num_draft[b])
        x, p_b, q_b = tokens[b, :n], targets[b], drafters[b, :n]
        ratio = p_b[torch.arange(n), x] / q_b[torch.arange(n), x]
        rejected = torch.rand(n) > ratio
        accepted = int(((~rejected).cumsum(dim=0) == torch.arange(1, n + 1)).sum())
        if accepted < n:
            last = (p_b[accepted] - q_b[accepted]).clamp(min=0)
            last = last / last.sum()
        else:
            last = p_b[n]
        out[b, :accepted] = draft[b, :accepted]
        out[b, accepted] = int(torch.multinomial(last, 1))
    return out


def as_vllm(draft, q, p, num_draft):
    """The whole batch: acceptance, residuals at all positions, one draw at each, then the choice of what counts."""
    B, K = draft.shape
    tokens, targets, drafters = (torch.from_numpy(array) for array in (draft, p, q))
    b, i = torch.arange(B)[:, None], torch.arange(K)
    ratio = (targets[b, i, tokens] / drafters[b, i, tokens]).clamp(max=1.0)
    accepted = torch.rand(B, K) < ratio
    residual = (targets[:, :K] - drafters).clamp(min=torch.finfo(targets.dtype).tiny)
    residual = residual / residual.sum(dim=-1, keepdim=True)
    recovered = (residual / torch.empty_like(residual).exponential_(1.0)).argmax(dim=-1)
    bonus = torch.multinomial(targets[:, K], 1)
    limit = torch.where(accepted.all(dim=1), K, (~accepted).int().argmax(dim=1))[:, None]
    out = torch.where(i < limit, tokens, torch.where(i == limit, recovered, -1))
    return torch.cat([out, torch.where(limit == K, bonus, -1)], dim=1)
