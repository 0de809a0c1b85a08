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
    """Up to which batch speculation pays if acceptance, bandwidth, compute, draft or host time differ.

    Simulates the curve of the policy's draft length as it stands and with each input alone lower and higher, on the
    same requests and random numbers. Writes a table and a tornado. Ctrl-C ends it and keeps the inputs that are
    finished.

    Examples:
    - specsim sensitivity llama3.1-8b-h100-eagle3
    - specsim sensitivity my.yaml --change 0.2 --set speculation.policy.num_draft_tokens=2
    """
    from specsim.errors import Gathered
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.publish import publish
    from specsim.studies.sensitivity.answer import sensitivity_answer
    from specsim.studies.sensitivity.run import check_change, simulate_sensitivity

    gathered = Gathered()
    gathered.attempt(check_change, change)
    inputs = gathered.attempt(load_scenario, scenario, overrides or ())
    gathered.settle()
    assert inputs is not None
    publish(
        lambda progress: sensitivity_answer(inputs, simulate_sensitivity(inputs, change, jobs=jobs, progress=progress)),
        title=inputs.scenario.name,
        out=out or Path("out") / f"{inputs.scenario.name}-sensitivity",
        force=force,
        read=inputs.files.values(),
    )
