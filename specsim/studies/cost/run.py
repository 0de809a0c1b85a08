"""Single steps by part, what limits them, and what a drafter takes of the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specsim.costs.extrapolation import Extrapolation
from specsim.costs.memory import MemoryPlan
from specsim.costs.usage import Usage, pass_usage, total
from specsim.drafting.stated import draft_shape
from specsim.errors import InfeasibleError, Problem, raise_if_any
from specsim.forward import Reach
from specsim.inputs.read.scenario import Inputs
from specsim.records import StepTime
from specsim.simulation.expected import LENGTH_SAMPLE, mean_context, tokens_per_round
from specsim.simulation.replica import Simulation
from specsim.simulation.step_passes import StepPasses, step_passes

RESOURCES = ("weights", "kv", "compute", "launches", "links", "host")
"""What a step can wait for: memory for weights or KV, arithmetic, launches of kernels, other devices, the host."""


@dataclass(frozen=True)
class StepReport:
    """One step.

    Attributes:
        batch, num_draft_tokens: requests, and draft tokens of each.
        time: seconds by part.
        over_plain: time over that of the same step without drafts.
        tokens: output tokens that it yields on average.
        waits: resource → seconds spent waiting for it, drafting included; they add up to the step.
        bandwidth_share, compute_share: bytes and operations of the step over what the device could do at its full
            peaks in the same time, mean over the devices of the target.
        bytes_per_s, flops_per_s: what was achieved per device [B/s, FLOP/s].
        room: requests of this context, with these drafts, that the KV pool holds at once.
    """

    batch: int
    num_draft_tokens: int
    time: StepTime
    over_plain: float
    tokens: float
    waits: dict[str, float]
    bandwidth_share: float
    compute_share: float
    bytes_per_s: float
    flops_per_s: float
    room: int

    @property
    def runs(self) -> bool:
        """Whether so many requests of this context fit the KV pool: else the step is priced and never runs."""
        return self.batch <= self.room

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return sum(self.time)

    @property
    def limit(self) -> str:
        """The resource that it waits for longest."""
        return max(RESOURCES, key=self.waits.__getitem__)


@dataclass(frozen=True)
class MemoryReport:
    """One device's memory, with or without a drafter.

    Attributes:
        num_draft_tokens: of the drafter loaded; 0 without one.
        plan: what takes how much.
        requests: of the mean length, that the KV pool holds at once.
        states: recurrent states that a request keeps, of every layer that has one.
        state_bytes: one of them, over those layers; 0 where all layers have caches.
    """

    num_draft_tokens: int
    plan: MemoryPlan
    requests: int
    states: int
    state_bytes: float


@dataclass(frozen=True)
class CostReport:
    """Steps and memory of a deployment.

    Attributes:
        context: tokens of prompt and output so far, of each request.
        prompt_tokens: of a prompt that are computed in the same step.
        request_tokens: prompt and output of the mean request.
        steps: in the order asked for.
        memory: without a drafter, and with one where a step has drafts.
        extrapolation: what lies beyond the ranges that the figures used were measured over.
    """

    context: int
    prompt_tokens: int
    request_tokens: int
    steps: tuple[StepReport, ...]
    memory: tuple[MemoryReport, ...]
    extrapolation: Extrapolation | None


def step_costs(
    inputs: Inputs,
    batches: Sequence[int],
    draft_lengths: Sequence[int],
    *,
    context: int | None = None,
    prompt_tokens: int = 0,
) -> CostReport:
    """Price steps of each batch with each draft length.

    Args:
        inputs: the scenario and what it refers to.
        batches: requests that decode.
        draft_lengths: draft tokens per verify; 0 for none.
        context: tokens of prompt and output so far per request; None for the scenario's mean in mid-decode.
        prompt_tokens: of the first chunk of a longer prompt, computed in the same step.

    Raises:
        InputError: naming every step that the engine, the model or the drafter never runs.
        InfeasibleError: when the weights do not fit the device, or the scenario's mean context not the target.
    """
    raise_if_any(_problems(inputs, batches, draft_lengths, context, prompt_tokens), _too_long(context))
    simulation = Simulation(inputs)
    lengths = simulation.lengths(LENGTH_SAMPLE, replication=0)
    mean = round(float((lengths.prompt + lengths.output).mean()))
    loaded = tuple(dict.fromkeys((0, max(draft_lengths))))
    memory = tuple(_memory(simulation, k, mean) for k in loaded)
    context = context or mean_context(simulation)
    positions = inputs.target.max_position_embeddings
    if positions is not None and context > positions:
        remedy = f"the target takes at most {positions} tokens (max_position_embeddings); use shorter requests"
        where = str(inputs.files["scenario"])
        raise InfeasibleError([Problem(where, "workload.lengths", f"{context} tokens", remedy)])
    steps = tuple(_step(simulation, batch, k, context, prompt_tokens) for batch in batches for k in draft_lengths)
    drafts = simulation.sources.draft_shape(max(draft_lengths)).max_nodes
    batch, chunks = max(batches), int(prompt_tokens > 0)
    reached = Reach(batch * (1 + drafts) + prompt_tokens, batch + chunks, batch * (context + drafts) + prompt_tokens)
    return CostReport(context, prompt_tokens, mean, steps, memory, simulation.extrapolation(reached))


def _problems(
    inputs: Inputs, batches: Sequence[int], draft_lengths: Sequence[int], context: int | None, prompt_tokens: int
) -> Iterator[Problem]:
    positions, allowed = inputs.target.max_position_embeddings, inputs.scenario.speculation.longest_draft
    longest = max(draft_lengths)
    if allowed is not None and longest > allowed:
        remedy = f"drafter and tree draft for {allowed} positions at most; ask for fewer"
        yield Problem("--num-draft-tokens", "", str(longest), remedy)
        longest = allowed
    yield from _beyond_the_engine(inputs, max(batches), longest, prompt_tokens)
    if context is not None and positions is not None and context > positions:
        remedy = f"the target takes at most {positions} tokens (max_position_embeddings); ask for fewer"
        yield Problem("--context", "", str(context), remedy)


MOST_CONTEXT = 10**7
"""Tokens of a request that a step is priced for, as the contexts of a map."""


def _too_long(context: int | None) -> Iterator[Problem]:
    if context is not None and context > MOST_CONTEXT:
        yield Problem("--context", "", str(context), f"contexts go up to {MOST_CONTEXT:,} tokens; ask for fewer")


def _beyond_the_engine(inputs: Inputs, batch: int, num_draft_tokens: int, prompt_tokens: int) -> Iterator[Problem]:
    engine, speculating = inputs.engine, num_draft_tokens > 0
    sequences = (speculating and engine.speculation_max_num_seqs) or engine.max_num_seqs
    budget = (speculating and engine.speculation_max_num_batched_tokens) or engine.max_num_batched_tokens
    if batch > sequences:
        remedy = f"the engine runs {sequences} requests at most (max_num_seqs); ask for fewer"
        yield Problem("--batch", "", str(batch), remedy)
    drafts = draft_shape(inputs.scenario.speculation, num_draft_tokens).max_nodes
    tokens = batch * (1 + drafts) + prompt_tokens
    if tokens > budget:
        prompts = f" and {prompt_tokens} prompt tokens" if prompt_tokens else ""
        remedy = (
            f"with {drafts} draft tokens each{prompts} a step has {tokens} tokens, and the engine computes {budget} at "
            "most (max_num_batched_tokens); ask for fewer"
        )
        yield Problem("--batch", "", str(batch), remedy)


def _step(simulation: Simulation, batch: int, num_draft_tokens: int, context: int, prompt_tokens: int) -> StepReport:
    tokens = tokens_per_round(simulation, num_draft_tokens)
    drafted, plain = (
        step_passes(simulation, batch, k, context, accepted=round(tokens - 1), prompt_tokens=prompt_tokens)
        for k in (num_draft_tokens, 0)
    )
    cost = simulation.step_cost(num_draft_tokens > 0)
    time, before = _mean_time(simulation, drafted), _mean_time(simulation, plain)
    usage = total([_usage(simulation, work) for work in drafted]).scaled(1 / len(drafted))
    per_device = usage.scaled(1 / sum(time))
    bandwidth = simulation.inputs.device.memory.bandwidth
    parts = [(time.kv, time.launch, time.communication)]
    parts += [(part.kv, part.launch, part.communication) for part in map(cost.draft_time, drafted[0].drafts)]
    kv, launches, links = (sum(column) for column in zip(*parts, strict=True))
    waiting = (usage.streaming, kv, usage.computing, launches, links, time.host)
    return StepReport(
        batch=batch,
        num_draft_tokens=num_draft_tokens,
        time=time,
        over_plain=sum(time) / sum(before),
        tokens=batch * tokens,
        waits=dict(zip(RESOURCES, waiting, strict=True)),
        bandwidth_share=per_device.bytes / bandwidth,
        compute_share=per_device.peak_seconds,
        bytes_per_s=per_device.bytes,
        flops_per_s=per_device.operations,
        room=_room(simulation, context, num_draft_tokens),
    )


def _mean_time(simulation: Simulation, works: Sequence[StepPasses]) -> StepTime:
    """Of steps that are equally likely."""
    return StepTime(*np.mean([work.price(simulation) for work in works], axis=0).tolist())


def _usage(simulation: Simulation, work: StepPasses) -> Usage:
    """The whole step's; bytes and operations of one device, of which a pipeline stage has its share."""
    inputs = simulation.inputs
    device, ideal = simulation.engine.on(inputs.device), inputs.scenario.deployment.ideal
    launched = simulation.step_cost(work.speculating).launched(work.target)
    target = pass_usage(simulation.target, device, launched, ideal=ideal)
    drafts = [pass_usage(simulation.drafter, device, draft, ideal=ideal) for draft in work.drafts if simulation.drafter]
    share = target.scaled(1 / simulation.target.stages)._replace(streaming=target.streaming, computing=target.computing)
    return total([share, *drafts])


def _room(simulation: Simulation, tokens: int, num_draft_tokens: int) -> int:
    """Requests of so many tokens, and their drafts, that the KV pool holds at once."""
    plan, drafts = simulation.memory(num_draft_tokens > 0), simulation.sources.draft_shape(num_draft_tokens).max_nodes
    return plan.kv_tokens // plan.pool_tokens(tokens + drafts, drafts)


def _memory(simulation: Simulation, num_draft_tokens: int, request_tokens: int) -> MemoryReport:
    drafts = simulation.sources.draft_shape(num_draft_tokens).max_nodes
    return MemoryReport(
        num_draft_tokens=num_draft_tokens,
        plan=simulation.memory(num_draft_tokens > 0),
        requests=_room(simulation, request_tokens, num_draft_tokens),
        states=drafts + 1,
        state_bytes=sum(state.state_bytes for state in simulation.target.operators.states) / simulation.target.stages,
    )
