"""What is printed, as plain text: the same on a terminal, in a file and in the README."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table

WIDTH = 120


def as_text(sentences: Sequence[str], *tables: Table) -> str:
    """Sentences, one a line and unbroken, then the tables without colours."""
    written = StringIO()
    console = Console(file=written, width=WIDTH, color_system=None, highlight=False)
    for sentence in sentences:
        console.print(sentence, markup=False, soft_wrap=True)
    console.print()
    for table in tables:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())
