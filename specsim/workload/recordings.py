"""Recordings of accepted tokens of real requests: JSONL, one request per line, with lists by output position.

Fields: prompt_tokens, output_tokens, and any number of lists; each gives for every output position from 0 on the tokens
that a verify that starts there emits (accepted + 1; 1 if nothing is accepted, or a lookup found nothing). A list may be
shorter than the output, or longer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specsim.arrays import Ints
from specsim.errors import InputError, Problem
from specsim.workload.columns import Column, numbered_lines, read_objects
from specsim.workload.lengths import Lengths
from specsim.workload.trace import Trace

MOST_EMITTED = 65
"""Tokens of a verify of the longest drafts that there are, 64."""
LENGTHS = ("prompt_tokens", "output_tokens")


@dataclass(frozen=True)
class Recording:
    """One list of a recording.

    Attributes:
        path: of the file.
        output_tokens: length of each output [R] [tokens].
        starts: where each request's list starts in ``emitted``, and where the last one ends [R+1].
        emitted: tokens of a verify that starts at an output position, one request after the other [positions].
    """

    path: Path
    output_tokens: Ints
    starts: Ints
    emitted: Ints


def read_recording(path: Path, field: str) -> Recording:
    """One of the lists of a recording.

    Raises:
        InputError: names line, field and value of everything that is wrong.
    """
    _refuse_unknown_field(path, field)
    column = Column(
        _emitted, f"write a list of whole numbers from 1, nothing accepted, to {MOST_EMITTED}, one for each position"
    )
    rows = read_objects(path, {**_lengths(), field: column})
    lists = rows.values[field]
    starts = np.concatenate([[0], np.cumsum([len(found) for found in lists])]).astype(np.int64)
    output = np.array(rows.values["output_tokens"], np.int64)
    return Recording(path, output, starts, np.array([tokens for found in lists for tokens in found], np.int64))


def read_recorded_lengths(path: Path) -> Trace:
    """The lengths of a recording's requests, which have no times.

    Raises:
        InputError: as for ``read_recording``.
    """
    rows = read_objects(path, _lengths())
    prompt, output = (np.array(rows.values[name], np.int64) for name in LENGTHS)
    number = len(rows.lines)
    lengths = Lengths(prompt, output, recording=np.arange(number))
    return Trace(np.full(number, np.nan), lengths, np.array(rows.lines))


def _lengths() -> dict[str, Column]:
    return {name: Column(_tokens, "write a whole number of tokens, at least 1") for name in LENGTHS}


def _refuse_unknown_field(path: Path, field: str) -> None:
    """Report a field that the first request lacks once, and not for every line."""
    _, first = next(numbered_lines(path), (0, ""))
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict) and found and field not in found:
        lists = ", ".join(name for name, value in found.items() if isinstance(value, list)) or "none"
        raise InputError([Problem(str(path), field, "", f"there is no such field; lists in this recording: {lists}")])


def _tokens(value: Any) -> int:
    if type(value) is not int or not 1 <= value < 10**9:
        raise ValueError(value)
    return value


def _emitted(value: Any) -> list[int]:
    if type(value) is not list or not value:
        raise ValueError(value)
    if not all(type(tokens) is int and 1 <= tokens <= MOST_EMITTED for tokens in value):
        raise ValueError(value)
    return value
