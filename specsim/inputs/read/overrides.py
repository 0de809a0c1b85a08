"""Values that the command line lays over a scenario: those of ``--set``, and those of a command's own options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from specsim.errors import InputError, Problem, SpecsimError
from specsim.inputs.read import layers
from specsim.inputs.read.documents import parse_yaml

Parse = Callable[[Any, str], Any]


class Option(NamedTuple):
    """A value that the command line gives to one field of a scenario.

    Attributes:
        name: of the option, as messages name it: ``--slo``.
        path: of the field: ``plan.slo``.
        given: what the command line holds; None where the option was left out.
        parse: takes this and the option's name, and returns the value as a file would hold it.
        shows_path: whether messages name the path as well; needed where one option can set any field.
    """

    name: str
    path: str
    given: Any
    parse: Parse = lambda given, name: given
    shows_path: bool = False


def assignment(text: str) -> Option:
    """What ``--set path.to.key=value`` says; the value is YAML.

    Raises:
        InputError: when there is no ``=``, or a key is empty.
    """
    path, equals, value = text.partition("=")
    path = path.strip()
    if not (equals and all(path.split("."))):
        remedy = "write a path, '=' and a value, such as speculation.policy.num_draft_tokens=5"
        raise InputError([Problem("--set", "", repr(text), remedy)])
    return Option(f"--set {path}", path, value, parse_yaml, shows_path=True)


def apply(option: Option, data: dict[str, Any]) -> None:
    """Put the value of an option into the data of a scenario, in place.

    Raises:
        InputError: when the value cannot be parsed, or the path runs through something that has no keys.
    """
    layers.assign(data, option.path, option.parse(option.given, option.name), option.name)


def named(problems: Sequence[Problem], options: Sequence[Option]) -> list[Problem]:
    """The problems, those with the value of an option without the path that the option's name stands for."""
    return [next((_within(p, option) for option in options if p.where == option.name), p) for p in problems]


@contextmanager
def named_by_option(options: Sequence[Option]) -> Iterator[None]:
    """Let problems that a run finds with values of options name the options instead of the scenario's file.

    Raises:
        SpecsimError: of the kind that was raised inside, with the same problems.
    """
    given = [option for option in options if option.given is not None]
    try:
        yield
    except SpecsimError as error:
        owners = (next((option for option in given if p.path == option.path), None) for p in error.problems)
        found = [
            _within(replace(p, where=option.name), option) if option else p
            for p, option in zip(error.problems, owners, strict=True)
        ]
        raise type(error)(found) from error


def _within(problem: Problem, option: Option) -> Problem:
    inside = not option.shows_path and f"{problem.path}.".startswith((f"{option.path}.", f"{option.path}["))
    return replace(problem, path=problem.path.removeprefix(option.path).lstrip(".")) if inside else problem
