"""What a step computes, in the sums that its cost depends on. Knows neither time nor queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.drafting.drafters import NO_PROMPTS, PromptWork
from specsim.drafting.shape import DraftShape
from specsim.engine.requests import RequestTable
from specsim.engine.scheduler import Decodes
from specsim.forward import Pass, attended


class Chunks(NamedTuple):
    """Prompt tokens computed in a step: requests, in order, and tokens of each."""

    requests: Sequence[int]
    tokens: Sequence[int]


def prompt_work(table: RequestTable, chunks: Chunks) -> tuple[PromptWork, int]:
    """The sums of the prompt chunks, and how many of them end their prompt."""
    if not chunks.tokens:
        return NO_PROMPTS, 0
    requests, tokens = np.array(chunks.requests), np.array(chunks.tokens)
    ends = table.computed_prompt[requests] + tokens
    pairs = sum(attended(chunk, end) for chunk, end in zip(chunks.tokens, ends.tolist(), strict=True))
    finishing = int((ends == table.prompt_tokens[requests]).sum())
    return PromptWork(sum(chunks.tokens), len(chunks.tokens), int(ends.sum()), pairs), finishing


def target_pass(table: RequestTable, shape: DraftShape, decodes: Decodes, prompts: PromptWork, finishing: int) -> Pass:
    """The target's pass: each decode's last token with its draft tokens, and the prompt chunks.

    Logits are computed for every verified token and for the last token of each prompt that ends. A draft token attends
    to the context, to the drafts it follows and to itself; the entries of all draft tokens are read.
    """
    requests, num_draft, num_nodes, _ = decodes
    context = table.prompt_tokens[requests] + table.emitted[requests]
    pairs = (1 + num_nodes) * context + shape.total_depth[num_draft]
    return Pass(
        tokens=decodes.num_tokens + prompts.tokens,
        logit_rows=decodes.num_tokens + finishing,
        sequences=len(requests) + prompts.sequences,
        context_tokens=int((context + num_nodes).sum()) + prompts.context_tokens,
        query_context=int(pairs.sum()) + prompts.query_context,
        prompt_query_context=prompts.query_context,
        verify_context=int((context + num_nodes)[num_nodes > 0].sum()),
        prompt_tokens=prompts.tokens,
    )
