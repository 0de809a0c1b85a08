"""A request trace as arrays. Knows nothing of files, or of how the trace is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.errors import InputError, Problem, raise_if_any
from specsim.workload.columns import Rows, capped
from specsim.workload.lengths import Lengths
from specsim.workload.prefixes import Prefixes


@dataclass(frozen=True)
class Trace:
    """Observed requests, in order of arrival.

    Attributes:
        arrival: time since the first request, or in specsim's own format since 0 [requests] [s].
        lengths: their prompts and outputs [tokens], with priority, domain and prefixes where the file has them.
        lines: line of each in the file, from 1 [requests].
        left_out: number of failed requests, which are not among these.
    """

    arrival: Floats
    lengths: Lengths
    lines: Ints
    left_out: int = 0


def trace_of(
    rows: Rows, names: Sequence[str], *, since: float | None = None, prefixes: Prefixes | None = None, unit: float = 1.0
) -> Trace:
    """A trace from a file's rows.

    Args:
        rows: of the file.
        names: of the columns of times, prompts and outputs; priority and domain have these names everywhere.
        since: the time that others count from, in the file's unit; the first one by default.
        prefixes: of the prompts.
        unit: of times, as units per second.
    """
    times = np.array(rows.values[names[0]], np.float64)
    prompt, output = (np.array(rows.values[name], np.int64) for name in names[1:])
    priority, domain = (
        np.array(rows.values[name], np.int64) if name in rows.values else None for name in ("priority", "domain")
    )
    return Trace(
        (times - (times[0] if since is None else since)) / unit,
        Lengths(prompt, output, priority, domain, prefixes=prefixes),
        np.array(rows.lines),
        rows.left_out,
    )


def with_domains(path: Path, trace: Trace, listed: Sequence[int], first: int) -> Trace:
    """A trace whose domains are numbered as a run's are.

    Args:
        path: of the trace, for messages.
        trace: with the numbers of its file.
        listed: numbers that have an acceptance, in order.
        first: the run's number of the first of these.

    Raises:
        InputError: the trace has no domains, or one that is not listed.
    """
    if trace.lengths.domain is None:
        remedy = "this column is missing, and workload.domains needs it; add it, or leave them out"
        raise InputError([Problem(str(path), "domain", "", remedy)])
    numbers = np.array(listed, np.int64)
    order = np.argsort(numbers)
    places = np.minimum(np.searchsorted(numbers, trace.lengths.domain, sorter=order), len(numbers) - 1)
    found = order[places]
    missing = np.flatnonzero(numbers[found] != trace.lengths.domain)
    remedy = f"workload.domains lists {', '.join(map(str, listed))}; add this one there, or correct it"
    where, wrong = str(path), trace.lengths.domain
    problems = [Problem(where, f"line {trace.lines[i]}, domain", str(wrong[i]), remedy) for i in missing]
    raise_if_any(capped(path, problems))
    return replace(trace, lengths=replace(trace.lengths, domain=first + found))
