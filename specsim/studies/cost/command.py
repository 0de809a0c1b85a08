"""``specsim cost``: one step taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, ScenarioArgument, SetOption


def cost(
    scenario: ScenarioArgument,
    batch: Annotated[str, typer.Option(help="Requests that decode in the step; several by commas.")] = "1,8,64",
    num_draft_tokens: Annotated[
        str | None,
        typer.Option(
            help="Draft tokens per verify, 0 for none; several by commas. Default: 0 and what the scenario's policy "
            "names: a schedule's lengths, of others the longest"
        ),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of each request so far. Default: the mean in mid-decode under the scenario"),
    ] = None,
    prompt_tokens: Annotated[
        int, typer.Option(min=0, help="Prompt tokens computed in the same step, the first chunk of a longer prompt.")
    ] = 0,
    overrides: SetOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the figure and the tables.")] = None,
    force: ForceOption = False,
) -> None:
    """Where does a step's time go, what limits it, and what does the drafter take of the memory?

    Prices single steps: time by part, tokens, the resource waited for longest with the bytes/s and FLOP/s achieved, and
    the memory plan with and without the drafter. Nothing is simulated.

    Examples:
    - specsim cost llama3.1-8b-h100-eagle3 --batch 1,8,64 --num-draft-tokens 0,3
    - specsim cost my.yaml --batch 256 --context 4000 --prompt-tokens 2048 --out out/cost
    """
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.publish import publish
    from specsim.studies.cost.answer import cost_answer
    from specsim.studies.cost.run import step_costs
    from specsim.studies.cost.text import named_lengths, read_steps

    inputs = load_scenario(scenario, overrides or ())
    by_policy = ",".join(map(str, named_lengths(inputs.scenario.speculation.policy)))
    batches, draft_lengths = read_steps(batch, by_policy if num_draft_tokens is None else num_draft_tokens)
    publish(
        lambda progress: cost_answer(
            inputs,
            step_costs(inputs, batches, draft_lengths, context=context, prompt_tokens=prompt_tokens),
            by_policy=num_draft_tokens is None,
            drawn=out is not None,
        ),
        title=inputs.scenario.name,
        out=out,
        force=force,
        read=inputs.files.values(),
        simulates=False,
    )
