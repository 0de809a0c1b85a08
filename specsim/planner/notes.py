"""What a reader has to know of a scenario's inputs, in sentences that several questions share."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.schema.load import Inputs
from specsim.schema.speculation import Speculation


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
