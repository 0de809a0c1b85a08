"""Serialises everything that a simulation depends on, for other processes and machines.

The text holds the resolved scenario and the content of the files that it names. Tables of lengths, traces, recordings
and texts can be large and stay where they are: the text holds their hashes, which are checked where they are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.measured.operator_tables import installed
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import Inputs

Places = dict[str, str]


def portable_text(inputs: Inputs) -> str:
    """The inputs as JSON; equal inputs give equal texts, wherever their files lie.

    It does not hold where tables, traces, recordings and texts are; see ``places_of``.
    """
    found = _replica(inputs) | {
        "scenario file": inputs.files["scenario"].name,
        "target": inputs.target.model_dump(mode="json"),
        "drafter": inputs.drafter and inputs.drafter.model_dump(mode="json"),
        "lengths": {place: _digest(file) for place, file in inputs.lengths_files.items()},
        "acceptance": {place: _digest(file) for place, file in inputs.acceptance_files.items()},
        "groups": [_replica(group) for group in inputs.groups],
    }
    if inputs.scenario.deployment.costs == "aiconfigurator":
        _, found["costs"] = installed("deployment.costs")
    return json.dumps(found, sort_keys=True, ensure_ascii=False)


def _replica(inputs: Inputs) -> dict[str, Any]:
    """The parts that can differ between groups of a fleet."""
    return {
        "scenario": inputs.scenario.model_dump(mode="json"),
        "device": inputs.device.model_dump(mode="json"),
        "device file": inputs.files["device"].name,
        "engine": inputs.engine.model_dump(mode="json"),
    }


def places_of(inputs: Inputs) -> Places:
    """Paths of the files that the text holds by hash; of those that ship with specsim, relative to the catalogue."""
    files = inputs.lengths_files | inputs.acceptance_files
    return {
        place: file.relative_to(catalogue.ROOT).as_posix() if file.is_relative_to(catalogue.ROOT) else str(file)
        for place, file in files.items()
    }


def portable_inputs(text: str, places: Places) -> Inputs:
    """The inputs back from their text.

    Args:
        text: see ``portable_text``.
        places: see ``places_of``.

    Raises:
        InputError: when a file is not where it should be, or holds something else.
    """
    data = json.loads(text)
    lengths, acceptance = (_files(data[kind], places) for kind in ("lengths", "acceptance"))
    inputs = Inputs(
        scenario=Scenario.model_validate(data["scenario"]),
        device=Device.model_validate(data["device"]),
        engine=Engine.model_validate(data["engine"]),
        target=ModelConfig.model_validate(data["target"]),
        drafter=None if data["drafter"] is None else ModelConfig.model_validate(data["drafter"]),
        acceptance_files=acceptance,
        lengths_files=lengths,
        files={"scenario": Path(data["scenario file"]), "device": Path(data["device file"])} | lengths | acceptance,
    )
    return replace(inputs, groups=tuple(_group(group, inputs) for group in data["groups"]))


def _group(data: Mapping[str, Any], inputs: Inputs) -> Inputs:
    return replace(
        inputs,
        scenario=Scenario.model_validate(data["scenario"]),
        device=Device.model_validate(data["device"]),
        engine=Engine.model_validate(data["engine"]),
        files=inputs.files | {"device": Path(data["device file"])},
    )


def _files(digests: Mapping[str, str], places: Places) -> dict[str, Path]:
    return {place: _checked_file(places[place], digest) for place, digest in digests.items()}


def _checked_file(place: str, digest: str) -> Path:
    file = catalogue.ROOT / place  # a path from the root on stays what it is
    remedy = ""
    if not file.is_file():
        remedy = "cannot be read where the cell is simulated; put it on a file system that all workers share"
    elif _digest(file) != digest:
        remedy = "has other contents where the cell is simulated"
    if remedy:
        raise InputError([Problem(place, "", "", remedy)])
    return file


def _digest(file: Path) -> str:
    status = file.stat()
    return _digest_once(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _digest_once(file: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
