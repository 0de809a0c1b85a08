"""Which requests could never be served, and why. Knows what a request has to fit, and nothing of when it comes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specsim.costs.memory import MemoryPlan
from specsim.errors import InfeasibleError, Problem
from specsim.workload.columns import capped
from specsim.workload.lengths import Lengths
from specsim.workload.trace import Trace


class Room(NamedTuple):
    """What a request with its drafts has to fit.

    Attributes:
        memory: what the device holds.
        draft_tokens: the most that are verified with a request at once.
        block_size: tokens in a KV block.
        step_tokens: the most tokens in a step.
        whole_prompts: whether a prompt is computed in one step.
        positions: the longest request that the target takes; None where it does not say.
    """

    memory: MemoryPlan
    draft_tokens: int
    block_size: int
    step_tokens: int
    whole_prompts: bool
    positions: int | None


def check_lengths(
    room: Room, lengths: Lengths, traces: Mapping[Path, Trace], *, scenario: str, used: int | None = None
) -> None:
    """Refuse requests of which one, or one of those that a trace may give, could never be served.

    Args:
        room: what they have to fit.
        lengths: of the requests of a run.
        traces: by file, what lengths are drawn from.
        scenario: its file, for the message.
        used: of each trace the requests that can come, from its first on; all by default.

    Raises:
        InfeasibleError: naming what the longest request exceeds, and of traces every line with such a request.
    """
    longest = int((lengths.prompt + lengths.output).max())
    problems = [problem for file, trace in traces.items() for problem in _too_long(room, file, trace, used)]
    if not problems:
        problems = [
            Problem(scenario, "workload.lengths", f"{longest} tokens", remedy) for remedy in _why_never(room, longest)
        ]
    if problems:
        raise InfeasibleError(problems)


def _too_long(room: Room, file: Path, trace: Trace, used: int | None) -> list[Problem]:
    """The lines of a trace, of its first ``used`` where given, whose requests could never be served."""
    prompt, output = trace.lengths.prompt[:used], trace.lengths.output[:used]
    lengths = np.unique(prompt + output)  # what is too long for a shorter request is so for a longer one
    first = bisect_left(lengths, 1, key=lambda length: bool(_why_never(room, int(length))))
    rows = np.flatnonzero(prompt + output >= lengths[first]) if first < lengths.size else ()
    problems = [
        Problem(str(file), f"line {trace.lines[i]}, prompt + output", f"{prompt[i]} + {output[i]} tokens", remedy)
        for i in rows
        for remedy in _why_never(room, int(prompt[i] + output[i]))
    ]
    return capped(file, problems)


def _why_never(room: Room, longest: int) -> list[str]:
    drafts, pool = room.draft_tokens, room.memory.kv_tokens
    needed = room.memory.pool_tokens(longest + drafts, drafts)
    with_drafts = f" with its drafts ({longest} + {drafts})" if drafts else f" ({longest})"
    remedies = []
    blocks = pool // room.block_size * room.block_size
    if needed > blocks:
        held = "" if needed == longest + drafts else f", which takes the room of {needed}"
        remedies.append(
            f"the KV pool holds {blocks} tokens, fewer than the longest request{with_drafts}{held}; use more devices, "
            "a larger device or shorter requests"
        )
    if room.whole_prompts and longest > room.step_tokens:
        remedies.append(
            f"the engine does not split prompts, and a step holds {room.step_tokens} tokens, fewer than the longest "
            "request, which is computed anew in one step when it is preempted; raise max_num_batched_tokens, or leave "
            "whole_prompts out"
        )
    if room.positions is not None and longest > room.positions:
        remedies.append(
            f"the target takes at most {room.positions} tokens (max_position_embeddings); use shorter requests"
        )
    return remedies
