"""``specsim optimize``: the cheapest settings within latency limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption, SloOption


def optimize(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    slo: SloOption = None,
    price: Annotated[
        float | None, typer.Option(metavar="DOLLARS", help="Of a GPU for an hour. Default: costs are GPU-seconds.")
    ] = None,
    tensor_parallel: Annotated[
        str | None, typer.Option(metavar="SIZES", help="Of tensor parallelism, by commas: 1,2,4.")
    ] = None,
    max_num_seqs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Most requests in a step, by commas: 128,256,512.")
    ] = None,
    token_budget: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Most tokens in a step, by commas: 2048,8192,16384.")
    ] = None,
    num_draft_tokens: Annotated[
        str | None, typer.Option(metavar="LENGTHS", help="Draft lengths to try, by commas: 1,3,5.")
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS", help="By commas: none, static, schedule (a table by batch from a curve), goodput, ..."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Combinations that the search measures. Default: 32.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The drafter's checkpoint in the flags. Default: as the scenario calls it."),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """The cheapest settings within latency limits: devices, places, token budget, and how many tokens to draft when.

    Searches combinations by short simulations (optuna, where they are many), measures the best as specsim plan does,
    with other seeds, and says what to paste. Ctrl-C ends it; what is finished is written.

    Examples:
    specsim optimize llama3.1-8b-h100-eagle3 --price 2.5

    specsim optimize my.yaml --slo 'ttft:200 tpot:20' --tensor-parallel 1,2 --max-num-seqs 128,512 --trials 60
    """
    from specsim.inputs.read.lists import counts, words
    from specsim.inputs.read.overrides import Option
    from specsim.inputs.read.scenario import load_scenario
    from specsim.inputs.read.slo import parse_slo, refuse_without_limits
    from specsim.reporting.publish import publish
    from specsim.studies.decide.text import refuse_checkpoint
    from specsim.studies.optimize.answer import optimize_answer
    from specsim.studies.optimize.run import simulate_optimum

    options = [
        Option("--slo", "plan.slo", slo or None, parse_slo),
        Option("--price", "plan.price_per_gpu_hour", price),
        Option("--tensor-parallel", "optimize.tensor_parallel", tensor_parallel, counts),
        Option("--max-num-seqs", "optimize.max_num_seqs", max_num_seqs, counts),
        Option("--token-budget", "optimize.token_budget", token_budget, counts),
        Option("--num-draft-tokens", "optimize.num_draft_tokens", num_draft_tokens, counts),
        Option("--policies", "optimize.policies", policies, words),
        Option("--trials", "optimize.trials", trials),
    ]
    inputs = load_scenario(scenario, overrides or (), options, blocks=["plan", "optimize"])
    refuse_without_limits(inputs)
    if checkpoint is not None:
        refuse_checkpoint(inputs, checkpoint)
    publish(
        lambda progress: optimize_answer(inputs, simulate_optimum(inputs, jobs=jobs, progress=progress), checkpoint),
        title=inputs.scenario.name,
        out=out or Path("out") / f"{inputs.scenario.name}-optimize",
        force=force,
        read=inputs.files.values(),
    )
