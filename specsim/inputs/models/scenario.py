"""The scenario: everything that a run depends on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.inputs.checkpoints.quantisation import Matrices, WeightFormat
from specsim.inputs.models.base import AscendingBatches, AscendingDraftLengths, Bandwidth, Bytes, Count, Flag, Input
from specsim.inputs.models.fleet import Fleet
from specsim.inputs.models.map import Map
from specsim.inputs.models.optimize import Optimize
from specsim.inputs.models.plan import Plan
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.models.workload import SLO, Workload

DRAFT_LENGTHS = (1, 2, 3, 4, 5)


class Swap(Input):
    """Host memory to which the KV cache of requests moves that lose their place (vLLM's V0, and KV offloading)."""

    space: Bytes
    """Host memory for each device; beyond it requests compute anew."""
    bandwidth: Bandwidth
    """Between each device and its host. Nothing else is computed while blocks move."""


class Deployment(Input):
    """Which model runs where, under which engine."""

    device: str
    """Catalogue name (`specsim list hardware`) or path of a device file."""
    num_devices: Count = 1
    """Devices in the server; all are used: tensor_parallel times pipeline_parallel."""
    tensor_parallel: Count = 1
    """Devices that share each matrix of the target model."""
    expert_parallel: Count = 1
    """Of those, groups among which whole experts are spread; 1 splits every expert among all."""
    expert_exchange: Literal["all_reduce", "all_to_all"] = "all_reduce"
    """all_reduce: every device has every token and adds up; all_to_all: tokens travel to their experts and back."""
    pipeline_parallel: Count = 1
    """Stages of consecutive layers. One batch passes through them at a time: batches are not overlapped yet."""
    target: str
    """Catalogue name (`specsim list models`) or path of the target's Hugging Face config.json."""
    weight_format: WeightFormat | None = None
    """Format of the target's matrices; by default what its config.json states, else bf16."""
    quantised_matrices: Matrices = "all"
    """Which matrices `weight_format` is about: all of a layer's, or those of MLPs and experts alone."""
    kv_format: Literal["bf16", "fp8"] = "bf16"
    """Format of the KV cache, of the target's and the drafter's."""
    prefix_caching: Flag = False
    """True: KV blocks are kept after use, and prompts that begin alike share them, as far as the workload says that
    prompts do: a trace's hash_ids, or `workload.shared_prefix`."""
    swap: Swap | None = None
    """Left out: a request that loses its place to others computes its tokens anew."""
    engine: str
    """Catalogue name or path of an engine profile."""
    ideal: Flag = False
    """True: the textbook device, with full peaks, a hard maximum, weight traffic only and no launch or host time."""
    costs: Literal["roofline", "aiconfigurator"] = "roofline"
    """aiconfigurator: matrix products take the time measured in that package's tables (extra `operators`), vLLM's where
    it has them; products that they do not surround, attention and experts stay on the roofline."""

    @model_validator(mode="after")
    def _keeps_or_swaps(self) -> Deployment:
        if self.prefix_caching and self.swap:
            raise ValueError("prefix_caching and swap are not simulated together; leave one of them out")
        return self

    @model_validator(mode="after")
    def _measured_is_not_ideal(self) -> Deployment:
        if self.ideal and self.costs != "roofline":
            raise ValueError("costs of the ideal device cannot be measured ones; leave out 'ideal' or 'costs'")
        return self


class Curve(Input):
    """Which points `specsim curve` simulates."""

    batches: AscendingBatches = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
    """Concurrent requests."""
    num_draft_tokens: AscendingDraftLengths | None = None
    """Draft lengths compared with no speculation; with a tree, numbers of its levels. Unless stated 1 to 5, as far as
    acceptance is given, the tree has levels, Medusa has heads or a block has tokens."""
    replications: Annotated[int, Field(ge=2, strict=True)] = 6
    """Independent repetitions; each pairs all draft lengths on the same requests and random numbers."""
    requests_per_slot: Annotated[int, Field(ge=3, strict=True)] = 4
    """Requests per concurrent slot, at least: the first is in service when the run begins, and the last is its tail.
    Runs that seem to begin with a ramp are made up to eight times as long."""
    min_requests: Count = 24
    """At least this many requests at every point."""


class Run(Input):
    """Settings of `specsim simulate`."""

    replications: Annotated[int, Field(ge=2, strict=True)] = 4


class Scenario(Input):
    """One question: this model, on this device, with this drafter, under this traffic."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Names the output folder."""
    description: str = ""
    deployment: Deployment
    fleet: Fleet | None = None
    """Several replicas behind a router; by default one replica."""
    speculation: Speculation
    workload: Workload
    slo: SLO = SLO()
    curve: Curve = Curve()
    run: Run = Run()
    plan: Plan | None = None
    """Settings of `specsim plan`, whose options can state them too."""
    optimize: Optimize | None = None
    """Settings of `specsim optimize`, whose options can state them too."""
    map: Map | None = None
    """Settings of `specsim map`; left out, its defaults."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 1
    """Same seed, same bytes."""

    @property
    def compared_draft_lengths(self) -> tuple[int, ...]:
        """The draft lengths of the curve: those it names, and the policy's own."""
        speculation = self.speculation
        limits = (speculation.longest_draft, speculation.acceptance.measured_positions)
        named = self.curve.num_draft_tokens or DRAFT_LENGTHS[: min((n for n in limits if n), default=None)]
        return tuple(sorted({*named, speculation.policy.num_draft_tokens} - {0}))
