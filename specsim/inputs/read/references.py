"""Which fields of a scenario name files, and where those files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from specsim.inputs.models.fleet import group_paths
from specsim.inputs.read import catalogue

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


class Said(NamedTuple):
    """What gives a value instead of the scenario's file.

    Attributes:
        where: its name in messages.
        folders: where a file that the value names is looked for, in this order, before the scenario's own folder.
    """

    where: str
    folders: tuple[Path, ...]


@dataclass(frozen=True)
class Places:
    """Which file, option or grid each value of a scenario comes from.

    Attributes:
        file: of the scenario.
        origins: path of each key → the file that holds it.
        said: path of each value that was changed since → what changed it; of two about one value the later counts.
    """

    file: Path
    origins: Mapping[str, Path]
    said: Mapping[str, Said] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """The name of what holds a value; of a value that is missing, of what it is missing from."""
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
        return next(iter(above[::-1] + below), None)

    def _file(self, path: str) -> Path:
        key = path.partition("[")[0]
        while key and key not in self.origins:
            key = key.rpartition(".")[0]
        return self.origins.get(key, self.file)


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


def keys_of(path: str) -> list[str | int]:
    """The keys and list places that a path such as ``workload.mixture[0].lengths`` goes through."""
    return [int(key) if key.isdecimal() else key for key in path.replace("[", ".").replace("]", "").split(".")]


def referenced(path: str, kind: str, data: dict[str, Any], places: Places) -> Path | None:
    """The file that a field names; None where it names none.

    Raises:
        InputError: when there is no such file.
    """
    value: Any = data
    for key in keys_of(path):
        if isinstance(value, list) and isinstance(key, int):
            value = value[key]
        else:
            value = value.get(key, value.get(str(key))) if isinstance(value, dict) else None
    if not isinstance(value, str):
        return None  # missing or of another type: the scenario's own validation says so
    return catalogue.find(kind, value, places.folders(path), where=places.of(path), path=path)
