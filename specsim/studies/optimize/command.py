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
        float | None, typer.Option(metavar="DOLLARS", help="Price of a GPU-hour. Default: costs are GPU-seconds.")
    ] = None,
    tensor_parallel: Annotated[
        str | None, typer.Option(metavar="SIZES", help="Tensor-parallel sizes to try, comma-separated: 1,2,4.")
    ] = None,
    max_num_seqs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Most requests in a step, comma-separated: 128,256,512.")
    ] = None,
    token_budget: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Most tokens in a step, comma-separated: 2048,8192,16384.")
    ] = None,
    num_draft_tokens: Annotated[
        str | None, typer.Option(metavar="LENGTHS", help="Draft lengths to try, comma-separated: 1,3,5.")
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="Policies to try, comma-separated: none, static, schedule (by batch, from a curve), goodput, ...",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Combinations that the search measures. Default: 32.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The drafter's checkpoint in the flags. Default: the scenario's name for it."
        ),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """The cheapest settings within latency limits: devices, slots, token budget, and how many tokens to draft when.

    Searches combinations by short simulations (with optuna where there are many), measures the best as specsim plan
    does, with other seeds, and prints settings to paste. Ctrl-C stops the command and writes what is finished.

    Examples:
    - specsim optimize llama3.1-8b-h100-eagle3 --price 2.5
    - specsim optimize my.yaml --slo 'ttft:200 tpot:20' --tensor-parallel 1,2 --max-num-seqs 128,512 --trials 60
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
