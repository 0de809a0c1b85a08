"""``specsim simulate``: one load in detail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, OutOption, ScenarioArgument, SetOption


def simulate(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the policy's first run as a trace for ui.perfetto.dev."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Of the tables: csv, or parquet (extra: parquet).")
    ] = "csv",
    rounds: Annotated[
        bool, typer.Option("--rounds", help="Also write a table of verify rounds: a row per request and step.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the invariants of every run; exit code 1 if one is violated.")
    ] = False,
) -> None:
    """One load in detail: latencies, throughput and goodput, with the scenario's policy and without speculation.

    Writes a summary, a figure, a table of requests and a table of steps. A trace shows steps, batch, queue, KV cache
    and each request's path through them. Ctrl-C stops the command and writes the runs that are finished.

    Examples:
    - specsim simulate llama3.1-8b-h100-eagle3
    - specsim simulate my.yaml --set 'workload.load={kind: poisson, rate: 4 requests/s}' --out out/poisson
    - specsim simulate my.yaml --check --trace my-trace.json
    - specsim simulate my.yaml --format parquet --rounds
    """
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.folders import refuse_existing, scratch_beside
    from specsim.reporting.publish import Answer, Progress, publish
    from specsim.reporting.record_tables import table_format
    from specsim.studies.simulate.answer import load_answer
    from specsim.studies.simulate.run import simulate_load
    from specsim.studies.simulate.single_runs import check_sentence, run_folders, trace_sentence, trace_writer

    tables = table_format(form)
    inputs = load_scenario(scenario, overrides or ())
    folder = out or Path("out") / f"{inputs.scenario.name}-simulate"
    refuse_existing(folder, force=force, read=inputs.files.values())
    with scratch_beside(folder) as scratch:

        def study(progress: Progress) -> Answer:
            keep = True if rounds else None
            result = simulate_load(
                inputs, check=check, progress=progress, folders=run_folders(scratch), keep_rounds=keep
            )
            footer = [check_sentence(inputs.scenario, result)] if check else []
            footer += [trace_sentence(trace, inputs.scenario, result)] if trace else []
            written = trace_writer(inputs.scenario, result) if trace else None
            return load_answer(inputs, result, tables, rounds=rounds, footer=footer, trace=written)

        publish(study, title=inputs.scenario.name, out=folder, force=force, beside={"--trace": trace})
