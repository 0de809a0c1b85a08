"""Everything a simulation is a function of, as one text that other processes and machines read back.

The text holds the resolved scenario and what the files it refers to say. Tables of lengths and traces, which may be
large, stay where they are: the text names them and their content, which is checked where it is read.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem
from specsim.schema import catalogue
from specsim.schema.engine import Engine
from specsim.schema.hardware import Device
from specsim.schema.load import Inputs
from specsim.schema.model import ModelConfig
from specsim.schema.scenario import Scenario

MODELS = ("device", "engine", "target", "drafter")


def portable_text(inputs: Inputs) -> str:
    """The inputs as JSON; equal inputs give equal texts, wherever their files lie.

    Where tables of lengths lie is no part of it, see ``places_of``.
    """
    found: dict[str, Any] = {"scenario": inputs.scenario.model_dump(mode="json")}
    for name in MODELS:
        model = getattr(inputs, name)
        found[name] = model and model.model_dump(mode="json")
    found["names"] = {name: path.name for name, path in inputs.files.items() if name in ("scenario", *MODELS)}
    found["lengths"] = {place: _digest(file) for place, file in inputs.lengths_files.items()}
    if inputs.scenario.deployment.costs == "aiconfigurator":
        found["costs"] = version("aiconfigurator-core")
    return json.dumps(found, sort_keys=True, ensure_ascii=False)


def places_of(inputs: Inputs) -> dict[str, str]:
    """Where tables of lengths are: by name where they ship with specsim, by path where they do not."""
    folder, _, _ = catalogue.KINDS["lengths"]
    return {place: file.name if file.parent == folder else str(file) for place, file in inputs.lengths_files.items()}


def portable_inputs(text: str, places: dict[str, str]) -> Inputs:
    """The inputs that a text is of.

    Args:
        text: see ``portable_text``.
        places: see ``places_of``.

    Raises:
        InputError: when a table of lengths is not where it should be, or holds something else.
    """
    data = json.loads(text)
    lengths = {place: _lengths_file(file, data["lengths"][place]) for place, file in places.items()}
    return Inputs(
        scenario=Scenario.model_validate(data["scenario"]),
        device=Device.model_validate(data["device"]),
        engine=Engine.model_validate(data["engine"]),
        target=ModelConfig.model_validate(data["target"]),
        drafter=None if data["drafter"] is None else ModelConfig.model_validate(data["drafter"]),
        lengths_files=lengths,
        files={name: Path(file) for name, file in data["names"].items()} | lengths,
    )


def _lengths_file(place: str, digest: str) -> Path:
    folder, _, _ = catalogue.KINDS["lengths"]
    file = folder / place  # a path from the root on stays what it is
    remedy = ""
    if not file.is_file():
        remedy = "cannot be read where the cell is simulated; put it on a file system that all workers share"
    elif _digest(file) != digest:
        remedy = "holds something else where the cell is simulated"
    if remedy:
        raise InputError([Problem(place, "", "", remedy)])
    return file


def _digest(file: Path) -> str:
    status = file.stat()
    return _digest_once(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _digest_once(file: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
