"""``specsim quantiles``: a trace's lengths as a small table that can be shared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def quantiles(
    trace: Annotated[Path, typer.Argument(help="CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens.")],
    out: Annotated[Path, typer.Option(help="The table to write, a .csv file.")],
    note: Annotated[
        list[str] | None, typer.Option(help="A line for the head of the table, such as source and licence; repeat.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the table if it exists.")] = False,
) -> None:
    """Summarise a trace's prompt and output lengths as joint quantiles, for workload.lengths.

    Example: specsim quantiles trace.csv --out my-lengths.csv --note "our chat traffic, May"
    """
    from specsim.errors import InputError, Problem
    from specsim.workload.quantiles import build_table, write_table
    from specsim.workload.traces import read_azure_trace

    if out.exists() and not force:
        remedy = "exists already; add --force to replace it, or name another file"
        raise InputError([Problem("--out", "", repr(str(out)), remedy)])
    lengths = read_azure_trace(trace).lengths
    write_table(out, build_table(lengths.prompt, lengths.output), note or ())
    typer.echo(f"{lengths.prompt.size} requests summarised in {out}")
