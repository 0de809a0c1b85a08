"""Detects the format of a request trace and reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specsim.errors import InputError, Problem
from specsim.inputs.models.lengths import TraceFormat
from specsim.workload.columns import cells_of, numbered_lines, object_of, refuse_other_separators
from specsim.workload.csv_traces import AZURE, BURSTGPT, OWN, read_azure_trace, read_burstgpt_trace, read_own_trace
from specsim.workload.mooncake import read_mooncake_trace
from specsim.workload.recordings import LENGTHS, read_recorded_lengths
from specsim.workload.trace import Trace

HEADERS: dict[TraceFormat, Sequence[str]] = {"azure": AZURE, "burstgpt": BURSTGPT, "specsim": OWN}


def read_trace(path: Path, form: TraceFormat | None = None) -> Trace:
    """A trace in the given format, or the one that the file's first line shows.

    Raises:
        InputError: the format is not recognised, or the format's own reader finds problems.
    """
    match form or _format_of(path):
        case "azure":
            return read_azure_trace(path)
        case "mooncake":
            return read_mooncake_trace(path)
        case "burstgpt":
            return read_burstgpt_trace(path)
        case "specsim":
            return read_own_trace(path)
        case "recording":
            return read_recorded_lengths(path)


def _format_of(path: Path) -> TraceFormat:
    number, first = next(numbered_lines(path), (0, ""))
    if first.lstrip().startswith("{"):
        return "recording" if {*LENGTHS} <= object_of(first).keys() else "mooncake"
    names = [name.strip() for name in cells_of(first)]
    refuse_other_separators(path, number, names)
    header = set(names)
    form, shared = max(((form, len(header & {*names})) for form, names in HEADERS.items()), key=lambda found: found[1])
    if not shared:
        known = "; ".join(f"{form}: {', '.join(names)}" for form, names in HEADERS.items())
        remedy = f"tells of no known format; give a file with JSON objects (mooncake) or with these columns: {known}"
        raise InputError([Problem(str(path), "first line", repr(first[:80]), remedy)])
    return form
