"""``specsim decide``: what to set in an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption


def decide(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The drafter's checkpoint in the settings. Default: the scenario's name for it."
        ),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """How many draft tokens at which batch: settings to paste into vLLM, TensorRT-LLM and SGLang.

    Simulates the scenario's curve, derives the table of draft lengths, simulates that too, and says what it gains, what
    one fixed length loses, and what to beware of. Settings are written to files of their own.

    Examples:
    specsim decide llama3.1-8b-h100-eagle3

    specsim decide my.yaml --checkpoint yuhuili/EAGLE3-LLaMA3.1-Instruct-8B --set curve.batches=[1,8,32,128,512]
    """
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.console import console, simulation_bar, warn
    from specsim.reporting.extrapolation import extrapolation_sentence
    from specsim.reporting.folders import refuse_existing, write_folder
    from specsim.reporting.inputs import cost_sentences
    from specsim.studies.decide.files import decision_files
    from specsim.studies.decide.run import simulate_decision
    from specsim.studies.decide.text import (
        decision_sentences,
        engine_settings,
        fixed_table,
        refuse_checkpoint,
        schedule_table,
        settings_text,
    )

    inputs = load_scenario(scenario, overrides or ())
    if checkpoint is not None:
        refuse_checkpoint(inputs, checkpoint)
    folder = out or Path("out") / f"{inputs.scenario.name}-decision"
    refuse_existing(folder, force=force, read=inputs.files.values())
    with simulation_bar(inputs.scenario.name) as progress:
        decision = simulate_decision(inputs, jobs=jobs, progress=progress)
    sentences = [*decision_sentences(inputs, decision), *cost_sentences(inputs)]
    settings = engine_settings(inputs, decision, checkpoint)
    text = settings_text(inputs, decision, settings, named=checkpoint is not None)
    write_folder(folder, decision_files(inputs, decision, sentences, settings, text), force=force)
    warn(extrapolation_sentence([(inputs, decision.extrapolation)]))
    screen = console()
    screen.print(sentences[0], style="bold", markup=False, soft_wrap=True)
    for sentence in sentences[1:]:
        screen.print(sentence, markup=False, soft_wrap=True)
    screen.print()
    screen.print(schedule_table(decision))
    screen.print(fixed_table(decision))
    screen.print(text, markup=False, highlight=False, soft_wrap=True)
    screen.print(f"written to {folder}/", markup=False, soft_wrap=True)
