"""Facts that a run leaves behind. ``analysis`` computes what they mean (latency, throughput, acceptance) later.

Simulated and measured runs share these tables, and therefore the code that computes metrics from them. Arrays are
float64 for times and int64 for counts and indices, with one axis unless a shape is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from specsim.arrays import Bools, Floats, Int32s, Ints


class StepTime(NamedTuple):
    """Times of the parts of one step, which add up to its time [s]. Their order is that of every table of parts."""

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
    """One entry per request [requests], in order of arrival.

    Attributes:
        arrival: when the client sent it [s].
        admitted: when it first took part in a step [s].
        first_token: when its first output token was ready [s].
        finish: when its last output token was ready [s].
        prompt_tokens, output_tokens: its lengths [tokens].
        preemptions: number of times it was preempted; 0 where that is not known.
        cached_tokens: tokens of its prompt whose KV was kept from other requests; 0 where that is not known.
        accepted: verifies of drafts in which 0, 1, .. K tokens were accepted, int32 [requests, K + 1]; None if not
            known.
        of_class, priority, domain: index of its class in the mixture, its priority, and index of its acceptance domain;
            None where all are equal.
        replica: index of the replica that served it, or decoded it; None where there is one.
        prefill_replica: index of the replica that computed its prompt; None where it is the same.
        transferred: then, when the prompt's cache had reached the replica that decodes [s]; NaN if it was never needed.
        resumed: then, when it first took part in a step there [s]; NaN if it never did.
        received: output tokens that it had when the run began, which then has its first token as NaN; None where the
            run began empty.
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
    received: Ints | None = None


@dataclass(frozen=True)
class StepRecords:
    """One entry per engine step [steps], ordered by start, also where several replicas have steps at once.

    Attributes:
        start, end: when the step began and when its tokens were ready [s].
        parts: the step's time by part [steps, len(PARTS)] [s]; rows sum to ``end - start``.
        num_decodes: requests whose next tokens were verified in this step.
        num_prompt_tokens: prompt tokens computed in this step.
        num_draft_tokens: draft tokens verified in this step.
        num_running: requests admitted and not finished when the step began.
        num_waiting: requests sent but not yet admitted when the step began.
        kv_tokens: KV-cache tokens held, those of the step included.
        context_tokens: KV-cache entries that the step's requests attend to, each once.
        num_emitted: output tokens that requests received when the step ended.
        used: what target and drafter ask of a device, without the padding of graphs [steps, len(USES)]; None where that
            is not known.
        replica: index of the replica that ran it; None where there is one.
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
    """One entry per request and step in which that request received output tokens [rounds], in order of time.

    Attributes:
        step: index into StepRecords; the tokens were ready at that step's end.
        request: index into RequestRecords.
        num_draft: positions drafted: the length of a chain, the levels of a tree.
        num_nodes: draft tokens verified: ``num_draft`` in a chain, all nodes of a tree.
        num_accepted: draft tokens that the verifier accepted.
        num_emitted: tokens the request received; less than ``num_accepted + 1`` only where its output ended.
        from_prompt: True for the first token, which the last prompt chunk yields without a verify, bool.
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
    """Counts of rounds, where there are too many to keep.

    Attributes:
        num_draft, num_nodes, num_accepted, num_emitted: kinds of verifies, as in RoundRecords [kinds].
        free: whether the output could not end within such a round, whatever the verifier did, bool [kinds].
        count: number of verifies of each kind [kinds].
        gap: times between successive chunks of output of a request, ascending, each within 0.25 % [gaps] [s].
        gap_tokens: tokens in the chunk that ends it [gaps].
        gap_count: number of such gaps [gaps].
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
