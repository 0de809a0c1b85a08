"""A deployment in a line: models, drafter and devices, as titles and subtitles of figures have it."""

from __future__ import annotations

from specsim.inputs.models.drafter_facts import model_name
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
    models = f"{model_name(deployment.target)} with {scenario.speculation.drafter.facts.title}"
    how = ", ideal" if deployment.ideal else ""
    fleet = f", {fleet_words(scenario.fleet)}" if scenario.fleet else ""
    return f"{models} on {devices}{how}{fleet}"
