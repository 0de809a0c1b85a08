"""``specsim calibrate``: fit an engine profile to measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption


def calibrate(
    measurements: Annotated[
        list[str] | None,
        typer.Argument(help="Tables of serving measurements: paths, or names (specsim list measurements)."),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(help="Table of single steps: a path, or a name (specsim list steps); repeat for more."),
    ] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Only serving rows of this sweep; repeat for more.")] = None,
    scenario: Annotated[
        str | None,
        typer.Option(help="Scenario that rows are laid over: it says what a row leaves empty, the profile among it."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Engine profile to start from, in place of the one that rows name.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the fitted profile.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the profile.")] = None,
    force: ForceOption = False,
) -> None:
    """Fit an engine profile to what you measured on one device: step times, throughputs, latencies.

    Enough is a sweep without speculation, and two runs with it, at the smallest and the largest load. Where a table
    marks rows as calibration, only those are used, and of serving rows the figures without speculation. What the data
    do not identify keeps its prior and is said to. A serving run is simulated once and then timed again and again,
    which takes a closed loop and some minutes for long runs.

    Examples:
    specsim calibrate mine.csv --scenario mine.yaml --out mine-engine.yaml

    specsim calibrate --steps a100-llama-3.1-8b-median-itl --start vllm
    """
    from datetime import date

    from specsim.errors import InputError, Problem
    from specsim.forward import farthest
    from specsim.inputs.measured.serving_tables import read_measurements
    from specsim.inputs.measured.steps import read_steps
    from specsim.inputs.read import catalogue
    from specsim.inputs.read.scenario import read_engine
    from specsim.reporting.console import console, progress_bar, simulation_bar
    from specsim.reporting.folders import refuse_file, text_writer, write_file
    from specsim.studies.accuracy.calibrate.observations import Seen, serving_observations, step_observations
    from specsim.studies.accuracy.calibrate.parameters import candidates
    from specsim.studies.accuracy.calibrate.run import calibrate as fit
    from specsim.studies.accuracy.calibrate.text import answer, parameter_table, point_table, profile_text, reservations
    from specsim.studies.accuracy.calibrate.usable import chosen_rows, chosen_steps, one_profile, refuse_other_units

    if not (measurements or steps):
        raise InputError([Problem("calibrate", "", "no table", "name a table of measurements, or --steps TABLE")])
    if out:
        refuse_file(out, force=force)
    here = [Path.cwd()]
    step_files = [catalogue.find("steps", table, here, where="--steps", path="") for table in steps or ()]
    files = [catalogue.find("measurements", table, here, where="MEASUREMENTS", path="") for table in measurements or ()]
    found: list[Seen] = []
    num_open = 0
    for file in step_files:
        found += step_observations(chosen_steps(read_steps(file), scenario, str(file)), scenario, start)
    for file in files:
        table = read_measurements(file)
        rows = chosen_rows(table, sweep, scenario, str(file))
        num_open += sum(row.load_kind == "rate" for _, row in table if not sweep or row.sweep in sweep)
        with simulation_bar(file.stem) as progress:
            found += serving_observations(rows, scenario, start, progress)
    points = [seen.observation for seen in found]
    tables = [*step_files, *files]
    inputs = one_profile([seen.inputs for seen in found], ", ".join(file.name for file in tables))
    kinds = {seen.inputs.scenario.speculation.drafter.facts.pass_kind for seen in found if seen.speculating} - {None}
    # a row's own limits say how it was run, and are no part of the profile
    engine = read_engine(str(inputs.files["engine"]))
    refuse_other_units(engine, points, ", ".join(file.name for file in tables))
    with progress_bar("fitting") as progress:
        result = fit(engine, inputs.device, points, candidates({kind for kind in kinds if kind}), progress)
    screen = console()
    screen.print(answer(result, points), style="bold", markup=False, soft_wrap=True)
    for sentence in reservations(engine, speculating=any(s.speculating for s in found), num_open=num_open):
        screen.print(sentence, markup=False, soft_wrap=True)
    screen.print(parameter_table(result))
    screen.print(point_table(result, points))
    if out:
        device = inputs.scenario.deployment.device
        text = profile_text(
            result,
            name=name or f"{engine.name}, calibrated on {inputs.device.name}",
            device=device,
            data=tables,
            num_points=len(points),
            reached=farthest(seen.reach for seen in found),
            today=date.today(),
        )
        write_file(out, text_writer(text), force=force)
        screen.print(f"written to {out}; name it in a scenario as deployment.engine", markup=False, soft_wrap=True)
