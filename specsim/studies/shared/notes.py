"""What a reader has to know of a scenario's inputs, in sentences that several questions share."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.expected import LENGTH_SAMPLE
from specsim.simulation.replica import Simulation


def held_acceptance(speculation: Speculation, longest_draft: int) -> Iterator[str]:
    """That drafts are longer than the acceptance stated."""
    measured = speculation.acceptance.measured_positions
    if measured is None or longest_draft <= measured:
        return
    stated = f"{measured} position{'s' if measured > 1 else ''}"
    held = f"positions {measured + 1} to {longest_draft} hold"
    if longest_draft == measured + 1:
        held = f"position {longest_draft} holds"
    yield f"Acceptance is stated for {stated}; {held} the last conditional value."


def beyond_positions(inputs: Inputs, longest: int) -> Iterator[str]:
    """That requests of so many tokens are longer than what the drafter was made for."""
    positions = None if inputs.drafter is None else inputs.drafter.max_position_embeddings
    if positions is not None and longest > positions:
        yield (
            f"The drafter takes {positions} positions, and requests are up to {longest} tokens long: what it drafts "
            "beyond is not covered by the acceptance stated."
        )


def input_notes(simulation: Simulation) -> Iterator[str]:
    """What the inputs of compared draft lengths leave open."""
    inputs = simulation.inputs
    acceptance = inputs.scenario.speculation.acceptance
    yield from held_acceptance(inputs.scenario.speculation, max(inputs.scenario.compared_draft_lengths))
    tree = inputs.scenario.speculation.tree
    if tree and tree.width > 1 and isinstance(acceptance, StatedAcceptance):
        yield (
            "The acceptance stated is that of a first candidate; what its siblings add follows from made-up "
            f"distributions (concentration {acceptance.concentration:g}), and real models may gain more or less."
        )
    stages = inputs.scenario.deployment.pipeline_parallel
    if stages > 1:
        yield (
            f"One batch passes through the {stages} pipeline stages at a time; engines overlap up to {stages}, so "
            "throughputs are lower bounds."
        )
    lengths = simulation.lengths(LENGTH_SAMPLE, replication=0)
    yield from beyond_positions(inputs, int((lengths.prompt + lengths.output).max()))
