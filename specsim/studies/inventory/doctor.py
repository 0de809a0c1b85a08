"""Versions, the catalogue's place and two timings, for people who ask why something is slow or missing."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.markup import escape
from rich.table import Table

from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario
from specsim.provenance import versions
from specsim.simulation.replica import Simulation
from specsim.verification import verify_chain
from specsim.verification.core import reason_for_numpy

NUM_CALLS = 200
DEMO = "llama3.1-8b-h100-eagle3"


def diagnosis() -> Table:
    """One row per finding."""
    table = Table("what", "found", show_header=False)
    for name, version in versions().items():
        table.add_row(name, version)
    table.add_row("catalogue", escape(str(catalogue.ROOT)))
    for kind in catalogue.KINDS:
        table.add_row(f"{kind} files", str(len(catalogue.names(kind))))
    reason = reason_for_numpy()
    table.add_row("verifier's core", "compiled (numba)" if reason is None else f"NumPy: {reason}")
    table.add_row("verifier", f"{_verifier_microseconds():.0f} µs per call (64 requests, 4 drafts, vocabulary 32)")
    table.add_row("simulator", f"{_simulated_tokens_per_second():,.0f} output tokens simulated per second of wall time")
    return table


def _verifier_microseconds() -> float:
    rng = np.random.default_rng(0)
    q, p = rng.dirichlet(np.ones(32), (64, 4)), rng.dirichlet(np.ones(32), (64, 5))
    draft, num_draft = rng.integers(32, size=(64, 4)), np.full(64, 4)
    accept, final = rng.random((64, 4)), rng.random(64)

    def verify() -> object:
        return verify_chain(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final, validate=False)

    return 1e6 * _seconds(verify, NUM_CALLS)


def _simulated_tokens_per_second() -> float:
    lengths = "workload.lengths={kind: fixed, prompt_tokens: 128, output_tokens: 128}"
    simulation = Simulation(load_scenario(DEMO, [lengths]))
    load = ClosedLoop(kind="closed_loop", concurrency=32)

    def run() -> object:
        return simulation.run(load, num_draft_tokens=3, num_requests=256, replication=0, keep_rounds=False)

    return 256 * 128 / _seconds(run, 1)


def _seconds(call: Callable[[], object], repeats: int) -> float:
    """Seconds per call, after one to warm up."""
    call()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
