"""Request traces in CSV, a reader for each format that people publish or write.

Knows nothing of how a trace is used: in order, resampled, or summarised in a quantile table.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from specsim.inputs.models.base import MOST_PRIORITIES
from specsim.workload.columns import Column, at_least_one, read_columns, whole_number
from specsim.workload.trace import Trace, trace_of

AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
BURSTGPT = ("Timestamp", "Request tokens", "Response tokens")
OWN = ("arrival_s", "prompt_tokens", "output_tokens")
"""Columns of times, prompts and outputs."""

TOKENS = Column(at_least_one, "write a whole number of tokens, at least 1")


def read_azure_trace(path: Path) -> Trace:
    """A trace in the format of the Azure Public Dataset: columns TIMESTAMP, ContextTokens, GeneratedTokens.

    Timestamps are dates with a time, such as ``2023-11-16 18:15:46.6805900``, to the microsecond; without a zone they
    are taken as UTC.

    Raises:
        InputError: names file, line, column and value of everything that is wrong.
    """
    time = Column(
        _date, "write a date and time such as 2023-11-16 18:15:46.68, not before the line above", ascending=True
    )
    rows = read_columns(path, dict(zip(AZURE, (time, TOKENS, TOKENS), strict=True)))
    return trace_of(rows, AZURE)


def read_burstgpt_trace(path: Path) -> Trace:
    """A trace in BurstGPT's format: columns Timestamp [s], Request tokens and Response tokens; others are ignored.

    Rows without response tokens are failures; they are left out and counted.

    Raises:
        InputError: names file, line, column and value of everything that is wrong.
    """
    time = Column(_time, "write seconds, at least 0 and not before the line above", ascending=True)
    columns = dict(zip(BURSTGPT, (time, TOKENS, TOKENS), strict=True))
    return trace_of(read_columns(path, columns, lambda cells: cells[BURSTGPT[2]] == "0"), BURSTGPT)


def read_own_trace(path: Path) -> Trace:
    """A trace in specsim's own format: arrival_s, prompt_tokens, output_tokens, and optionally domain and priority.

    Times count from the run's start, so the first request may come late.

    Raises:
        InputError: names file, line, column and value of everything that is wrong.
    """
    time = Column(_time, "write seconds, at least 0 and not before the line above", ascending=True)
    columns = dict(zip(OWN, (time, TOKENS, TOKENS), strict=True)) | {
        "domain": Column(whole_number, "number the domains 0, 1, 2, ...", optional=True),
        "priority": Column(
            _priority, f"write a whole number from 0, the first, to {MOST_PRIORITIES - 1}", optional=True
        ),
    }
    return trace_of(read_columns(path, columns), OWN, since=0.0)


def _date(text: str) -> float:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _time(text: str) -> float:
    if not 0 <= (time := float(text)) < math.inf:
        raise ValueError(text)
    return time


def _priority(text: str) -> int:
    if (priority := whole_number(text)) >= MOST_PRIORITIES:
        raise ValueError(text)
    return priority
