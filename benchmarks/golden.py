"""Every command on small scenarios, recorded: terminal, exit code and result folder, to compare before and after.

    python benchmarks/golden.py record before      # on the old code; --only NAME ... for some of the cases
    python benchmarks/golden.py record after       # on the new
    python benchmarks/golden.py compare before after

Nothing is committed: figures and floats may differ in the last bit between processors, so both sides are recorded on
one machine. ``provenance.json`` is left out, since it names the code.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import specsim

ROOT = Path(specsim.__file__).parents[1]
DEMO = "llama3.1-8b-h100-eagle3"
SHORT = ("--set", "workload.lengths={kind: fixed, prompt_tokens: 64, output_tokens: 16}")
CURVE = ("--set", "curve={batches: [1, 16, 512], num_draft_tokens: [2, 5], replications: 3, requests_per_slot: 3}")
FEW = ("--set", "run.replications=2", "--set", "workload.num_requests=32")
LOAD = (*FEW, "--set", "workload.load.concurrency=8", "--set", "workload.lengths.output_tokens=24")
PLAN = ("--set", "plan={width: 0.3, seeds: 3, min_requests: 200, most_requests: 400}", "--slo", "ttft:100 e2e.p90:300")
GRID = f"""\
name: golden
scenario: {DEMO}
set: {{workload.num_requests: 24, workload.lengths: {{kind: fixed, prompt_tokens: 64, output_tokens: 16}}}}
fields:
  workload.load.concurrency: [1, 8]
  speculation.policy.num_draft_tokens: [1, 3]
replications: 2
"""
STEPS = "a100-llama-3.1-8b-median-itl"


def cases() -> dict[str, list[str]]:
    """Name → arguments, from ``golden_cases.txt``."""
    text = Path(__file__).with_name("golden_cases.txt").read_text(encoding="utf-8").replace("\n  ", " ")
    words = {"DEMO": (DEMO,), "STEPS": (STEPS,), "SHORT": SHORT, "CURVE": CURVE, "LOAD": LOAD, "FEW": FEW, "PLAN": PLAN}
    found = {}
    for line in text.splitlines()[1:]:
        name, _, arguments = line.partition(": ")
        found[name] = [word for each in shlex.split(arguments) for word in words.get(each, (each,))]
    return found


def record(folder: Path, only: list[str]) -> None:
    """Run the cases, each in a folder of its own."""
    for name, arguments in cases().items():
        if only and name not in only:
            continue
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "grid.yaml").write_text(GRID)
        run = subprocess.run(
            [sys.executable, "-m", "specsim", *arguments], cwd=place, capture_output=True, text=True, check=False
        )
        for stream, text in (("stdout", run.stdout), ("stderr", run.stderr)):
            (place / f"{stream}.txt").write_text(text.replace(str(ROOT), "ROOT"))
        (place / "exit.txt").write_text(f"{run.returncode}\n")
        print(name, run.returncode, run.stderr.splitlines()[-1:], flush=True)


def differences(before: Path, after: Path) -> Iterator[str]:
    """Files that are not the same, and for texts the first lines that differ."""
    files = {path.relative_to(side) for side in (before, after) for path in side.rglob("*") if path.is_file()}
    for file in sorted(files):
        if file.name == "provenance.json" or "cells" in file.parts:
            continue
        if file.parts[0] not in {path.name for path in after.iterdir()}:
            continue  # not recorded anew
        old, new = before / file, after / file
        if not (old.exists() and new.exists()):
            yield f"only {'before' if old.exists() else 'after'}: {file}"
        elif old.read_bytes() != new.read_bytes():
            yield f"differs: {file}"
            if file.suffix not in (".png", ".svg", ".parquet"):
                lines = difflib.unified_diff(
                    old.read_text().splitlines(), new.read_text().splitlines(), lineterm="", n=0
                )
                yield from (f"    {line[:300]}" for line in list(lines)[2:14])


def main() -> None:
    """Record, or compare and exit with 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = parser.add_subparsers(dest="job", required=True)
    recording = jobs.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", nargs="*", default=[])
    comparing = jobs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.job == "record":
        record(given.folder.resolve(), given.only)
        return
    found = list(differences(given.before, given.after))
    print("\n".join(found) or "the same")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
