"""A map as it is stated on the command line, laid over that of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from specsim.errors import InputError
from specsim.schema import checks, problems
from specsim.schema.load import Inputs
from specsim.schema.maps import Map

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
