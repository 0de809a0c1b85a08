"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ScenarioArgument = Annotated[
    str, typer.Argument(help="A scenario's catalogue name (specsim list scenarios) or the path of its YAML file.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override one value of the scenario; repeatable. Example: --set deployment.device=h200",
    ),
]
OutOption = Annotated[
    Path | None, typer.Option(help="Folder for the results. Default: one in out/, named after the scenario.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite earlier results in the output folder.")]
JobsOption = Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per processor.")]
SloOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMITS",
        help="Latency limits, in ms or with a unit, written as for vLLM's --goodput: 'ttft:200 tpot:20ms' is p99, "
        "ttft.p95:0.2s is p95. "
        "Default: the scenario's plan.slo, or its slo.",
    ),
]
