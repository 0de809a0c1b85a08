"""``specsim compare``: several scenarios side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, SetOption


def compare(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO...",
            help="Catalogue names (specsim list scenarios) or paths of YAML files; two or more, or one with variants.",
        ),
    ],
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: PATH=VALUE ...'",
            help="Compare every scenario with these values too, under this name; repeatable. "
            "Example: --variant 'h200: deployment.device=h200'",
        ),
    ] = None,
    overrides: SetOption = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMITS",
            help="Latency limits in ms, as for specsim plan: 'ttft:200 tpot:20' is p99, ttft.p90:200 is p90. "
            "Default: those of the scenarios, which must agree.",
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate to serve: '400 requests/s'. Default: the scenarios' loads.")
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOLLARS",
            help="Price of a GPU-hour: 2.5 for all, or h100-sxm=2.5 for one device; repeatable. Default: "
            "plan.price_per_gpu_hour of each scenario.",
        ),
    ] = None,
    num_draft_tokens: Annotated[
        str | None,
        typer.Option(metavar="LENGTHS", help="Draft lengths to compare besides each scenario's own policy: 1,3,5."),
    ] = None,
    batches: Annotated[
        str | None, typer.Option(metavar="BATCHES", help="Requests in flight: 1,16,256. Default: curve.batches.")
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """GPUs, drafters, formats, parallelism side by side: tokens/s/user against tokens/s/GPU, and what is cheapest.

    Simulates each scenario without speculation and with its own policy, over requests in flight and, given latency
    limits, as specsim plan does. Writes two tables, a figure and the scenarios. Ctrl-C stops the command and writes the
    scenarios that are finished.

    Examples:
    - specsim compare llama3.1-8b-h100-eagle3 --variant 'h200: deployment.device=h200' --variant 'fp8: deployment.weight_format=fp8'
    - specsim compare a.yaml b.yaml --slo 'ttft:200 tpot:20' --rate '400 requests/s' --price h100-sxm=2.5 --price h200=3.2
    - specsim compare my.yaml --variant 'tp2: deployment.num_devices=2 deployment.tensor_parallel=2'
    """  # noqa: E501, an example that can be pasted
    from specsim.inputs.read.compared import Asked, compared_inputs
    from specsim.reporting.publish import publish
    from specsim.studies.compare.answer import comparison_answer
    from specsim.studies.compare.run import simulate_comparison

    compared = compared_inputs(
        Asked(scenarios, variant or (), overrides or (), slo or (), rate, price or (), num_draft_tokens, batches)
    )
    publish(
        lambda progress: comparison_answer(simulate_comparison(compared, jobs=jobs, progress=progress)),
        title=f"{len(compared)} scenarios",
        out=out or Path("out") / f"{compared[0].scenario.name}-comparison",
        force=force,
        read=[file for inputs in compared for file in inputs.files.values()],
    )
