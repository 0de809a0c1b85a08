"""A map as it is stated on the command line, laid over that of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pydantic import ValidationError

from specsim.errors import InputError, SpecsimError
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.models.map import Map
from specsim.inputs.read import problems
from specsim.inputs.read.scenario import Inputs

OPTIONS = {"contexts": "--contexts", "batches": "--batches", "num_draft_tokens": "--num-draft-tokens"}


def with_map(inputs: Inputs, options: Mapping[str, Sequence[int] | None]) -> Inputs:
    """The inputs with what options say of the map, in place of what the scenario says.

    Args:
        inputs: the scenario and what it refers to.
        options: field of the map → its values; None where the option was not given.

    Raises:
        InputError: when a map cannot be so.
    """
    given = {name: list(values) for name, values in options.items() if values is not None}
    stated = (inputs.scenario.map or Map()).model_dump(mode="json", exclude_none=True)
    try:
        found = Map.model_validate(stated | given)
    except ValidationError as error:
        wrong = problems.from_validation(error, Map)
    else:
        mapped = inputs.scenario.model_copy(update={"map": found})
        wrong = [replace(problem, path=problem.path.removeprefix("map.")) for problem in checks.maps(mapped)]
        if not wrong:
            return replace(inputs, scenario=mapped)
    raise InputError(problems.of_options(wrong, OPTIONS, "map"))


@contextmanager
def named_by_option(options: Mapping[str, object]) -> Iterator[None]:
    """Let what is found wrong with a field of the map name the option that stated it, where one did.

    Args:
        options: field of the map → what was given; None where the option was not.

    Raises:
        SpecsimError: of the kind that was raised inside, with the same problems.
    """
    paths = {f"map.{field}": OPTIONS[field] for field, given in options.items() if given is not None}
    try:
        yield
    except SpecsimError as error:
        renamed = [
            replace(problem, where=paths[problem.path], path="") if problem.path in paths else problem
            for problem in error.problems
        ]
        raise type(error)(renamed) from error
