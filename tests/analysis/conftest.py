"""A run small enough to compute every metric by hand."""

import numpy as np
import pytest

from specsim.records import PARTS, RequestRecords, RoundRecords, RunRecords, StepRecords


def ints(*values):
    return np.array(values, dtype=np.int64)


def floats(*values):
    return np.array(values, dtype=np.float64)


@pytest.fixture
def run() -> RunRecords:
    """Three requests in two places; request 2 is sent when request 1 finishes.

    ====  =========  ==================================================================
    step  time       what happens (request: drafts, accepted, emitted)
    ====  =========  ==================================================================
    0     0–1        prompts of 0 and 1 yield their first tokens
    1     1–3        0: 2 drafts, 2 accepted, 3 emitted;  1: 2 drafts, 0 accepted, 1 emitted
    2     3–5        0: 2, 1, 2;  1: 2, 2, 1 (its output of 3 ends within the round)
    3     5–6        0: 2, 0, 1 (ends, 7 tokens);  prompt of 2, an output of one token (ends)
    ====  =========  ==================================================================
    """
    requests = RequestRecords(
        arrival=floats(0, 0, 5),
        admitted=floats(0, 0, 5),
        first_token=floats(1, 1, 6),
        finish=floats(6, 5, 6),
        prompt_tokens=ints(10, 20, 30),
        output_tokens=ints(7, 3, 1),
        preemptions=ints(0, 0, 0),
        cached_tokens=ints(0, 0, 0),
    )
    parts = np.zeros((4, len(PARTS)))
    parts[:, PARTS.index("weights")] = (0.5, 1.5, 1.5, 0.5)
    parts[:, PARTS.index("draft")] = (0.5, 0.5, 0.5, 0.5)
    steps = StepRecords(
        start=floats(0, 1, 3, 5),
        end=floats(1, 3, 5, 6),
        parts=parts,
        num_decodes=ints(0, 2, 2, 1),
        num_prompt_tokens=ints(30, 0, 0, 30),
        num_draft_tokens=ints(0, 4, 4, 2),
        num_running=ints(2, 2, 2, 1),
        num_waiting=ints(0, 0, 0, 1),
        kv_tokens=ints(0, 32, 36, 20),
        context_tokens=ints(30, 36, 40, 47),
        num_emitted=ints(2, 4, 3, 2),
    )
    rounds = RoundRecords(
        step=ints(0, 0, 1, 1, 2, 2, 3, 3),
        request=ints(0, 1, 0, 1, 0, 1, 0, 2),
        num_draft=ints(0, 0, 2, 2, 2, 2, 2, 0),
        num_nodes=ints(0, 0, 2, 2, 2, 2, 2, 0),
        num_accepted=ints(0, 0, 2, 0, 1, 2, 0, 0),
        num_emitted=ints(1, 1, 3, 1, 2, 1, 1, 1),
        from_prompt=np.array([True, True, False, False, False, False, False, True]),
    )
    return RunRecords(requests, steps, rounds)
