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

    A sweep without speculation and two runs with it, at the smallest and the largest load, are enough. Where a
    table marks rows as calibration, only those are used, and of other serving rows the figures without speculation.
    Parameters that the data do not identify keep their priors; the report lists them. Serving runs must be closed
    loops: each is simulated once and timed again under every candidate, which takes minutes for long runs.

    Examples:
    - specsim calibrate mine.csv --scenario mine.yaml --out mine-engine.yaml
    - specsim calibrate --steps a100-llama-3.1-8b-median-itl --start vllm
    """
    from specsim.errors import InputError, Problem
    from specsim.inputs.measured.serving_tables import read_measurements
    from specsim.inputs.measured.steps import read_steps
    from specsim.inputs.models.drafters import pass_kind
    from specsim.inputs.read import catalogue
    from specsim.inputs.read.scenario import read_engine
    from specsim.reporting.publish import Answer, Progress, publish
    from specsim.studies.accuracy.calibrate.answer import calibration_answer
    from specsim.studies.accuracy.calibrate.observations import precisions_of, serving_observations, step_observations
    from specsim.studies.accuracy.calibrate.parameters import candidates
    from specsim.studies.accuracy.calibrate.run import calibrate as fit
    from specsim.studies.accuracy.calibrate.usable import chosen_rows, chosen_steps, one_profile, refuse_other_units

    if not (measurements or steps):
        raise InputError([Problem("calibrate", "", "no table", "name a table of measurements, or --steps TABLE")])
    here = [Path.cwd()]
    step_files = [catalogue.find("steps", table, here, where="--steps", path="") for table in steps or ()]
    files = [catalogue.find("measurements", table, here, where="MEASUREMENTS", path="") for table in measurements or ()]
    single = [chosen_steps(read_steps(file), scenario, str(file)) for file in step_files]
    tables = [read_measurements(file) for file in files]
    serving = [chosen_rows(table, sweep, scenario, str(file)) for file, table in zip(files, tables, strict=True)]
    num_open = sum(row.load_kind == "rate" for table in tables for _, row in table if not sweep or row.sweep in sweep)
    names = ", ".join(file.name for file in (*step_files, *files))

    def study(progress: Progress) -> Answer:
        share = 1 / (len(serving) + 1)
        seen = [one for rows in single for one in step_observations(rows, scenario, start)]
        for rows in serving:
            seen += serving_observations(rows, scenario, start, lambda done: progress(share * done))
        points = [one.observation for one in seen]
        inputs = one_profile([one.inputs for one in seen], names)
        kinds = {pass_kind(one.inputs.scenario.speculation.drafter) for one in seen if one.speculating}
        # a row's own limits say how it was run, and are no part of the profile
        engine = read_engine(str(inputs.files["engine"])).limited_on(inputs.device)
        refuse_other_units(engine, points, names)
        used = {precision for one in seen for precision in precisions_of(one.inputs)}
        fp8_cache = any(one.inputs.scenario.deployment.kv_format == "fp8" for one in seen)
        chosen = candidates({kind for kind in kinds if kind}, used, fp8_cache=fp8_cache)
        found = fit(engine, inputs.device, points, chosen, lambda done: progress(share * done))
        data = [*step_files, *files]
        return calibration_answer(found, seen, engine, inputs, tables=data, num_open=num_open, name=name, out=out)

    publish(study, title=names, force=force, beside={"--out": out}, simulates=bool(serving))
