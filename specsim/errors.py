"""How a question can be unanswerable, and an answer wrong: reported in full and never turned into a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import ParamSpec, TypeVar

Result = TypeVar("Result")
P = ParamSpec("P")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input, and what to write instead.

    Attributes:
        where: the file, or the argument, that holds the mistake.
        path: the place inside it, such as ``speculation.policy.num_draft_tokens``; empty for the whole.
        value: what stands there now, as the user wrote it; empty where nothing stands there.
        remedy: what is wrong and what to write instead.
    """

    where: str
    path: str
    value: str
    remedy: str

    def __str__(self) -> str:
        """One line: file, path, value, remedy; parts that are empty are left out."""
        place = ": ".join(part for part in (self.where, self.path) if part)
        found = f" is {self.value}" if self.value else ""
        return f"{place}{found}: {self.remedy}"


class SpecsimError(ValueError):
    """A question that cannot be answered; carries every problem found, not only the first."""

    headline = "specsim cannot answer this"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if not self.problems:
            raise ValueError("an error needs at least one problem")
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[SpecsimError], tuple[tuple[Problem, ...]]]:
        """From one process to another with its problems."""
        return type(self), (self.problems,)


class InputError(SpecsimError):
    """An input that is malformed or contradicts itself."""

    headline = "invalid input"


class InfeasibleError(SpecsimError):
    """A well-formed scenario that can never run, such as weights that do not fit the device."""

    headline = "this scenario can never run"


class BrokenRunError(RuntimeError):
    """A run that breaks a law which every run has to keep: a mistake of the simulator and not of its input.

    Args:
        which: the run.
        violations: what it breaks, a line each.
    """

    def __init__(self, which: str, violations: Iterable[str]) -> None:
        self.which, self.violations = which, tuple(violations)
        super().__init__("\n".join((which, *self.violations)))


class PartialResultError(RuntimeError):
    """An interruption after some of the work was finished and written; says what is missing."""


class Gathered:
    """Runs steps that may fail and keeps every problem, so that the user hears of all of them at once."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.problems: list[Problem] = list(problems)

    def attempt(self, step: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result | None:
        """What a step gives; None where its input has to be corrected."""
        try:
            return step(*args, **kwargs)
        except InputError as error:
            self.problems.extend(error.problems)
            return None

    def settle(self) -> None:
        """Raises an InputError with all problems, each once, if there are any."""
        raise_if_any(dict.fromkeys(self.problems))


def raise_if_any(*groups: Iterable[Problem]) -> None:
    """Report all problems at once.

    Raises:
        InputError: there is at least one.
    """
    problems = list(chain(*groups))
    if problems:
        raise InputError(problems)


def in_scenario(path: str, value: object, remedy: str) -> Problem:
    """A problem at a path of the scenario, whose file the caller fills in."""
    return Problem("", path, repr(value), remedy)


def invalid(where: str, path: str, value: object, remedy: str) -> InputError:
    """An InputError about a single value."""
    return InputError([Problem(where, path, repr(value), remedy)])
