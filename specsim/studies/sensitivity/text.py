"""What a person reads of a sensitivity: what moves the break-even most, and a table of all.

Where there is no break-even at all, it is the speedup at the largest batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Table, shown
from specsim.reporting.wording import drafts, from_to, pays_throughout
from specsim.studies.sensitivity.shifts import Outcome, SensitivityResult, Shift
from specsim.studies.shared.model_error import error_of


def sensitivity_sentences(inputs: Inputs, result: SensitivityResult) -> list[str]:
    """The answer first, then what was left as it is."""
    return [
        f"With {drafts(inputs.scenario, result.num_draft_tokens)} speculation {_pays(result)}. {_most(result)}",
        *_not_established(result),
        *_left_out(result),
        *([error.sentence] if (error := error_of(inputs, "speedup")) else []),
        *result.run_lengths,
        f"Each input is changed by {percent(result)} by itself, the others as they stand; {answer_words(result)} with "
        f"95 % intervals ({inputs.scenario.curve.replications} paired runs a batch).",
    ]


def _pays(result: SensitivityResult) -> str:
    base, batches = result.base, from_to(result.batches[0], result.batches[-1])
    if base.break_even:
        return f"pays up to batch {base.break_even}"
    match base.crossings.verdict:
        case "always pays" | "never pays" as verdict:
            found = pays_throughout(batches, pays=verdict == "always pays")
        case _:
            found = f"has no break-even that these runs establish, at batch {batches}"
    return found if result.has_break_even else f"{found}; at the largest the speedup is {_speedup(base)}"


def _most(result: SensitivityResult) -> str:
    """What moves the answer most, and what least."""
    first, *others = result.by_swing
    elasticity = result.elasticity(first)
    per_percent = "" if elasticity is None else f" ({elasticity:+.2f} % for each percent)"
    told = (
        f"{first.name.capitalize()} moves it most: {percent(result)} lower, {ending(result, first.lower)}; higher, "
        f"{ending(result, first.higher)}{per_percent}."
    )
    known = [shift for shift in others if not result.is_open(shift)]
    if not known or math.isinf(result.swing(known[-1])):
        return told
    least = known[-1]
    return f"{told} {least.name.capitalize()} moves it least, by {100 * (result.swing(least) - 1):.1f} % in all."


def _not_established(result: SensitivityResult) -> Iterator[str]:
    """What stands behind the words, where they are said."""
    if not result.has_break_even:
        return
    ends = (outcome for shift in result.shifts for outcome in (shift.lower, shift.higher))
    batches = sorted({batch for outcome in (result.base, *ends) for batch in outcome.left_open})
    if batches:
        named = f"{'batches' if len(batches) > 1 else 'batch'} {' and '.join(f'{batch:.0f}' for batch in batches)}"
        grid: dict[float, str] = {result.batches[0]: "smaller", result.batches[-1]: "larger"}
        beyond = [f"{grid[batch]} curve.batches" for batch in batches if batch in grid]
        yield (
            f"Not established: the runs leave open on which side of {named} the break-even lies; add "
            f"{' or '.join([*beyond, 'curve.replications'])}."
        )


def _left_out(result: SensitivityResult) -> Iterator[str]:
    for name, reason in result.fixed.items():
        yield f"{name.capitalize()} is left as it is: {reason}."
    if result.missing:
        yield f"Interrupted: {', '.join(result.missing)} {'are' if len(result.missing) > 1 else 'is'} missing."


def percent(result: SensitivityResult) -> str:
    """By how much inputs were changed: ``10 %``."""
    return f"{100 * result.change:g} %"


def answer_words(result: SensitivityResult) -> str:
    """What moves: the break-even, or the speedup."""
    return "break-even batches" if result.has_break_even else f"speedups at batch {result.batches[-1]}"


def ending(result: SensitivityResult, outcome: Outcome) -> str:
    """The break-even, or where it lies if at all: ``186 [185, 188]``, ``beyond 512``; or the speedup."""
    if not result.has_break_even:
        return _speedup(outcome)
    if outcome.break_even:
        return str(outcome.break_even)
    match outcome.where:
        case "beyond":
            return f"beyond {result.batches[-1]}"
        case "below":
            return f"below {result.batches[0]}"
        case _:
            return "not established"


def _speedup(outcome: Outcome) -> str:
    found = outcome.speedup
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def sensitivity_table(result: SensitivityResult) -> Table[Shift]:
    """A row for each input, what moves the answer most first."""
    what = "up to batch" if result.has_break_even else f"speedup at batch {result.batches[-1]}"
    return Table(
        rows=result.by_swing,
        columns=[
            shown("input", lambda shift: shift.name, left=True),
            shown(f"{percent(result)} lower: {what}", lambda shift: ending(result, shift.lower)),
            shown(f"{percent(result)} higher: {what}", lambda shift: ending(result, shift.higher)),
            shown("for each percent", lambda shift: _slope(result, shift)),
        ],
    )


def _slope(result: SensitivityResult, shift: Shift) -> str:
    elasticity = result.elasticity(shift)
    return "" if elasticity is None else f"{elasticity:+.2f} %"
