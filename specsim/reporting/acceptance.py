"""Where the acceptance of drafts comes from, and what makes it doubtful, in sentences under every answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from specsim.inputs.checks.domains import domains
from specsim.inputs.models.acceptance import ProfileAcceptance, StatedAcceptance, conditional_from_marginal
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.read.scenario import Inputs

WHAT = {"deployment.target": "target", "speculation.drafter": "drafter"}
HALVED = 0.5  # of the first position's rejections, at later ones. Drafters with weights measured so far: 0.66 and more


def acceptance_sentences(inputs: Inputs) -> Iterator[str]:
    """The sources of all acceptance, each once, and warnings of what is probably another than the one given."""
    scenario = inputs.scenario
    if inputs.carried:
        others = " and ".join(f"another {WHAT[path]}" for path in inputs.carried)
        yield (
            f"The acceptance was given for {others} and is only carried over: measure it for this one, and write it to "
            "speculation.acceptance."
        )
    for path, acceptance in {domain.path: domain.acceptance for domain in domains(scenario)}.items():
        of = "" if path == "speculation.acceptance" else f" of {path}"
        source = " ".join(acceptance.source.split()).rstrip(".")
        if source:
            yield f"Acceptance{of}: {source}."
        if isinstance(acceptance, StatedAcceptance):
            yield from _doubts(path, source, acceptance.first_overlap)
        if isinstance(acceptance, ProfileAcceptance):
            yield from _perhaps_conditional(path, acceptance, scenario.speculation)


def _doubts(path: str, source: str, first: float) -> Iterator[str]:
    given = f"{path} ({100 * first:.0f} % of first drafts)"
    if not source:
        yield (
            f"{given} names no source, so what it was measured on is unknown; acceptance on random prompts is not that "
            "of real traffic. Measure it on yours, and write 'source'."
        )
    elif re.search(r"\brandom\b", source, re.IGNORECASE):
        yield f"{given} was measured on random prompts; real traffic differs. Measure it on yours."
    elif re.search(r"\bexample\b", source, re.IGNORECASE):
        yield f"{given} is an example, not a measurement. Measure it on your traffic."


def _perhaps_conditional(path: str, acceptance: ProfileAcceptance, speculation: Speculation) -> Iterator[str]:
    """Marginals of which later positions hold far better than the first are probably conditionals.

    What is looked up does hold better once it holds at all.
    """
    values = np.array(acceptance.values)
    if acceptance.basis == "conditional" or values.size < 2 or values[0] == 1 or speculation.drafter.facts.looks_up:
        return
    conditional = conditional_from_marginal(values)
    if 1 - conditional[1:].mean() < HALVED * (1 - conditional[0]):
        shown = ", ".join(f"{value:.2f}" for value in conditional)
        yield (
            f"{path} is given as marginal, so P(i accepted | 1..i-1 accepted) is {shown}: drafters seldom get so much "
            "better after the first position. If these are the conditional values themselves, write 'basis: "
            "conditional'; speculation gains less then."
        )
