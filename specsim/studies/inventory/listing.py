"""``specsim list``: what ships with specsim, by name."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
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


def list_names(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """Names that scenarios and --set may use.

    Example: specsim list hardware
    """
    from specsim.reporting.console import console
    from specsim.studies.inventory.tables import catalogue_table

    console().print(catalogue_table(kind.value))
