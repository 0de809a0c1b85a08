"""``specsim validate``: predicted against measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.cli.options import ForceOption, JobsOption


def validate(
    measurements: Annotated[
        str | None,
        typer.Option(help="Table of serving measurements: a path, or a name (specsim list measurements)."),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(help="Table of single steps: a path, or a name (specsim list steps); repeat for more."),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(help="Scenario that rows are laid over: it says what a row leaves empty."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One replication, smallest and largest load of each curve only.")
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
    """
    from datetime import date

    from specsim.cli.terminal import console, progress_bar
    from specsim.planner.steps import price_steps
    from specsim.planner.validation import validate as simulate_points
    from specsim.report.accuracy import accuracy_files
    from specsim.report.folder import refuse_existing, write_folder
    from specsim.report.steps import step_sentences, step_table
    from specsim.report.validation import (
        Validation,
        best_length_table,
        break_even_table,
        not_simulated_table,
        sweep_table,
        validation_sentences,
    )
    from specsim.schema import catalogue
    from specsim.schema.measurements import read_measurements
    from specsim.schema.steps import read_steps

    everything = measurements is None and not steps
    points_name = "published" if everything else measurements
    step_names = catalogue.names("steps") if everything else steps or []
    if out:
        refuse_existing(out, force=force)
    here = [Path.cwd()]
    paths = {name: catalogue.find("steps", name, here, where="--steps", path="") for name in step_names}
    priced = {
        path.stem: price_steps(read_steps(path), where=str(path), scenario=scenario) for path in paths.values()
    }
    found, sentences = None, []
    if points_name:
        path = catalogue.find("measurements", points_name, here, where="--measurements", path="")
        rows = read_measurements(path)
        with progress_bar(f"simulating {path.stem}") as progress:
            results = simulate_points(
                rows, where=str(path), scenario=scenario, quick=quick, jobs=jobs, progress=progress
            )
        found = Validation(results)
        sentences = validation_sentences(found)
    sentences += step_sentences(priced)
    source = ", ".join([*([Path(points_name).stem] if points_name else []), *priced])
    if out:
        write_folder(out, accuracy_files(found, priced, sentences, source, date.today()), force=force)
    screen = console()
    screen.print(sentences[0], style="bold", markup=False, soft_wrap=True)
    for sentence in sentences[1:]:
        screen.print(sentence, markup=False, soft_wrap=True)
    tables = [] if found is None else [sweep_table, break_even_table, best_length_table, not_simulated_table]
    for make in tables:
        table = make(found)
        if table.row_count:
            screen.print(table)
    if priced:
        screen.print(step_table(priced))
    if out:
        screen.print(f"written to {out}/", markup=False, soft_wrap=True)
