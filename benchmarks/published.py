"""Predicted against published throughput of one server with and without EAGLE-3: how far uncalibrated profiles are off.

Run it with `make published`. Nothing here is tuned to these points; the profiles' figures come from operator tables and
from other servers (see their `sources`).
"""

from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from specsim.analysis.metrics import summarise
from specsim.schema import catalogue
from specsim.schema.load import load_scenario
from specsim.schema.workload import ClosedLoop
from specsim.simulation import Simulation

POINTS = catalogue.ROOT / "hardware" / "measured" / "a100_llama-3.1-8b_eagle3_vllm.csv"
NUM_DRAFT_TOKENS = 5
ACCEPTANCE = [f"acceptance_{i + 1}" for i in range(NUM_DRAFT_TOKENS)]


def predicted(point):
    """Output tokens/s without and with speculation, as a benchmark client measures: ramp and tail included."""
    lengths = f"prompt_tokens: {point.prompt_tokens}, output_tokens: {point.output_tokens}"
    inputs = load_scenario(
        "llama3.1-8b-h100-eagle3",
        [
            "deployment.device=a100-sxm-80gb",
            f"workload.lengths={{kind: fixed, {lengths}}}",
            f"speculation.acceptance.values={[getattr(point, name) for name in ACCEPTANCE]}",
            "speculation.temperature=0",
        ],
    )
    simulation, load = Simulation(inputs), ClosedLoop(kind="closed_loop", concurrency=point.concurrency)
    return [
        summarise(
            simulation.run(load, num_draft_tokens=k, num_requests=point.num_requests, replication=0)
        ).output_tokens_per_s
        for k in (0, NUM_DRAFT_TOKENS)
    ]


def main(points: Path = POINTS) -> None:
    table = Table(
        "workload", "in flight", "tokens/s without", "with 5 drafts", "speedup", title="predicted / published"
    )
    errors = []
    for point in pd.read_csv(points, comment="#").itertuples():
        ours, theirs = predicted(point), (point.baseline_tokens_per_s, point.speculation_tokens_per_s)
        pairs = [*zip(ours, theirs, strict=True), (ours[1] / ours[0], theirs[1] / theirs[0])]
        errors.append([mine / published - 1 for mine, published in pairs])
        cells = [f"{mine:,.4g} / {published:,.4g} {mine / published - 1:+.0%}" for mine, published in pairs]
        table.add_row(point.workload, str(point.concurrency), *cells)
    error = np.array(errors)
    table.add_section()
    table.add_row("mean absolute error", "", *(f"{value:.1%}" for value in np.abs(error).mean(axis=0)))
    table.add_row("mean error (bias)", "", *(f"{value:+.1%}" for value in error.mean(axis=0)))
    table.add_row(
        "range", "", *(f"{low:+.0%} to {high:+.0%}" for low, high in zip(error.min(0), error.max(0), strict=True))
    )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
