"""``specsim sweep``: every combination of values of a scenario's fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.reporting.options import ForceOption, JobsOption


def sweep(
    grid: Annotated[
        str, typer.Argument(help="A grid's catalogue name (specsim list grids) or the path of its YAML file.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Override one value of the grid's scenario in all cells, not one that varies; repeatable. "
            "Example: --set workload.num_requests=512",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results. Default: out/<grid name>-sweep")] = None,
    force: ForceOption = False,
    jobs: JobsOption = None,
    backend: Annotated[
        str,
        typer.Option(metavar="NAME", help="Joblib backend: loky (processes), or ray or dask (extras of that name)."),
    ] = "loky",
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of a running Ray or Dask cluster: ray://host:10001, auto or tcp://host:8786. Default: "
            "start one on this machine."
        ),
    ] = None,
    cells: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where simulated cells are kept. Default: cells/ in --out")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Of the tables: csv, or parquet (extra: parquet).")
    ] = "csv",
    yes: Annotated[bool, typer.Option("--yes", help="Simulate a grid of more than 500 cells.")] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Skip cells that are not valid scenarios; tables name them.")
    ] = False,
) -> None:
    """Every combination of values of a scenario's fields, with and without speculation, as a table to plot from.

    Simulates each cell as specsim simulate does and caches it by its inputs and the code: a sweep that was killed
    continues where it stopped, and a repeated one takes no time. Writes a table of runs, a table of means with
    intervals, and a figure where one or two things vary. Failed cells are listed, with exit code 1.

    Examples:
    - specsim sweep load-by-draft-length
    - specsim sweep my-grid.yaml --jobs 8 --format parquet
    - specsim sweep my-grid.yaml --backend dask --address tcp://scheduler:8786 --yes
    """
    from specsim.errors import Gathered, Problem
    from specsim.inputs.read.grid import read_grid
    from specsim.reporting.folders import refuse_existing, refuse_unwritable
    from specsim.reporting.publish import Answer, Progress, publish
    from specsim.reporting.record_tables import table_format
    from specsim.studies.shared.executors import workers
    from specsim.studies.sweep.answer import sweep_answer
    from specsim.studies.sweep.run import sweep as simulate_cells

    gathered = Gathered()
    tables, where = gathered.attempt(table_format, form), gathered.attempt(workers, backend, jobs, address)
    read = gathered.attempt(read_grid, grid)
    folder = out or Path("out") / (f"{read.grid.name}-sweep" if read else "")
    kept = Path(cells) if cells else folder / "cells"
    goes_on = force or (folder / "cells").is_dir()  # a sweep's own tables say nothing that it would not write again
    if out or read:
        gathered.attempt(refuse_existing, folder, force=goes_on)
    if cells:
        gathered.attempt(refuse_unwritable, kept, "--cells")
    elif cells is not None:
        gathered.problems.append(Problem("--cells", "", "''", "is empty; name a folder, or leave it out"))
    gathered.settle()
    assert tables, "what is missing is a problem"
    assert where
    assert read

    def study(progress: Progress) -> Answer:
        result = simulate_cells(
            read, overrides or (), kept=kept, where=where, yes=yes, skip_invalid=skip_invalid, progress=progress
        )
        return sweep_answer(result, tables, kept=kept, folder=folder)

    publish(study, title=read.grid.name, out=folder, force=goes_on or kept == folder / "cells")
