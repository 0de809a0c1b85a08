"""What a reader has to know of a scenario's inputs, in sentences that several questions share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.expected import LENGTH_SAMPLE
from specsim.simulation.replica import Simulation
from specsim.studies.shared.points import Point, PointRuns, num_requests
from specsim.units import plural


def held_acceptance(speculation: Speculation, longest_draft: int) -> Iterator[str]:
    """That drafts are longer than the acceptance given."""
    measured = speculation.acceptance.measured_positions
    if measured is None or longest_draft <= measured:
        return
    held = f"positions {measured + 1} to {longest_draft} repeat"
    if longest_draft == measured + 1:
        held = f"position {longest_draft} repeats"
    yield f"Acceptance is given for {plural(measured, 'position')}; {held} the last conditional value."


def beyond_positions(inputs: Inputs, longest: int) -> Iterator[str]:
    """That requests of ``longest`` tokens exceed the drafter's positions."""
    positions = None if inputs.drafter is None else inputs.drafter.max_position_embeddings
    if positions is not None and longest > positions:
        yield (
            f"The drafter takes {positions} positions, but requests reach {longest} tokens: the given acceptance does "
            "not cover what it drafts beyond."
        )


def input_notes(simulation: Simulation) -> Iterator[str]:
    """What the inputs of compared draft lengths leave open."""
    inputs = simulation.inputs
    acceptance = inputs.scenario.speculation.acceptance
    yield from held_acceptance(inputs.scenario.speculation, max(inputs.scenario.compared_draft_lengths))
    tree = inputs.scenario.speculation.tree
    if tree and tree.width > 1 and isinstance(acceptance, StatedAcceptance):
        yield (
            "The given acceptance is that of a first candidate; what its siblings add follows from synthetic "
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


def run_length_notes(inputs: Inputs, points: Iterable[tuple[Point, PointRuns]]) -> Iterator[str]:
    """Which runs were longer than asked for, and which ought to be longer still."""
    points = list(points)
    times_as_long = [found.num_requests // num_requests(inputs, point.batch) for point, found in points]
    longer, drifting = (
        sum(times > 1 for times in times_as_long),
        {point.batch for point, found in points if found.drifts},
    )
    if longer:
        yield (
            f"Runs of {longer} of {plural(len(points), 'point')} were made up to {max(times_as_long)} times as long, "
            "since they seemed to begin with a ramp."
        )
    if drifting:
        yield (
            f"Throughput still drifts at batch {', '.join(map(str, sorted(drifting)))}: intervals there may miss the "
            "long run. Raise curve.requests_per_slot."
        )
