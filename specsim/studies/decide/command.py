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

    Simulates the scenario's curve, derives a table of draft lengths by batch, simulates that too, and reports its gain,
    the loss of one fixed length, and warnings. Writes the settings to files of their own.

    Examples:
    - specsim decide llama3.1-8b-h100-eagle3
    - specsim decide my.yaml --checkpoint yuhuili/EAGLE3-LLaMA3.1-Instruct-8B --set curve.batches=[1,8,32,128,512]
    """
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.publish import publish
    from specsim.studies.decide.answer import decision_answer
    from specsim.studies.decide.run import simulate_decision
    from specsim.studies.decide.text import refuse_checkpoint

    inputs = load_scenario(scenario, overrides or ())
    if checkpoint is not None:
        refuse_checkpoint(inputs, checkpoint)
    publish(
        lambda progress: decision_answer(inputs, simulate_decision(inputs, jobs=jobs, progress=progress), checkpoint),
        title=inputs.scenario.name,
        out=out or Path("out") / f"{inputs.scenario.name}-decision",
        force=force,
        read=inputs.files.values(),
    )
