"""The one ending of every command: an answer is written whole into its folder, printed, and warned of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from specsim.errors import InputError, PartialResultError, Problem
from specsim.reporting.columns import AnyTable
from specsim.reporting.console import console, progress_bar, simulation_bar, warn
from specsim.reporting.folders import (
    MANIFEST,
    Writer,
    bytes_writer,
    manifest,
    refuse_existing,
    refuse_file,
    text_writer,
    write_file,
    write_folder,
)
from specsim.reporting.text import as_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table as RichTable

ANSWER = "answer.txt"
Progress = Callable[[float], None]
"""Called with the share of the work done since the last call; the shares add up to 1 at most."""


@dataclass(frozen=True)
class Answer:
    """What a study found.

    Attributes:
        sentences: the answer, and what it must be read with.
        tables: for the terminal, for files, or for both.
        figures: file name without its ending → the figure, written as PNG and SVG.
        files: file name → what writes it, for what is no table or figure.
        appendix: text that is printed below the tables, such as settings to paste.
        footer: lines printed last and not written, such as where a trace lies.
        beside: option that names a file → what writes that file, once the folder is written.
        warning: printed on standard error; empty for none.
        partial: what an interruption left out; empty for a whole answer.
        failed: whether a part of the work has no result, so that the command ends with exit code 1.
    """

    sentences: Sequence[str]
    tables: Sequence[AnyTable] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    files: Mapping[str, Writer] = field(default_factory=dict)
    appendix: str = ""
    footer: Sequence[str] = ()
    beside: Mapping[str, Writer] = field(default_factory=dict)
    warning: str = ""
    partial: str = ""
    failed: bool = False


def publish(
    study: Callable[[Progress], Answer],
    *,
    title: str,
    out: Path | None = None,
    force: bool = False,
    read: Iterable[Path] = (),
    beside: Mapping[str, Path | None] | None = None,
    simulates: bool = True,
) -> None:
    """Refuse a folder that cannot be written, answer under a progress bar, write the folder whole, print, warn.

    Args:
        study: answers, and tells the shares of its work as it goes.
        title: of the progress bar.
        out: folder of the results; None to print alone.
        force: whether an earlier result there may be replaced.
        read: files that the answer is made from, which must not lie in the folder.
        beside: option → the file that it names, outside the folder; None where it was not given.
        simulates: whether the simulator is loaded, and compiled the first time, before the bar starts.

    Raises:
        InputError: when the folder cannot be written, holds something, or holds a file that is read.
        PartialResultError: after what there is was written and printed, when the study was interrupted.
        Exit: with code 1, after the same, when a part of the work failed.
    """
    if out:
        refuse_existing(out, force=force, read=read)
    named = {option: path for option, path in (beside or {}).items() if path}
    for option, path in named.items():
        refuse_file(path, force=force, option=option)
    with (simulation_bar if simulates else progress_bar)(title) as progress:
        answer = study(progress)
    if out:
        write_folder(out, answer_files(answer), force=force)
    try:
        for option, write in answer.beside.items():
            write_file(named[option], write, force=force, option=option)
    except InputError as error:
        show(replace(answer, footer=()), out)
        raise InputError([_although_complete(problem, out) for problem in error.problems]) from error
    show(answer, out)
    if answer.partial:
        raise PartialResultError(answer.partial)
    if answer.failed:
        raise typer.Exit(1)


def _although_complete(problem: Problem, out: Path | None) -> Problem:
    """That a file beside the result failed, and the result did not."""
    where = f" and in {out}/" if out else ""
    return replace(problem, remedy=f"{problem.remedy}. The result itself is complete, above{where}")


def show(answer: Answer, out: Path | None = None) -> None:
    """Print an answer: its first sentence in bold, the others, tables, appendix, and where it was written."""
    warn(answer.warning)
    screen = console()
    first, *others = answer.sentences
    screen.print(first, style="bold", markup=False, soft_wrap=True)
    for sentence in others:
        screen.print(sentence, markup=False, soft_wrap=True)
    tables = _shown(answer)
    if tables:
        screen.print()
    for table in tables:
        screen.print(table)
    if answer.appendix:
        screen.print(answer.appendix, markup=False, highlight=False, soft_wrap=True)
    for line in answer.footer:
        screen.print(line, markup=False, soft_wrap=True)
    if out:
        screen.print(f"written to {out}/", markup=False, soft_wrap=True)


def answer_files(answer: Answer) -> dict[str, Writer]:
    """File name → what writes it: the answer as printed, tables, figures, other files, and the manifest of all."""
    text = as_text(answer.sentences, *_shown(answer)) + (f"{answer.appendix}\n" if answer.appendix else "")
    files: dict[str, Writer] = {ANSWER: text_writer(text), **answer.files}
    dictionary: dict[str, list[dict[str, str]]] = {}
    for table in answer.tables:
        if table.file:
            files[table.file] = table.writer()
            dictionary[table.file] = table.dictionary()
    if answer.figures:  # matplotlib takes half a second to import, so only what is drawn waits for it
        from specsim.reporting.style import png_bytes, svg_bytes
    for name, figure in answer.figures.items():
        files[f"{name}.png"] = bytes_writer(png_bytes(figure))
        files[f"{name}.svg"] = bytes_writer(svg_bytes(figure))
    return files | {MANIFEST: text_writer(manifest([*files, MANIFEST], dictionary))}


def _shown(answer: Answer) -> list[RichTable]:
    return [shown for table in answer.tables if (shown := table.shown()) is not None]
