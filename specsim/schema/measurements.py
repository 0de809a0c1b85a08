"""Measured serving throughput, with and without speculation: one row per sweep, load, draft length and metric.

What a column means is said in its docstring and in ``docs/measurements.md``; nothing here knows how a row is simulated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from specsim.schema.base import Input
from specsim.schema.tables import Contradiction, read_rows, refuse_contradictions

Split = Literal["calibration", "validation", "beside", "confounded"]
Metric = Literal[
    "output_tokens_per_s", "total_tokens_per_s", "tokens_per_s_per_user", "tpot_ms", "ttft_ms", "itl_p50_ms", "e2e_ms",
    "running_batch",
]  # fmt: skip
LATENCIES = ("tpot_ms", "e2e_ms")
MERITS = ("output_tokens_per_s", "total_tokens_per_s", "tokens_per_s_per_user", *LATENCIES)
"""Metrics that make a speedup. The others tell how it came about: speculation lengthens a step (ITL) and is faster."""
COUNTED = ("calibration", "validation")

ROUNDING = 0.015  # by how much a stated speedup may differ from the ratio of its arms: published with two digits
SAME_LENGTH = 0.02  # by how much a mean acceptance length may differ from its own profile's: logged with two digits


def listed(text: object) -> object:
    """Numbers in one cell stand apart by blanks."""
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
    num_requests: Whole | None = None
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
        """The stated speedup, or the ratio of the arms so that more is better; None where neither is given."""
        return self.speedup or self.ratio

    @property
    def ratio(self) -> float | None:
        """The ratio of the arms so that more is better; None where one is missing or the metric makes no speedup."""
        if self.baseline is None or self.with_speculation is None or self.metric not in MERITS:
            return None
        ratio = self.with_speculation / self.baseline
        return 1 / ratio if self.metric in LATENCIES else ratio

    @property
    def counted(self) -> bool:
        """Whether the row enters the error figures."""
        return self.split in COUNTED


class Located(NamedTuple):
    """A row and the line of the file that holds it."""

    line: int
    row: Measurement


def read_measurements(path: Path) -> tuple[Located, ...]:
    """The rows of a table of measurements.

    Raises:
        InputError: listing every problem and every contradiction of every row.
    """
    rows = tuple(Located(line, row) for line, row in read_rows(path, Measurement))
    alone = ((line, row, what) for line, row in rows for what in _contradictions(row))
    refuse_contradictions(path, [*alone, *_between_rows(rows)])
    return rows


def _contradictions(row: Measurement) -> Iterator[Contradiction]:
    """What a row says against itself."""
    yield from _figures(row)
    yield from _load(row)
    yield from _acceptance(row)
    if row.lengths and (row.prompt_tokens or row.output_tokens):
        yield Contradiction("lengths", "is given beside prompt_tokens or output_tokens; give one or the other")
    if (row.prompt_tokens is None) != (row.output_tokens is None):
        given = "prompt_tokens" if row.prompt_tokens else "output_tokens"
        yield Contradiction(given, "needs the other length too; give both prompt_tokens and output_tokens, or neither")
    if not row.counted and not row.reason:
        yield Contradiction("split", f"needs a reason: say in the column reason why the row is {row.split}")
    unknown = [name for name in row.assumed if name not in Measurement.model_fields]
    if unknown:
        yield Contradiction("assumed", f"names no column: {' '.join(unknown)}; name columns of this table, by blanks")


def _figures(row: Measurement) -> Iterator[Contradiction]:
    if row.baseline is None and row.with_speculation is None and row.speedup is None:
        yield Contradiction("baseline", "no figure; give baseline, with_speculation or speedup")
    if row.num_draft_tokens == 0:
        for column in ("with_speculation", "speedup"):
            if getattr(row, column) is not None:
                yield Contradiction(column, "num_draft_tokens is 0; leave it empty, or say how many were drafted")
    if row.speedup and row.metric not in MERITS:
        yield Contradiction("speedup", f"{row.metric} makes no speedup; leave it empty, or give {', '.join(MERITS)}")
    if row.speedup and row.ratio and not np.isclose(row.speedup, row.ratio, rtol=ROUNDING):
        yield Contradiction("speedup", f"the two arms give {row.ratio:.4g}; correct one, or leave speedup empty")


def _load(row: Measurement) -> Iterator[Contradiction]:
    if row.load_kind == "rate":
        return
    if row.load != int(row.load):
        yield Contradiction("load", f"a {row.load_kind} is a whole number of requests")
    if row.num_requests is not None and row.num_requests < row.load:
        yield Contradiction("num_requests", f"fewer than load ({row.load:g}) are never all in flight; correct one")


def _acceptance(row: Measurement) -> Iterator[Contradiction]:
    if any(later > earlier for earlier, later in zip(row.acceptance, row.acceptance[1:], strict=False)):
        yield Contradiction("acceptance", "marginal acceptance cannot rise with the position; correct it")
    length = row.acceptance_length
    if length is None or row.num_draft_tokens == 0:
        return
    if length > row.num_draft_tokens + 1:
        yield Contradiction("acceptance_length", f"cannot exceed num_draft_tokens + 1 = {row.num_draft_tokens + 1}")
    profile = 1 + sum(row.acceptance[: row.num_draft_tokens])
    if len(row.acceptance) >= row.num_draft_tokens and not np.isclose(length, profile, rtol=SAME_LENGTH):
        yield Contradiction("acceptance_length", f"the column acceptance gives {profile:.3f}; correct one of them")


# a sweep is one setting: only load, draft length and what follows from them change within it
SAME_IN_A_SWEEP = (
    "device", "engine", "model", "drafter", "use_device", "num_devices", "expert_parallel", "use_engine", "use_model",
    "workload", "load_kind", "temperature",
)  # fmt: skip


def _between_rows(rows: Iterable[Located]) -> Iterator[tuple[int, Measurement, Contradiction]]:
    """What rows say against each other."""
    sweeps: dict[str, list[Located]] = defaultdict(list)
    seen: dict[tuple[Any, ...], int] = {}
    for line, row in rows:
        key = (row.sweep, row.load, row.num_draft_tokens, row.metric, row.repeat)
        if key in seen:
            yield line, row, Contradiction("sweep", f"repeats line {seen[key]}; give one, or number them in repeat")
        seen.setdefault(key, line)
        sweeps[row.sweep].append(Located(line, row))
    for first, *others in sweeps.values():
        for line, row in others:
            for column in SAME_IN_A_SWEEP:
                expected = getattr(first.row, column)
                if getattr(row, column) != expected:
                    remedy = f"the sweep has {expected!r} on line {first.line}; write the same, or name another sweep"
                    yield line, row, Contradiction(column, remedy)
