"""Which file or option brings a contradiction into a scenario: the one without which it is not there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem
from specsim.inputs.read.overrides import Option

Key = tuple[str, str, str]
Load = Callable[[Path, Sequence[Option]], Any]


def blamed(found: Sequence[Problem], options: Sequence[Option], files: Sequence[Path], load: Load) -> list[Problem]:
    """The problems, each under the name of what brought it in.

    Args:
        found: what is wrong under all the options, each problem under the file or option that holds its value.
        options: laid over the scenario, in order.
        files: of the scenario and of those that it extends, nearest first; problems elsewhere stay where they are.
        load: reads a scenario's file under options.
    """
    names = [str(file) for file in files]
    if not any(problem.where in names for problem in found):
        return list(found)
    alone = [_remaining(load, file, ()) for file in files]
    rest = [(*options[:i], *options[i + 1 :]) for i in range(len(options))]
    without = [_remaining(load, files[0], others) for others in rest]

    def cause(problem: Problem) -> str:
        if problem.where not in names:
            return problem.where
        if _key(problem) in alone[0]:  # of the file that says it and those that extend it, the farthest that has it
            nearest_first = range(names.index(problem.where) + 1)
            return names[max(i for i in nearest_first if _key(problem) in alone[i])]
        guilty = [i for i, remaining in enumerate(without) if _key(problem) not in remaining] or range(len(without))
        return ", ".join(dict.fromkeys(options[i].name for i in guilty))

    return [Problem(cause(problem), problem.path, problem.value, problem.remedy) for problem in found]


def _key(problem: Problem) -> Key:
    return problem.path, problem.value, problem.remedy


def _remaining(load: Load, file: Path, options: Sequence[Option]) -> set[Key]:
    try:
        load(file, options)
    except InputError as error:
        return {_key(problem) for problem in error.problems}
    return set()
