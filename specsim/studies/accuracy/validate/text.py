"""The answer that predicted against measured serving and single steps give, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from specsim.analysis.agreement import error_summary
from specsim.inputs.measured.measurements import MERITS
from specsim.studies.accuracy.validate.bounds import FAR
from specsim.studies.accuracy.validate.run import Compared
from specsim.studies.accuracy.validate.steps import Steps
from specsim.studies.accuracy.validate.sweeps import (
    NEARLY_BEST,
    BestLength,
    BreakEvenPair,
    Validation,
    predicted,
    speedup_errors,
    with_speedup,
)
from specsim.units import plural

Figure = tuple[int, float, float]
"""Line of a table, what was measured, and what is predicted."""


def other_units(figures: Iterable[Figure], of: str = "") -> Iterator[str]:
    """That figures are so far from what is predicted that their unit may be another.

    Args:
        figures: of one table.
        of: what to call the table.
    """
    far = (line for line, measured, predicted in figures if not 1 / FAR < predicted / measured < FAR)
    lines = list(dict.fromkeys(far))  # both arms of a row may be
    if lines:
        yield (
            f"More than {FAR} times off, so check the unit (ms, tokens/s): {'lines' if len(lines) > 1 else 'line'} "
            f"{', '.join(map(str, lines))}{of}."
        )


def validation_sentences(validation: Validation) -> list[str]:
    """The sentences the user came for, the most important first."""
    return [
        *_speedups(validation),
        *_break_evens(validation.break_evens),
        *_best(validation.best_lengths),
        *_without_partner(validation),
        *other_units(_figures(validation.results)),
        *_left_out(validation),
    ]


def _speedups(validation: Validation) -> Iterator[str]:
    counted = [result for result in with_speedup(validation.results) if result.row.counted]
    errors = speedup_errors(counted)
    if errors is None:
        yield "No speedup was both measured and simulated; see the errors of each arm below."
        return
    worst = counted[errors.worst].row
    names = {result.row.sweep for result in counted}
    yield (
        f"Predicted speedups are {errors.mape:.1%} off on average (bias {errors.bias:+.1%}) over {errors.n} points of "
        f"{plural(len(names), 'sweep')}; worst {errors.worst_error:+.0%}, {_where(worst)}."
    )
    unseen = speedup_errors([result for result in counted if result.row.split == "validation"])
    if unseen and unseen.n < errors.n:
        yield f"Of these, the {unseen.n} that calibration may not see: {unseen.mape:.1%} off, bias {unseen.bias:+.1%}."


def _where(row: object) -> str:
    sweep, load, k = (getattr(row, name) for name in ("sweep", "load", "num_draft_tokens"))
    return f"{sweep} at {load:g} with K = {k}"


def _break_evens(pairs: Sequence[BreakEvenPair]) -> Iterator[str]:
    measured = [pair for pair in pairs if pair.measured.crosses]
    if measured:
        same = sum(pair.same for pair in measured)
        apart = [abs(pair.octaves) for pair in measured if pair.predicted.crosses]
        yield (
            f"Break-even: the model's 90 % interval overlaps the measured one of {same} of {len(measured)} curves that "
            "measured a crossing of 1.0."
        )
        if apart:
            yield (
                f"Loads of break-evens are predicted a factor of {2 ** float(np.median(apart)):.2f} away from those "
                f"measured (median of {plural(len(apart), 'curve')}), at most {2 ** max(apart):.2f}."
            )
    wrong = [pair for pair in pairs if not pair.measured.crosses and not pair.same]
    if wrong:
        curves = ", ".join(f"{pair.sweep} with K = {pair.num_draft_tokens}" for pair in wrong)
        yield f"Predicted to cross 1.0 within their loads and measured not to: {curves}."


def _best(lengths: Sequence[BestLength]) -> Iterator[str]:
    if lengths:
        right = sum(length.right for length in lengths)
        yield (
            f"Best draft length: right, or within {NEARLY_BEST:.0%} of the best measured speedup, at {right} of "
            f"{len(lengths)} loads."
        )


def _without_partner(validation: Validation) -> Iterator[str]:
    rows = [result.row for result in validation.results if result.row.counted and result.row.metric in MERITS]
    alone = [row for row in rows if row.with_speculation is not None and row.measured_speedup is None]
    if alone:
        yield (
            f"{len(alone)} rows with speculation have no figure without, so they make no speedup: write it in the row "
            "(baseline), or in a row with num_draft_tokens 0 that agrees with it in sweep, load, metric, repeat, "
            "number of requests, lengths and memory fraction."
        )


def _figures(results: Sequence[Compared]) -> Iterator[Figure]:
    for result in results:
        for measured, values in (
            (result.row.baseline, result.baseline),
            (result.row.with_speculation, result.with_speculation),
            (result.row.measured_speedup, result.speedup),
        ):
            if measured is not None and values is not None:
                yield result.line, measured, float(predicted(values))


def _left_out(validation: Validation) -> Iterator[str]:
    missing = sum(bool(result.reasons) for result in validation.results)
    if missing:
        yield f"Not simulated in full: {missing} of {len(validation.results)} rows, for the reasons listed below."


def step_sentences(steps: Steps) -> list[str]:
    """One sentence per table."""
    sentences = []
    for name, rows in steps.items():
        priced = [row for row in rows if row.ms is not None]
        errors = error_summary([row.ms or 0 for row in priced], [row.row.ms for row in priced])
        if errors:
            sentences.append(
                f"Steps of {name}: median error {errors.median:.1%}, largest {errors.worst_error:+.0%} over {errors.n}."
            )
        sentences += other_units(((row.line, row.row.ms, row.ms or 0) for row in priced), f" of {name}")
    return sentences
