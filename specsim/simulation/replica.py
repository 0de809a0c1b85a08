"""The composition root: scenario inputs become objects and run. Knows no file formats and no statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from specsim.analysis.metrics import reach
from specsim.costs.extrapolation import Extrapolation, beyond_device, beyond_profile, calibrated_reach
from specsim.costs.linear import Linear
from specsim.costs.memory import MemoryPlan, memory_plan
from specsim.costs.passes import PassCost
from specsim.costs.roofline import Rates, device_rates
from specsim.costs.step import Pricing, StepCost
from specsim.engine.config import ReplicaConfig
from specsim.engine.run import serve_closed_loop, serve_open_loop
from specsim.forward import Reach
from specsim.inputs.models.drafters import NgramLookup, pass_kind
from specsim.inputs.models.policy import Policy, StaticPolicy
from specsim.inputs.models.workload import ClosedLoop, Load, Replay
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords, StepRecords
from specsim.simulation.feasible import Room, check_lengths
from specsim.simulation.long_runs import is_short
from specsim.simulation.shapes import deployed_drafter, deployed_target, product_times, whole_shapes
from specsim.simulation.sources import Sources
from specsim.workload.lengths import InFlight, Lengths
from specsim.workload.stated import Traffic


class Simulation:
    """A deployment under a workload, ready to run at any load, draft length and replication.

    Args:
        inputs: the scenario and what it refers to; of a fleet, of one replica without a group's changes.
        traffic: what clients send; by default as the inputs say.

    Attributes:
        sources: what proposes drafts and scores them.
        traffic: what clients send.
        target, drafter: what their forward passes multiply; no drafter where no model drafts.
        rates: what the device achieves.
        products: what times the target's matrix products; None for the roofline.
        step_cost: prices steps, by whether a drafter is loaded.
        memory: what fits the device, by whether a drafter is loaded.

    Raises:
        InputError: when the file of lengths is malformed.
    """

    def __init__(self, inputs: Inputs, traffic: Traffic | None = None) -> None:
        self.inputs = inputs
        deployment = inputs.scenario.deployment
        self.target, self.drafter = deployed_target(inputs), deployed_drafter(inputs)
        self.engine = inputs.engine.with_cache(deployment.kv_format)
        self.rates: Rates = device_rates(self.engine.on(inputs.device), ideal=deployment.ideal)
        self.products = product_times(inputs, self.rates) if deployment.costs == "aiconfigurator" else None
        self.first_pass_over_verified = inputs.engine.first_draft_pass == "verified" and not deployment.ideal
        scenario, where = inputs.scenario, str(inputs.files["scenario"])
        self.sources = Sources(scenario, inputs.acceptance_files, where)
        self.traffic = traffic or Traffic(
            scenario.workload, inputs.lengths_files, scenario.seed, where, self.sources.recordings
        )
        # made when first asked for: a run without speculation never needs the drafter's, nor room for it
        self.step_cost = cache(self._make_step_cost)
        self.memory = cache(self._make_memory_plan)
        self._pool_tokens = cache(self._make_pool_tokens)
        self._whole_shapes = cache(partial(whole_shapes, inputs))

    def run(
        self,
        load: Load,
        *,
        num_draft_tokens: int,
        num_requests: int,
        replication: int,
        cost: Pricing | None = None,
        policy: Policy | None = None,
        keep_rounds: bool | None = None,
        spill: Path | None = None,
        in_flight: InFlight | None = None,
    ) -> RunRecords:
        """Simulate one run; the same arguments give the same records, byte for byte.

        Args:
            load: a closed loop, or when requests arrive; a replay has to be the scenario's own.
            num_draft_tokens: draft tokens per verify, or levels of the tree; 0 runs without a drafter.
            num_requests: how many requests are sent.
            replication: names the streams of lengths, arrivals and uniforms; equal numbers are paired.
            cost: prices steps in place of ``step_cost``.
            policy: decides draft lengths up to ``num_draft_tokens``; by default all are so long.
            keep_rounds: whether every round is recorded, or their tally alone; by default of runs that are not long.
            spill: folder where rows of steps and rounds are written as they come; by default they are held in memory.
            in_flight: of a closed loop that does not begin empty, its requests; see ``in_flight.drawn_in_flight``.

        Raises:
            InfeasibleError: when a request could never be served.
        """
        lengths, received = in_flight or InFlight(
            self.lengths_checked(num_requests, num_draft_tokens, replication, load)
        )
        keep_rounds = is_short(lengths) if keep_rounds is None else keep_rounds
        config = self.config(
            num_draft_tokens, replication, cost=cost, policy=policy, keep_rounds=keep_rounds, spill=spill
        )
        if isinstance(load, ClosedLoop):
            think = self.traffic.think_times(load, num_requests, replication)
            return self.labelled(serve_closed_loop(config, lengths, load.concurrency, think, received), lengths)
        arrivals = self.traffic.arrivals(load, num_requests, replication)
        return self.labelled(serve_open_loop(config, lengths, arrivals), lengths)

    def labelled(self, run: RunRecords, lengths: Lengths) -> RunRecords:
        """The run, its requests with what is known of them beside their lengths; domains as the trace numbers them."""
        labels = {name: getattr(lengths, name) for name in ("of_class", "priority", "domain")}
        if lengths.domain is not None and self.inputs.scenario.workload.domains:
            labels["domain"] = self.traffic.stated_domains[lengths.domain]
        return replace(run, requests=replace(run.requests, **labels))

    def config(
        self,
        num_draft_tokens: int,
        replication: int,
        *,
        cost: Pricing | None = None,
        policy: Policy | None = None,
        keep_rounds: bool = True,
        spill: Path | None = None,
    ) -> ReplicaConfig:
        """How the engine is to serve; arguments as of ``run``."""
        scenario, engine = self.inputs.scenario, self.inputs.engine
        speculating, drafter = num_draft_tokens > 0, scenario.speculation.drafter
        memory, swap = self.memory(speculating), scenario.deployment.swap
        shape = self.sources.draft_shape(num_draft_tokens)
        max_num_seqs, max_num_batched_tokens = self._limits(speculating)
        source, *others = self.sources.of(num_draft_tokens)
        return ReplicaConfig(
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_tokens=memory.kv_tokens,
            decode_only=scenario.workload.decode_only,
            cost=cost or self.step_cost(speculating),
            drafter=None if isinstance(drafter, NgramLookup) or not speculating else drafter,
            first_pass_over_verified=self.first_pass_over_verified,
            share_at_least=self.sources.share_at_least(num_draft_tokens) if isinstance(drafter, NgramLookup) else None,
            policy=policy or StaticPolicy(num_draft_tokens=num_draft_tokens),
            shape=shape,
            source=source,
            domains=tuple(others),
            rule=self.sources.rule,
            seed=scenario.seed,
            replication=replication,
            pool_tokens=self._pool_tokens(speculating, shape.max_nodes),
            block_size=self.block_size,
            admission=engine.admission or "context",
            prefix_caching=scenario.deployment.prefix_caching,
            host_tokens=int(swap.space // memory.kv_bytes_per_token) if swap else 0,
            seconds_per_token=memory.kv_bytes_per_token / swap.bandwidth if swap else 0.0,
            chunked_prefill=not engine.whole_prompts,
            prefill_first=engine.scheduling == "prompts_first",
            keep_rounds=keep_rounds,
            spill=spill,
        )

    def kv_pools(self, num_draft_tokens: int) -> list[int]:
        """Sizes of the KV pools, of each replica one, in whole blocks [tokens]."""
        return [self.memory(num_draft_tokens > 0).kv_tokens // self.block_size * self.block_size]

    @property
    def block_size(self) -> int:
        """Tokens in a KV block."""
        return self.inputs.engine.tokens_per_block

    @property
    def bandwidths(self) -> list[float]:
        """Peak memory bandwidth of a device, of each replica one [B/s]."""
        return [self.inputs.device.memory.bandwidth]

    @property
    def num_devices(self) -> int:
        """Of all replicas."""
        return self.inputs.scenario.deployment.num_devices

    def step_limits(self, num_draft_tokens: int) -> list[tuple[int, int]]:
        """The most requests and tokens in a step, of each replica one."""
        return [self._limits(num_draft_tokens > 0)]

    @property
    def power(self) -> float | None:
        """Most that all devices draw together [W]; None where a device's file does not say."""
        power, scenario = self.inputs.device.power, self.inputs.scenario
        return None if power is None else power * scenario.deployment.num_devices

    def prompt_bytes(self, speculating: bool, tokens: int) -> float:
        """What the cache of a prompt takes, the drafter's beside the target's, each entry once over all devices [B]."""
        return sum(shape.cached_bytes(tokens) for shape in self._whole_shapes(speculating))

    def reach(self, steps: StepRecords) -> Reach:
        """How far the steps of a run went, and for how long beyond the ranges of this device and engine profile."""
        measured = self.inputs.device.measured_range
        return reach(steps, measured.linear_rows if measured else None, calibrated_reach(self.inputs.engine))

    def extrapolation(self, reached: Reach) -> Extrapolation | None:
        """What leaves the ranges that the figures used were measured over, as far as it counts, in such steps."""
        engine, shapes = self.inputs.engine, [shape for shape in (self.target, self.drafter) if shape]
        if self.inputs.scenario.deployment.ideal:
            return None
        own = engine.kernels is not None and engine.kernels.linear.model_fields_set  # not the device's
        device = None if own else beyond_device(self.inputs.device.measured_range, shapes, reached)
        found = Extrapolation(device, beyond_profile(engine, reached))
        return found if any(found) else None

    @property
    def num_requests(self) -> int:
        """How many requests the scenario's own load sends: as many as it says, of a replay no more than there are."""
        workload = self.inputs.scenario.workload
        return min(workload.num_requests, self.traffic.num_replayed or workload.num_requests)

    def lengths(self, num_requests: int, replication: int, load: Load | None = None) -> Lengths:
        """The lengths of the first requests of a replication; under a replay, those of the trace in its order."""
        return self.traffic.lengths(num_requests, replication, load)

    def _make_step_cost(self, speculating: bool) -> StepCost:
        ideal, engine = self.inputs.scenario.deployment.ideal, self.engine
        device, factor, drafter = engine.on(self.inputs.device), engine.verify_attention_factor or 1.0, None
        stated = self.inputs.scenario.speculation.drafter
        lookup = stated if isinstance(stated, NgramLookup) else None
        if speculating and self.drafter and not isinstance(stated, NgramLookup):
            slower = stated.time_factor or 1.0
            drafter = PassCost(self.drafter, device, rates=self.rates, products=self.products, time_factor=slower)
        verify_factor = 1.0 if ideal else factor
        target = PassCost(self.target, device, rates=self.rates, products=self.products, verify_factor=verify_factor)
        if ideal:
            return StepCost(target, drafter, None)
        return StepCost(target, drafter, engine, pass_kind(stated), lookup)

    def _make_memory_plan(self, speculating: bool) -> MemoryPlan:
        return memory_plan(
            self.inputs.device,
            self.inputs.engine,
            self.target,
            self.drafter if speculating else None,
            where=str(self.inputs.files["scenario"]),
        )

    def _make_pool_tokens(self, speculating: bool, num_nodes: int) -> Callable[[int], int]:
        """Tokens of a sequence → those that it takes from the pool; found once for all runs where layers are uneven."""
        room = self.memory(speculating).room(num_nodes)
        return room if room is int else cache(room)

    def _limits(self, speculating: bool) -> tuple[int, int]:
        """The most requests and tokens in a step."""
        engine = self.inputs.engine
        sequences = speculating and engine.speculation_max_num_seqs
        tokens = speculating and engine.speculation_max_num_batched_tokens
        return sequences or engine.max_num_seqs, tokens or engine.max_num_batched_tokens

    def lengths_checked(
        self, num_requests: int, num_draft_tokens: int, replication: int, load: Load | None = None
    ) -> Lengths:
        """``lengths``, unless one of the requests, or one of those that a trace may give, could never be served.

        Raises:
            InfeasibleError: see ``feasible.check_lengths``.
        """
        lengths = self.lengths(num_requests, replication, load)
        check_lengths(
            self._room(num_draft_tokens),
            lengths,
            self.traffic.traces,
            scenario=str(self.inputs.files["scenario"]),
            used=num_requests if isinstance(load, Replay) else None,
        )
        return lengths

    def _room(self, num_draft_tokens: int) -> Room:
        """What a request has to fit."""
        speculating, engine = num_draft_tokens > 0, self.inputs.engine
        return Room(
            memory=self.memory(speculating),
            draft_tokens=self.sources.draft_shape(num_draft_tokens).max_nodes,
            block_size=self.block_size,
            step_tokens=self._limits(speculating)[1],
            whole_prompts=bool(engine.whole_prompts),
            positions=self.inputs.target.max_position_embeddings,
        )

    def on_the_roofline(self) -> list[Linear]:
        """Products that measured tables were asked for and do not surround, each once."""
        if self.products is None:
            return []
        shapes = [shape for shape in (self.target, self.drafter) if shape]
        products = [p for shape in shapes for p in (*shape.linears, shape.head, *shape.fusion, *shape.correction)]
        return [p for p in {p._replace(repeats=1): None for p in products} if not self.products.covers(p)]
