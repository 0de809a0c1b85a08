"""``specsim validate``: predicted against measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption


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
    general: Annotated[
        bool,
        typer.Option(
            "--general", help="Take profiles for any device, as for a server that nobody calibrated a profile to."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the page, the figure and the tables.")] = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """How far are predictions off? Runs the simulator on every point of a table of measurements.

    Without a table everything that ships is validated: the published serving points and the step tables. The columns of
    a table of your own are in docs/measurements.md.

    Examples:
    - specsim validate
    - specsim validate --measurements mine.csv --scenario mine.yaml --out out/accuracy
    - specsim validate --steps gh200-apertus-8b-forward
    - specsim validate --operators
    """
    from specsim.inputs.measured.operator_tables import installed
    from specsim.inputs.measured.serving_tables import read_measurements
    from specsim.inputs.measured.steps import read_steps
    from specsim.inputs.read import catalogue
    from specsim.reporting.publish import Answer, Progress, publish
    from specsim.studies.accuracy.operators.run import Operators, price_operators
    from specsim.studies.accuracy.validate.answer import accuracy_answer
    from specsim.studies.accuracy.validate.run import validate as simulate_points
    from specsim.studies.accuracy.validate.steps import price_steps
    from specsim.studies.accuracy.validate.sweeps import Validation

    if measurements is None and not steps and not operators:
        measurements, steps = "published", catalogue.names("steps")
    tables = installed("--operators") if operators else None
    here, file = [Path.cwd()], None
    step_files = [catalogue.find("steps", name, here, where="--steps", path="") for name in steps or ()]
    single = [(table, read_steps(table)) for table in step_files]
    if measurements is not None:
        file = catalogue.find("measurements", measurements, here, where="--measurements", path="")
    points = read_measurements(file) if file else ()
    share = 1 / max(1, bool(tables) + bool(file))

    def study(progress: Progress) -> Answer:
        def told(done: float) -> None:
            progress(share * done)

        found, priced_operators = None, None
        if tables:
            folder, release = tables
            priced_operators = Operators(price_operators(folder, told), release)
        priced = {table.stem: price_steps(rows, where=str(table), scenario=scenario) for table, rows in single}
        if file:
            where = str(file)
            results = simulate_points(
                points, where=where, scenario=scenario, quick=quick, jobs=jobs, progress=told, general=general
            )
            found = Validation(results)
        names = [table.stem for table in (file, *step_files) if table]
        return accuracy_answer(found, priced, priced_operators, names, quick=quick, drawn=out is not None)

    publish(
        study,
        title=file.stem if file else "pricing",
        out=out,
        force=force,
        read=[*step_files, *([file] if file else [])],
        simulates=file is not None,
    )
