"""A request trace as arrays. Knows nothing of files, nor of how the trace is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim.workload.columns import Rows
from specsim.workload.lengths import Ints, Lengths
from specsim.workload.prefixes import Prefixes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Requests as they were observed, in order of arrival.

    Attributes:
        arrival: time since the first request, or in specsim's own format since 0 [s], shape [requests].
        lengths: their prompts and outputs [tokens], with priority, domain and prefixes where the file has them.
        lines: where each stands in the file, from 1 [requests].
        left_out: rows of failed requests, which are not among these.
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
        since: the time that others count from, in the file's unit; by default the first one.
        prefixes: of the prompts.
        unit: of times, how many make a second.
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
