"""Devices: what the silicon and its kernels can do, every number with its source.

A device knows nothing of models, batches or speculation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from specsim.inputs.models.base import Bandwidth, Bytes, Compute, Count, Duration, Fraction, Input, Number, Power

Efficiency = Annotated[Number, Field(gt=0, le=1.5)]
Sharpness = Annotated[Number, Field(ge=0.1, le=100)]
GroupSize = Annotated[int, Field(ge=1)]  # not strict: as keys of a JSON object they are text


class Source(Input):
    """Where a number comes from."""

    kind: Literal["vendor", "measured", "assumed"]
    """vendor: a datasheet; measured: fitted to or read off measurements; assumed: carried over, with the reason."""
    reference: Annotated[str, Field(min_length=10)]


class Sourced(Input):
    """An input whose every number is covered by an entry of ``sources``."""

    name: Annotated[str, Field(min_length=1)]
    """What people call it."""
    sources: dict[str, Source]
    """Dotted field path → source; a path covers everything below it."""

    @model_validator(mode="after")
    def _every_number_has_a_source(self) -> Sourced:
        paths = set(_number_paths(self.model_dump(exclude={"sources", "name", "device", "general"})))
        bare = sorted(path for path in paths if not any(_covers(key, path) for key in self.sources))
        stray = sorted(key for key in self.sources if not any(_covers(key, path) for path in paths))
        if bare:
            raise ValueError(f"no number without a source; add to 'sources': {', '.join(bare)}")
        if stray:
            raise ValueError(f"'sources' names fields that do not exist: {', '.join(stray)}")
        return self


def _number_paths(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _number_paths(item, f"{path}.{key}" if path else str(key))
    elif value is not None:
        yield path


def _covers(key: str, path: str) -> bool:
    return path == key or path.startswith(key + ".")


class Memory(Input):
    """Device memory, per device."""

    capacity: Bytes
    bandwidth: Bandwidth


class Peak(Input):
    """Dense matrix peaks, per device; a precision the device lacks is left out."""

    bf16: Compute
    fp8: Compute | None = None
    int8: Compute | None = None
    fp4: Compute | None = None
    """Both operands in FP4 with block scales (NVFP4)."""


class Interconnect(Input):
    """The link among the devices of one server."""

    bandwidth: Bandwidth
    """Per direction and device."""
    max_devices: Count


ProductPrecision = Literal["fp8", "int8", "fp4", "w4a16"]
PRECISIONS: tuple[ProductPrecision, ...] = get_args(ProductPrecision)
TENSOR_RATE = {"fp8": "fp8", "int8": "int8", "fp4": "fp4", "w4a16": "bf16"}
"""Precision of a product → the peak that multiplies it: 4-bit weights alone are dequantised first."""


class LinearKernels(Input):
    """t = launch + ((F / (f·peak))^n + (B / (b·bandwidth))^n)^(1/n) for each matrix product."""

    launch: Duration
    compute_efficiency: Efficiency
    bandwidth_efficiency: Efficiency
    sharpness: Sharpness | Literal["hard"]
    """n; ``hard`` is the limit of large n, the hard maximum."""
    row_tile: tuple[Count, Count]
    """Rows are padded up to the first value while they fit it, above it to multiples of the second."""

    @model_validator(mode="after")
    def _tiles_grow(self) -> LinearKernels:
        if self.row_tile[1] < self.row_tile[0]:
            raise ValueError(f"row_tile {list(self.row_tile)} must not shrink; write for example [64, 128]")
        return self


class AttentionKernels(Input):
    """t = launch + ((per_kv_head · sequences · KV heads)^n + R^n)^(1/n) + F / (f·peak), a layer over a batch.

    R = r + min(r, ramp) with r = B / (b·bandwidth): the first bytes come at half the rate. Each KV head of a sequence
    is a block of its own with a start and an end; while some start and end, others stream keys and values. F counts
    the pairs of a query and what it attends to, and for queries of prompts prompt_overhead more.
    """

    launch: Duration
    per_kv_head: Duration
    """Per sequence and KV head on the device."""
    compute_efficiency: Efficiency
    bandwidth_efficiency: Efficiency
    sharpness: Annotated[Sharpness, Field(ge=1)] = 1.0
    """n; 1, where the file says nothing, adds the two up."""
    ramp: Duration = 0.0
    """How long reading takes longer than at its full rate, per layer; nothing where the file says nothing."""
    prompt_overhead: Annotated[int, Field(ge=0, strict=True)] = 0
    """Tokens more that each prompt token takes as long as attending to: moving queries and outputs, and tiles that a
    causal mask leaves half empty."""


class ElementwiseKernels(Input):
    """Norms, activations, rotary embedding and cache writes."""

    launch: Duration
    kernels_per_layer: Annotated[int, Field(ge=0, strict=True)]


class AllReduce(Input):
    """t = (launch^q + (2(n−1)/n · bytes / (e·link bandwidth))^q)^(1/q) for a group of n devices."""

    launch: Duration
    efficiency: dict[GroupSize, Efficiency]
    sharpness: dict[GroupSize, Sharpness]

    @model_validator(mode="after")
    def _same_groups(self) -> AllReduce:
        if set(self.efficiency) != set(self.sharpness):
            raise ValueError("efficiency and sharpness must be given for the same numbers of devices")
        return self


class MeasuredRange(Input):
    """The shapes that the figures of matrix products were fitted to; beyond, they are extrapolated, with a warning."""

    linear_rows: Count | None = None
    """Most rows of a matrix product."""
    linear_weights: Bytes | None = None
    """Smallest weights of a matrix product."""
    more_rows_error: Fraction | None = None
    """Median error of the prices of products with more rows. Left out: not known."""
    smaller_weights_error: dict[Bytes, Fraction] | None = None
    """The same of products whose weights are smaller, by the size that they are below. Left out: not known."""


class Device(Sourced):
    """One accelerator."""

    memory: Memory
    peak: Peak
    interconnect: Interconnect | None = None
    """Left out: a device that is used alone."""
    linear: LinearKernels
    linear_by_precision: dict[ProductPrecision, LinearKernels] = Field(default_factory=dict)
    """Of products in other formats than BF16, the quantising of their activations or the dequantising of their weights
    included; without an entry BF16's figures hold."""
    grouped_products: Efficiency | None = None
    """Of the compute efficiency of BF16 products, what the grouped products of routed experts reach. Left out: all."""
    attention: AttentionKernels
    elementwise: ElementwiseKernels
    allreduce: AllReduce | None = None
    """Left out: no group of devices can share a model."""
    power: Power | None = None
    """Most that the board draws (TDP), for the energy of a plan. Left out: plans state no energy."""
    measured_range: MeasuredRange | None = None
    """Left out: nothing is known of it, and nothing warned of."""

    @property
    def max_devices(self) -> int:
        """Most devices in a group."""
        return self.interconnect.max_devices if self.interconnect else 1

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """Numbers of devices whose all-reduce has figures, ascending."""
        return tuple(sorted(self.allreduce.efficiency)) if self.allreduce else ()

    @model_validator(mode="after")
    def _reductions_have_a_link(self) -> Device:
        if self.allreduce is not None and self.interconnect is None:
            raise ValueError("allreduce needs interconnect, the link that it uses; add it, or leave both out")
        return self

    @model_validator(mode="after")
    def _figures_have_a_peak(self) -> Device:
        missing = [name for name in self.linear_by_precision if dict(self.peak)[TENSOR_RATE[name]] is None]
        if missing:
            raise ValueError(
                f"linear_by_precision.{missing[0]} needs peak.{TENSOR_RATE[missing[0]]}; add it or leave these out"
            )
        return self
