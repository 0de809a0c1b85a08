"""``specsim list``, ``quantiles``, ``schema`` and ``doctor``: what ships, what is installed, what can be named."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

NUM_BINS = 20  # of a trace with at least as many requests


class Listed(StrEnum):
    """What can be listed."""

    hardware = "hardware"
    engines = "engines"
    models = "models"
    scenarios = "scenarios"
    grids = "grids"
    lengths = "lengths"
    texts = "texts"
    measurements = "measurements"
    steps = "steps"


def list_names(kind: Annotated[Listed, typer.Argument(help="What to list.")]) -> None:
    """Names that scenarios and --set may use.

    Example: specsim list hardware
    """
    from specsim.reporting.console import console
    from specsim.studies.inventory.tables import catalogue_table

    console().print(catalogue_table(kind.value))


def quantiles(
    trace: Annotated[Path, typer.Argument(help="A request trace in a format that workload.lengths takes.")],
    out: Annotated[Path, typer.Option(help="The table to write, a .csv file.")],
    note: Annotated[
        list[str] | None, typer.Option(help="A line for the head of the table, such as source and licence; repeat.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the table if it exists.")] = False,
) -> None:
    """Summarise a trace's prompt and output lengths as joint quantiles, for workload.lengths.

    Example: specsim quantiles trace.csv --out my-lengths.csv --note "our chat traffic, May"
    """
    from specsim.reporting.folders import write_file
    from specsim.workload.quantiles import build_table, write_table
    from specsim.workload.traces import read_trace

    found = read_trace(trace)
    lengths = found.lengths
    table = build_table(lengths.prompt, lengths.output, num_bins=min(NUM_BINS, lengths.prompt.size))
    lines = [line for text in note or () for line in text.splitlines()]
    write_file(out, lambda path: write_table(path, table, lines), force=force)
    failed = f", {found.left_out} that failed left out" if found.left_out else ""
    typer.echo(f"{lengths.prompt.size} requests summarised in {out}{failed}")


class Described(StrEnum):
    """Which files the schema is for."""

    scenario = "scenario"
    device = "device"
    engine = "engine"
    grid = "grid"


def schema(kind: Annotated[Described, typer.Argument(help="Which kind of file.")] = Described.scenario) -> None:
    """Print the JSON Schema of a kind of file; editors complete and check YAML with it.

    Example: specsim schema scenario > scenario.schema.json
    """
    from specsim.inputs.read.json_schema import json_schema

    typer.echo(json_schema(kind.value), nl=False)


def doctor() -> None:
    """Versions, where the catalogue is, and how fast this machine simulates.

    Example: specsim doctor
    """
    from specsim.reporting.console import console
    from specsim.studies.inventory.doctor import diagnosis

    console().print(diagnosis())
