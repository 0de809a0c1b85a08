"""Measured serving throughput, with and without speculation: one row per sweep, load, draft length and metric.

What a column means is said in its docstring and in ``docs/measurements.md``; nothing here knows how a row is simulated.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from specsim.inputs.checkpoints.quantisation import WeightFormat
from specsim.inputs.models.base import MOST_REQUESTS, Input

Split = Literal["calibration", "validation", "beside", "confounded"]
Metric = Literal[
    "output_tokens_per_s", "total_tokens_per_s", "tokens_per_s_per_user", "tpot_ms", "ttft_ms", "itl_p50_ms", "e2e_ms",
    "running_batch",
]  # fmt: skip
LATENCIES = ("tpot_ms", "e2e_ms")
MERITS = ("output_tokens_per_s", "total_tokens_per_s", "tokens_per_s_per_user", *LATENCIES)
"""Metrics that make a speedup. The others tell how it came about: speculation lengthens a step (ITL) and is faster."""
BETWEEN_TOKENS = ("tpot_ms", "itl_p50_ms", "tokens_per_s_per_user")
COUNTED = ("calibration", "validation")


def listed(text: object) -> object:
    """Splits a cell of several numbers at blanks."""
    return tuple(text.split()) if isinstance(text, str) else text


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class Setting(Input):
    """What was measured, in the source's words and in names that specsim can look up."""

    citation: str = ""
    """Where the figure was published, close enough to find it."""
    device: str = ""
    """The device in the source's words."""
    engine: str = ""
    """The serving software and its version in the source's words."""
    model: str = ""
    """The target in the source's words."""
    drafter: str = ""
    """The kind of drafter in one word: eagle3, eagle, draft_model, ngram, mtp, ..."""
    use_device: str = ""
    """Device profile that simulates it, by catalogue name or path; empty: the one of --scenario."""
    num_devices: Whole | None = None
    """Devices that share the target by tensor parallelism; empty: those of --scenario, or 1."""
    expert_parallel: Whole | None = None
    """Groups of those devices among which whole experts are spread; empty: those of --scenario, or 1."""
    use_engine: str = ""
    """Engine profile that simulates it, by catalogue name or path; empty: the one of --scenario."""
    use_model: str = ""
    """The target's config.json, by catalogue name or path; empty: the one of --scenario."""
    weight_format: WeightFormat | None = None
    """Format of the target's matrices, such as w4a16; empty: what use_model states, or bf16."""
    kv_format: Literal["bf16", "fp8"] | None = None
    """Format of the KV cache; empty: that of --scenario, or bf16."""
    use_drafter: str = ""
    """The value of `speculation.drafter` in a scenario, such as `{kind: mtp}`; empty: the one of --scenario."""
    notes: str = ""
    """Anything else a reader must know."""


class Measurement(Setting):
    """One point of a sweep. Empty cells are "not given"; what is not given comes from --scenario."""

    sweep: Annotated[str, Field(min_length=1)]
    """Names the curve that the point belongs to: one device, engine, model, drafter and workload."""
    split: Split = "validation"
    """Who may see the speculation figure: calibration; validation; beside (reported, not counted); confounded."""
    reason: str = ""
    """Why a row is beside or confounded."""
    assumed: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    """Columns whose values the source does not state, by blanks."""
    workload: str = ""
    """The data set in the source's words."""
    load_kind: Literal["concurrency", "batch", "rate"]
    """concurrency: requests kept in flight by the client; batch: requests kept in the engine; rate: requests/s sent."""
    load: Positive
    """How many, or how many per second."""
    num_requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)] | None = None
    """Requests sent in the run; its ramp and tail count. Empty: workload.num_requests of --scenario."""
    prompt_tokens: Whole | None = None
    """Mean prompt length."""
    output_tokens: Whole | None = None
    """Mean output length."""
    lengths: str = ""
    """A table of joint lengths instead of the two means, by catalogue name or path."""
    temperature: Annotated[float, Field(ge=0, le=10)] | None = None
    """Sampling temperature; 0 is greedy."""
    memory_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of device memory given to the engine (vLLM's gpu_memory_utilization); empty: the engine profile's."""
    baseline_max_num_batched_tokens: Whole | None = None
    """Token budget of a step without speculation; empty: the engine profile's."""
    speculation_max_num_batched_tokens: Whole | None = None
    """Token budget of a step with speculation; empty: the engine profile's."""
    baseline_max_num_seqs: Whole | None = None
    """Sequence limit without speculation; empty: the engine profile's."""
    speculation_max_num_seqs: Whole | None = None
    """Sequence limit with speculation; empty: the engine profile's."""
    num_draft_tokens: Annotated[int, Field(ge=0, le=64)]
    """Draft tokens per verify (SGLang's num_draft_tokens less one); 0 for a row without speculation."""
    acceptance: Annotated[tuple[Share, ...], BeforeValidator(listed)] = ()
    """Marginal acceptance per draft position by blanks: P(positions 1..i all accepted), what vLLM logs. Of
    steps that have a draft; which share of n-gram lookups finds one is said in use_drafter."""
    acceptance_length: Annotated[float, Field(ge=1)] | None = None
    """Mean tokens per verify, the recovered or bonus token included; of steps that have a draft."""
    metric: Metric
    """What was measured; output_tokens_per_s is all output tokens over the wall time of the run."""
    baseline: Positive | None = None
    """The metric without speculation."""
    with_speculation: Positive | None = None
    """The metric with speculation."""
    speedup: Positive | None = None
    """How many times better with speculation; empty: the ratio of the two, turned round for latencies."""
    uncertainty: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Relative half-width of what the measured speedup may be off; 0.05 is what authors state between jobs."""
    repeat: Whole | None = None
    """Which of several equal runs."""

    @property
    def measured_speedup(self) -> float | None:
        """The speedup given, or else ``ratio``; None where neither is known."""
        return self.speedup or self.ratio

    @property
    def ratio(self) -> float | None:
        """Ratio of the arms, above 1 where speculation is better; None where one is missing or the metric has none."""
        if self.baseline is None or self.with_speculation is None or self.metric not in MERITS:
            return None
        ratio = self.with_speculation / self.baseline
        return 1 / ratio if self.metric in LATENCIES else ratio

    @property
    def counted(self) -> bool:
        """Whether the row counts towards the error figures."""
        return self.split in COUNTED


class Located(NamedTuple):
    """A row and the line of the file that holds it."""

    line: int
    row: Measurement
