"""Checks of a table of measurements: within each row, and between rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from specsim.inputs.measured.measurements import BETWEEN_TOKENS, MERITS, Measurement
from specsim.inputs.models.base import MOST_IN_FLIGHT
from specsim.inputs.read.tables import Contradiction, Found, Said

ROUNDING = 0.015  # by how much a stated speedup may differ from the ratio of its arms: published with two digits
SAME_LENGTH = 0.02  # by how much a mean acceptance length may differ from its own profile's: logged with two digits


def _any_figure(row: Measurement) -> Iterator[Contradiction]:
    if row.baseline is None and row.with_speculation is None and row.speedup is None:
        yield Contradiction("baseline", "no figure; give baseline, with_speculation or speedup")


def _figure_without_drafts(row: Measurement) -> Iterator[Contradiction]:
    if row.num_draft_tokens == 0 and row.with_speculation is not None:
        yield Contradiction("with_speculation", NO_DRAFTS)


def _speedup_without_drafts(row: Measurement) -> Iterator[Contradiction]:
    if row.num_draft_tokens == 0 and row.speedup is not None:
        yield Contradiction("speedup", NO_DRAFTS)


def _speedup_of_what_makes_none(row: Measurement) -> Iterator[Contradiction]:
    if row.speedup and row.metric not in MERITS:
        yield Contradiction("speedup", f"{row.metric} gives no speedup; leave it empty, or give {', '.join(MERITS)}")


def _speedup_of_the_arms(row: Measurement) -> Iterator[Contradiction]:
    if row.speedup and row.ratio and not np.isclose(row.speedup, row.ratio, rtol=ROUNDING):
        yield Contradiction("speedup", f"the two arms give {row.ratio:.4g}; correct one, or leave speedup empty")


def _whole_load(row: Measurement) -> Iterator[Contradiction]:
    if row.load_kind != "rate" and row.load != int(row.load):
        yield Contradiction("load", f"a {row.load_kind} is a whole number of requests")


def _load_fits(row: Measurement) -> Iterator[Contradiction]:
    if row.load_kind != "rate" and row.load > MOST_IN_FLIGHT:
        yield Contradiction("load", f"more requests in flight than any engine runs; write at most {MOST_IN_FLIGHT}")


def _load_is_sent(row: Measurement) -> Iterator[Contradiction]:
    if row.load_kind != "rate" and row.num_requests is not None and row.num_requests < row.load:
        yield Contradiction("num_requests", f"fewer than load ({row.load:g}) never reach it; correct one")


def _falling_acceptance(row: Measurement) -> Iterator[Contradiction]:
    if any(later > earlier for earlier, later in zip(row.acceptance, row.acceptance[1:], strict=False)):
        yield Contradiction("acceptance", "marginal acceptance cannot rise with the position; correct it")


def _reachable_length(row: Measurement) -> Iterator[Contradiction]:
    drafts, length = row.num_draft_tokens, row.acceptance_length
    if drafts and length is not None and length > drafts + 1:
        yield Contradiction("acceptance_length", f"cannot exceed num_draft_tokens + 1 = {drafts + 1}")


def _length_of_the_profile(row: Measurement) -> Iterator[Contradiction]:
    drafts, length = row.num_draft_tokens, row.acceptance_length
    if not drafts or length is None or len(row.acceptance) < drafts:
        return
    profile = 1 + sum(row.acceptance[:drafts])
    if not np.isclose(length, profile, rtol=SAME_LENGTH):
        yield Contradiction("acceptance_length", f"the column acceptance gives {profile:.3f}; correct one of them")


def _lengths_in_one_way(row: Measurement) -> Iterator[Contradiction]:
    if row.lengths and (row.prompt_tokens or row.output_tokens):
        yield Contradiction("lengths", "is given beside prompt_tokens or output_tokens; give one or the other")


def _both_lengths(row: Measurement) -> Iterator[Contradiction]:
    if (row.prompt_tokens is None) != (row.output_tokens is None):
        given = "prompt_tokens" if row.prompt_tokens else "output_tokens"
        yield Contradiction(given, "needs the other length too; give both prompt_tokens and output_tokens, or neither")


def _time_between_tokens(row: Measurement) -> Iterator[Contradiction]:
    if row.output_tokens == 1 and row.metric in BETWEEN_TOKENS:
        yield Contradiction("metric", f"an output of one token has no {row.metric}; correct one, or give e2e_ms")


def _reason_not_counted(row: Measurement) -> Iterator[Contradiction]:
    if not row.counted and not row.reason:
        yield Contradiction("split", f"needs a reason: give in the column reason why the row is {row.split}")


def _assumed_columns(row: Measurement) -> Iterator[Contradiction]:
    unknown = [name for name in row.assumed if name not in Measurement.model_fields]
    if unknown:
        yield Contradiction(
            "assumed", f"names no column: {' '.join(unknown)}; name columns of this table, with blanks between"
        )


NO_DRAFTS = "num_draft_tokens is 0; leave it empty, or give the number drafted"
RULES = (
    _any_figure, _figure_without_drafts, _speedup_without_drafts, _speedup_of_what_makes_none, _speedup_of_the_arms,
    _whole_load, _load_fits, _load_is_sent, _falling_acceptance, _reachable_length, _length_of_the_profile,
    _lengths_in_one_way, _both_lengths, _time_between_tokens, _reason_not_counted, _assumed_columns,
)  # fmt: skip

POINT = ("sweep", "load", "num_draft_tokens", "metric", "repeat")
# a sweep is one setting: only load, draft length and what follows from them change within it
SAME_IN_A_SWEEP = (
    "device", "engine", "model", "drafter", "use_device", "num_devices", "expert_parallel", "use_engine", "use_model",
    "workload", "load_kind", "temperature",
)  # fmt: skip


def between_rows(rows: Sequence[Found[Measurement]]) -> Iterator[Said]:
    """Contradictions between rows; cells that cannot be read are skipped."""
    yield from _repeated(rows)
    sweeps: dict[str, list[Found[Measurement]]] = defaultdict(list)
    for found in rows:
        if "sweep" not in found.unread:
            sweeps[found.row.sweep].append(found)
    for column in SAME_IN_A_SWEEP:
        for same in sweeps.values():
            first, *others = [found for found in same if _has(found, column)] or same[:1]
            for line, row, _ in others:
                if getattr(row, column) != (expected := getattr(first.row, column)):
                    remedy = f"the sweep has {expected!r} on line {first.line}; write the same, or name another sweep"
                    yield line, row, Contradiction(column, remedy)


def _has(found: Found[Measurement], column: str) -> bool:
    """Whether a row has a value for a column; a run without speculation need not name a drafter."""
    if column in found.unread:
        return False
    plain = "num_draft_tokens" not in found.unread and found.row.num_draft_tokens == 0
    return not (plain and column == "drafter")


def _repeated(rows: Iterable[Found[Measurement]]) -> Iterator[Said]:
    seen: dict[tuple[Any, ...], int] = {}
    for line, row, unread in rows:
        if unread.isdisjoint(POINT):
            first = seen.setdefault(tuple(getattr(row, column) for column in POINT), line)
            if first != line:
                yield line, row, Contradiction("sweep", f"repeats line {first}; give one, or number them in repeat")
