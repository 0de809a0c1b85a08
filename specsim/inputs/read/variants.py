"""Scenarios that are to be compared: files, and variants of them that the command line states.

A variant is ``name: path=value path=value``; a scenario is compared as it stands and in each variant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from specsim.errors import InputError, Problem
from specsim.inputs.read.scenario import Inputs, load_scenario

OPTION = "--variant"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ASSIGNMENT = re.compile(r"\s(?=[A-Za-z_]\w*(?:\.\w+)*\s*=)")
EXAMPLE = "'fp8: deployment.weight_format=fp8'"


class Variant(NamedTuple):
    """What a variant changes.

    Attributes:
        name: of the variant.
        overrides: ``path.to.key=value`` assignments.
    """

    name: str
    overrides: tuple[str, ...]


def parse_variants(texts: Sequence[str]) -> list[Variant]:
    """Variants as the command line has them.

    Raises:
        InputError: listing every text that is none.
    """
    wrong, found = [], []
    for text in texts:
        name, colon, changes = text.partition(":")
        name, overrides = name.strip(), tuple(_assignments(changes.strip()))
        if not (colon and NAME.fullmatch(name)):
            remedy = f"begins with a name of letters, digits, '.', '_' or '-', and a colon; write {OPTION} {EXAMPLE}"
            wrong.append(Problem(OPTION, "", repr(text), remedy))
        elif not all("=" in override for override in overrides):
            remedy = f"changes nothing; write a path, '=' and a value after the colon: {OPTION} {EXAMPLE}"
            wrong.append(Problem(OPTION, "", repr(text), remedy))
        paths = Counter(override.partition("=")[0].strip() for override in overrides)
        twice = [path for path, number in paths.items() if number > 1]
        wrong += [Problem(OPTION, path, repr(text), "is stated twice; state it once") for path in twice]
        found.append(Variant(name, overrides))
    if wrong:
        raise InputError(wrong)
    return found


def _assignments(text: str) -> Iterator[str]:
    """The parts of ``path=value path=value``; what stands in brackets belongs to its value."""
    outside, depth = "", 0
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        outside += "_" if depth > 0 else letter
    start = 0
    for match in ASSIGNMENT.finditer(outside):
        yield text[start : match.start()].strip()
        start = match.end()
    yield text[start:].strip()


def load_compared(
    references: Sequence[str], variants: Sequence[Variant], overrides: Sequence[str], batches: str | None
) -> list[Inputs]:
    """Every scenario as it stands and in each variant, by names that differ.

    A variant of the only scenario has its own name; of several, the scenario's before it.

    Args:
        references: catalogue names or paths of scenario files.
        variants: of each of them.
        overrides: ``path.to.key=value`` assignments that hold in all.
        batches: of all curves, separated by commas; by default each has its own.

    Raises:
        InputError: listing every problem in all of them, or that there are not two to compare.
    """
    shared = [*overrides, *([f"curve.batches=[{batches}]"] if batches is not None else [])]
    found, problems = list[Inputs](), list[Problem]()
    for reference in references:
        for variant in (None, *variants):
            try:
                found.append(_loaded(reference, variant, shared, alone=len(references) == 1))
            except InputError as error:
                named = {"curve.batches": "--batches"} if batches is not None else {}
                problems += [_renamed(problem, variant, named) for problem in error.problems]
    problems += _of_names(found, variants)
    if not problems and len(found) < 2:
        remedy = f"is one; name another to compare it with, or add a variant of it: {OPTION} {EXAMPLE}"
        problems.append(Problem("scenario", "", repr(references[0]), remedy))
    if problems:
        raise InputError(dict.fromkeys(problems))
    return found


def _loaded(reference: str, variant: Variant | None, shared: Sequence[str], *, alone: bool) -> Inputs:
    inputs = load_scenario(reference, [*shared, *(variant.overrides if variant else ())])
    if variant is None:
        return inputs
    name = variant.name if alone else f"{inputs.scenario.name}-{variant.name}"
    return replace(inputs, scenario=inputs.scenario.model_copy(update={"name": name}))


def _renamed(problem: Problem, variant: Variant | None, named: Mapping[str, str]) -> Problem:
    """The problem under the option that stated the value, where that was no ``--set``."""
    names = dict(named)
    if variant:
        paths = (override.partition("=")[0].strip() for override in variant.overrides)
        names |= dict.fromkeys(paths, f"{OPTION} {variant.name}")
    parts = (names.get(part.removeprefix("--set "), part) for part in problem.where.split(", "))
    return replace(problem, where=", ".join(dict.fromkeys(parts)))


def _of_names(found: Iterable[Inputs], variants: Sequence[Variant]) -> Iterator[Problem]:
    """Names that several have, which would stand for each other in tables and files."""
    several, twice = list(found), Counter(variant.name for variant in variants)
    for name, number in twice.items():
        if number > 1:
            yield Problem(OPTION, "", repr(name), f"names {number} variants; give each a name of its own")
    if max(twice.values(), default=0) > 1:
        return
    for name, number in Counter(inputs.scenario.name for inputs in several).items():
        if number > 1:
            files = dict.fromkeys(str(inputs.files["scenario"]) for inputs in several if inputs.scenario.name == name)
            remedy = f"is the name of {number} of those compared; write another 'name' in a file, or after {OPTION}"
            yield Problem(" and ".join(files), "name", repr(name), remedy)
