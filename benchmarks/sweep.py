"""What a sweep costs beside the simulations: `python benchmarks/sweep.py [cells]`.

Overhead is the CPU time of a sweep of small cells in one process less that of the same simulations alone. Then larger
cells run in one process and in two, in turns; what the two take to start is told apart, since it does not grow with the
cells. In CPU time, since machines are shared.
"""

import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple

import numpy as np

from specsim.engine.run import warm_up
from specsim.inputs.read.grid import GridFile, read_grid
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.simulate.run import simulate_load
from specsim.studies.sweep.cells import Task, run_cell, task_of
from specsim.studies.sweep.grid_cells import Cells
from specsim.studies.sweep.run import sweep
from specsim.studies.sweep.tables import run_columns, summary_columns

TURNS = 3
GRID = """
name: benchmark
scenario: llama3.1-8b-h100-eagle3
set:
  speculation.acceptance: {{kind: constant}}
  workload.num_requests: {requests}
  workload.lengths.output_tokens: {tokens}
fields:
  seed: {seeds}
  speculation.acceptance.overlap: [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
replications: 2
"""


def grid(folder: Path, cells: int, requests: int, tokens: int) -> GridFile:
    file = folder / f"{cells}-{requests}.yaml"
    file.write_text(GRID.format(seeds=list(range(cells // 6)), requests=requests, tokens=tokens))
    return read_grid(str(file))


def overhead(folder: Path, cells: int) -> float:
    """CPU-seconds a cell, of what is no simulation: all but the figure."""
    small = grid(folder, cells, 32, 8)
    made = Cells(small)
    inputs = [made.inputs(values) for values in small.grid.cells()]
    alone, swept = [], []
    for turn in range(TURNS):
        start = time.process_time()
        for one in inputs:
            simulate_load(one)
        between = time.process_time()
        found = sweep(small, kept=folder / f"cells-{turn}", where=Workers(jobs=1))
        run_columns(found), summary_columns(found)
        alone.append(between - start)
        swept.append(time.process_time() - between)
    return (min(swept) - min(alone)) / cells


def timed_cell(task: Task) -> float:
    """CPU-seconds of a cell, in a process that has loaded the simulator."""
    warm_up()
    start = time.process_time()
    run_cell(task)
    return time.process_time() - start


class Spent(NamedTuple):
    """CPU-seconds of the same cells in one process and in two, and of starting the two."""

    serial: float
    parallel: float
    starting: float


def cpu_seconds(folder: Path, cells: int) -> Spent:
    """Of each cell the least of several turns counts: others use the machine too."""
    large = grid(folder, cells, 512, 64)
    made = Cells(large)
    tasks = [(task_of(made.inputs(values)),) for values in large.grid.cells()]
    serial, parallel, starting = [], [], []
    for _ in range(TURNS):
        serial.append([seconds for _, seconds in sorted(spread(timed_cell, tasks, Workers(jobs=1)))])
        before = children_seconds()
        parallel.append([seconds for _, seconds in sorted(spread(timed_cell, tasks, Workers(jobs=2)))])
        shut_down()
        starting.append(children_seconds() - before - sum(parallel[-1]))
    return Spent(*(float(np.min(found, axis=0).sum()) for found in (serial, parallel)), min(starting))


def children_seconds() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shut_down() -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def main(cells: int) -> None:
    """Print both."""
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"overhead in one process: {1e3 * overhead(folder, cells):.1f} ms of CPU a cell ({cells} cells)")
        spent = cpu_seconds(folder, cells)
    each, ratio = 1e3 * spent.serial / cells, spent.parallel / spent.serial
    print(
        f"{cells} cells take {spent.serial:.2f} CPU-seconds in one process ({each:.0f} ms each) and "
        f"{spent.parallel:.2f} in two, {ratio:.3f} times as many; starting the two takes {spent.starting:.2f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
