"""Whole commands as users run them, imports and files included, and where the time of the longest goes.

    python benchmarks/whole_process.py [TRACE]

TRACE is a request trace; by default as many requests as Azure's conversation trace of 2023 are drawn from the table of
its lengths, at its rate.
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import os
import pstats
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEMO = "llama3.1-8b-h100-eagle3"
AZURE_REQUESTS, AZURE_RATE = 19_366, 5.53
PARTS = {
    "the engine, compiled": "advance_compiled",
    "figures of each run": "load_row",
    "tables of requests and steps": "_write_csv",
    "inputs": "load_scenario",
}
"""What to look for in a profile: words for it and the function, whose time includes what it calls."""


def commands(trace: str | None, folder: Path) -> dict[str, list[str]]:
    """Name → arguments of specsim."""
    out = ["--force", "--out", str(folder)]
    short = ["workload.num_requests=1000", "workload.load={kind: poisson, rate: 6 requests/s}"]
    short.append("workload.lengths={kind: fixed, prompt_tokens: 512, output_tokens: 256}")
    if trace:
        day = [f"workload.lengths={{kind: trace, file: '{trace}'}}", "workload.load={kind: replay}"]
    else:
        day = ["workload.lengths={kind: quantiles, table: azure-2023-conversation}"]
        day.append(f"workload.load={{kind: poisson, rate: {AZURE_RATE} requests/s}}")
    day.append(f"workload.num_requests={AZURE_REQUESTS}")
    twice = ["run.replications=2"]
    return {
        "simulate 1,000 requests, both arms, 2 replications": ["simulate", DEMO, *_set(*short, *twice), *out],
        f"simulate {AZURE_REQUESTS:,} requests, both arms, 2 replications": [
            "simulate",
            DEMO,
            *_set(*day, *twice),
            *out,
        ],
        "curve of the demo": ["curve", DEMO, *out],
    }


def _set(*overrides: str) -> list[str]:
    return [part for override in overrides for part in ("--set", override)]


def timed(arguments: list[str]) -> tuple[float, float]:
    """(seconds of the clock, seconds of cores) of a command."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-m", "specsim", *arguments], check=True, capture_output=True)
    after = os.times()
    cores = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, cores


def profile(arguments: list[str]) -> None:
    """Print the share of a command's time that its parts take."""
    from specsim.cli.main import app

    profiler = cProfile.Profile()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        profiler.runcall(app, arguments, standalone_mode=False)
    stats = pstats.Stats(profiler)
    whole = stats.total_tt
    shares = {
        words: sum(entry[3] for (_, _, name), entry in stats.stats.items() if function in name) / whole
        for words, function in PARTS.items()
    }
    for words, share in (
        shares | {"the rest: imports, loading compiled code, rows to disk and back": 1 - sum(shares.values())}
    ).items():
        print(f"  {share:4.0%} {words}")


def main() -> None:
    trace = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        found = commands(trace, Path(folder) / "out")
        for name, arguments in found.items():
            clock, cores = timed(arguments)
            print(f"{clock:5.1f} s of the clock, {cores:5.1f} s of cores: {name}")
        _, longest, _ = found
        print(f"Of {longest}, under a profiler:")
        profile(found[longest])


if __name__ == "__main__":
    main()
