"""Reads YAML and JSON files into plain data, and refuses what their parsers accept silently. Knows no model."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from specsim.errors import InputError, Problem


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
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(
                    problem="a key is a list or a mapping; write a single word", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is written twice; keep one", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


MOST_NODES = 1_000_000
"""Values in a file once its aliases are written out; more would take minutes, and gigabytes, to check."""
LARGEST_DOCUMENT, LARGEST_TABLE = 16 * 2**20, 2**30  # B
LONGEST_LINE = 2**20
"""Of a table or a trace, in characters."""

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
        data = yaml.load(text, _StrictLoader)
        if _expanded(data, {}) > MOST_NODES:
            remedy = f"holds more than {MOST_NODES:,} values once its aliases (*name) are written out; use fewer"
            raise InputError([Problem(where, "", "", remedy)])
        return data
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


def _expanded(data: Any, known: dict[int, int]) -> int:
    """Values in the data, those that appear several times counted each time."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if id(data) not in known:
        known[id(data)] = 1 + sum(_expanded(value, known) if isinstance(value, dict | list) else 1 for value in inner)
    return known[id(data)]


def read_text(path: Path, largest: int = LARGEST_DOCUMENT) -> str:
    """The text of a file.

    Args:
        path: of the file.
        largest: size that is read [B].

    Raises:
        InputError: when it cannot be read, is no file, is larger, or is not UTF-8.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError([Problem(str(path), "", "", "is a folder, a pipe or a device; give a file")])
        if found.st_size > largest:
            remedy = f"holds {found.st_size / 2**20:,.0f} MiB; at most {largest / 2**20:,.0f} MiB are read, give a part"
            raise InputError([Problem(str(path), "", "", remedy)])
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a byte-order mark
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), "", "", f"cannot be read ({reason}); correct the path")]) from None
    except UnicodeDecodeError:
        raise InputError(
            [Problem(str(path), "", "", "is not UTF-8 text; save it as UTF-8, or give another file")]
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a table or a trace, without their ends.

    Raises:
        InputError: as ``read_text`` does, and when a line is longer than ``LONGEST_LINE``.
    """
    lines = read_text(path, LARGEST_TABLE).splitlines()
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            remedy = f"has {len(line):,} characters; a row of a table has at most {LONGEST_LINE:,}, one row a line"
            raise InputError([Problem(str(path), f"line {number}", "", remedy)])
    return lines


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
