"""``specsim validate``: predicted against measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption

if TYPE_CHECKING:
    from rich.table import Table

    from specsim.studies.accuracy.operators.text import Operators
    from specsim.studies.accuracy.validate.text import Validation


def validate(
    measurements: Annotated[
        str | None,
        typer.Option(help="Table of serving measurements: a path, or a name (specsim list measurements)."),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(help="Table of single steps: a path, or a name (specsim list steps); repeat for more."),
    ] = None,
    operators: Annotated[
        bool,
        typer.Option(
            "--operators", help="Single operators against the tables of aiconfigurator-core (extra: operators)."
        ),
    ] = False,
    scenario: Annotated[
        str | None,
        typer.Option(help="Scenario that rows are laid over: it says what a row leaves empty."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A rough look: one short run each at the smallest and largest load of a curve."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the page, the figure and the tables.")] = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """How far are predictions off? Runs the simulator on every point of a table of measurements.

    Without a table everything that ships is validated: the published serving points and the step tables. The columns of
    a table of your own are in docs/measurements.md.

    Examples:
    specsim validate

    specsim validate --measurements mine.csv --scenario mine.yaml --out out/accuracy

    specsim validate --steps gh200-apertus-8b-forward

    specsim validate --operators
    """
    from datetime import date

    from specsim.inputs.measured.steps import read_steps
    from specsim.inputs.read import catalogue
    from specsim.reporting.console import warn
    from specsim.reporting.extrapolation import extrapolation_sentence
    from specsim.reporting.folders import refuse_existing, write_folder
    from specsim.studies.accuracy.operators.text import operator_files, operator_sentences, operator_table
    from specsim.studies.accuracy.validate.files import accuracy_files
    from specsim.studies.accuracy.validate.steps import price_steps
    from specsim.studies.accuracy.validate.steps_text import step_sentences, step_table
    from specsim.studies.accuracy.validate.tables import validation_tables
    from specsim.studies.accuracy.validate.text import validation_sentences

    if measurements is None and not steps and not operators:
        measurements, steps = "published", catalogue.names("steps")
    if out:
        refuse_existing(out, force=force)
    single = _price_operators() if operators else None
    here, found, sentences = [Path.cwd()], None, list[str]()
    files = [catalogue.find("steps", name, here, where="--steps", path="") for name in steps or ()]
    priced = {file.stem: price_steps(read_steps(file), where=str(file), scenario=scenario) for file in files}
    names = list(priced)
    if measurements:
        file = catalogue.find("measurements", measurements, here, where="--measurements", path="")
        found, names = _simulate(file, scenario, quick=quick, jobs=jobs), [file.stem, *names]
        sentences += validation_sentences(found)
    sentences += step_sentences(priced)
    if quick and found:
        sentences.append("A quick look: short runs, one of each, at the smallest and the largest load of each curve.")
    warning = extrapolation_sentence(
        [*(one for point in (found.results if found else ()) for one in point.beyond)]
        + [step.beyond for steps in priced.values() for step in steps if step.beyond]
    )
    if out:
        noted = [*sentences, warning] if warning else sentences
        made = accuracy_files(found, priced, noted, names, date.today())
        write_folder(out, made | (operator_files(single, date.today()) if single else {}), force=force)
    tables = [*(validation_tables(found) if found else ()), *([step_table(priced)] if priced else ())]
    if single:
        sentences, tables = [*sentences, *operator_sentences(single)], [*tables, operator_table(single)]
    warn(warning)
    _show(sentences, tables, out)


def _simulate(file: Path, scenario: str | None, *, quick: bool, jobs: int | None) -> Validation:
    from specsim.inputs.measured.serving_tables import read_measurements
    from specsim.reporting.console import simulation_bar
    from specsim.studies.accuracy.validate.run import validate as simulate_points
    from specsim.studies.accuracy.validate.text import Validation

    rows = read_measurements(file)
    with simulation_bar(file.stem) as progress:
        return Validation(
            simulate_points(rows, where=str(file), scenario=scenario, quick=quick, jobs=jobs, progress=progress)
        )


def _price_operators() -> Operators:
    from specsim.inputs.measured.operator_tables import installed
    from specsim.reporting.console import progress_bar
    from specsim.studies.accuracy.operators.run import price_operators
    from specsim.studies.accuracy.operators.text import Operators

    folder, release = installed("--operators")
    with progress_bar("pricing operators") as progress:
        return Operators(price_operators(folder, progress), release)


def _show(sentences: list[str], tables: list[Table], out: Path | None) -> None:
    from specsim.reporting.console import console

    screen = console()
    screen.print(sentences[0], style="bold", markup=False, soft_wrap=True)
    for sentence in sentences[1:]:
        screen.print(sentence, markup=False, soft_wrap=True)
    for table in tables:
        screen.print(table)
    if out:
        screen.print(f"written to {out}/", markup=False, soft_wrap=True)
