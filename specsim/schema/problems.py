"""Turns pydantic's complaints into problems that name file, path, value and remedy in the user's own terms."""

from __future__ import annotations

import difflib
import json
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from specsim.errors import Problem

_LONGEST_VALUE = 60


def from_validation(error: ValidationError, model: type[BaseModel], where: str) -> list[Problem]:
    """One problem per complaint.

    Args:
        error: what pydantic raised.
        model: the model that was validated, to tell keys of the file from union tags and to list the known keys.
        where: the file, for the message.
    """
    return [_problem(detail, model, where) for detail in error.errors(include_url=False)]


def _problem(detail: Any, model: type[BaseModel], where: str) -> Problem:
    path, owner = _walk(detail["loc"], model)
    kind, context = detail["type"], detail.get("ctx", {})
    value = "" if kind in {"missing", "union_tag_not_found"} else _shown(detail["input"])
    return Problem(where, path, value, _remedy(kind, context, detail, path, owner))


def _remedy(kind: str, context: Any, detail: Any, path: str, owner: type[BaseModel] | None) -> str:
    if kind == "extra_forbidden":
        return _unknown_key(path.rpartition(".")[2], owner)
    if kind == "missing":
        return f"is missing; {_describe(path.rpartition('.')[2], owner)}"
    if kind == "union_tag_not_found":
        return f"{context['discriminator']} is missing; say which kind this is"
    if kind == "union_tag_invalid":
        return f"unknown kind; write {context['discriminator']}: one of {context['expected_tags']}"
    if kind == "value_error":
        return str(context["error"])
    message = str(detail["msg"])
    return message.replace("Input should be", "must be").replace("Extra inputs", "extra keys")


def _unknown_key(key: str, owner: type[BaseModel] | None) -> str:
    known = sorted(owner.model_fields) if owner else []
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown key; {hint}known here: {', '.join(known)}"


def _describe(key: str, owner: type[BaseModel] | None) -> str:
    field = owner.model_fields.get(key) if owner else None
    description = field.description if field else None
    return f"add it ({' '.join(description.split())})" if description else "add it"


def _shown(value: Any) -> str:
    if isinstance(value, BaseModel):
        return ""
    text = json.dumps(value, default=repr) if isinstance(value, dict | list) else repr(value)
    return (
        text if len(text) <= _LONGEST_VALUE else "" if isinstance(value, dict | list) else text[:_LONGEST_VALUE] + "…"
    )


def _walk(location: tuple[Any, ...], model: type[BaseModel]) -> tuple[str, type[BaseModel] | None]:
    """The path as the file spells it (union tags left out), and the model that holds its last key."""
    candidates: list[type[BaseModel]] = [model]
    owner: type[BaseModel] | None = model
    path = ""
    for element in location:
        tagged = [c for c in candidates if element in _tags(c)] if len(candidates) > 1 else []
        if tagged:
            candidates = tagged
            continue
        owner = candidates[0] if len(candidates) == 1 else None
        path += f"[{element}]" if isinstance(element, int) else f".{element}" if path else str(element)
        field = owner.model_fields.get(str(element)) if owner else None
        candidates = list(_models_in(field.annotation)) if field else candidates if isinstance(element, int) else []
    return path, owner


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return typing.get_args(kind.annotation) if kind else ()


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
