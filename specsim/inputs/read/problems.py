"""Turns pydantic's errors into problems that name path, value and remedy in the user's terms."""

from __future__ import annotations

import difflib
import json
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from specsim.errors import Problem

_LONGEST_VALUE = 60
_YAML_WORDS = "YAML reads yes, no, on and off as true and false, and digits as a number; write text in quotation marks"

# pydantic's type of complaint → what to write instead
_REMEDIES = {
    "int_type": "must be a whole number; write it without a point, exponent or quotation marks, such as 3",
    "float_type": "must be a number; write it without quotation marks, such as 0.8",
    "bool_type": "must be true or false, without quotation marks",
    "tuple_type": "must be a list; write for example [1, 2]",
    "invalid_key": "keys must be text; correct it, or write it in quotation marks",
    "string_pattern_mismatch": "must be letters, digits, '.', '_' and '-', the first a letter or a digit",
}


class _Spot(NamedTuple):
    """The place that a pydantic error points to.

    Attributes:
        path: as the file spells it, union tags left out.
        owner: the model that holds its last key, where that is known.
        below: the models that may stand there.
    """

    path: str
    owner: type[BaseModel] | None
    below: tuple[type[BaseModel], ...]


def from_validation(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """One problem per mistake; the caller fills in ``where``.

    Args:
        error: what pydantic raised.
        model: the model that was validated; it tells keys of the file from tags of unions, and knows the valid keys.
    """
    details = error.errors(include_url=False)
    locations = [detail["loc"] for detail in details]
    return [_problem(detail, model) for detail in details if not _follows_from_another(detail, locations)]


def _follows_from_another(detail: Any, locations: list[tuple[Any, ...]]) -> bool:
    """Whether a list counts as too short only because some of its entries are invalid."""
    place = detail["loc"]
    inside = (other for other in locations if len(other) > len(place) and other[: len(place)] == place)
    return detail["type"] == "too_short" and any(inside)


def _problem(detail: Any, model: type[BaseModel]) -> Problem:
    kind, value, location = detail["type"], detail["input"], detail["loc"]
    if kind == "invalid_key":  # its path would end in the key itself, which is no text
        location = location[:-1]
    spot = _walk(location, model)
    path = spot.path
    if kind == "union_tag_invalid":
        tag = detail["ctx"]["discriminator"].strip("'")
        path, value = f"{path}.{tag}", value[tag]
    nothing_there = kind in {"missing", "union_tag_not_found"}
    return Problem("", path, "" if nothing_there else _shown(value), _remedy(kind, detail, spot))


def _remedy(kind: str, detail: Any, spot: _Spot) -> str:
    context, key = detail.get("ctx", {}), spot.path.rpartition(".")[2]
    if kind == "extra_forbidden":
        return unknown_key(key, spot.owner)
    if kind == "missing":
        return f"is missing; {_describe(key, spot)}"
    if kind == "union_tag_not_found":
        return f"{context['discriminator']} is missing; write one of {_kinds(spot)}"
    if kind == "union_tag_invalid":
        return f"unknown; write one of {context['expected_tags']}"
    if kind == "value_error":
        return str(context["error"])
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        return f"must hold keys and values, namely {_known_keys(spot)}"
    if kind == "string_type":
        return f"must be text; {_YAML_WORDS}" if isinstance(detail["input"], bool | int | float) else "must be text"
    if kind == "too_short":
        return "must not be empty"
    return _REMEDIES.get(kind) or str(detail["msg"]).replace("Input should be", "must be")


def unknown_key(key: str, owner: type[BaseModel] | None) -> str:
    """The remedy for a key that its model does not have."""
    known = sorted(owner.model_fields) if owner else []
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown key; {hint}known here: {', '.join(known)}"


def _describe(key: str, spot: _Spot) -> str:
    field = spot.owner.model_fields.get(key) if spot.owner else None
    if field and field.description:
        return f"add it ({' '.join(field.description.split())})"
    return f"add it, with {_known_keys(spot)}" if spot.below else "add it"


def _known_keys(spot: _Spot) -> str:
    """The valid keys at a place; of a union its kinds."""
    return ", ".join(spot.below[0].model_fields) if len(spot.below) == 1 else f"kind: one of {_kinds(spot)}"


def _kinds(spot: _Spot) -> str:
    return ", ".join(repr(tag) for model in spot.below for tag in _tags(model))


def _shown(value: Any) -> str:
    """A value as a user would write it; empty where that would be long."""
    if isinstance(value, BaseModel):
        return ""
    if isinstance(value, dict | list):
        text = json.dumps(value, default=str, ensure_ascii=False)
        return text if len(text) <= _LONGEST_VALUE else ""
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _walk(location: tuple[Any, ...], model: type[BaseModel]) -> _Spot:
    candidates: tuple[type[BaseModel], ...] = (model,)
    owner: type[BaseModel] | None = model
    path = ""
    for element in location:
        tagged = tuple(c for c in candidates if element in _tags(c)) if len(candidates) > 1 else ()
        if tagged:
            candidates = tagged
            continue
        if element == "[key]":  # the complaint is about the key itself
            continue
        owner = candidates[0] if len(candidates) == 1 else None
        path += f"[{element}]" if isinstance(element, int) else f".{element}" if path else str(element)
        field = owner.model_fields.get(str(element)) if owner else None
        if field:
            candidates = tuple(_models_in(field.annotation))
        elif not isinstance(element, int):
            candidates = ()
    return _Spot(path, owner, candidates)


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return typing.get_args(kind.annotation) if kind else ()


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
