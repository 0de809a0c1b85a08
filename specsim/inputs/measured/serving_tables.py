"""Reads tables of serving measurements; the two arms of a comparison may be one row or two."""

from __future__ import annotations

from pathlib import Path

from specsim.inputs.measured.measurements import Located, Measurement
from specsim.inputs.measured.rules import RULES, between_rows
from specsim.inputs.read.tables import read_rows

# what two rows have to share for one to be the other's run without speculation
SAME_RUN = (
    "sweep", "load_kind", "load", "metric", "repeat", "num_requests", "prompt_tokens", "output_tokens", "lengths",
    "memory_fraction",
)  # fmt: skip
OF_THE_BASELINE = ("baseline", "baseline_max_num_batched_tokens", "baseline_max_num_seqs")


def read_measurements(path: Path) -> tuple[Located, ...]:
    """The rows of a table of measurements, each with its arm without speculation, which may come from another row.

    Raises:
        InputError: listing every problem and every contradiction of every row.
    """
    rows = [Located(line, row) for line, row in read_rows(path, Measurement, RULES, between_rows)]
    plain = {_run(row): row for _, row in rows if row.num_draft_tokens == 0}
    return tuple(Located(line, _with_baseline(row, plain.get(_run(row)))) for line, row in rows)


def _run(row: Measurement) -> tuple[object, ...]:
    return tuple(getattr(row, column) for column in SAME_RUN)


def _with_baseline(row: Measurement, plain: Measurement | None) -> Measurement:
    """The row, completed with value and limits of the arm without speculation where that is a row of its own."""
    if plain is None or not row.num_draft_tokens or row.baseline is not None or row.speedup is not None:
        return row
    return row.model_copy(update={column: getattr(plain, column) for column in OF_THE_BASELINE})
