"""From a scenario with a fleet to its run: a simulation of each group's replica, put behind the routers.

Knows no costs and no schedules. A scenario without a fleet is a ``Simulation`` as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from specsim.costs.extrapolation import Extrapolation
from specsim.costs.step import Pricing
from specsim.engine.config import ReplicaConfig
from specsim.errors import InfeasibleError, Problem, invalid
from specsim.fleet.run import FleetConfig, Link, fleet_closed_loop, fleet_open_loop
from specsim.forward import Reach
from specsim.inputs.models.fleet import Fleet, PrefixAware, ReplicaGroup
from specsim.inputs.models.policy import Policy
from specsim.inputs.models.workload import ClosedLoop, Load
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.simulation.long_runs import is_short
from specsim.simulation.replica import Simulation
from specsim.workload.lengths import InFlight, Lengths


def simulation_of(inputs: Inputs) -> Simulation:
    """What runs a scenario: its replica, or its fleet."""
    fleet = inputs.scenario.fleet
    return Simulation(inputs) if fleet is None else FleetSimulation(inputs, fleet)


class _Drafts(NamedTuple):
    """A group's longest draft in an arm, and the policy that shortens it; None for a fixed length."""

    num_draft_tokens: int
    policy: Policy | None


class FleetSimulation(Simulation):
    """A fleet under a workload. What is said of one replica (its costs, memory and shapes) is the deployment's own.

    Args:
        inputs: the scenario and what it refers to.
        fleet: its own.
    """

    def __init__(self, inputs: Inputs, fleet: Fleet) -> None:
        super().__init__(inputs)
        self._fleet = fleet
        of_each = (Simulation(own, self.traffic) for own in inputs.groups)
        self._groups = list(zip(fleet.groups, of_each, strict=True))

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
        """As ``Simulation.run``; a group's own policy goes before ``policy``, except where nobody drafts.

        Rows are held in memory, where those of all replicas are put in order, whether or not there is a ``spill``.
        """
        lengths, received = in_flight or InFlight(
            self.lengths_checked(num_requests, num_draft_tokens, replication, load)
        )
        keep_rounds = is_short(lengths) if keep_rounds is None else keep_rounds
        configs = []
        for group, simulation in self._groups:
            drafts = _drafts(group, num_draft_tokens, policy)
            configs.append(
                simulation.config(
                    drafts.num_draft_tokens, replication, cost=cost, policy=drafts.policy, keep_rounds=keep_rounds
                )
            )
        config = self._config_of(configs, num_draft_tokens)
        if isinstance(load, ClosedLoop):
            think = self.traffic.think_times(load, num_requests, replication)
            return self.labelled(fleet_closed_loop(config, lengths, load.concurrency, think, received), lengths)
        arrivals = self.traffic.arrivals(load, num_requests, replication)
        return self.labelled(fleet_open_loop(config, lengths, arrivals), lengths)

    def _config_of(self, configs: Sequence[ReplicaConfig], num_draft_tokens: int) -> FleetConfig:
        """The fleet, from each group's way to serve."""
        fleet, split = self._fleet, self._fleet.disaggregation
        if split is None:
            return FleetConfig(_each(fleet.groups, configs), fleet.router)
        number = len(split.prefill)
        senders = [
            partial(simulation.prompt_bytes, _drafts(group, num_draft_tokens, None).num_draft_tokens > 0)
            for group, simulation in self._groups[:number]
            for _ in range(group.count)
        ]
        return FleetConfig(
            entry=_each(split.prefill, configs[:number]),
            router=fleet.router,
            decode=_each(split.decode, configs[number:]),
            decode_router=split.decode_router,
            link=Link(split.kv_transfer.bandwidth, split.kv_transfer.latency, tuple(senders)),
        )

    def lengths_checked(
        self, num_requests: int, num_draft_tokens: int, replication: int, load: Load | None = None
    ) -> Lengths:
        """As ``Simulation.lengths_checked``, for the replicas of all groups.

        Raises:
            InputError: also where the router needs prefixes that the load does not have.
        """
        if isinstance(self._fleet.router, PrefixAware) and self.lengths(1, replication, load).prefixes is None:
            remedy = (
                "needs prompts that begin alike; say so with workload.shared_prefix, replay a trace with hash_ids, or "
                "write another router (a curve replays no trace)"
            )
            raise invalid(str(self.inputs.files["scenario"]), "fleet.router.kind", "prefix_aware", remedy)
        problems: list[Problem] = []
        for group, simulation in self._groups:
            drafts = _drafts(group, num_draft_tokens, None).num_draft_tokens
            try:
                lengths = simulation.lengths_checked(num_requests, drafts, replication, load)
            except InfeasibleError as error:
                problems += error.problems
        if problems:
            raise InfeasibleError(dict.fromkeys(problems))
        return lengths

    def kv_pools(self, num_draft_tokens: int) -> list[int]:
        """As ``Simulation.kv_pools``, of every replica."""
        return [
            pool
            for group, simulation in self._groups
            for pool in simulation.kv_pools(_drafts(group, num_draft_tokens, None).num_draft_tokens) * group.count
        ]

    @property
    def bandwidths(self) -> list[float]:
        """As ``Simulation.bandwidths``, of every replica."""
        return [width for group, simulation in self._groups for width in simulation.bandwidths * group.count]

    @property
    def num_devices(self) -> int:
        """As ``Simulation.num_devices``."""
        return sum(group.count * simulation.num_devices for group, simulation in self._groups)

    def step_limits(self, num_draft_tokens: int) -> list[tuple[int, int]]:
        """As ``Simulation.step_limits``, of every replica."""
        return [
            limits
            for group, simulation in self._groups
            for limits in simulation.step_limits(_drafts(group, num_draft_tokens, None).num_draft_tokens) * group.count
        ]

    @property
    def power(self) -> float | None:
        """As ``Simulation.power``."""
        powers = [simulation.power for group, simulation in self._groups for _ in range(group.count)]
        return None if None in powers else sum(power for power in powers if power)

    def extrapolation(self, reached: Reach) -> Extrapolation | None:
        """As ``Simulation.extrapolation``: of the first group of which something is left, if its steps go so far."""
        found = (simulation.extrapolation(reached) for _, simulation in self._groups)
        return next((extrapolation for extrapolation in found if extrapolation), None)


def _drafts(group: ReplicaGroup, num_draft_tokens: int, policy: Policy | None) -> _Drafts:
    if group.policy is None or num_draft_tokens == 0:
        return _Drafts(num_draft_tokens, policy)
    return _Drafts(group.policy.num_draft_tokens, group.policy if group.policy.num_draft_tokens else None)


def _each(groups: Sequence[ReplicaGroup], configs: Sequence[ReplicaConfig]) -> tuple[ReplicaConfig, ...]:
    return tuple(config for group, config in zip(groups, configs, strict=True) for _ in range(group.count))
