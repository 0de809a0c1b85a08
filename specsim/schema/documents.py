"""Reads YAML and JSON files into plain data, applies ``extends:`` and command-line overrides. Knows no model."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import yaml

from specsim.errors import InputError, Problem
from specsim.schema import catalogue


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that reads 1e9 as a number and a date as text, and refuses what plain YAML swallows.

    Those are a key written twice, of which it keeps the last, and data that contain themselves.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.deep_construct = True  # constructing depth first is what finds a node inside itself

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is written twice; keep one", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_MERGE, _FLOAT, _TIMESTAMP = (f"tag:yaml.org,2002:{name}" for name in ("merge", "float", "timestamp"))
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver(_FLOAT, re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789"))


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
        parts = [getattr(error, name, None) for name in ("context", "problem")]
        what = ", ".join(part for part in parts if part) or " ".join(str(error).split())
        hint = "; indent with spaces" if "'\\t'" in what else ""
        raise InputError([Problem(where, place, "", f"not valid YAML: {what}{hint}")]) from None
    except ValueError as error:  # such as !!int of a word
        raise InputError([Problem(where, "", "", f"not valid YAML: {error}")]) from None
    except RecursionError:
        raise InputError([Problem(where, "", "", "not valid YAML: nested too deeply")]) from None


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
    data = parse_json(text, str(path)) if path.suffix == ".json" else parse_yaml(text, str(path))
    if not isinstance(data, dict):
        found = {"NoneType": "an empty file", "list": "a list", "str": "text"}.get(type(data).__name__, repr(data))
        raise InputError([Problem(str(path), "", "", f"must hold keys and values, not {found}")])
    return {str(key): value for key, value in data.items()}


def parse_json(text: str, where: str) -> Any:
    """The data in a JSON text; ``where`` names it in messages.

    Raises:
        InputError: with line and column when the text is not JSON, or when it repeats a key.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError([Problem(where, place, "", f"not valid JSON: {error.msg}")]) from None
    except ValueError as error:  # a repeated key; a number of 5,000 digits
        raise InputError([Problem(where, "", "", f"not valid JSON: {error}")]) from None
    except RecursionError:
        raise InputError([Problem(where, "", "", "not valid JSON: nested too deeply")]) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is written twice; keep one")
    return result


class Extended(NamedTuple):
    """A scenario laid over the ones it extends.

    Attributes:
        data: the result.
        files: every file read, nearest first.
        origins: dotted path of each key in data → the file that says it.
    """

    data: dict[str, Any]
    files: tuple[Path, ...]
    origins: dict[str, Path]


def read_with_extends(path: Path, ancestors: tuple[Path, ...] = ()) -> Extended:
    """A scenario's data laid over the one it extends.

    Raises:
        InputError: for a missing base or a circle.
    """
    if path in ancestors:
        circle = " → ".join(p.name for p in (*ancestors, path))
        raise InputError([Problem(str(path), "extends", "", f"extends itself ({circle}); break the circle")])
    data = read_mapping(path)
    base_reference = data.pop("extends", None)
    if base_reference is None:
        return Extended(data, (path,), dict.fromkeys(_key_paths(data), path))
    if not isinstance(base_reference, str):
        remedy = "must be a catalogue name or the path of a scenario file"
        raise InputError([Problem(str(path), "extends", repr(base_reference), remedy)])
    base_path = catalogue.find("scenario", base_reference, [path.parent], where=str(path), path="extends")
    base = read_with_extends(base_path, (*ancestors, path))
    result, own = merged(base.data, data), set(_key_paths(data))
    origins = {key: path if key in own else base.origins[key] for key in _key_paths(result)}
    return Extended(result, (path, *base.files), origins)


def _key_paths(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in data.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _key_paths(value, f"{prefix}{key}.")


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
    *parents, last = path.split(".")
    if not (equals and last and all(parents)):
        remedy = "write a path, '=' and a value, such as speculation.policy.num_draft_tokens=5"
        raise InputError([Problem("--set", "", repr(assignment), remedy)])
    place = data
    for parent in parents:
        if place.get(parent) is None:
            place[parent] = {}
        below = place[parent]
        if not isinstance(below, dict):
            raise InputError([Problem(f"--set {path}", parent, repr(below), "has no keys below it; set it as a whole")])
        place = below
    place[last] = parse_yaml(text, f"--set {path}")
    return path
