"""Request traces as people publish them, read into arrays.

Knows nothing of how the trace is used: in order, resampled, or summarised in a quantile table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from specsim.workload.columns import Column, at_least_one, read_columns
from specsim.workload.lengths import Lengths


@dataclass(frozen=True)
class Trace:
    """Requests as they were observed, in order of arrival.

    Attributes:
        arrival: time since the first request [s], shape [requests].
        lengths: their prompts and outputs [tokens].
    """

    arrival: NDArray[np.float64]
    lengths: Lengths


def read_azure_trace(path: Path) -> Trace:
    """A trace in the format of the Azure Public Dataset: columns TIMESTAMP, ContextTokens, GeneratedTokens.

    Timestamps are dates with a time, such as ``2023-11-16 18:15:46.6805900``, to the microsecond; without a zone they
    are taken as UTC.

    Raises:
        InputError: naming file, line, column and value of everything that is wrong.
    """
    tokens = Column(at_least_one, "write a whole number of tokens, at least 1")
    columns = {
        "TIMESTAMP": Column(
            _seconds, "write a date and time such as 2023-11-16 18:15:46.68, not before the line above", ascending=True
        ),
        "ContextTokens": tokens,
        "GeneratedTokens": tokens,
    }
    found = read_columns(path, columns)
    seconds = np.array(found["TIMESTAMP"], dtype=np.float64)
    prompt, output = (np.array(found[name], dtype=np.int64) for name in ("ContextTokens", "GeneratedTokens"))
    return Trace(seconds - seconds[0], Lengths(prompt, output))


def _seconds(text: str) -> float:
    """Seconds since 1970."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
