"""Reads YAML and JSON files into plain data, applies ``extends:`` and command-line overrides. Knows no model."""

from __future__ import annotations

import copy
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from specsim.errors import InputError, Problem
from specsim.schema import catalogue


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key written twice, where plain YAML keeps the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is written twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str, where: str) -> Any:
    """The data in a YAML text; ``where`` names it in messages.

    Raises:
        InputError: with line and column when the text is not YAML or repeats a key.
    """
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or str(error)
        raise InputError([Problem(where, place, "", f"not valid YAML: {what}")]) from None


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: when it cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), "", "", f"cannot be read ({reason}); correct the path")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(str(path), "", "", "is not UTF-8 text; give a YAML or JSON file")]) from None


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping that a YAML or JSON file holds.

    Raises:
        InputError: when it cannot be read, parsed, or holds something else.
    """
    text = read_text(path)
    if path.suffix == ".json":
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise InputError([Problem(str(path), place, "", f"not valid JSON: {error.msg}")]) from None
    else:
        data = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        found = "an empty file" if data is None else f"a {type(data).__name__}"
        raise InputError([Problem(str(path), "", "", f"must hold keys and values, not {found}")])
    return {str(key): value for key, value in data.items()}


def read_with_extends(path: Path, ancestors: tuple[Path, ...] = ()) -> tuple[dict[str, Any], list[Path]]:
    """A scenario's data laid over the one it extends, and the files read, nearest first.

    Raises:
        InputError: for a missing base or a circle.
    """
    if path in ancestors:
        circle = " → ".join(p.name for p in (*ancestors, path))
        raise InputError([Problem(str(path), "extends", "", f"extends itself ({circle}); break the circle")])
    data = read_mapping(path)
    base_reference = data.pop("extends", None)
    if base_reference is None:
        return data, [path]
    if not isinstance(base_reference, str):
        remedy = "must be a catalogue name or the path of a scenario file"
        raise InputError([Problem(str(path), "extends", repr(base_reference), remedy)])
    base_path = catalogue.find("scenario", base_reference, [path.parent], where=str(path), path="extends")
    base, files = read_with_extends(base_path, (*ancestors, path))
    return merged(base, data), [path, *files]


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``over`` laid over ``base``, key by key; a mapping of another ``kind`` replaces the base's whole."""
    result = copy.deepcopy(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if _same_kind(below, value) else copy.deepcopy(value)
    return result


def _same_kind(below: Any, over: Any) -> TypeGuard[dict[str, Any]]:
    both = isinstance(below, dict) and isinstance(over, dict)
    return both and over.get("kind", below.get("kind")) == below.get("kind")


def override(data: dict[str, Any], assignment: str) -> str:
    """Apply one ``path.to.key=value`` to ``data`` in place; the value is YAML. Returns the path.

    Raises:
        InputError: when the assignment has no ``=`` or its path runs through something that has no keys.
    """
    path, equals, text = assignment.partition("=")
    path = path.strip()
    if not (path and equals):
        remedy = "write a path, '=' and a value, such as speculation.policy.num_draft_tokens=5"
        raise InputError([Problem("--set", "", repr(assignment), remedy)])
    *parents, last = path.split(".")
    place = data
    for parent in parents:
        below = place.setdefault(parent, {})
        if not isinstance(below, dict):
            raise InputError([Problem(f"--set {path}", parent, repr(below), "has no keys below it; set it as a whole")])
        place = below
    place[last] = parse_yaml(text, f"--set {path}")
    return path
