"""How fast a long open loop is simulated, and whether a request costs the same in a short and in a long one.

    python benchmarks/million.py            10,000 and 100,000 requests (some seconds)
    python benchmarks/million.py 1000000    a million too (half a minute)
    python benchmarks/million.py 1000000 --disk    rows go to disk as they come, as they do under specsim simulate

512 prompt and 256 output tokens, at most 128 requests in service, one replica at 70 % of the rate at which a closed
loop of 128 is served, K = 3; the verifier is called in every step that decodes. In process time, since machines are
shared.
"""

from __future__ import annotations

import dataclasses
import resource
import sys
import tempfile
import time
from pathlib import Path

from specsim.engine.run import warm_up
from specsim.inputs.models.workload import ClosedLoop, Poisson
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

DEMO = "llama3.1-8b-h100-eagle3"
LENGTHS = "workload.lengths={kind: fixed, prompt_tokens: 512, output_tokens: 256}"
BATCH, NUM_DRAFT_TOKENS, LOAD = 128, 3, 0.7


def main(sizes: list[int], *, disk: bool) -> None:
    """Print a line for each number of requests."""
    inputs = load_scenario(DEMO, [LENGTHS])
    engine = inputs.engine.model_copy(update={"max_num_seqs": BATCH, "speculation_max_num_seqs": None})
    simulation = Simulation(dataclasses.replace(inputs, engine=engine))
    warm_up()
    closed = ClosedLoop(kind="closed_loop", concurrency=BATCH)
    full = simulation.run(closed, num_draft_tokens=NUM_DRAFT_TOKENS, num_requests=8 * BATCH, replication=0)
    rate = LOAD * 8 * BATCH / float(full.requests.finish.max())
    load = Poisson(kind="poisson", rate=f"{rate} requests/s")
    print(f"{rate:.1f} requests/s, {LOAD:.0%} of what a closed loop of {BATCH} is served")
    for number in sizes:
        start, cpu = time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            records = simulation.run(
                load,
                num_draft_tokens=NUM_DRAFT_TOKENS,
                num_requests=number,
                replication=0,
                keep_rounds=False,
                spill=Path(folder) if disk else None,
            )
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            steps, decodes = len(records.steps.start), records.steps.num_decodes.mean()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{number:>9,} requests: {cpu:6.2f} s of one core ({wall:.2f} s in all), {1e6 * cpu / number:5.1f} us a "
            f"request, {1e6 * cpu / steps:5.1f} us a step, {decodes:.0f} decodes a step, at "
            f"most {memory:.2f} GB"
        )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--disk"]
    main([10_000, 100_000, *numbers], disk="--disk" in sys.argv)
