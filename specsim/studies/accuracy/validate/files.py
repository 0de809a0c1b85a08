"""The files of a validation: the page, the figure and the tables that ``specsim validate`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

import specsim
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.style import png_bytes
from specsim.studies.accuracy.validate.figure import parity_figure
from specsim.studies.accuracy.validate.steps_text import Steps, step_rows, steps_frame
from specsim.studies.accuracy.validate.sweeps import with_speedup
from specsim.studies.accuracy.validate.tables import (
    best_length_rows,
    break_even_rows,
    not_simulated_rows,
    points_frame,
    sweep_rows,
)
from specsim.studies.accuracy.validate.text import Validation

PROTOCOL = """\
Each point is simulated as its benchmark ran it: the stated number of requests, lengths and acceptance, a closed loop at
the stated concurrency (or arrivals at the stated rate), the token budget and sequence limit of each arm, and throughput
as all output tokens over the wall time, so that ramp and tail count. Nothing is tuned per point: one device profile and
one engine profile serve every sweep of a (device, engine). What the columns of the tables mean, and which points
calibration may see, is in `docs/measurements.md`."""
SWEEPS = ("sweep", "", "simulated", "speedup", "worst point", "throughput without", "throughput with")
STEPS = ("table", "mode", "split", "steps", "median", "p90", "bias", "worst")


def accuracy_files(
    validation: Validation | None, steps: Steps, sentences: Sequence[str], tables: Sequence[str], today: date
) -> dict[str, Writer]:
    """File name → what writes it; nothing where neither was asked for.

    Args:
        validation: of serving points; None where only steps were asked for.
        steps: priced steps by table; empty where only points were asked for.
        sentences: the answer, as printed.
        tables: names of what was validated, serving points first.
        today: printed on the page; the tables carry no date.
    """
    if validation is None and not steps:
        return {}
    files = {"accuracy.md": text_writer(_page(validation, steps, sentences, tables, today))}
    if validation:
        points = points_frame(validation)
        files["accuracy.csv"] = table_writer(points)
        if with_speedup(validation.results):
            subtitle = f"measurements: {tables[0]}; specsim {specsim.__version__}"
            figure = parity_figure(points, title=sentences[0].split("; worst")[0], subtitle=subtitle)
            files["accuracy.png"] = bytes_writer(png_bytes(figure))
    if steps:
        files["accuracy_steps.csv"] = table_writer(steps_frame(steps))
    return files


def _page(
    validation: Validation | None, steps: Steps, sentences: Sequence[str], tables: Sequence[str], today: date
) -> str:
    parts = [
        "# Accuracy: predicted against measured",
        f"Made by `specsim validate` on {today.isoformat()}, specsim {specsim.__version__}, from {', '.join(tables)}.",
        "\n".join(f"- {sentence}" for sentence in sentences),
    ]
    if validation:
        parts += list(_serving(validation))
    if steps:
        parts += ["## Single steps", _table(STEPS, step_rows(steps)), "Every step: `accuracy_steps.csv`."]
    return "\n\n".join(parts) + "\n"


def _serving(validation: Validation) -> Iterator[str]:
    if with_speedup(validation.results):
        yield "![Predicted against measured speedup](accuracy.png)"
    yield "## Serving"
    yield PROTOCOL
    yield "Errors are predicted / measured - 1: mean absolute, in brackets the mean (bias); each point: `accuracy.csv`."
    yield _table(SWEEPS, sweep_rows(validation))
    if validation.break_evens:
        yield "### Load at which speculation stops paying"
        yield (
            "Between two measured loads the logarithm of the speedup is drawn straight in the logarithm of the load. "
            "The measured interval is where the band of the stated uncertainty contains 1, the predicted one where the "
            "t band over replications does. Same: they overlap, or lie within one step of the measured loads."
        )
        yield _table(("sweep", "K", "measured", "predicted", "same"), break_even_rows(validation))
    if validation.best_lengths:
        yield "### Best number of draft tokens"
        yield "Lost: how much of the best measured speedup the predicted length gives away; 0 drafts is a choice too."
        yield _table(("sweep", "load", "measured", "predicted", "lost"), best_length_rows(validation))
    rows = list(not_simulated_rows(validation))
    if rows:
        yield "### Not simulated"
        yield _table(("reason", "rows of"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
