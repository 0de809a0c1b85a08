"""Several replicas behind a router, and pools of them that compute prompts and decode apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from specsim.inputs.models.base import Bandwidth, Count, Duration, Fraction, Input, Number
from specsim.inputs.models.policy import PolicyField

MOST_REPLICAS = 256
"""Of a fleet: each has arrays of its own for all that it can have in service."""


class DeploymentChange(Input):
    """How the replicas of a group differ from the scenario's `deployment`; what is left out is as there."""

    device: str | None = None
    """Catalogue name (`specsim list hardware`) or path of a device file."""
    num_devices: Count | None = None
    """Devices of each replica."""
    tensor_parallel: Count | None = None
    """Devices that share each matrix of the target model."""
    expert_parallel: Count | None = None
    """Of those, groups among which whole experts are spread."""
    pipeline_parallel: Count | None = None
    """Stages of consecutive layers."""
    engine: str | None = None
    """Catalogue name or path of an engine profile."""


class ReplicaGroup(Input):
    """Replicas that are alike."""

    count: Annotated[int, Field(ge=1, le=MOST_REPLICAS, strict=True)] = 1
    """How many there are."""
    deployment: DeploymentChange = DeploymentChange()
    policy: PolicyField | None = None
    """Of their drafts, in place of the scenario's own; with `num_draft_tokens: 0` they never speculate."""


def _as_groups(value: Any) -> Any:
    if not isinstance(value, int | list | tuple) or isinstance(value, bool):
        raise ValueError("must be a number of replicas, such as 4, or a list of groups, such as [{count: 4}]")
    return [{"count": value}] if isinstance(value, int) else value


Groups = Annotated[
    tuple[ReplicaGroup, ...],
    Field(min_length=1),
    BeforeValidator(_as_groups, json_schema_input_type=Count | tuple[ReplicaGroup, ...]),
]
"""Written as a number where all replicas are alike."""


class RouterInput(Input, ABC):
    """The base of all routers."""

    @property
    @abstractmethod
    def words(self) -> str:
        """How it chooses, as a sentence goes on after "4 replicas"."""


class RoundRobin(RouterInput):
    """One replica after the other, in the order of requests."""

    kind: Literal["round_robin"]
    words: ClassVar[str] = "routed round robin"


class Random(RouterInput):
    """Any replica, each as likely as the others; the same request goes to the same one in every run of a seed."""

    kind: Literal["random"]
    words: ClassVar[str] = "routed at random"


class LeastLoaded(RouterInput):
    """The replica with the fewest requests that are in service or wait."""

    kind: Literal["least_loaded"]
    words: ClassVar[str] = "routed by fewest requests"


class KVAware(RouterInput):
    """The replica with the smallest share of its KV pool in use or needed by those who wait."""

    kind: Literal["kv_aware"]
    words: ClassVar[str] = "routed by KV cache in use"


class PrefixAware(RouterInput):
    """The replica that was sent the longest part of the prompt before, unless the load is out of balance.

    As SGLang's router (`cache_aware`) decides: out of balance, the replica with the fewest requests; where no replica
    was sent enough of the prompt, the one that was sent the least text. Needs prompts that begin alike: a
    `workload.shared_prefix`, or the replay of a trace with `hash_ids`.
    """

    kind: Literal["prefix_aware"]
    words: ClassVar[str] = "routed by prefixes sent before"
    cache_threshold: Fraction = 0.3
    """A replica is preferred when it was sent more than this share of the prompt."""
    balance_abs_threshold: Annotated[int, Field(ge=0, strict=True)] = 64
    """Out of balance is a load whose largest number of requests exceeds the smallest by more than this, and by"""
    balance_rel_threshold: Annotated[Number, Field(ge=1)] = 1.5
    """more than this factor."""


Balancer = Annotated[RoundRobin | Random | LeastLoaded | KVAware, Field(discriminator="kind")]
Router = Annotated[Balancer | PrefixAware, Field(discriminator="kind")]


class KVTransfer(Input):
    """How a prompt's KV cache reaches the replica that decodes.

    A replica's link carries one transfer at a time, in the order in which prompts were complete; sender and receiver
    are both taken until its last byte.
    """

    bandwidth: Bandwidth
    """Of the link of a replica, all its devices together."""
    latency: Duration = 0.0
    """From the last byte sent until decoding can begin; transfers do not wait for each other's."""


class Disaggregation(Input):
    """Replicas that compute prompts, and others that decode."""

    prefill: Groups
    """A number of replicas, or groups of them; requests come to these."""
    decode: Groups
    """A number of replicas, or groups of them; a prompt's cache goes to one of these once its first token is out."""
    kv_transfer: KVTransfer
    decode_router: Balancer = RoundRobin(kind="round_robin")
    """Which replica decodes a request, chosen when its prompt is complete."""


class Fleet(Input):
    """Replicas behind a router. `deployment` describes one of them, as far as groups do not differ."""

    replicas: Groups | None = None
    """A number of replicas, or groups of them."""
    disaggregation: Disaggregation | None = None
    """In place of `replicas`."""
    router: Router = RoundRobin(kind="round_robin")
    """Which replica a request is sent to."""

    @model_validator(mode="after")
    def _has_replicas(self) -> Fleet:
        if (self.replicas is None) == (self.disaggregation is None):
            raise ValueError("write either replicas, such as 'replicas: 4', or disaggregation, with prefill and decode")
        if self.num_replicas > MOST_REPLICAS:
            raise ValueError(f"has {self.num_replicas} replicas; write at most {MOST_REPLICAS}")
        return self

    @property
    def groups(self) -> tuple[ReplicaGroup, ...]:
        """All groups; under disaggregation those that compute prompts, then those that decode."""
        split = self.disaggregation
        return (self.replicas or ()) if split is None else (*split.prefill, *split.decode)

    @property
    def alike(self) -> bool:
        """Whether every replica serves whole requests in the same way."""
        return self.disaggregation is None and all(
            group.policy is None and group.deployment == DeploymentChange() for group in self.groups
        )

    @property
    def num_replicas(self) -> int:
        """Replicas of all groups together."""
        return sum(group.count for group in self.groups)


def group_paths(fleet: object) -> list[str]:
    """Paths of the groups in a scenario, in the order of ``Fleet.groups``.

    Args:
        fleet: as data; a number of replicas is one group.
    """
    if not isinstance(fleet, dict):
        return []
    split = fleet.get("disaggregation")
    places = [("fleet.replicas", fleet.get("replicas"))]
    if isinstance(split, dict):
        places += [(f"fleet.disaggregation.{name}", split.get(name)) for name in ("prefill", "decode")]
    numbers = [(place, len(stated) if isinstance(stated, list | tuple) else 1) for place, stated in places if stated]
    return [f"{place}[{i}]" for place, number in numbers for i in range(number)]
