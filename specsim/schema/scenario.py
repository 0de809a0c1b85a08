"""The scenario: everything a run depends on, in one closed and frozen value."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from specsim.schema.base import AscendingBatches, AscendingDraftLengths, Count, Flag, Input
from specsim.schema.speculation import Speculation
from specsim.schema.workload import SLO, Workload

DRAFT_LENGTHS = (1, 2, 3, 4, 5)


class Deployment(Input):
    """Which model runs where, under which engine."""

    device: str
    """Catalogue name (`specsim list hardware`) or path of a device file."""
    num_devices: Count = 1
    """Devices in the server; all are used by tensor parallelism."""
    tensor_parallel: Count = 1
    """Devices that share one copy of the target model."""
    target: str
    """Catalogue name (`specsim list models`) or path of the target's Hugging Face config.json."""
    engine: str
    """Catalogue name or path of an engine profile."""
    ideal: Flag = False
    """True: the textbook device, with full peaks, a hard maximum, weight traffic only and no launch or host time."""


class Curve(Input):
    """Which points `specsim curve` simulates."""

    batches: AscendingBatches = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
    """Concurrent requests."""
    num_draft_tokens: AscendingDraftLengths | None = None
    """Draft lengths compared with no speculation: unless stated 1 to 5. With a tree, numbers of its levels: unless
    stated 1 to 5 as far as it has them."""
    replications: Annotated[int, Field(ge=2, strict=True)] = 6
    """Independent repetitions; each pairs all draft lengths on the same requests and the same luck."""
    requests_per_slot: Annotated[int, Field(ge=3, strict=True)] = 4
    """Requests per concurrent slot: the first and the last of each slot are ramp and tail."""
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
    speculation: Speculation
    workload: Workload
    slo: SLO = SLO()
    curve: Curve = Curve()
    run: Run = Run()
    seed: Annotated[int, Field(ge=0, strict=True)]
    """Same seed, same bytes."""

    @property
    def compared_draft_lengths(self) -> tuple[int, ...]:
        """The draft lengths of the curve: those it names, and the policy's own."""
        tree, named = self.speculation.tree, self.curve.num_draft_tokens or DRAFT_LENGTHS
        if tree and self.curve.num_draft_tokens is None:
            named = DRAFT_LENGTHS[: tree.num_levels]
        return tuple(sorted({*named, self.speculation.policy.num_draft_tokens} - {0}))
