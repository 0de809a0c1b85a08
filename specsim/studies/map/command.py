"""``specsim map``: where speculation pays, over batch and context."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption, OutOption, ScenarioArgument, SetOption


def map_speedups(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    contexts: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help="Mean tokens of a request in mid-decode, by commas: 512,2048,8192. Default: powers of 2 from 256.",
        ),
    ] = None,
    batches: Annotated[
        str | None, typer.Option(metavar="REQUESTS", help="By commas: 1,8,64. Default: from the curve's.")
    ] = None,
    num_draft_tokens: Annotated[
        str | None,
        typer.Option(metavar="LENGTHS", help="Draft lengths to compare, by commas: 1,3,5. Default: the curve's."),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
) -> None:
    """Where does speculation pay, over batch and context, with how many drafts, and what does it take to pay?

    Simulates a closed loop of requests that decode at each batch and context, without speculation and with each draft
    length. Writes tables, and a figure with the break-even. Ctrl-C ends it; contexts that are finished are written.

    Examples:
    specsim map llama3.1-8b-h100-eagle3

    specsim map my.yaml --contexts 512,2048,8192 --batches 1,8,64,256 --num-draft-tokens 1,3,5
    """
    from specsim.errors import PartialResultError
    from specsim.inputs.read.lists import counts
    from specsim.inputs.read.overrides import Option, named_by_option
    from specsim.inputs.read.scenario import load_scenario
    from specsim.reporting.console import console, simulation_bar, warn
    from specsim.reporting.extrapolation import extrapolation_sentence
    from specsim.reporting.folders import refuse_existing, write_folder
    from specsim.reporting.inputs import cost_sentences
    from specsim.studies.map.files import map_files
    from specsim.studies.map.run import simulate_map
    from specsim.studies.map.tables import map_tables
    from specsim.studies.map.text import map_sentences, missing

    options = [
        Option("--contexts", "map.contexts", contexts, counts),
        Option("--batches", "map.batches", batches, counts),
        Option("--num-draft-tokens", "map.num_draft_tokens", num_draft_tokens, counts),
    ]
    inputs = load_scenario(scenario, overrides or (), options, blocks=["map"])
    folder = out or Path("out") / f"{inputs.scenario.name}-map"
    refuse_existing(folder, force=force, read=inputs.files.values())
    with named_by_option(options), simulation_bar(inputs.scenario.name) as progress:
        result = simulate_map(inputs, jobs=jobs, progress=progress)
    answer, *others = sentences = [*map_sentences(inputs, result), *cost_sentences(inputs)]
    write_folder(folder, map_files(inputs, result, sentences), force=force)
    warn(extrapolation_sentence([(inputs, result.extrapolation)]))
    screen = console()
    screen.print(answer, style="bold", markup=False, soft_wrap=True)
    for sentence in others:
        screen.print(sentence, markup=False, soft_wrap=True)
    screen.print()
    for table in map_tables(inputs, result):
        screen.print(table)
    screen.print(f"written to {folder}/", markup=False, soft_wrap=True)
    if result.interrupted:
        raise PartialResultError(missing(result))
