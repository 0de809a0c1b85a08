"""Single runs of a load: where their rows go meanwhile, their trace, and that they were checked."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from specsim.inputs.models.scenario import Scenario
from specsim.interop.perfetto import MOST_EVENTS, covers, write_trace
from specsim.reporting.folders import Writer
from specsim.reporting.wording import policy_words
from specsim.studies.simulate.run import Folders, LoadResult


def run_folders(scratch: Path) -> Folders:
    """A folder for each run; those of a later replication take the place of those before, whose rows are done with."""

    def folder(num_draft_tokens: int, replication: int) -> Path:
        if replication > 1:
            shutil.rmtree(scratch / f"{num_draft_tokens}-{replication - 1}", ignore_errors=True)
        place = scratch / f"{num_draft_tokens}-{replication}"
        place.mkdir()
        return place

    return folder


def trace_writer(scenario: Scenario, result: LoadResult) -> Writer:
    """Writes the trace of the policy's first run."""
    run, name = result.records[result.num_draft_tokens], f"{scenario.name}, {_arm(scenario, result)}"
    return partial(write_trace, run=run, name=name)


def trace_sentence(path: Path, scenario: Scenario, result: LoadResult) -> str:
    """Which run a trace shows, how much of it, and how to look at it."""
    run = result.records[result.num_draft_tokens]
    until, whole = covers(run)
    ends = float(run.steps.end.max())
    shown = "complete" if whole else f"its first {until:.4g} of {ends:.4g} s ({MOST_EVENTS:,} events)"
    return f"trace of replication 0 with {_arm(scenario, result)}, {shown}: {path}; open it in ui.perfetto.dev"


def check_sentence(scenario: Scenario, result: LoadResult) -> str:
    """That nothing was found."""
    runs = len(result.values) * (scenario.run.replications - result.missing)
    return f"checked: {'the run keeps' if runs == 1 else f'all {runs} runs keep'} every invariant"


def _arm(scenario: Scenario, result: LoadResult) -> str:
    return policy_words(scenario) if result.num_draft_tokens else "no drafts"
