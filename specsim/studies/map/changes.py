"""Where speculation starts or stops paying between two contexts at the same batch, which no break-even batch shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from specsim.studies.map.run import MapResult


class Change(NamedTuple):
    """A batch at which two neighbouring contexts differ beyond doubt.

    Attributes:
        batch: requests in flight.
        lower, upper: the contexts [tokens].
        pays_above: whether speculation pays at the upper one, and costs at the lower; or the reverse.
    """

    batch: int
    lower: int
    upper: int
    pays_above: bool


def changes(result: MapResult) -> Iterator[Change]:
    """Of the featured draft length, at batches of the grid that run at both contexts.

    Left out where both have as many break-evens of the same kinds, which are joined and so tell it already.
    """
    chosen = result.cells[(result.cells["num_draft_tokens"] == result.featured) & result.cells["all_run"]]
    rows: list[Any] = list(chosen.itertuples())
    known = {(row.context, row.batch): row for row in rows}
    for lower, upper in pairwise(result.decided):
        kinds = [
            [one.stops_paying for one in result.crossings[context, result.featured].crossings if one.established]
            for context in (lower, upper)
        ]
        if kinds[0] == kinds[1] and kinds[0]:
            continue
        for batch in result.batches:
            below, above = known.get((lower, batch)), known.get((upper, batch))
            if below is None or above is None:
                continue
            if below.speedup_high < 1 < above.speedup_low or above.speedup_high < 1 < below.speedup_low:
                yield Change(batch, lower, upper, bool(above.speedup > 1))
