"""What a person reads of a sensitivity: what moves the break-even most, and a table of all."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table

from specsim.analysis.crossings import Crossings
from specsim.planner.sensitivity import SensitivityResult, Shift, break_even
from specsim.report.words import drafts, from_to
from specsim.schema.load import Inputs


def sensitivity_sentences(inputs: Inputs, result: SensitivityResult) -> list[str]:
    """The answer first, then what was left as it is."""
    return [
        f"With {drafts(inputs.scenario, result.num_draft_tokens)} speculation {_pays(result)}. {_most(result)}",
        *_left_out(result),
        f"Each input is changed by {_percent(result)} by itself, the others as they stand; break-even batches with "
        f"95 % intervals ({inputs.scenario.curve.replications} paired runs a batch).",
    ]


def _pays(result: SensitivityResult) -> str:
    found, batches = result.base, from_to(result.batches[0], result.batches[-1])
    if found.verdict == "always pays":
        return f"pays at every batch simulated, {batches}"
    if found.verdict == "never pays":
        return f"pays at no batch simulated, {batches}"
    stops = break_even(found)
    return f"pays up to batch {stops}" if stops else f"has no break-even that these runs establish, at batch {batches}"


def _most(result: SensitivityResult) -> str:
    """What moves the break-even most, or that nothing does."""
    shifts = result.shifts
    if not any(break_even(found) for shift in shifts for found in (shift.lower, shift.higher)):
        return f"No input that is {_percent(result)} off gives it one."
    first, *others = shifts
    elasticity = first.elasticity(result.change)
    per_percent = "" if elasticity is None else f" ({elasticity:+.1f} % for each percent)"
    told = [
        f"{first.name.capitalize()} moves it most: {_percent(result)} lower, {ending(result, first.lower)}; higher, "
        f"{ending(result, first.higher)}{per_percent}."
    ]
    if others and math.isfinite(others[-1].swing) and len(others) > 1:
        told.append(f"{others[-1].name.capitalize()} moves it least, by {100 * (others[-1].swing - 1):.0f} % in all.")
    return " ".join(told)


def _left_out(result: SensitivityResult) -> Iterator[str]:
    for name, reason in result.fixed.items():
        yield f"{name.capitalize()} is left as it is: {reason}."
    if result.missing:
        yield f"Interrupted: {', '.join(result.missing)} {'are' if len(result.missing) > 1 else 'is'} missing."


def _percent(result: SensitivityResult) -> str:
    return f"{100 * result.change:g} %"


def ending(result: SensitivityResult, found: Crossings) -> str:
    """The break-even, or where it lies if at all: ``186 [185, 188]``, ``beyond 512``."""
    if stops := break_even(found):
        return str(stops)
    match found.verdict:
        case "always pays":
            return f"beyond {result.batches[-1]}"
        case "never pays":
            return f"below {result.batches[0]}"
        case _:
            return "not established"


def sensitivity_table(result: SensitivityResult) -> Table:
    """A row for each input, what moves the break-even most first."""
    table = Table()
    table.add_column("input")
    for side in ("lower", "higher"):
        table.add_column(f"{_percent(result)} {side}: up to batch", justify="right")
    table.add_column("for each percent", justify="right")
    for shift in result.shifts:
        table.add_row(shift.name, ending(result, shift.lower), ending(result, shift.higher), _slope(result, shift))
    return table


def _slope(result: SensitivityResult, shift: Shift) -> str:
    elasticity = shift.elasticity(result.change)
    return "" if elasticity is None else f"{elasticity:+.2f} %"
