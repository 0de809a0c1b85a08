"""``specsim sensitivity``: what the break-even rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption


def sensitivity(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    change: Annotated[
        float,
        typer.Option(metavar="SHARE", help="By which each input is lower and higher, 0.01 to 0.9: 0.1 is 10 %."),
    ] = 0.1,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """Up to which batch speculation pays if acceptance, bandwidth, compute, draft or host time are other than stated.

    Simulates the curve of the policy's draft length as it stands and with each input lower and higher by itself, on the
    same requests and luck, and writes a table and a tornado. Ctrl-C ends it; inputs that are finished are written.

    Examples:
    specsim sensitivity llama3.1-8b-h100-eagle3

    specsim sensitivity my.yaml --change 0.2 --set speculation.policy.num_draft_tokens=2
    """
    from specsim.errors import Gathered, PartialResultError
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.console import console, simulation_bar, warn
    from specsim.reporting.extrapolation import extrapolation_sentence
    from specsim.reporting.folders import refuse_existing, write_folder
    from specsim.reporting.inputs import cost_sentences
    from specsim.studies.sensitivity.files import sensitivity_files
    from specsim.studies.sensitivity.run import check_change, simulate_sensitivity
    from specsim.studies.sensitivity.text import sensitivity_sentences, sensitivity_table

    gathered = Gathered()
    gathered.attempt(check_change, change)
    inputs = gathered.attempt(load_scenario, scenario, overrides or ())
    gathered.settle()
    assert inputs is not None
    folder = out or Path("out") / f"{inputs.scenario.name}-sensitivity"
    refuse_existing(folder, force=force, read=inputs.files.values())
    with simulation_bar(inputs.scenario.name) as progress:
        result = simulate_sensitivity(inputs, change, jobs=jobs, progress=progress)
    answer, *others = sentences = [*sensitivity_sentences(inputs, result), *cost_sentences(inputs)]
    write_folder(folder, sensitivity_files(inputs, result, sentences), force=force)
    warn(extrapolation_sentence([(inputs, result.extrapolation)]))
    screen = console()
    screen.print(answer, style="bold", markup=False, soft_wrap=True)
    for sentence in others:
        screen.print(sentence, markup=False, soft_wrap=True)
    screen.print(sensitivity_table(result))
    screen.print(f"written to {folder}/", markup=False, soft_wrap=True)
    if result.missing:
        raise PartialResultError(f"{', '.join(result.missing)} missing")
