"""From a scenario's name to everything it refers to, read and checked, or one error that lists every problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from specsim.errors import Gathered, InputError, Problem
from specsim.inputs.checkpoints.model import ModelConfig, quantisation_of
from specsim.inputs.checkpoints.quantisation import UNQUANTISED, Quantisation, stated
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.checks import fleet as fleet_checks
from specsim.inputs.checks import speculation as speculation_checks
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.fleet import ReplicaGroup, group_paths
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.speculation import MedusaHeads, MTPLayers, NgramLookup, Speculation
from specsim.inputs.read import catalogue, documents, layers, problems
from specsim.inputs.read.blame import blamed

Model = TypeVar("Model", bound=BaseModel)
Kept = dict[tuple[type[BaseModel], Path], BaseModel]
"""What files hold that were read, by what they were read as."""


@dataclass(frozen=True)
class Inputs:
    """A scenario and the files it refers to, read and checked.

    Attributes:
        scenario: the resolved scenario: extends and overrides applied, defaults filled in.
        device, engine, target: what its names refer to.
        drafter: the drafter's own model; of MTP layers the target's, of Medusa heads the target itself; None where
            drafts are looked up.
        acceptance_files: recordings and texts, by the path in the scenario of the acceptance that refers to one.
        lengths_files: quantile tables and traces, by the path in the scenario of the lengths that refer to one.
        files: every file read, by what it was read for.
        groups: of a fleet, each group's replica as a scenario of its own, in the order of ``Fleet.groups``.
    """

    scenario: Scenario
    device: Device
    engine: Engine
    target: ModelConfig
    drafter: ModelConfig | None
    acceptance_files: dict[str, Path]
    lengths_files: dict[str, Path]
    files: dict[str, Path]
    groups: tuple[Inputs, ...] = ()

    @property
    def target_quantisation(self) -> Quantisation:
        """Formats of the target's weights: what the scenario says, else its config.json, else BF16."""
        deployment = self.scenario.deployment
        if deployment.weight_format is not None:
            return stated(deployment.weight_format, deployment.quantised_matrices)
        return quantisation_of(self.target) or UNQUANTISED

    @property
    def drafter_quantisation(self) -> Quantisation:
        """Formats of the drafter's weights; an MTP layer's are its target's unless the scenario says otherwise."""
        drafter = self.scenario.speculation.drafter
        if isinstance(drafter, NgramLookup) or self.drafter is None:
            return UNQUANTISED  # there are none
        if drafter.weight_format is not None:
            return stated(drafter.weight_format, "all")
        if isinstance(drafter, MTPLayers):
            return self.target_quantisation
        return UNQUANTISED if isinstance(drafter, MedusaHeads) else quantisation_of(self.drafter) or UNQUANTISED


# what a scenario refers to: name → (path of the reference in the scenario, catalogue kind)
REFERENCES = {
    "device": ("deployment.device", "device"),
    "engine": ("deployment.engine", "engine"),
    "target": ("deployment.target", "model"),
    "drafter": ("speculation.drafter.model", "model"),
    "lengths": ("workload.lengths.table", "lengths"),
    "trace": ("workload.lengths.file", "lengths"),
    "recording": ("speculation.acceptance.file", "recording"),
    "text": ("speculation.acceptance.text", "text"),
}


def load_scenario(reference: str, overrides: Sequence[str] = ()) -> Inputs:
    """Read, resolve and check a scenario.

    Args:
        reference: catalogue name or path of a scenario file.
        overrides: ``path.to.key=value`` assignments, applied in order.

    Raises:
        InputError: listing every problem in the scenario and in the files it refers to.
    """
    path = catalogue.find("scenario", reference, [Path.cwd()], where="scenario", path="")
    files = layers.read_with_extends(path).files
    try:
        return _loaded(path, overrides)
    except InputError as error:
        raise InputError(blamed(error.problems, overrides, files, _loaded)) from None


def _loaded(path: Path, overrides: Sequence[str]) -> Inputs:
    extended = layers.read_with_extends(path)
    gathered = Gathered()
    overridden = [gathered.attempt(layers.override, extended.data, item) for item in overrides]
    said = {key: Said(f"--set {key}", (Path.cwd(),)) for key in overridden if key}
    return load_extended(path, extended, said, {}, gathered.problems)


def load_extended(
    path: Path, extended: layers.Extended, said: Mapping[str, Said], kept: Kept, problems: Sequence[Problem] = ()
) -> Inputs:
    """Resolve and check a scenario that was read, and maybe changed since.

    Args:
        path: of its file.
        extended: what was read.
        said: path of each value that was changed → what changed it.
        kept: what the files that it refers to hold, as far as they were read; what is read now is added.
        problems: found already.

    Raises:
        InputError: listing every problem in the scenario and in the files it refers to.
    """
    data, scenario_files, origins = extended
    gathered = Gathered(problems)
    place = _Place(path, origins, said)
    read = partial(_read_once, kept)

    scenario = gathered.attempt(_validated, Scenario, data, place)
    refers_to = references(data)
    found_files = {name: gathered.attempt(_referenced, *at, data, place) for name, at in refers_to.items()}
    files = {name: file for name, file in found_files.items() if file}
    device: Device | None = gathered.attempt(read, Device, files.get("device"))
    engine: Engine | None = gathered.attempt(read, Engine, files.get("engine"))
    target: ModelConfig | None = gathered.attempt(read, ModelConfig, files.get("target"))
    drafter: ModelConfig | None = gathered.attempt(read, ModelConfig, files.get("drafter"))
    if scenario and target and not drafter:
        drafter = _within_target(scenario, target)
    parts = _Parts(scenario, device, engine, target, drafter, files.get("device"))
    found = parts.contradictions() if scenario else [*_of_speculation_alone(data)]
    of_groups: list[_Parts] = []
    if scenario and scenario.fleet:
        places = group_paths(scenario.fleet.model_dump())
        found += fleet_checks.policies(scenario, places)
        for group, at in zip(scenario.fleet.groups, places, strict=True):
            of_groups.append(_of_group(parts, group, at, files, gathered, kept))
            found += fleet_checks.of_group(of_groups[-1].contradictions(), found, group, at)
    gathered.problems.extend(Problem(place.of(p.path), p.path, p.value, p.remedy) for p in found)
    if gathered.problems or not (scenario and device and engine and target):
        raise InputError(dict.fromkeys(gathered.problems))
    all_files = {"scenario": path} | {f"extends {file.stem}": file for file in scenario_files[1:]} | files
    named = {name: at for name, at in refers_to.items() if name in files}
    acceptance_files, lengths_files = (
        {path.rpartition(".")[0]: files[name] for name, (path, kind) in named.items() if kind in sought}
        for sought in (("recording", "text"), ("lengths",))
    )
    inputs = Inputs(scenario, device, engine, target, drafter, acceptance_files, lengths_files, all_files)
    return replace(inputs, groups=tuple(part.within(inputs) for part in of_groups))


@dataclass(frozen=True)
class _Parts:
    """What a replica's inputs consist of, as far as it could be read."""

    scenario: Scenario | None
    device: Device | None
    engine: Engine | None
    target: ModelConfig | None
    drafter: ModelConfig | None
    device_file: Path | None

    def contradictions(self) -> list[Problem]:
        """What does not go together, with paths inside the scenario."""
        scenario, device, engine = self.scenario, self.device, self.engine
        if scenario is None:
            return []
        found = checks.within(scenario)
        drafts = self.drafter or isinstance(scenario.speculation.drafter, NgramLookup)
        if device and self.target and drafts:
            found += checks.contradictions(scenario, device, self.target, self.drafter)
        if engine and device and self.device_file != (calibrated := _device_of(engine)) and calibrated:
            remedy = f"was calibrated on {engine.device}; name that device, or an engine profile that holds for any"
            found.append(Problem("", "deployment.engine", repr(scenario.deployment.engine), remedy))
        return found

    def within(self, inputs: Inputs) -> Inputs:
        """The inputs of a group's replica, which was found to be whole."""
        assert self.scenario
        assert self.device
        assert self.engine
        assert self.device_file
        files = inputs.files | {"device": self.device_file}
        return replace(inputs, scenario=self.scenario, device=self.device, engine=self.engine, files=files)


def _of_group(
    parts: _Parts, group: ReplicaGroup, place: str, files: Mapping[str, Path], gathered: Gathered, kept: Kept
) -> _Parts:
    """The parts of a fleet's group: the scenario's own but for what the group states."""
    assert parts.scenario
    device, engine, device_file = parts.device, parts.engine, parts.device_file
    if group.deployment.device is not None:
        device_file = files.get(f"device of {place}")
        device = gathered.attempt(_read_once, kept, Device, device_file)
    if group.deployment.engine is not None:
        engine = gathered.attempt(_read_once, kept, Engine, files.get(f"engine of {place}"))
    scenario = fleet_checks.group_scenario(parts.scenario, group)
    return replace(parts, scenario=scenario, device=device, engine=engine, device_file=device_file)


def references(data: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """REFERENCES, and those of the classes of a mixture, of the domains of a trace and of the groups of a fleet."""
    workload = data.get("workload")
    classes = workload.get("mixture") if isinstance(workload, dict) else None
    numbered = workload.get("domains") if isinstance(workload, dict) else None
    of_classes = {
        f"{name} of class {i}": (f"workload.mixture[{i}].{key}", kind)
        for i in range(len(classes) if isinstance(classes, list) else 0)
        for name, key, kind in (
            ("lengths", "lengths.table", "lengths"),
            ("trace", "lengths.file", "lengths"),
            ("recording", "acceptance.file", "recording"),
            ("text", "acceptance.text", "text"),
        )
    }
    of_groups = {
        f"{name} of {place}": (f"{place}.deployment.{name}", name)
        for place in group_paths(data.get("fleet"))
        for name in ("device", "engine")
    }
    of_domains = {
        f"{kind} of domain {number}": (f"workload.domains[{number}].{key}", kind)
        for number in (numbered if isinstance(numbered, dict) else ())
        for kind, key in (("recording", "file"), ("text", "text"))
    }
    return REFERENCES | of_classes | of_domains | of_groups


def _of_speculation_alone(data: dict[str, Any]) -> Iterator[Problem]:
    """What is contradictory within the speculation of a scenario that cannot be read as a whole."""
    try:
        stated = Speculation.model_validate(data.get("speculation"))
    except ValidationError:
        return
    yield from speculation_checks.contradictions(stated)


def _device_of(engine: Engine) -> Path | None:
    """The file of the device that a profile was calibrated on."""
    if engine.device is None:
        return None
    return catalogue.find("device", engine.device, [Path.cwd()], where=engine.name, path="device")


def _within_target(scenario: Scenario, target: ModelConfig) -> ModelConfig | None:
    """The model of a drafter that is part of the target or has its dimensions; None for all others."""
    drafter = scenario.speculation.drafter
    if isinstance(drafter, MTPLayers):
        return target.mtp_model if target.num_mtp_layers else target
    return target if isinstance(drafter, MedusaHeads) else None


class Said(NamedTuple):
    """What says a value in the place of a scenario's file.

    Attributes:
        where: its name in messages.
        folders: where a file that the value names is looked for, in this order, before the scenario's own folder.
    """

    where: str
    folders: tuple[Path, ...]


@dataclass(frozen=True)
class _Place:
    """Tells which file, or what else, a path of the scenario came from."""

    file: Path
    origins: Mapping[str, Path]
    said: Mapping[str, Said] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """The override or file that says it, or that says what it is missing from."""
        said = self._said(path)
        return said.where if said else str(self._file(path))

    def folders(self, path: str) -> Sequence[Path]:
        """Where a file named there is looked for: beside the file that names it, then in the current directory."""
        said = self._said(path)
        beside = self._file(path).parent
        return [*said.folders, beside] if said else [beside, Path.cwd()]

    def _said(self, path: str) -> Said | None:
        above = [said for key, said in self.said.items() if f"{path}.".startswith((f"{key}.", f"{key}["))]
        below = [said for key, said in self.said.items() if key.startswith(f"{path}.") and path not in self.origins]
        return next(iter(above + below), None)

    def _file(self, path: str) -> Path:
        key = path.partition("[")[0]
        while key and key not in self.origins:
            key = key.rpartition(".")[0]
        return self.origins.get(key, self.file)


def _validated(model: type[Model], data: dict[str, Any], place: _Place) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = problems.from_validation(error, model)
        raise InputError(Problem(place.of(p.path), p.path, p.value, p.remedy) for p in found) from None


def _read_once(kept: Kept, model: type[Model], file: Path | None) -> Model | None:
    if file is None:
        return None
    found = kept.get((model, file))
    if not isinstance(found, model):
        found = kept[model, file] = _read_file(model, file)
    return found


def _read_file(model: type[Model], file: Path) -> Model:
    return _validated(model, documents.read_mapping(file), _Place(file, {}))


def keys_of(path: str) -> list[str | int]:
    """The keys and places that a path such as ``workload.mixture[0].lengths`` goes through."""
    return [int(key) if key.isdecimal() else key for key in path.replace("[", ".").replace("]", "").split(".")]


def _referenced(path: str, kind: str, data: dict[str, Any], place: _Place) -> Path | None:
    value: Any = data
    for key in keys_of(path):
        if isinstance(value, list) and isinstance(key, int):
            value = value[key]
        else:
            value = value.get(key, value.get(str(key))) if isinstance(value, dict) else None
    if not isinstance(value, str):
        return None  # missing or of another type: the scenario's own validation says so
    return catalogue.find(kind, value, place.folders(path), where=place.of(path), path=path)


def read_device(reference: str) -> Device:
    """A device by catalogue name or path."""
    return _read_file(Device, catalogue.find("device", reference, [Path.cwd()], where="device", path=""))


def read_engine(reference: str) -> Engine:
    """An engine profile by catalogue name or path."""
    return _read_file(Engine, catalogue.find("engine", reference, [Path.cwd()], where="engine", path=""))


def read_model(reference: str) -> ModelConfig:
    """A model by catalogue name or path of its config.json."""
    return _read_file(ModelConfig, catalogue.find("model", reference, [Path.cwd()], where="model", path=""))
