"""The terminal: where output goes, and progress bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

# wide enough for the tables where the output is not a terminal and has no width of its own
WIDTH_WITHOUT_TERMINAL = 120


def console() -> Console:
    """Standard output, with colours where it is a terminal."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=WIDTH_WITHOUT_TERMINAL)


def warn(sentence: str | None) -> None:
    """Print a warning on standard error, if there is one."""
    from rich.console import Console

    if sentence:
        Console(stderr=True, highlight=False).print(sentence, style="yellow", markup=False, soft_wrap=True)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error that is told of shares of the work; silent where that is not a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, disable=not errors.is_terminal, transient=True) as bar:
        task = bar.add_task(description, total=1.0)
        yield lambda share: bar.advance(task, share)


@contextmanager
def simulation_bar(name: str) -> Iterator[Callable[[float], None]]:
    """A bar for simulations of this name, once the simulator is compiled; the first time that takes a while."""
    from rich.console import Console

    from specsim.engine.run import warm_up

    errors = Console(stderr=True)
    if errors.is_terminal:
        with errors.status("loading the simulator (compiling it the first time takes about a minute)"):
            warm_up()
    with progress_bar(f"simulating {name}") as progress:
        yield progress
