"""A joint quantile table: the shape of a trace's prompts and outputs in a few kilobytes, dependence included.

Requests are sorted by prompt length into bins of equal size; a bin keeps the quantiles of its prompts and those of its
outputs. Within a bin the two are drawn independently, so dependence is kept between bins only. Knows nothing of arrival
times, or of the similarity of successive requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats, Ints
from specsim.errors import InputError, Problem, invalid, raise_if_any
from specsim.workload.columns import Column, at_least_one, read_columns, whole_number

LEVELS = (*(percent / 100 for percent in range(0, 100, 5)), 0.975, 0.99, 0.995, 1.0)
"""Closer in the upper tail: there lengths are sparse and a straight line up to the longest would raise the mean."""


@dataclass(frozen=True)
class JointQuantiles:
    """Quantiles of lengths [tokens].

    Attributes:
        levels: ascending from 0 to 1, float64 [levels].
        prompt: of the prompts of each bin, int64 [bins, levels]; bins ascend.
        output: of the outputs of each bin's requests, int64 [bins, levels].
    """

    levels: Floats
    prompt: Ints
    output: Ints


def build_table(
    prompt: ArrayLike, output: ArrayLike, num_bins: int = 20, levels: tuple[float, ...] = LEVELS
) -> JointQuantiles:
    """Summarise observed pairs.

    Args:
        prompt: prompt lengths [requests] [tokens].
        output: output lengths [requests] [tokens].
        num_bins: bins by rank of the prompt; their sizes differ by at most one request. Equal prompts keep their order.
        levels: the quantiles to keep per bin, ascending from 0 to 1.

    Raises:
        InputError: there are more bins than requests.
    """
    prompt, output = np.asarray(prompt), np.asarray(output)
    if prompt.size < num_bins:
        raise invalid("build_table", "num_bins", num_bins, f"write at most the number of requests, {prompt.size}")
    bins = np.array_split(np.argsort(prompt, kind="stable"), num_bins)
    prompt_quantiles, output_quantiles = (
        np.array([np.rint(np.quantile(values[members], levels)) for members in bins], dtype=np.int64)
        for values in (prompt, output)
    )
    return JointQuantiles(np.array(levels), prompt_quantiles, output_quantiles)


def lengths_at(table: JointQuantiles, uniforms: ArrayLike) -> tuple[Ints, Ints]:
    """Prompt and output lengths, both int64 [requests] [tokens], as a function of uniforms in [0, 1).

    Args:
        table: the joint quantiles.
        uniforms: [requests, 2]; the first chooses the bin and, with its remainder, the quantile of the bin's prompts;
            the second the quantile of the bin's outputs. Lengths are interpolated between levels, then rounded to whole
            tokens, half up.
    """
    uniforms = np.asarray(uniforms, dtype=np.float64)
    num_bins = len(table.prompt)
    place = uniforms[:, 0] * num_bins
    bins = np.minimum(place.astype(np.int64), num_bins - 1)
    prompt = _interpolated(table.levels, table.prompt, bins, place - bins)
    return prompt, _interpolated(table.levels, table.output, bins, uniforms[:, 1])


def _interpolated(levels: Floats, quantiles: Ints, bins: Ints, at: Floats) -> Ints:
    """Whole tokens at level ``at`` [requests] of each request's bin."""
    below = np.searchsorted(levels, at, side="right") - 1
    low, high = quantiles[bins, below], quantiles[bins, below + 1]
    weight = (at - levels[below]) / (levels[below + 1] - levels[below])
    tokens: Ints = np.floor(low + (high - low) * weight + 0.5).astype(np.int64)
    return tokens


def write_table(path: Path, table: JointQuantiles, notes: Iterable[str] = ()) -> None:
    """Write the table as CSV, one row per bin and level, below ``notes`` as ``#`` lines (source, licence, method)."""
    head = [f"# {note}".rstrip() for note in notes] + ["bin,level,prompt_tokens,output_tokens"]
    rows = [
        f"{i},{level:.6g},{table.prompt[i, j]},{table.output[i, j]}"
        for i in range(len(table.prompt))
        for j, level in enumerate(table.levels)
    ]
    path.write_text("\n".join(head + rows) + "\n", encoding="utf-8", newline="\n")


def read_table(path: Path) -> JointQuantiles:
    """Read a table that ``write_table`` wrote.

    Raises:
        InputError: names file, line, column and value of everything that is wrong.
    """
    tokens = Column(at_least_one, "write a whole number of tokens, at least 1")
    index = Column(whole_number, "number the bins 0, 1, 2, ... and do not go back", ascending=True)
    level = Column(float, "write a level from 0 to 1")
    columns = {"bin": index, "level": level, "prompt_tokens": tokens, "output_tokens": tokens}
    found = read_columns(path, columns).values
    num_bins = found["bin"][-1] + 1
    levels = np.array(found["level"][: len(found["level"]) // num_bins])
    if not _is_grid(found["bin"], found["level"], num_bins, levels):
        remedy = "give every bin 0, 1, 2, ... the same levels, ascending from 0 to 1"
        raise InputError([Problem(str(path), "bin, level", "", remedy)])
    prompt, output = (np.array(found[name]).reshape(num_bins, -1) for name in ("prompt_tokens", "output_tokens"))
    _refuse_falling(path, prompt, output)
    return JointQuantiles(levels, prompt, output)


def _is_grid(bins: list[int], level: list[float], num_bins: int, levels: Floats) -> bool:
    """Whether the rows are every bin at every level, and the levels ascend from 0 to 1."""
    if not (levels.size > 1 and levels[0] == 0 and levels[-1] == 1 and np.all(np.diff(levels) > 0)):
        return False
    every_bin = np.repeat(np.arange(num_bins), levels.size)
    return np.array_equal(bins, every_bin) and np.array_equal(level, np.tile(levels, num_bins))


def _refuse_falling(path: Path, prompt: Ints, output: Ints) -> None:
    """Quantiles must ascend with their level, and prompts from bin to bin as well."""
    falling = {"prompt_tokens": np.diff(prompt.ravel()) < 0, "output_tokens": np.diff(output, axis=1) < 0}
    remedy = "lengths must not fall as the level rises (nor prompts from one bin to the next)"
    raise_if_any(Problem(str(path), name, "", remedy) for name, falls in falling.items() if falls.any())
