"""A deployment in a line: models, drafter and devices, as titles and subtitles of figures have it."""

from __future__ import annotations

from pathlib import Path

from specsim.inputs.models.speculation import Drafter, MedusaHeads, MTPLayers, NgramLookup
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.fleet import fleet_words
from specsim.reporting.traffic import lengths_words


def subtitle(inputs: Inputs) -> str:
    """What was simulated, in a line, from the resolved scenario."""
    workload = inputs.scenario.workload
    decode_only = ", decode only" if workload.decode_only else ""
    return f"{deployment_words(inputs)}; {lengths_words(workload)}{decode_only}"


def deployment_words(inputs: Inputs) -> str:
    """Models and devices in a line."""
    scenario = inputs.scenario
    deployment = scenario.deployment
    devices = f"{deployment.num_devices} × {inputs.device.name}" if deployment.num_devices > 1 else inputs.device.name
    models = f"{_name(deployment.target)} with {_drafter(scenario.speculation.drafter)}"
    how = ", ideal" if deployment.ideal else ""
    fleet = f", {fleet_words(scenario.fleet)}" if scenario.fleet else ""
    return f"{models} on {devices}{how}{fleet}"


def _name(reference: str) -> str:
    """A catalogue name, or the folder of a config.json, which people name after the model."""
    path = Path(reference)
    return path.parent.name or path.stem if path.name == "config.json" else path.name.removesuffix(".json")


def _drafter(drafter: Drafter) -> str:
    """What drafts, in a title's words."""
    match drafter:
        case MTPLayers():
            return "its MTP layer"
        case NgramLookup():
            return "n-gram lookup"
        case MedusaHeads():
            return f"{drafter.num_heads} Medusa heads"
        case _:
            return _name(drafter.model)
