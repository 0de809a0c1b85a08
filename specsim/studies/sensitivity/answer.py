"""A sensitivity's answer whole: sentences, the table that is read, the table behind it, and the tornado."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Column, Table, crossing_columns, with_ends
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.publish import Answer
from specsim.reporting.wording import drafts
from specsim.studies.sensitivity.figure import End, TornadoBar, tornado_figure
from specsim.studies.sensitivity.shifts import Outcome, SensitivityResult
from specsim.studies.sensitivity.text import ending, percent, sensitivity_sentences, sensitivity_table


class Changed(NamedTuple):
    """An input, what it was multiplied by, and what came of it."""

    name: str
    factor: float
    outcome: Outcome


def sensitivity_answer(inputs: Inputs, result: SensitivityResult) -> Answer:
    """What ``specsim sensitivity`` prints and writes."""
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    return Answer(
        sentences=[*sensitivity_sentences(inputs, result), *source_sentences(inputs)],
        tables=[sensitivity_table(result), outcome_table(result)],
        figures={"sensitivity": draw(inputs, result)},
        files=input_files(inputs, warning),
        warning=warning,
        partial=f"{', '.join(result.missing)} missing" if result.missing else "",
    )


def outcome_table(result: SensitivityResult) -> Table[Changed]:
    """A row for each input and each of its values, the scenario as it stands first."""
    changes = [
        Changed(shift.name, factor, outcome)
        for shift in result.by_swing
        for factor, outcome in ((1 - result.change, shift.lower), (1 + result.change, shift.higher))
    ]
    return Table(
        rows=[Changed("none", 1.0, result.base), *changes],
        columns=[
            Column("input", lambda row: row.name, "", "what was changed; none for the scenario as it stands"),
            Column("factor", lambda row: row.factor, "", "what it was multiplied by"),
            Column("verdict", lambda row: row.outcome.crossings.verdict, "", "whether speculation pays"),
            *crossing_columns(
                "break_even_batch", "break_even", lambda row: row.outcome.break_even, "where speculation stops paying"
            ),
            *with_ends(
                "largest_batch_speedup",
                lambda row: row.outcome.speedup,
                "output tokens/s over that without speculation at the largest batch, paired",
            ),
        ],
        file="sensitivity.csv",
    )


def draw(inputs: Inputs, result: SensitivityResult) -> Figure:
    """The tornado."""
    base = _end(result, result.base)
    return tornado_figure(
        [TornadoBar(shift.name, _end(result, shift.lower), _end(result, shift.higher)) for shift in result.by_swing],
        middle=base if base.known else None,
        change=result.change,
        axis="break-even batch" if result.has_break_even else f"speedup at batch {result.batches[-1]}",
        title=_title(inputs, result),
        subtitle=subtitle(inputs),
    )


def _title(inputs: Inputs, result: SensitivityResult) -> str:
    drafted, off = drafts(inputs.scenario, result.num_draft_tokens), f"if an input is {percent(result)} off"
    pay = "pay" if result.num_draft_tokens > 1 else "pays"
    if result.has_break_even:
        return f"Up to which batch {drafted} {pay} {off}"
    return f"What {drafted} gain at batch {result.batches[-1]} {off}"


def _end(result: SensitivityResult, outcome: Outcome) -> End:
    """Where a bar ends: at the answer, or at the last batch simulated; nowhere where runs leave it open."""
    label = ending(result, outcome)
    if not result.has_break_even:
        return End(outcome.speedup.estimate, label, known=True)
    if outcome.break_even:
        return End(outcome.break_even.batch, label, known=True)
    match outcome.where:
        case "beyond":
            return End(float(result.batches[-1]), label, known=False)
        case "below":
            return End(float(result.batches[0]), label, known=False)
        case _:
            return End(None, label, known=False)
