"""``specsim plan``: from limits to rates, replicas and cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption, SloOption

QUICK = {"width": 0.2, "seeds": 4}
"""Settings of a rough look."""


def plan(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    slo: SloOption = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate to serve: '40 requests/s'. Default: the scenario's load.")
    ] = None,
    price: Annotated[float | None, typer.Option(metavar="DOLLARS", help="Price of a GPU-hour.")] = None,
    policies: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Policies to compare, comma-separated: static, goodput, per_request, ..."),
    ] = None,
    num_draft_tokens: Annotated[
        str | None, typer.Option(metavar="LENGTHS", help="Draft lengths to compare, comma-separated: 1,3,5.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A rough look: 4 seeds, bounds up to 40 % below the mean.")
    ] = False,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """Requests per second that a replica serves within latency limits, by policy, and the GPUs that a demand takes.

    Rates are lower bounds that 95 % of fresh runs meet. Writes a table, JSON and a figure. Ctrl-C stops the command and
    writes the arms that are finished.

    Examples:
    - specsim plan llama3.1-8b-h100-eagle3
    - specsim plan llama3.1-8b-h100-eagle3 --slo 'ttft:200 tpot.p90:20' --rate '400 requests/s' --price 2.5
    - specsim plan my.yaml --policies static,goodput --num-draft-tokens 1,2,3,5
    - specsim plan my.yaml --quick
    """
    from specsim.inputs.read.lists import counts, words
    from specsim.inputs.read.overrides import Option
    from specsim.inputs.read.scenario import load_scenario
    from specsim.inputs.read.slo import parse_rate, parse_slo, refuse_without_limits
    from specsim.reporting.publish import publish
    from specsim.studies.plan.answer import plan_answer
    from specsim.studies.plan.run import simulate_plan

    options = [
        Option("--slo", "plan.slo", slo or None, parse_slo),
        Option("--rate", "plan.rate", rate, parse_rate),
        Option("--price", "plan.price_per_gpu_hour", price),
        Option("--policies", "plan.policies", policies, words),
        Option("--num-draft-tokens", "plan.num_draft_tokens", num_draft_tokens, counts),
        *([Option("--quick", f"plan.{name}", value) for name, value in QUICK.items()] if quick else []),
    ]
    inputs = load_scenario(scenario, overrides or (), options, blocks=["plan"])
    refuse_without_limits(inputs)
    publish(
        lambda progress: plan_answer(inputs, simulate_plan(inputs, jobs=jobs, progress=progress), quick=quick),
        title=inputs.scenario.name,
        out=out or Path("out") / f"{inputs.scenario.name}-plan",
        force=force,
        read=inputs.files.values(),
    )
