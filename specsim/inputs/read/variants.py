"""Scenarios to be compared: files, and variants of them given on the command line.

A variant is ``name: path=value path=value``; a scenario is compared as it stands and in each variant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from specsim.errors import Gathered, InputError, Problem
from specsim.inputs.read.documents import parse_yaml
from specsim.inputs.read.overrides import Option
from specsim.inputs.read.scenario import Inputs, load_scenario

OPTION = "--variant"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ASSIGNMENT = re.compile(r"\s(?=[A-Za-z_]\w*(?:\.\w+)*\s*=)")
EXAMPLE = "'fp8: deployment.weight_format=fp8'"


class Variant(NamedTuple):
    """What a variant changes.

    Attributes:
        name: of the variant.
        changes: the values that it gives.
    """

    name: str
    changes: tuple[Option, ...]


def parse_variants(texts: Sequence[str]) -> list[Variant]:
    """Parse variants as the command line gives them.

    Raises:
        InputError: with a problem for each text that is no variant.
    """
    wrong, found = [], []
    for text in texts:
        name, colon, changes = text.partition(":")
        name, parts = name.strip(), [part.partition("=") for part in _assignments(changes.strip())]
        if not (colon and NAME.fullmatch(name)):
            remedy = f"begins with a name of letters, digits, '.', '_' or '-', and a colon; write {OPTION} {EXAMPLE}"
            wrong.append(Problem(OPTION, "", repr(text), remedy))
        elif not all(equals for _, equals, _ in parts):
            remedy = f"changes nothing; write a path, '=' and a value after the colon: {OPTION} {EXAMPLE}"
            wrong.append(Problem(OPTION, "", repr(text), remedy))
        paths = Counter(path.strip() for path, _, _ in parts)
        twice = [path for path, number in paths.items() if number > 1]
        wrong += [Problem(OPTION, path, repr(text), "is given twice; give it once") for path in twice]
        named = f"{OPTION} {name}"
        changed = (Option(named, path.strip(), value, parse_yaml, shows_path=True) for path, _, value in parts)
        found.append(Variant(name, tuple(changed)))
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
    references: Sequence[str],
    variants: Sequence[Variant],
    sets: Sequence[str],
    before: Sequence[Option] = (),
    after: Sequence[Option] = (),
    blocks: Sequence[str] = (),
) -> list[Inputs]:
    """Every scenario as it stands and in each variant, by names that differ.

    A variant of the only scenario has its own name; of several, the scenario's before it.

    Args:
        references: catalogue names or paths of scenario files.
        variants: of each of them.
        sets: ``path.to.key=value`` assignments that hold in all.
        before, after: options that hold in all; variants can change those before, and not those after.
        blocks: as of ``load_scenario``.

    Raises:
        InputError: listing every problem in all of them, or that there are not two to compare.
    """
    found, gathered = list[Inputs](), Gathered()
    for reference in references:
        for variant in (None, *variants):
            options = [*before, *(variant.changes if variant else ()), *after]
            inputs = gathered.attempt(load_scenario, reference, sets, options, blocks)
            if inputs:
                found.append(_named(inputs, variant, alone=len(references) == 1))
    gathered.problems.extend(_of_names(found, variants))
    if not gathered.problems and len(found) < 2:
        remedy = f"is the only one; name another to compare it with, or add a variant of it: {OPTION} {EXAMPLE}"
        gathered.problems.append(Problem("scenario", "", repr(references[0]), remedy))
    gathered.settle()
    return found


def _named(inputs: Inputs, variant: Variant | None, *, alone: bool) -> Inputs:
    if variant is None:
        return inputs
    name = variant.name if alone else f"{inputs.scenario.name}-{variant.name}"
    return replace(inputs, scenario=inputs.scenario.model_copy(update={"name": name}))


def _of_names(found: Iterable[Inputs], variants: Sequence[Variant]) -> Iterator[Problem]:
    """Problems with names that several have: tables and files could not tell them apart."""
    several, twice = list(found), Counter(variant.name for variant in variants)
    for name, number in twice.items():
        if number > 1:
            yield Problem(OPTION, "", repr(name), f"names {number} variants; give each its own name")
    if max(twice.values(), default=0) > 1:
        return
    for name, number in Counter(inputs.scenario.name for inputs in several).items():
        if number > 1:
            files = dict.fromkeys(str(inputs.files["scenario"]) for inputs in several if inputs.scenario.name == name)
            remedy = f"is the name of {number} of those compared; write another 'name' in a file, or after {OPTION}"
            yield Problem(" and ".join(files), "name", repr(name), remedy)
