"""Request traces in Mooncake's format: one JSON object per line, prompts as numbered blocks."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from specsim.arrays import Ints
from specsim.errors import Problem, raise_if_any
from specsim.workload.columns import Column, Rows, capped, read_objects
from specsim.workload.prefixes import Prefixes
from specsim.workload.trace import Trace, trace_of

BLOCK_TOKENS = 512  # in a block of hash_ids (Qin et al., "Mooncake", FAST 2025; its published traces)


def read_mooncake_trace(path: Path) -> Trace:
    """A trace in Mooncake's format, one JSON object per line: timestamp [ms], input_length, output_length, hash_ids.

    Raises:
        InputError: names file, line, field and value of everything that is wrong.
    """
    tokens = Column(partial(_json_whole, least=1, beyond=10**9), "write a whole number of tokens, at least 1")
    fields = ("timestamp", "input_length", "output_length")
    time = Column(_json_time, "write milliseconds, at least 0 and not before the line above", ascending=True)
    hashes = Column(_json_hashes, "write the list of the prompt's block numbers, whole numbers from 0")
    rows = read_objects(path, dict(zip((*fields, "hash_ids"), (time, tokens, tokens, hashes), strict=True)))
    counts = np.fromiter(map(len, rows.values["hash_ids"]), np.int64, len(rows.lines))
    _refuse_other_counts(path, rows, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    ids = np.fromiter((block for blocks in rows.values["hash_ids"] for block in blocks), np.int64, starts[-1])
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    ends = np.minimum((place + 1) * BLOCK_TOKENS, np.repeat(rows.values["input_length"], counts))
    return trace_of(rows, fields, prefixes=Prefixes(starts, ids, ends), unit=1e3)


def _refuse_other_counts(path: Path, rows: Rows, counts: Ints) -> None:
    """A prompt must have the number of blocks that it takes to hold it."""
    due = -(-np.array(rows.values["input_length"]) // BLOCK_TOKENS)
    problems = [
        Problem(
            str(path),
            f"line {rows.lines[i]}, hash_ids",
            f"{counts[i]} blocks",
            f"write one for every {BLOCK_TOKENS} tokens of the prompt or part of them, {due[i]}",
        )
        for i in np.flatnonzero(counts != due)
    ]
    raise_if_any(capped(path, problems))


def _json_time(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError(value)
    return float(value)


def _json_whole(value: Any, least: int, beyond: int) -> int:
    if type(value) is not int or not least <= value < beyond:
        raise ValueError(value)
    return value


def _json_hashes(value: Any) -> list[int]:
    if type(value) is not list:
        raise ValueError(value)
    return [_json_whole(block, 0, 2**63) for block in value]
