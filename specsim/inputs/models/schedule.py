"""Tables of draft lengths by batch, as specsim, vLLM and TensorRT-LLM write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.inputs.models.base import Count, Input

DraftLength = Annotated[int, Field(ge=0, le=64, strict=True)]


class ScheduleRow(Input):
    """A draft length for a range of batches, and of contexts where it depends on them."""

    batch: tuple[Count, Count | None]
    """The first and the last number of decoding requests that it holds for; null for no end."""
    num_draft_tokens: DraftLength
    context: tuple[Annotated[int, Field(ge=0, strict=True)], Count | None] = (0, None)
    """The mean context of these requests that it holds for: from the first number of tokens on, below the second."""


Range = tuple[Count, Count, DraftLength]


class SchedulePolicy(Input):
    """A table of draft lengths by batch, and by context if wanted; in one of three forms."""

    kind: Literal["schedule"]
    table: Annotated[tuple[ScheduleRow, ...], Field(min_length=1)] | None = None
    """Every batch has to be in one row, and if contexts are named, every batch of every context."""
    num_speculative_tokens_per_batch_size: (
        Annotated[dict[str, DraftLength], Field(min_length=1)]
        | Annotated[tuple[Range, ...], Field(min_length=1)]
        | None
    ) = None
    """vLLM's own: {"1-16": 3, "64-128": 2} or [[1, 16, 3], [64, 128, 2]], both ends included. Between and beyond ranges
    the length before holds."""
    draft_len_schedule: Annotated[dict[Count, DraftLength], Field(min_length=1)] | None = None
    """TensorRT-LLM's own: {16: 3, 128: 2}, the last batch of each range to its length; nothing is drafted beyond the
    largest."""

    @property
    def rows(self) -> tuple[ScheduleRow, ...]:
        """The schedule as rows, whichever of the three forms it was written in."""
        if self.table is not None:
            return self.table
        if self.draft_len_schedule is not None:
            lasts = sorted(self.draft_len_schedule)
            starts = [1, *(last + 1 for last in lasts)]
            return _rows(starts, [*(self.draft_len_schedule[last] for last in lasts), 0])
        ranges = _ranges(self.num_speculative_tokens_per_batch_size or ())
        return _rows([first for first, _, _ in ranges], [length for _, _, length in ranges])

    @property
    def num_draft_tokens(self) -> int:
        """The longest draft."""
        return max(row.num_draft_tokens for row in self.rows)

    @model_validator(mode="after")
    def _is_written_once(self) -> SchedulePolicy:
        forms = ("table", "num_speculative_tokens_per_batch_size", "draft_len_schedule")
        if sum(getattr(self, form) is not None for form in forms) != 1:
            raise ValueError(f"a schedule is written in one form; write one of {', '.join(forms)}")
        return self

    @model_validator(mode="after")
    def _covers_every_batch_once(self) -> SchedulePolicy:
        problems = _of_table(self.table or ())
        if self.num_speculative_tokens_per_batch_size is not None:
            problems += _of_ranges(_ranges(self.num_speculative_tokens_per_batch_size))
        if problems:
            raise ValueError("; ".join(problems))
        return self


def _rows(starts: Sequence[int], lengths: Sequence[int]) -> tuple[ScheduleRow, ...]:
    ends = [*(start - 1 for start in starts[1:]), None]
    ranges = zip(starts, ends, lengths, strict=True)
    return tuple(ScheduleRow(batch=(start, end), num_draft_tokens=length) for start, end, length in ranges)


def _ranges(stated: Mapping[str, int] | Sequence[Range]) -> list[Range]:
    """Ranges in vLLM's form, in order; raises ValueError for keys that are no range."""
    if not isinstance(stated, Mapping):
        return sorted(stated)
    found, strange = [], []
    for key, length in stated.items():
        match = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", key.strip())
        if match:
            found.append((int(match[1]), int(match[2] or match[1]), length))
        else:
            strange.append(key)
    if strange:
        raise ValueError(f'{strange} are no ranges of batches; write for example "1-16"')
    return sorted(found)


def _of_ranges(ranges: Sequence[Range]) -> list[str]:
    """What is wrong with vLLM's ranges; gaps are allowed, except at the beginning."""
    problems = [f"[{first}, {last}] ends before it begins" for first, last, _ in ranges if last < first]
    if ranges[0][0] != 1:
        problems.append(f"the first range begins at {ranges[0][0]}; write 1")
    for (first, last, _), (following, _, _) in pairwise(ranges):
        if following <= last:
            problems.append(f"[{first}, {last}] overlaps the range from {following}")
    return problems


def _of_table(table: Sequence[ScheduleRow]) -> list[str]:
    """Why a table does not cover every batch once, and of each batch every context."""
    contexts = sorted({row.context for row in table}, key=lambda context: context[0])
    problems = list(_gaps("context", contexts, first=0, step=0)) if contexts else []
    for context in contexts:
        batches = sorted((row.batch for row in table if row.context == context), key=lambda batch: batch[0])
        where = "batch" if len(contexts) == 1 else f"batch at context {list(context)}"
        problems += _gaps(where, batches, first=1, step=1)
    return problems


def _gaps(name: str, ranges: Sequence[tuple[int, int | None]], *, first: int, step: int) -> list[str]:
    """Why sorted ranges do not cover every number from the first on exactly once.

    Args:
        name: what the numbers are.
        ranges: begin and end of each; None for no end.
        first: the first number.
        step: from the end of a range to the beginning of the next: 1 where ends are included, else 0.
    """
    problems = []
    if ranges[0][0] != first:
        problems.append(f"{name}: the first range begins at {ranges[0][0]}; write {first}")
    for (begin, end), (following, _) in pairwise(ranges):
        if end is None or following < end + step:
            problems.append(f"{name}: [{begin}, {'null' if end is None else end}] overlaps the range from {following}")
        elif following > end + step:
            problems.append(f"{name}: no range covers {end + step} to {following - 1}")
    for begin, end in ranges:
        if end is not None and end < begin + 1 - step:
            problems.append(f"{name}: [{begin}, {end}] ends before it begins")
    if ranges[-1][1] is not None:
        problems.append(f"{name}: the last range ends at {ranges[-1][1]}; write null for its end")
    return problems
