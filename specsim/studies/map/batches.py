"""The batches of a map: which are asked for, and which of those memory and the engine's limits leave worth running."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.inputs.models.map import Map
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation
from specsim.studies.map.contexts import draft_lengths, lengths_at


def chosen_batches(scenario: Scenario) -> tuple[int, ...]:
    """The batches that the map states; or of the curve's, for each power of two the nearest, and the ends."""
    stated, known = (scenario.map or Map()).batches, scenario.curve.batches
    if stated is not None:
        return stated
    powers = 2.0 ** np.arange(known[0].bit_length() - 1, known[-1].bit_length() + 1)
    nearest = (min(known, key=lambda batch: abs(np.log(batch / power))) for power in powers)
    return tuple(sorted({known[0], known[-1], *nearest}))


def worth_running(inputs: Inputs, context: int, batches: Sequence[int]) -> list[int]:
    """The batches up to the first of which not all requests can run at once; larger ones would show the same again.

    So many can as the pool holds prompts of, and the engine takes: with outputs there are no more.
    """
    simulation, prompt = Simulation(inputs), lengths_at(inputs, context).prompt_tokens
    block = simulation.block_size
    most = []
    for k in (0, max(draft_lengths(inputs.scenario))):
        held = -(-simulation.memory(k > 0).pool_tokens(prompt) // block) * block
        most += [simulation.kv_pools(k)[0] // held, simulation.step_limits(k)[0][0]]
    return [batch for i, batch in enumerate(batches) if i == 0 or batches[i - 1] <= min(most)]
