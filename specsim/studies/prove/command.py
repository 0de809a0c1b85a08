"""``specsim prove``: is the verifier lossless?"""

from __future__ import annotations

from typing import Annotated

import typer


def prove(
    seed: Annotated[int, typer.Option(min=0, help="Decides the random models and every draw.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the sequences.")] = False,
) -> None:
    """Prove the verifier lossless: it must pass every test that deliberately wrong ones fail.

    Exit code 1 if any check fails.

    Example: specsim prove --quick
    """
    from specsim.reporting.publish import publish
    from specsim.studies.prove.text import proof_answer
    from specsim.verification.proof.chain_checks import NUM_CHECKS
    from specsim.verification.proof.chain_checks import prove as run_checks

    publish(
        lambda progress: proof_answer(run_checks(seed, quick=quick, progress=lambda *_: progress(1 / NUM_CHECKS))),
        title="proving",
        simulates=False,
    )
