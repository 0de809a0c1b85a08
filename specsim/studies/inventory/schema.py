"""``specsim schema``: JSON Schemas that editors use."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """Which files the schema is for."""

    scenario = "scenario"
    device = "device"
    engine = "engine"
    grid = "grid"


def schema(kind: Annotated[Kind, typer.Argument(help="Which kind of file.")] = Kind.scenario) -> None:
    """Print the JSON Schema of a kind of file; editors complete and check YAML with it.

    Example: specsim schema scenario > scenario.schema.json
    """
    from specsim.inputs.read.json_schema import json_schema

    typer.echo(json_schema(kind.value), nl=False)
