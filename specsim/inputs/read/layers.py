"""Merges a scenario with the one that it extends, and sets single values in the result. Knows no model."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from specsim.errors import InputError, Problem
from specsim.inputs.read import catalogue
from specsim.inputs.read.carried import Pair, gives_acceptance, pair_of
from specsim.inputs.read.documents import read_mapping


class Extended(NamedTuple):
    """A scenario merged with the ones that it extends.

    Attributes:
        data: the result.
        files: every file read, nearest first.
        origins: dotted path of each key in data → the file that says it.
        given_for: target and drafter of the nearest file that gives the acceptance; None where none does.
    """

    data: dict[str, Any]
    files: tuple[Path, ...]
    origins: dict[str, Path]
    given_for: Pair | None = None


def read_with_extends(path: Path, ancestors: tuple[Path, ...] = ()) -> Extended:
    """A scenario's data, merged with that of the one it extends.

    Raises:
        InputError: for a missing base or a circle.
    """
    if path in ancestors:
        circle = " → ".join(p.name for p in (*ancestors, path))
        raise InputError([Problem(str(path), "extends", "", f"extends itself ({circle}); break the circle")])
    data = read_mapping(path)
    base_reference = data.pop("extends", None)
    if base_reference is None:
        return Extended(data, (path,), dict.fromkeys(_key_paths(data), path), pair_of(data))
    if not isinstance(base_reference, str):
        remedy = "must be a catalogue name or the path of a scenario file"
        raise InputError([Problem(str(path), "extends", repr(base_reference), remedy)])
    base_path = catalogue.find("scenario", base_reference, [path.parent], where=str(path), path="extends")
    base = read_with_extends(base_path, (*ancestors, path))
    result, own = merged(base.data, data), set(_key_paths(data))
    origins = {key: path if key in own else base.origins[key] for key in _key_paths(result)}
    figures = [key for key in own if key.startswith("speculation.acceptance.")]
    given_for = pair_of(result) if gives_acceptance(figures) else base.given_for
    return Extended(result, (path, *base.files), origins, given_for)


def _key_paths(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in data.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _key_paths(value, f"{prefix}{key}.")


# texts that say what the values beside and below them are; they do not survive a change of those values
DESCRIBING = ("description", "source")
SETTINGS = ("curve", "map", "optimize", "plan", "run")  # how something is looked at; a description of it stays true


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``over``, key by key.

    A mapping of another ``kind`` replaces the base's whole. A description or source of the base is dropped where
    a value beside it changes, since it no longer holds.
    """
    result = copy.deepcopy(base)
    if over:
        _drop_descriptions(result)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if _same_kind(below, value) else copy.deepcopy(value)
    return result


def _same_kind(below: Any, over: Any) -> TypeGuard[dict[str, Any]]:
    both = isinstance(below, dict) and isinstance(over, dict)
    return both and over.get("kind", below.get("kind")) == below.get("kind")


def assign(data: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set the value at ``path.to.key`` of ``data``, in place, and drop descriptions that no longer hold.

    Args:
        data: of a scenario.
        path: keys joined by points; missing ones are created.
        value: the new value.
        where: the option or file that sets it, for messages.

    Raises:
        InputError: when the path runs through something that has no keys.
    """
    *parents, last = path.split(".")
    place = data
    for parent in parents:
        if path.partition(".")[0] not in SETTINGS:
            _drop_descriptions(place)
        if place.get(parent) is None:
            place[parent] = {}
        below = place[parent]
        if not isinstance(below, dict):
            raise InputError([Problem(where, parent, repr(below), "has no keys below it; set it as a whole")])
        place = below
    if last not in DESCRIBING:
        _drop_descriptions(place)
    place[last] = value


def _drop_descriptions(place: dict[str, Any]) -> None:
    for text in DESCRIBING:
        place.pop(text, None)
