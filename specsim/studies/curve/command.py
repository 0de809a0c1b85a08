"""``specsim curve``: the main job."""

from __future__ import annotations

from pathlib import Path

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption


def curve(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """Throughput and speedup against batch: up to which load does speculation pay?

    Simulates every batch without speculation and with each draft length (of a tree: number of levels), and writes the
    curve as CSV, PNG and SVG, the resolved scenario and the provenance. Ctrl-C ends it; what is finished is written.

    Examples:
    specsim curve llama3.1-8b-h100-eagle3

    specsim curve llama3.1-8b-h100-eagle3-tree

    specsim curve my.yaml --set deployment.device=h200 --set curve.batches=[1,16,64,256] --out out/h200
    """
    from specsim.errors import PartialResultError
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.console import console, simulation_bar, warn
    from specsim.reporting.extrapolation import extrapolation_sentence
    from specsim.reporting.inputs import cost_sentences
    from specsim.reporting.publish import refuse_existing, write_folder
    from specsim.studies.curve.files import curve_files
    from specsim.studies.curve.run import simulate_curve
    from specsim.studies.curve.text import answer, missing, table

    inputs = load_scenario(scenario, overrides or ())
    folder = out or Path("out") / inputs.scenario.name
    refuse_existing(folder, force=force, read=inputs.files.values())
    with simulation_bar(inputs.scenario.name) as progress:
        result = simulate_curve(inputs, jobs=jobs, progress=progress)
    sentences = [*answer(inputs.scenario, result), *cost_sentences(inputs)]
    write_folder(folder, curve_files(inputs, result, sentences), force=force)
    warn(extrapolation_sentence([(inputs, result.extrapolation)]))
    screen = console()
    screen.print(sentences[0], style="bold", markup=False, soft_wrap=True)
    for sentence in sentences[1:]:
        screen.print(sentence, markup=False, soft_wrap=True)
    screen.print()
    screen.print(table(inputs.scenario, result))
    screen.print(f"written to {folder}/", markup=False, soft_wrap=True)
    if result.interrupted:
        raise PartialResultError(missing(inputs.scenario, result))
