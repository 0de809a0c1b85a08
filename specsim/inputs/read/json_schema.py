"""JSON Schemas of the YAML files, as committed under ``docs/schema`` and printed by ``specsim schema``."""

from __future__ import annotations

import json

from pydantic import BaseModel

from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.grid import Grid

MODELS: dict[str, type[BaseModel]] = {"scenario": Scenario, "device": Device, "engine": Engine, "grid": Grid}


def json_schema(kind: str) -> str:
    """The schema of a scenario, device, engine or grid file, as JSON text.

    A scenario may leave out what the file that it extends provides. So its schema requires no key at any level, and a
    part without ``kind`` may be any of several.
    """
    schema = MODELS[kind].model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    if kind == "scenario":
        extends = {
            "type": "string",
            "description": "Catalogue name or path of the scenario that this one is laid over.",
        }
        schema["properties"] = {"extends": extends} | schema["properties"]
        _accept_parts(schema)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _accept_parts(node: object) -> None:
    if isinstance(node, dict):
        if isinstance(node.get("required"), list):
            del node["required"]
        if "discriminator" in node:
            node["anyOf"] = node.pop("oneOf")
        for below in node.values():
            _accept_parts(below)
    elif isinstance(node, list):
        for below in node:
            _accept_parts(below)
