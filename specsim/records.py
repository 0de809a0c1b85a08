"""Facts that a run leaves behind. What they mean (latency, throughput, acceptance) is computed later, by ``analysis``.

Simulated and measured runs share these tables, and therefore the code that computes metrics from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from specsim.arrays import Bools, Floats, Int32s, Ints


class StepTime(NamedTuple):
    """Seconds of one step by part; they add up to its time. Their order is that of every table of parts."""

    weights: float
    kv: float
    compute: float
    launch: float
    communication: float
    draft: float
    host: float


PARTS = StepTime._fields
USES = ("bytes", "flops", "seconds_at_peak")
"""What a step asks of each device: bytes moved, operations, and the seconds that those take at full peaks."""


@dataclass(frozen=True)
class RequestRecords:
    """One entry per request, in order of arrival.

    Attributes:
        arrival: when the client sent it [s].
        admitted: when it first took part in a step [s].
        first_token: when its first output token was ready [s].
        finish: when its last output token was ready [s].
        prompt_tokens, output_tokens: its lengths.
        preemptions: how often it was preempted; 0 where that is not known.
        cached_tokens: of its prompt, those whose KV was kept from other requests; 0 where that is not known.
        accepted: verifies of drafts in which 0, 1, .. K tokens were accepted [requests, K + 1]; None where not known.
        of_class, priority, domain: number of its class in the mixture, when it is served, whose acceptance it has;
            None where all are alike.
        replica: which of several served it, or decoded it; None where there is one.
        prefill_replica: where others compute prompts, which of them did; None where it is the same.
        transferred: there, when the prompt's cache was at the replica that decodes [s]; NaN if it was never needed.
        resumed: there, when it first took part in a step [s]; NaN if it never did.
    """

    arrival: Floats
    admitted: Floats
    first_token: Floats
    finish: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    preemptions: Ints
    cached_tokens: Ints
    accepted: Int32s | None = None
    of_class: Ints | None = None
    priority: Ints | None = None
    domain: Ints | None = None
    replica: Ints | None = None
    prefill_replica: Ints | None = None
    transferred: Floats | None = None
    resumed: Floats | None = None


@dataclass(frozen=True)
class StepRecords:
    """One entry per engine step, in order of time: of their beginnings, where several replicas have steps at once.

    Attributes:
        start, end: when the step began and when its tokens were ready [s].
        parts: [steps, len(PARTS)], the step's seconds by part; rows sum to ``end - start``.
        num_decodes: requests whose next tokens were verified in this step.
        num_prompt_tokens: prompt tokens computed in this step.
        num_draft_tokens: draft tokens verified in this step.
        num_running: requests admitted and not finished when the step began.
        num_waiting: requests sent but not yet admitted when the step began.
        kv_tokens: KV-cache tokens that are held, once the step's own have room.
        context_tokens: KV-cache entries that the step's requests attend to, each once.
        num_emitted: output tokens that requests received when the step ended.
        used: [steps, len(USES)], what target and drafter ask of a device, without the padding of graphs; None where
            that is not known.
        replica: which of several took it; None where there is one.
    """

    start: Floats
    end: Floats
    parts: Floats
    num_decodes: Ints
    num_prompt_tokens: Ints
    num_draft_tokens: Ints
    num_running: Ints
    num_waiting: Ints
    kv_tokens: Ints
    context_tokens: Ints
    num_emitted: Ints
    used: Floats | None = None
    replica: Ints | None = None


@dataclass(frozen=True)
class RoundRecords:
    """One entry per request and step in which that request received output tokens, in order of time.

    Attributes:
        step: index into StepRecords; the tokens were ready at that step's end.
        request: index into RequestRecords.
        num_draft: positions drafted for: the length of a chain, the levels of a tree.
        num_nodes: draft tokens verified: in a chain as many as ``num_draft``, of a tree all nodes.
        num_accepted: draft tokens that the verifier accepted.
        num_emitted: tokens the request received; less than ``num_accepted + 1`` only where its output ended.
        from_prompt: True for the first token, which the last prompt chunk yields without a verify.
    """

    step: Ints
    request: Ints
    num_draft: Ints
    num_nodes: Ints
    num_accepted: Ints
    num_emitted: Ints
    from_prompt: Bools


@dataclass(frozen=True)
class RoundTally:
    """Rounds counted: what is left of them where there are too many to keep.

    Attributes:
        num_draft, num_nodes, num_accepted, num_emitted: kinds of verifies, as in RoundRecords [kinds].
        free: whether the output could not end within such a round, whatever the verifier said [kinds].
        count: how many there were [kinds].
        gap: times between successive chunks of output of a request, each within 0.25 % [s]; ascending [gaps].
        gap_tokens: tokens in the chunk that ends it [gaps].
        gap_count: how many there were [gaps].
        gap_sum: of all of them [s].
    """

    num_draft: Ints
    num_nodes: Ints
    num_accepted: Ints
    num_emitted: Ints
    free: Bools
    count: Ints
    gap: Floats
    gap_tokens: Ints
    gap_count: Ints
    gap_sum: float


@dataclass(frozen=True)
class RunRecords:
    """Everything one simulated or measured run leaves behind: each round, or their tally where they were not kept."""

    requests: RequestRecords
    steps: StepRecords
    rounds: RoundRecords | None
    tally: RoundTally | None = None
