"""How often the 95 % intervals of curves contain the long run: speedup at a batch, and the break-even.

    python benchmarks/interval_coverage.py [--seeds 100] [--only 'fixed short'] [--keep coverage.json]

Six scenarios of one H100: lengths that are fixed, lognormal or a trace's, short and long, with 1, 3 and 5 draft tokens
and an acceptance at which speculation stops paying near batch 64. A curve of three batches is simulated under each seed
as `specsim curve` does it. The long run is that of 200 requests per slot, the mean of 24 replications under a seed of
its own, and stated with its standard error. A seed counts as a hit where its interval contains the long run; of 100
intervals that contain it with 95 % chance, 90 to 98 do in 96 % of cases. With --keep, what is finished is written there
after each scenario, and not simulated again. A quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specsim.analysis.intervals import mean_interval, paired_speedup_interval
from specsim.inputs.read.scenario import Inputs, load_scenario
from specsim.studies.curve.grid_runs import Runs, crossings_of, run_curve, speedups
from specsim.studies.shared.points import Point
from specsim.workload.lengths import table_lengths
from specsim.workload.quantiles import read_table

BASE = "llama3.1-8b-h100-eagle3"
BATCHES = (32, 64, 128)
AT = 64
REFERENCE_SEED, REFERENCE_REPLICATIONS, REFERENCE_LENGTH = 1_000_003, 24, 200


class Case(NamedTuple):
    """A scenario: its lengths as YAML, draft tokens, and the acceptance of each."""

    name: str
    lengths: str
    num_draft_tokens: int
    acceptance: float


CASES = (
    Case("fixed short", "{kind: fixed, prompt_tokens: 60, output_tokens: 40}", 3, 0.45),
    Case("fixed long", "{kind: fixed, prompt_tokens: 300, output_tokens: 150}", 5, 0.55),
    Case(
        "lognormal short",
        "{kind: lognormal, prompt: {mean: 80, sd: 80, max: 1000}, output: {mean: 40, sd: 40, max: 500}}",
        1,
        0.25,
    ),
    Case(
        "lognormal long",
        "{kind: lognormal, prompt: {mean: 300, sd: 300, max: 4000}, output: {mean: 150, sd: 150, max: 2000}}",
        3,
        0.45,
    ),
    Case("trace short", "{kind: trace, file: SHORT_TRACE}", 5, 0.55),
    Case("trace long", "{kind: quantiles, table: azure-2023-conversation}", 1, 0.25),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--keep", type=Path, help="file of finished scenarios")
    given = parser.parse_args()
    kept = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    print(f"{'scenario':<16} K | speedup at {AT}  hits | break-even        hits  none | longer runs, drift", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if given.only not in case.name:
                continue
            if f"{case.name} {given.seeds}" not in kept:
                kept[f"{case.name} {given.seeds}"] = measured(case, given.seeds, Path(folder))
                if given.keep:
                    given.keep.write_text(json.dumps(kept, indent=1))
            print(line(case, kept[f"{case.name} {given.seeds}"]), flush=True)


def measured(case: Case, seeds: int, folder: Path) -> dict[str, list[float]]:
    """Ends of the intervals under each seed, and the long run's values with their standard errors."""
    k = case.num_draft_tokens
    speedup, error, crossing, crossing_error = reference(case, folder)
    found: dict[str, list[float]] = {"reference": [speedup, error, crossing, crossing_error]}
    found |= {name: [] for name in ("low", "high", "from", "to", "longer", "drifts")}
    for seed in range(1, seeds + 1):
        runs = curve_runs(inputs_of(case, folder, seed), k)
        own = paired_speedup_interval(runs[Point(AT, k)].tokens_per_s, runs[Point(AT, 0)].tokens_per_s)
        found["low"].append(own.low)
        found["high"].append(own.high)
        stated = [crossing for crossing in crossings_of(k, runs).crossings if crossing.established]
        found["from"].append(stated[0].low if stated and stated[0].low else math.nan)
        found["to"].append(stated[0].high if stated and stated[0].high else math.nan)
        found["longer"].append(sum(run.num_requests > 4 * point.batch for point, run in runs.items()))
        found["drifts"].append(sum(run.drifts for run in runs.values()))
    return found


def inputs_of(case: Case, folder: Path, seed: int, *more: str) -> Inputs:
    """The scenario under a seed."""
    lengths = case.lengths.replace("SHORT_TRACE", str(short_trace(folder)))
    acceptance = f"{{kind: constant, overlap: {case.acceptance}}}"
    settings = (f"workload.lengths={lengths}", f"speculation.acceptance={acceptance}", f"seed={seed}", *more)
    return load_scenario(BASE, [*settings, f"curve.batches={list(BATCHES)}"])


def short_trace(folder: Path) -> Path:
    """A trace of 500 requests: the shipped table of Azure's conversations, prompts and outputs a sixth as long."""
    file = folder / "short.csv"
    if not file.exists():
        table = read_table(Path(__file__).resolve().parents[1] / "scenarios/lengths/azure-2023-conversation.csv")
        drawn = table_lengths(500, table, np.random.default_rng(0))
        rows = zip(range(500), 1 + drawn.prompt // 6, 1 + drawn.output // 6, strict=True)
        body = "\n".join(f"{i}.0,{prompt},{output}" for i, prompt, output in rows)
        file.write_text(f"arrival_s,prompt_tokens,output_tokens\n{body}\n")
    return file


def curve_runs(inputs: Inputs, k: int) -> Runs:
    """The runs of the curve, those near its crossing included."""
    points = [Point(batch, each) for batch in inputs.scenario.curve.batches for each in (0, k)]
    return run_curve(inputs, points, [k], 1, lambda share: None).runs


def reference(case: Case, folder: Path) -> tuple[float, float, float, float]:
    """Speedup and break-even of long runs, each with its standard error.

    Each replication's own break-even, between the batches right beside it, gives that of their mean and its error.
    """
    k = case.num_draft_tokens
    length = (f"curve.replications={REFERENCE_REPLICATIONS}", f"curve.requests_per_slot={REFERENCE_LENGTH}")
    runs = curve_runs(inputs_of(case, folder, REFERENCE_SEED, *length), k)
    logs = mean_interval(np.log(speedups(runs, Point(AT, k))), 0.6827)
    batches = np.array(sorted(point.batch for point in runs if point.num_draft_tokens == k))
    table = np.log(np.stack([speedups(runs, Point(int(batch), k)) for batch in batches]))
    place = int(np.flatnonzero(table.mean(axis=1) > 0)[-1])
    left, right = table[place], table[place + 1]
    own = np.log(batches[place]) + left / (left - right) * np.log(batches[place + 1] / batches[place])
    crossing = mean_interval(own, 0.6827)
    middle = math.exp(crossing.estimate)
    return (
        math.exp(logs.estimate),
        math.exp(logs.estimate) * (logs.high - logs.low) / 2,
        middle,
        middle * (crossing.high - crossing.low) / 2,
    )


def line(case: Case, found: dict[str, list[float]]) -> str:
    """A row of the table."""
    speedup, error, crossing, crossing_error = found["reference"]
    low, high, begins, ends = (np.array(found[name]) for name in ("low", "high", "from", "to"))
    hits, stated = (low <= speedup) & (speedup <= high), ~np.isnan(begins + ends)
    crossed = (begins <= crossing) & (crossing <= ends)
    share, at_crossing = 100 * hits.mean(), 100 * crossed[stated].mean() if stated.any() else math.nan
    return (
        f"{case.name:<16} {case.num_draft_tokens} | {speedup:.4f} ± {error:.4f} {share:4.0f}% | "
        f"{crossing:7.2f} ± {crossing_error:5.2f} {at_crossing:6.0f}% {100 * (~stated).mean():4.0f}% | "
        f"{np.mean(found['longer']):.2f}, {np.mean(found['drifts']):.2f} points of a curve"
    )


if __name__ == "__main__":
    main()
