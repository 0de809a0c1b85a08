"""``specsim theory``: the closed form, for a first look and for checking the simulator."""

from __future__ import annotations

from typing import Annotated

import typer


def theory(
    alpha: Annotated[
        str, typer.Option(help="Conditional acceptance per draft token; several by commas.")
    ] = "0.6,0.7,0.8,0.9",
    gamma: Annotated[str, typer.Option(help="Draft tokens per verify; several by commas.")] = "1,2,3,4,5,8",
    draft_cost: Annotated[
        float, typer.Option(min=0, help="Time of one draft pass over that of a one-token target pass.")
    ] = 0.05,
    device: Annotated[
        str, typer.Option(help="Catalogue name or path of a device; its full BF16 peaks are used.")
    ] = "h100-sxm",
) -> None:
    """What speculation yields on paper: constant acceptance, decode only, an ideal device.

    Prints tokens per verify, speedup, the best draft length, the batch up to which verifying is free and the batch up
    to which speculation pays.

    Example: specsim theory --alpha 0.8 --gamma 4 --draft-cost 0.05
    """
    from specsim.inputs.read.scenario import read_device
    from specsim.reporting.publish import Answer, show
    from specsim.studies.theory.text import read_numbers, theory_answer, theory_table

    alphas, gammas = read_numbers(alpha, gamma, draft_cost)
    asked = alphas, gammas, draft_cost, read_device(device)
    show(Answer([theory_answer(*asked)], [theory_table(*asked)]))
