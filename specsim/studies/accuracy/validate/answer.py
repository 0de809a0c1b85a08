"""The answer of a validation whole: sentences, tables, figures, and the pages that docs keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

import specsim
from specsim.reporting.columns import AnyTable
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import text_writer
from specsim.reporting.publish import Answer
from specsim.studies.accuracy.operators.answer import operators_answer
from specsim.studies.accuracy.operators.run import Operators
from specsim.studies.accuracy.validate.run import INTERRUPTED
from specsim.studies.accuracy.validate.steps import Steps
from specsim.studies.accuracy.validate.sweeps import Validation, with_speedup
from specsim.studies.accuracy.validate.tables import (
    best_length_table,
    break_even_table,
    not_simulated_table,
    point_table,
    step_table,
    steps_table,
    sweep_table,
)
from specsim.studies.accuracy.validate.text import step_sentences, validation_sentences
from specsim.units import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROTOCOL = """\
Each point is simulated as its benchmark ran it: its number of requests, lengths and acceptance, a closed loop at
its concurrency (or arrivals at its rate), the token budget and sequence limit of each arm, and throughput
as all output tokens over the wall time, so that ramp and tail count. Nothing is tuned per point: one device profile and
one engine profile serve every sweep of a (device, engine). What the columns of the tables mean, and which points
calibration may see, is in `docs/measurements.md`."""
SWEEPS = ("sweep", "", "simulated", "speedup", "worst point", "throughput without", "throughput with")


def accuracy_answer(
    validation: Validation | None,
    steps: Steps,
    operators: Operators | None,
    names: Sequence[str],
    *,
    quick: bool,
    drawn: bool,
) -> Answer:
    """What ``specsim validate`` prints and writes: of serving and of single steps, then of operators.

    Args:
        validation: of serving points; None where only steps were asked for.
        steps: priced steps by table; empty where only points were asked for.
        operators: priced operators; None where they were not asked for.
        names: of the tables of points and steps, points first.
        quick: whether serving was but looked at.
        drawn: whether there are figures.
    """
    last = operators_answer(operators, drawn=drawn) if operators else Answer([])
    if validation is None and not steps:
        return last
    sentences = [*(validation_sentences(validation) if validation else ()), *step_sentences(steps)]
    if quick and validation:
        sentences.append("A quick look: short runs, one of each, at the smallest and the largest load of each curve.")
    warning = extrapolation_sentence(
        [*(one for point in (validation.results if validation else ()) for one in point.beyond)]
        + [step.beyond for priced in steps.values() for step in priced if step.beyond]
    )
    tables: list[AnyTable] = []
    if validation:
        tables += [sweep_table(validation), break_even_table(validation), best_length_table(validation)]
        tables += [not_simulated_table(validation), point_table(validation)]
    if steps:
        tables += [step_table(steps), steps_table(steps)]
    noted = [*sentences, warning] if warning else sentences
    return Answer(
        sentences=[*sentences, *last.sentences],
        tables=[*tables, *last.tables],
        figures={**(_figures(validation, sentences[0], names[0]) if drawn and validation else {}), **last.figures},
        files={"accuracy.md": text_writer(_page(validation, steps, noted, names)), **last.files},
        warning=warning,
        partial=_missing(validation),
    )


def _missing(validation: Validation | None) -> str:
    """How many rows an interruption left out; empty for none."""
    points = validation.results if validation else ()
    number = sum(INTERRUPTED in point.reasons for point in points)
    return f"{number} of {plural(len(points), 'row')} not simulated" if number else ""


def _figures(validation: Validation, answer: str, name: str) -> dict[str, Figure]:
    from specsim.studies.accuracy.validate.figure import parity_figure

    if not with_speedup(validation.results):
        return {}
    subtitle = f"measurements: {name}; specsim {specsim.__version__}"
    points = point_table(validation).frame()
    return {"accuracy": parity_figure(points, title=answer.split("; worst")[0], subtitle=subtitle)}


def _page(validation: Validation | None, steps: Steps, sentences: Sequence[str], names: Sequence[str]) -> str:
    """What docs keep; it carries today's date, and the tables none."""
    today = date.today().isoformat()
    parts = [
        "# Accuracy: predicted against measured",
        f"Made by `specsim validate` on {today}, specsim {specsim.__version__}, from {', '.join(names)}.",
        "\n".join(f"- {sentence}" for sentence in sentences),
    ]
    if validation:
        parts += list(_serving(validation))
    if steps:
        parts += ["## Single steps", step_table(steps).markdown(), "Every step: `accuracy_steps.csv`."]
    return "\n\n".join(parts) + "\n"


def _serving(validation: Validation) -> Iterator[str]:
    if with_speedup(validation.results):
        yield "![Predicted against measured speedup](accuracy.png)"
    yield "## Serving"
    yield PROTOCOL
    yield "Errors are predicted / measured - 1: mean absolute, in brackets the mean (bias); each point: `accuracy.csv`."
    yield sweep_table(validation).markdown(SWEEPS)
    if validation.break_evens:
        yield "### Load at which speculation stops paying"
        yield (
            "Between two measured loads the logarithm of the speedup is drawn straight in the logarithm of the load. "
            "The measured interval is where the band of its uncertainty contains 1, the predicted one where the "
            "t band over replications does, and the model's where the 90 % band of its error does. Apart: log2 of "
            "predicted over measured, so that 1 is twice the load. Overlap: of the model's interval with the measured."
        )
        yield break_even_table(validation).markdown()
    if validation.best_lengths:
        yield "### Best number of draft tokens"
        yield "Lost: how much of the best measured speedup the predicted length gives away; 0 drafts is a choice too."
        yield best_length_table(validation).markdown()
    left_out = not_simulated_table(validation)
    if left_out.rows:
        yield "### Not simulated"
        yield left_out.markdown()
