"""The ``specsim`` command: its parts, and how errors leave it."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Annotated

import typer

from specsim import __version__
from specsim.errors import BrokenRunError, PartialResultError, SpecsimError
from specsim.studies.accuracy.calibrate import command as calibrate
from specsim.studies.accuracy.validate import command as validate
from specsim.studies.compare import command as compare
from specsim.studies.cost import command as cost
from specsim.studies.curve import command as curve
from specsim.studies.decide import command as decide
from specsim.studies.inventory import command as inventory
from specsim.studies.map import command as maps
from specsim.studies.optimize import command as optimize
from specsim.studies.plan import command as plan
from specsim.studies.prove import command as prove
from specsim.studies.sensitivity import command as sensitivity
from specsim.studies.simulate import command as simulate
from specsim.studies.sweep import command as sweep
from specsim.studies.theory import command as theory
from specsim.units import plural

EXIT_BROKEN_RUN = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specsim {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="specsim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does speculative decoding pay on your GPU, model, drafter and traffic, and up to which load?\n\n"
    "Start with: specsim curve llama3.1-8b-h100-eagle3",
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What holds for every command."""


PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Does it pay?": {
        "curve": curve.curve,
        "map": maps.map_speedups,
        "sensitivity": sensitivity.sensitivity,
        "theory": theory.theory,
    },
    "What to set, what to buy": {
        "decide": decide.decide,
        "plan": plan.plan,
        "compare": compare.compare,
        "optimize": optimize.optimize,
    },
    "In detail": {"simulate": simulate.simulate, "sweep": sweep.sweep, "cost": cost.cost},
    "How far to trust it": {"validate": validate.validate, "calibrate": calibrate.calibrate, "prove": prove.prove},
    "Files and installation": {
        "list": inventory.list_names,
        "quantiles": inventory.quantiles,
        "schema": inventory.schema,
        "doctor": inventory.doctor,
    },
}
for panel, commands in PANELS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)


def main() -> None:
    """Run the command line; bad input ends with one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × or γ shows ? and not a traceback
    interrupted = _interruptions()
    try:
        app()
    except SpecsimError as error:
        _report(f"{error.headline} ({plural(len(error.problems), 'problem')})", map(str, error.problems))
        sys.exit(EXIT_BAD_INPUT)
    except BrokenRunError as error:
        _report(f"a simulator bug; nothing was written. {error.which}", error.violations)
        sys.exit(EXIT_BROKEN_RUN)
    except PartialResultError as partial:
        print(f"interrupted; {partial}", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit as stop:  # typer turns an interruption into this, without a word
        if stop.code == EXIT_INTERRUPTED:
            print(NOTHING, file=sys.stderr)
        raise
    except (ImportError, SystemError):
        if not interrupted:
            raise
        print(NOTHING, file=sys.stderr)  # a library that was being loaded says it in its own way
        sys.exit(EXIT_INTERRUPTED)


NOTHING = "interrupted; nothing was written"


def _interruptions() -> list[int]:
    """The signals that interrupted the command so far; from now on Ctrl-C and schedulers' SIGTERM do."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.default_int_handler(number, frame)

    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, interrupt)
    return received


def _report(what: str, lines: Iterable[str]) -> None:
    print(f"specsim: {what}:", *(f"  {line}" for line in lines), sep="\n", file=sys.stderr)
