"""The inputs of a run as they are written beside its results: the resolved scenario and the provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.fleet import group_paths
from specsim.inputs.read import catalogue
from specsim.inputs.read.references import keys_of, references
from specsim.inputs.read.scenario import Inputs
from specsim.provenance import provenance
from specsim.reporting.acceptance import acceptance_sentences
from specsim.reporting.folders import Writer, text_writer
from specsim.simulation.replica import Simulation
from specsim.verification.core import reason_for_numpy


def resolved_scenario(inputs: Inputs) -> str:
    """The scenario as YAML, with extends and overrides applied and paths that hold from anywhere; it runs again."""
    data = inputs.scenario.model_dump(mode="json", exclude_none=True)
    for name, (path, kind) in references(data).items():
        file = inputs.files.get(name)
        if file is not None and file.parent != catalogue.KINDS[kind][0]:
            *parents, last = keys_of(path)
            place: Any = data
            for parent in parents:
                place = place[parent if isinstance(place, list) or parent in place else str(parent)]
            place[last] = str(file)
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text


def input_files(inputs: Inputs, warning: str = "") -> dict[str, Writer]:
    """The resolved scenario and the provenance, as every result has them: file name → what writes it."""
    return {
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(provenance_json(inputs, warning or None)),
    }


def provenance_json(inputs: Inputs, warning: str | None = None) -> str:
    """``provenance_of`` as a file has it."""
    return json.dumps(provenance_of(inputs, warning), indent=2, ensure_ascii=False) + "\n"


def provenance_of(inputs: Inputs, warning: str | None = None) -> dict[str, object]:
    """Versions, core, seed, input files by content, the sources of the numbers used, and what to be warned of."""
    acceptance = inputs.scenario.speculation.acceptance
    sources = {
        "device": {"name": inputs.device.name, **_sources(inputs.device.sources)},
        "engine": {"name": inputs.engine.name, **_sources(inputs.engine.sources)},
        "target": inputs.target.specsim_source or "the model's own config.json",
        "drafter": _drafter_source(inputs),
        "acceptance": acceptance.source or "not given in the scenario",
        "lengths": _attribution(inputs.lengths_files.values()),
    }
    sources |= _group_sources(inputs)
    if inputs.scenario.deployment.costs != "roofline":
        sources["costs"] = " ".join(cost_sentences(inputs))
    reason = reason_for_numpy()
    core = "compiled (numba)" if reason is None else f"plain: {reason}"
    result = provenance(inputs.scenario.seed, inputs.files, sources) | {"core": core}
    return result | ({"warning": warning} if warning else {})


def _group_sources(inputs: Inputs) -> dict[str, Any]:
    """Of the devices and engines that groups of a fleet have in place of the deployment's."""
    fleet = inputs.scenario.fleet
    places = group_paths(fleet.model_dump()) if fleet else []
    return {
        f"{kind} of {place}": {"name": own.name, **_sources(own.sources)}
        for place, group in zip(places, inputs.groups, strict=True)
        for kind, own, base in (("device", group.device, inputs.device), ("engine", group.engine, inputs.engine))
        if own != base
    }


def _drafter_source(inputs: Inputs) -> str:
    drafter = inputs.scenario.speculation.drafter
    if isinstance(drafter, NgramLookup):
        return drafter.source or "host times given in the scenario, without a source"
    return (inputs.drafter.specsim_source if inputs.drafter else "") or "the model's own config.json"


def source_sentences(inputs: Inputs) -> list[str]:
    """Where the acceptance comes from and what is to be said of it, and of measured costs."""
    return [*acceptance_sentences(inputs), *cost_sentences(inputs)]


def cost_sentences(inputs: Inputs) -> list[str]:
    """Where measured tables were asked for as costs: that they were, and which products they do not surround."""
    if inputs.scenario.deployment.costs == "roofline":
        return []
    left = Simulation(inputs).on_the_roofline()
    outside = ", ".join(f"{linear.outputs} × {linear.inputs} ({linear.format.name})" for linear in left)
    release = version("aiconfigurator-core")
    rest = f"; not in the tables, so from the roofline: {outside}" if outside else ""
    return [f"Times of matrix products are measured: tables of aiconfigurator-core {release}{rest}."]


def _sources(sources: Any) -> dict[str, Any]:
    return {path: source.model_dump() for path, source in sources.items()}


def _attribution(files: Iterable[Path]) -> str:
    """The comment lines at the head of tables and traces of lengths."""
    return "; ".join(dict.fromkeys(map(_head_of, files))) or "given in the scenario"


def _head_of(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return " ".join(line.strip().lstrip("# ") for line in lines if line.startswith("#")) or file.name
