"""Reads a scenario and all files that it names, checks them, and reports every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from specsim.errors import Gathered, InputError, Problem
from specsim.inputs.checkpoints.model import ModelConfig, quantisation_of
from specsim.inputs.checkpoints.quantisation import UNQUANTISED, Quantisation, stated
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.checks import fleet as fleet_checks
from specsim.inputs.checks import speculation as speculation_checks
from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.fleet import ReplicaGroup, group_paths
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.read import catalogue, documents, layers, problems
from specsim.inputs.read.blame import blamed
from specsim.inputs.read.carried import changed, gives_acceptance
from specsim.inputs.read.overrides import Option, apply, assignment, named
from specsim.inputs.read.references import Places, Said, referenced, references

Model = TypeVar("Model", bound=BaseModel)
Kept = dict[tuple[type[BaseModel], Path], BaseModel]
"""What files hold that were read, by what they were read as."""


@dataclass(frozen=True)
class Inputs:
    """A scenario and the files that it names, read and checked.

    Attributes:
        scenario: the resolved scenario: extends and overrides applied, defaults filled in.
        device, engine, target: read from the files that it names.
        drafter: the drafter's own model; of MTP layers the target's, of Medusa heads the target itself; None where
            drafts are looked up.
        acceptance_files: recordings and texts, by the path in the scenario of the acceptance that refers to one.
        lengths_files: quantile tables and traces, by the path in the scenario of the lengths that refer to one.
        files: every file read; the key says what for.
        groups: of a fleet, each group's replica as a scenario of its own, in the order of ``Fleet.groups``.
        carried: paths of the target and the drafter where the acceptance was given for another and carried over.
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
    carried: tuple[str, ...] = ()

    @property
    def target_quantisation(self) -> Quantisation:
        """Formats of the target's weights: from the scenario, else its config.json, else BF16."""
        deployment = self.scenario.deployment
        if deployment.weight_format is not None:
            return stated(deployment.weight_format, deployment.quantised_matrices)
        return quantisation_of(self.target) or UNQUANTISED

    @property
    def drafter_quantisation(self) -> Quantisation:
        """Formats of the drafter's weights: from the scenario, else the checkpoint that holds them, else BF16."""
        drafter = self.scenario.speculation.drafter
        if isinstance(drafter, NgramLookup) or self.drafter is None:
            return UNQUANTISED  # there are none
        if drafter.weight_format is not None:
            return stated(drafter.weight_format, "all")
        if drafter.facts.in_target_checkpoint:
            return self.target_quantisation
        return (drafter.facts.config and quantisation_of(self.drafter)) or UNQUANTISED


def load_scenario(
    reference: str, sets: Sequence[str] = (), options: Sequence[Option] = (), blocks: Sequence[str] = ()
) -> Inputs:
    """Read, resolve and check a scenario.

    Args:
        reference: catalogue name or path of a scenario file.
        sets: ``path.to.key=value`` assignments, applied in order.
        options: applied after these, in order; those not given are skipped.
        blocks: parts of a scenario that are filled in with their defaults where it lacks them.

    Raises:
        InputError: with every problem in the options, the scenario and the files that it names.
    """
    gathered = Gathered()
    stated = [gathered.attempt(assignment, text) for text in sets]
    stated += [option for option in options if option.given is not None]
    given = [option for option in stated if option]
    path = gathered.attempt(catalogue.find, "scenario", reference, [Path.cwd()], where="scenario", path="")
    extended = gathered.attempt(layers.read_with_extends, path) if path else None
    if not (path and extended):
        for option in given:
            gathered.attempt(option.parse, option.given, option.name)
        raise InputError(dict.fromkeys(gathered.problems))
    load = partial(_loaded, blocks=blocks)
    try:
        inputs = load(path, given)
    except InputError as error:
        found = blamed(error.problems, given, extended.files, load)
        raise InputError(dict.fromkeys([*gathered.problems, *named(found, given)])) from None
    gathered.settle()
    return inputs


def _loaded(path: Path, options: Sequence[Option], blocks: Sequence[str]) -> Inputs:
    extended = layers.read_with_extends(path)
    gathered, said = Gathered(), dict[str, Said]()
    for option in options:
        try:
            apply(option, extended.data)
        except InputError as error:
            gathered.problems.extend(error.problems)
        else:
            said.pop(option.path, None)  # the later of two stands last
            said[option.path] = Said(option.name, (Path.cwd(),))
    for block in blocks:
        if extended.data.get(block) is None:
            extended.data[block] = {}
    return load_extended(path, extended, said, {}, gathered.problems)


def load_extended(
    path: Path, extended: layers.Extended, said: Mapping[str, Said], kept: Kept, problems: Sequence[Problem] = ()
) -> Inputs:
    """Validate and check a scenario whose data was read, and may have been changed since.

    Args:
        path: of its file.
        extended: what was read.
        said: path of each value that was changed → what changed it.
        kept: cache of the files that scenarios name; files read now are added.
        problems: found already.

    Raises:
        InputError: with every problem in the scenario and the files that it names.
    """
    data, scenario_files, origins, given_for = extended
    gathered = Gathered(problems)
    place = Places(path, origins, said)
    read = partial(_read_once, kept)

    scenario = gathered.attempt(_validated, Scenario, data, place)
    refers_to = references(data)
    found_files = {name: gathered.attempt(referenced, *at, data, place) for name, at in refers_to.items()}
    files = {name: file for name, file in found_files.items() if file}
    device: Device | None = gathered.attempt(read, Device, files.get("device"))
    engine: Engine | None = gathered.attempt(read, Engine, files.get("engine"))
    target: ModelConfig | None = gathered.attempt(read, ModelConfig, files.get("target"))
    drafter: ModelConfig | None = gathered.attempt(read, ModelConfig, files.get("drafter"))
    engine = engine.limited_on(device) if engine and device else engine
    if scenario and target and not drafter:
        drafter = scenario.speculation.drafter.dimensions_in(target)
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
    if not gives_acceptance(said):
        inputs = replace(inputs, carried=changed(given_for, data))
    return replace(inputs, groups=tuple(part.within(inputs) for part in of_groups))


@dataclass(frozen=True)
class _Parts:
    """The inputs of a replica; None for what could not be read."""

    scenario: Scenario | None
    device: Device | None
    engine: Engine | None
    target: ModelConfig | None
    drafter: ModelConfig | None
    device_file: Path | None

    def contradictions(self) -> list[Problem]:
        """Contradictions, with paths inside the scenario."""
        scenario, device, engine = self.scenario, self.device, self.engine
        if scenario is None:
            return []
        found = checks.within(scenario)
        drafts = self.drafter or scenario.speculation.drafter.facts.looks_up
        if device and self.target and drafts:
            found += checks.contradictions(scenario, device, self.target, self.drafter)
        if engine and device and self.device_file != (calibrated := _device_of(engine)) and calibrated:
            remedy = f"was calibrated on {engine.device}; name that device, or an engine profile that holds for any"
            found.append(Problem("", "deployment.engine", repr(scenario.deployment.engine), remedy))
        return found

    def within(self, inputs: Inputs) -> Inputs:
        """The inputs of a group's replica, of which nothing is missing."""
        assert self.scenario
        assert self.device
        assert self.engine
        assert self.device_file
        files = inputs.files | {"device": self.device_file}
        return replace(inputs, scenario=self.scenario, device=self.device, engine=self.engine, files=files)


def _of_group(
    parts: _Parts, group: ReplicaGroup, place: str, files: Mapping[str, Path], gathered: Gathered, kept: Kept
) -> _Parts:
    """The parts of a group of a fleet: its own, or else the scenario's."""
    assert parts.scenario
    device, device_file = parts.device, parts.device_file
    if group.deployment.device is not None:
        device_file = files.get(f"device of {place}")
        device = gathered.attempt(_read_once, kept, Device, device_file)
    profile = files.get("engine" if group.deployment.engine is None else f"engine of {place}")
    engine: Engine | None = gathered.attempt(_read_once, kept, Engine, profile)
    engine = engine.limited_on(device) if engine and device else engine
    scenario = fleet_checks.group_scenario(parts.scenario, group)
    return replace(parts, scenario=scenario, device=device, engine=engine, device_file=device_file)


def _of_speculation_alone(data: dict[str, Any]) -> Iterator[Problem]:
    """Contradictions within ``speculation`` of a scenario that is otherwise invalid."""
    try:
        stated = Speculation.model_validate(data.get("speculation"))
    except ValidationError:
        return
    yield from speculation_checks.contradictions(stated)


def _device_of(engine: Engine) -> Path | None:
    """The file of the device that a profile was calibrated on; None where it holds for any."""
    if engine.device is None:
        return None
    return catalogue.find("device", engine.device, [Path.cwd()], where=engine.name, path="device")


def _validated(model: type[Model], data: dict[str, Any], place: Places) -> Model:
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
    return _validated(model, documents.read_mapping(file), Places(file, {}))


def read_device(reference: str) -> Device:
    """A device by catalogue name or path."""
    return _read_file(Device, catalogue.find("device", reference, [Path.cwd()], where="device", path=""))


def read_engine(reference: str) -> Engine:
    """An engine profile by catalogue name or path."""
    return _read_file(Engine, catalogue.find("engine", reference, [Path.cwd()], where="engine", path=""))


def read_model(reference: str) -> ModelConfig:
    """A model by catalogue name or path of its config.json."""
    return _read_file(ModelConfig, catalogue.find("model", reference, [Path.cwd()], where="model", path=""))
