"""Engine profiles: what the serving software adds to the silicon's time, and the limits it sets.

A profile holds for any device unless it was calibrated on one: then it names the device, and may give what kernels
achieve there under this engine. It knows nothing of models or loads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import pairwise
from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from specsim.inputs.models.base import Bytes, Count, Duration, Flag, Fraction, Input, Number
from specsim.inputs.models.drafters import PassKind
from specsim.inputs.models.hardware import TENSOR_RATE, Device, Efficiency, ProductPrecision, Sharpness, Sourced

Block = TypeVar("Block", bound=Input)
DEFAULT_BLOCK_SIZE = 16


class LinearUnderEngine(Input):
    """Of matrix products, in place of the device's own figures; what is left out stays as it is there."""

    launch: Duration | None = None
    compute_efficiency: Efficiency | None = None
    bandwidth_efficiency: Efficiency | None = None
    sharpness: Sharpness | None = None
    row_tile: tuple[Count, Count] | None = None


class AttentionUnderEngine(Input):
    """Efficiencies of attention, in place of the device file's."""

    launch: Duration | None = None
    per_kv_head: Duration | None = None
    compute_efficiency: Efficiency | None = None
    bandwidth_efficiency: Efficiency | None = None
    sharpness: Sharpness | None = None
    ramp: Duration | None = None


class ElementwiseUnderEngine(Input):
    """Launches of norms, activations, rotary embedding and cache writes, in place of the device file's."""

    launch: Duration | None = None


class Kernels(Input):
    """What kernels achieve under this engine on the device that it was calibrated on."""

    linear: LinearUnderEngine = LinearUnderEngine()
    linear_by_precision: dict[ProductPrecision, LinearUnderEngine] = Field(default_factory=dict)
    """The same of quantised products; without an entry, what the device's file says of them."""
    attention: AttentionUnderEngine = AttentionUnderEngine()
    elementwise: ElementwiseUnderEngine = ElementwiseUnderEngine()


class Graphs(Input):
    """CUDA graphs: which steps are replayed, and what the others cost the host."""

    sizes: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Token counts that were captured, ascending; a step is padded to the next one, and a larger step is launched
    kernel by kernel."""
    eager_time_per_layer: Duration
    """Host time to launch a layer's kernels. It runs beside the device: such a step takes the longer of the two."""
    piecewise_time_per_layer: Duration | None = None
    """The same where all but attention is replayed, as in a small step that carries prompt tokens; left out: such steps
    are replayed whole."""

    def padded(self, tokens: int) -> int | None:
        """The graph size at which a step of this many tokens is replayed; None where no graph is large enough."""
        place = bisect_left(self.sizes, tokens)
        return self.sizes[place] if place < len(self.sizes) else None

    @model_validator(mode="after")
    def _ascending(self) -> Graphs:
        if any(second <= first for first, second in pairwise(self.sizes)):
            raise ValueError(f"sizes {list(self.sizes)} must rise; write for example [1, 2, 4, 8]")
        return self


class UnderFP8Cache(Input):
    """What changes where the KV cache is held in FP8, since other attention kernels then run."""

    attention: AttentionUnderEngine = AttentionUnderEngine()
    verify_attention_factor: Annotated[Number, Field(ge=1)] | None = None
    host_time_per_verify: Duration | None = None


class CalibratedRange(Input):
    """How far the measurements that a profile was fitted to went; beyond, it is extrapolated, with a warning."""

    step_tokens: Count
    """Most tokens in a step: decoded, drafts and prompts."""
    requests: Count
    """Most requests in a step."""
    context_tokens: Count
    """Most KV entries read in a step, over all its requests."""


class SmallDevices(Input):
    """Limits that the software sets by default on devices that it does not take for large."""

    below: Bytes
    """Memory of a device from which on it is large."""
    names: tuple[str, ...] = ()
    """Parts of the names of devices that are not, whatever their memory."""
    max_num_seqs: Count
    max_num_batched_tokens: Count


class Engine(Sourced):
    """What the serving software adds to the silicon's time, and the limits it sets."""

    device: str | None = None
    """Catalogue name of the device that the profile was calibrated on; left out: it holds for any."""
    general: str | None = None
    """Catalogue name of the profile for any device from which a calibrated one was fitted."""
    max_num_seqs: Count
    """Most requests in one step."""
    max_num_batched_tokens: Count
    """Most tokens (prompt chunks, decodes and drafts) in one step."""
    on_small_devices: SmallDevices | None = None
    """Other limits on small devices. Left out: the same on all."""
    speculation_max_num_seqs: Count | None = None
    """The same with speculation on, where that changes it."""
    speculation_max_num_batched_tokens: Count | None = None
    """The same with speculation on, where that changes it."""
    scheduling: Literal["running_first", "prompts_first"] | None = None
    """running_first: requests in service go first, and prompts fill up the step (vLLM, TensorRT-LLM); prompts_first:
    prompts are computed in steps of their own, before anything is decoded (SGLang unless mixed chunks are on). Left
    out: running_first."""
    whole_prompts: Flag | None = None
    """Whether a prompt waits until a step can hold it whole, instead of being computed in chunks. Left out: no."""
    admission: Literal["first_chunk", "context", "whole_request"] | None = None
    """What KV blocks have to be free for before a waiting request comes into service: its next chunk alone, which lets
    more in than there is room for (vLLM until March 2026); all tokens it has so far (vLLM since then); or all it can
    ever have, which it then holds, so that nobody loses their place (TensorRT-LLM's GUARANTEED_NO_EVICT). Left out:
    context."""
    block_size: Count | None = None
    """Tokens in a block of the KV cache. Left out: 16, as in vLLM."""
    memory_fraction: Annotated[Fraction, Field(gt=0)]
    """Share of device memory that the engine uses."""
    activation_reserve: Bytes
    """Memory kept for activations, graphs and buffers, per device."""
    host_time_per_step: Duration
    host_time_per_sequence: Duration
    host_time_per_draft_pass: Duration
    host_time_per_draft_pass_of: dict[PassKind, Duration] | None = None
    """The same by kind of drafter, for kinds where it differs."""
    host_time_per_verified_row: Duration
    """Logits, sampling and bookkeeping per verified token row."""
    first_draft_pass: Literal["accepted", "verified"] | None = None
    """Tokens of the last round that a drafter's first pass computes: those accepted, or all that were verified, which
    spares the device waiting for the host to sort them out. Left out: accepted."""
    host_time_when_idle_drafter: Duration | None = None
    """Added to a step of a speculating server that drafts nothing: the tax of speculation that is on but idle."""
    verify_attention_factor: Annotated[Number, Field(ge=1)] | None = None
    """How much longer a request's KV cache takes to read when it has several query tokens: 1 where one kernel serves
    both, more where verifying falls into another kernel than decoding. Left out: 1."""
    host_time_per_verify: Duration | None = None
    """Added to a step in which some request has several tokens to verify: planning its attention, which cannot be part
    of a graph under some kernels. Left out: none."""
    fused_quantisation: Flag | None = None
    """Whether norms and activation functions hand quantised products their input quantised, which spares a kernel for
    each product. Left out: no."""
    fp8_cache: UnderFP8Cache | None = None
    """Other figures where the KV cache is held in FP8. Left out: only its size differs."""
    graphs: Graphs | None = None
    """Left out: every step is replayed at its own size."""
    kernels: Kernels | None = None
    """Left out: as the device's file says."""
    measured_range: CalibratedRange | None = None
    """Left out: nothing is known of it, and nothing warned of."""

    @model_validator(mode="after")
    def _kernels_are_of_a_device(self) -> Engine:
        for name in ("kernels", "fp8_cache"):
            if getattr(self, name) is not None and self.device is None:
                raise ValueError(
                    f"{name} holds what was measured on one device; name it in device, or leave {name} out"
                )
        return self

    @property
    def tokens_per_block(self) -> int:
        """Tokens in a block of the KV cache: ``block_size``, or the default where the profile does not give it."""
        return self.block_size or DEFAULT_BLOCK_SIZE

    def draft_pass_time(self, kind: PassKind | None) -> float:
        """Host time of a draft pass of this kind of drafter [s]."""
        by_kind = self.host_time_per_draft_pass_of or {}
        return by_kind.get(kind, self.host_time_per_draft_pass) if kind else self.host_time_per_draft_pass

    def limited_on(self, device: Device) -> Engine:
        """The profile with the limits that hold on a device."""
        small = self.on_small_devices
        if small is None:
            return self
        limits = {"max_num_seqs": small.max_num_seqs, "max_num_batched_tokens": small.max_num_batched_tokens}
        sources = {name: source for name, source in self.sources.items() if name != "on_small_devices"}
        is_small = device.memory.capacity < small.below or any(name in device.name for name in small.names)
        return self.model_copy(update={"on_small_devices": None, "sources": sources} | (limits if is_small else {}))

    def with_cache(self, kv_format: str) -> Engine:
        """The profile as it is where the KV cache is held in a format."""
        own = self.fp8_cache
        if own is None or kv_format != "fp8":
            return self
        kernels = self.kernels or Kernels()
        changed = kernels.model_copy(update={"attention": _replaced(kernels.attention, own.attention)})
        return _replaced(self.model_copy(update={"kernels": changed, "fp8_cache": None}), own, but=("attention",))

    def on(self, device: Device) -> Device:
        """The device with what this engine's kernels achieve on it."""
        if self.kernels is None and not self.fused_quantisation:
            return device
        kernels = self.kernels or Kernels()
        blocks = {name: _replaced(getattr(device, name), getattr(kernels, name)) for name in UNDER_ENGINE}
        linear, figures = blocks["linear"], dict(device.linear_by_precision)
        if self.fused_quantisation:
            for precision in QUANTISING:
                if dict(device.peak)[TENSOR_RATE[precision]] is not None:
                    own = figures.get(precision, linear)
                    figures[precision] = own.model_copy(update={"launch": min(own.launch, linear.launch)})
        # products of a precision that the device's file has no figures for are as its BF16 products, but for these
        for precision, under in kernels.linear_by_precision.items():
            figures[precision] = _replaced(figures.get(precision, linear), under)
        return device.model_copy(update={**blocks, "linear_by_precision": figures})


UNDER_ENGINE = ("linear", "attention", "elementwise")
QUANTISING: tuple[ProductPrecision, ...] = ("fp8", "int8", "fp4")


def _replaced(block: Block, by: Input, but: Collection[str] = ()) -> Block:
    return block.model_copy(update={name: value for name, value in by if value is not None and name not in but})
