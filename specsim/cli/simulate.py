"""``specsim simulate``: one load in detail."""

from __future__ import annotations

from pathlib import Path

from specsim.cli.options import ForceOption, OutOption, ScenarioArgument, SetOption


def simulate(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """One load in detail: throughput, latencies and goodput, with the policy of the scenario and without speculation.

    Writes the summary and one CSV each of requests and steps.

    Examples:
    specsim simulate llama3.1-8b-h100-eagle3

    specsim simulate my.yaml --set 'workload.load={kind: poisson, rate: 4 requests/s}' --out out/poisson
    """
    from specsim.cli.terminal import console, simulation_bar, warn
    from specsim.planner.compare import simulate_load
    from specsim.report.extrapolation import extrapolation_sentence
    from specsim.report.folder import refuse_existing, write_folder
    from specsim.report.inputs import cost_sentences
    from specsim.report.load import load_files, load_sentences, load_table
    from specsim.schema.load import load_scenario

    inputs = load_scenario(scenario, overrides or ())
    folder = out or Path("out") / f"{inputs.scenario.name}-simulate"
    refuse_existing(folder, force=force)
    with simulation_bar(inputs.scenario.name) as progress:
        result = simulate_load(inputs, progress=progress)
    write_folder(folder, load_files(inputs, result), force=force)
    warn(extrapolation_sentence([(inputs, result.extrapolation)]))
    screen = console()
    answer, *warnings = [*load_sentences(inputs.scenario, result), *cost_sentences(inputs)]
    screen.print(answer, style="bold", markup=False, soft_wrap=True)
    for warning in warnings:
        screen.print(warning, style="yellow", markup=False, soft_wrap=True)
    screen.print(load_table(inputs.scenario, result))
    screen.print(f"written to {folder}/", markup=False, soft_wrap=True)
