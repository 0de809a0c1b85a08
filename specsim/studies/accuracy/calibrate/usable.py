"""Which measured rows a profile can be fitted to, and what keeps a table from it. Fits and simulates nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specsim.errors import InputError, Problem, raise_if_any
from specsim.inputs.measured.measurements import Located
from specsim.inputs.measured.steps import LocatedStep
from specsim.inputs.models.engine import Engine
from specsim.inputs.read.scenario import Inputs
from specsim.studies.accuracy.calibrate.run import Observation
from specsim.studies.accuracy.validate.bounds import FAR
from specsim.studies.accuracy.validate.measured import left_out
from specsim.studies.accuracy.validate.steps import lacking_of

SAY_IT = "say it in the row, or give a --scenario"


def chosen_rows(
    rows: Sequence[Located], sweeps: Sequence[str] | None, scenario: str | None, where: str
) -> list[Located]:
    """The rows of these sweeps, or all, that count and can be timed again: those of closed loops.

    Args:
        rows: of one table.
        sweeps: names; None for all.
        scenario: what rows are laid over; without it each has to say everything itself.
        where: the table, for messages.

    Raises:
        InputError: when a sweep has no row, a row does not say what is needed of it, or none is left.
    """
    known = {row.sweep for _, row in rows}
    strange = [name for name in sweeps or () if name not in known]
    remedy = f"no row has it; known: {', '.join(sorted(known))}"
    problems = [Problem(where, "sweep", repr(name), remedy) for name in strange]
    counted = [found for found in rows if found.row.counted and (not sweeps or found.row.sweep in sweeps)]
    closed = [found for found in counted if found.row.load_kind != "rate"]
    if counted and not closed:
        remedy = "open loops cannot be timed again; give rows whose load_kind is concurrency or batch"
        problems.append(Problem(where, "load_kind", "rate", remedy))
    if scenario is None:
        lacking = {line: left_out(row, speculating=row.num_draft_tokens > 0) for line, row in closed}
        problems += [Problem(where, f"line {line}", what, SAY_IT) for line, what in lacking.items() if what]
    raise_if_any(problems)
    return closed


def chosen_steps(rows: Sequence[LocatedStep], scenario: str | None, where: str) -> Sequence[LocatedStep]:
    """All rows; they have to say everything themselves where no scenario does.

    Raises:
        InputError: when one does not.
    """
    lacking = {line: lacking_of(row) for line, row in rows} if scenario is None else {}
    problems = [Problem(where, f"line {line}", what, SAY_IT) for line, what in lacking.items() if what]
    raise_if_any(problems)
    return rows


def refuse_other_units(engine: Engine, points: Sequence[Observation], where: str) -> None:
    """Refuse figures so far from what the profile predicts that their unit must be another.

    Raises:
        InputError: naming each.
    """
    predicted = [(point, point.predict(engine)) for point in points]
    far = [(point, value) for point, value in predicted if not 1 / FAR < value / point.measured < FAR]
    if far:
        remedy = "is more than {} times off the {:.4g} predicted; check the unit (ms, tokens/s)"
        raise InputError(Problem(where, p.name, f"{p.measured:g}", remedy.format(FAR, value)) for p, value in far)


def one_profile(inputs: Iterable[Inputs], where: str) -> Inputs:
    """Any of the inputs, if all have one device and one engine profile.

    Raises:
        InputError: when they do not, or there are none.
    """
    found = {(i.scenario.deployment.device, i.scenario.deployment.engine): i for i in inputs}
    if len(found) != 1:
        pairs = ", ".join(f"{device} under {engine}" for device, engine in sorted(found)) or "nothing"
        remedy = "one profile is fitted to one device and one engine; keep rows of one pair (use_device, use_engine)"
        raise InputError([Problem(where, "use_engine", pairs, remedy)])
    return next(iter(found.values()))
