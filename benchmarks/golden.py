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
LOAD = (
    *("--set", "run.replications=2", "--set", "workload.num_requests=32", "--set", "workload.load.concurrency=8"),
    *("--set", "workload.lengths.output_tokens=24"),
)
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

CASES: dict[str, tuple[str, ...]] = {
    "curve": ("curve", DEMO, *SHORT, *CURVE, "--jobs", "1", "--out", "out"),
    "curve-tree": (
        "curve",
        "llama3.1-8b-h100-eagle3-tree",
        *SHORT,
        "--set",
        "curve.batches=[1,8]",
        "--set",
        "curve.replications=2",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "curve-theory": (
        "curve",
        "theory-h100-ideal",
        "--set",
        "curve={batches: [1, 64], replications: 2, requests_per_slot: 3}",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "curve-off": (
        "curve",
        DEMO,
        *SHORT,
        *CURVE,
        "--set",
        "speculation.policy.num_draft_tokens=0",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "curve-ngram": (
        "curve",
        DEMO,
        *SHORT,
        *CURVE,
        "--set",
        "speculation.drafter={kind: ngram, found: 0.6, host_time_per_step: 1 ms, host_time_per_sequence: 1 us}",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "curve-mtp": (
        "curve",
        "qwen3.5-35b-a3b-h200-mtp",
        *SHORT,
        "--set",
        "curve={batches: [1, 32], replications: 2, requests_per_slot: 3}",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "curve-fleet": (
        "curve",
        "llama3.1-8b-4xh100-fleet",
        *SHORT,
        "--set",
        "curve={batches: [4, 32], replications: 2, requests_per_slot: 3}",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "map": (
        "map",
        DEMO,
        "--set",
        "map.replications=2",
        "--set",
        "curve.min_requests=8",
        "--set",
        "curve.requests_per_slot=3",
        "--contexts",
        "64,256",
        "--batches",
        "2,512",
        "--num-draft-tokens",
        "2,3",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "sensitivity": (
        "sensitivity",
        DEMO,
        *SHORT,
        "--set",
        "curve={batches: [1, 64, 512], replications: 2, requests_per_slot: 3}",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "decide": ("decide", DEMO, *SHORT, *CURVE, "--checkpoint", "org/head", "--jobs", "1", "--out", "out"),
    "plan": (
        "plan",
        DEMO,
        *SHORT,
        *PLAN,
        "--num-draft-tokens",
        "2",
        "--rate",
        "400 requests/s",
        "--price",
        "2.5",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "plan-policies": (
        "plan",
        DEMO,
        *SHORT,
        *PLAN,
        "--policies",
        "static,goodput",
        "--num-draft-tokens",
        "1,3",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "compare": (
        "compare",
        DEMO,
        "--variant",
        "h200: deployment.device=h200",
        *SHORT,
        "--set",
        "curve={replications: 2, requests_per_slot: 3}",
        "--batches",
        "1,64",
        *PLAN,
        "--price",
        "h100-sxm=2.5",
        "--price",
        "h200=3.2",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "optimize": (
        "optimize",
        DEMO,
        *SHORT,
        *PLAN,
        "--tensor-parallel",
        "1",
        "--max-num-seqs",
        "8,32",
        "--token-budget",
        "512",
        "--num-draft-tokens",
        "2",
        "--policies",
        "none,static",
        "--set",
        "optimize.finalists=2",
        "--price",
        "3.6",
        "--checkpoint",
        "org/head",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "simulate": ("simulate", DEMO, *LOAD, "--check", "--rounds", "--trace", "trace.json", "--out", "out"),
    "simulate-open": (
        "simulate",
        DEMO,
        *LOAD[:4],
        *SHORT,
        "--set",
        "workload.load={kind: poisson, rate: 20 requests/s}",
        "--set",
        "slo={ttft: 200 ms, tpot: 20 ms}",
        "--out",
        "out",
    ),
    "simulate-policy": (
        "simulate",
        DEMO,
        *LOAD,
        "--set",
        "speculation.policy={kind: goodput, num_draft_tokens: 4}",
        "--out",
        "out",
    ),
    "simulate-fleet": (
        "simulate",
        "llama3.1-8b-4xh100-fleet",
        "--set",
        "run.replications=2",
        "--set",
        "workload.num_requests=48",
        *SHORT,
        "--out",
        "out",
    ),
    "simulate-disaggregated": (
        "simulate",
        "llama3.1-8b-4xh100-disaggregated",
        "--set",
        "run.replications=2",
        "--set",
        "workload.num_requests=48",
        *SHORT,
        "--out",
        "out",
    ),
    "simulate-models": (
        "simulate",
        "llama3.1-8b-h100-language-models",
        "--set",
        "run.replications=2",
        "--set",
        "workload.num_requests=32",
        *SHORT,
        "--out",
        "out",
    ),
    "simulate-prefixes": (
        "simulate",
        DEMO,
        *LOAD[:4],
        *SHORT,
        "--set",
        "deployment.prefix_caching=true",
        "--out",
        "out",
    ),
    "sweep": ("sweep", "grid.yaml", "--jobs", "1", "--out", "out"),
    "cost": ("cost", DEMO, "--batch", "1,64", "--num-draft-tokens", "0,3", "--out", "out"),
    "cost-hybrid": ("cost", "qwen3.5-35b-a3b-h200-mtp"),
    "cost-moe": ("cost", "deepseek-r1-8xb200-mtp", "--batch", "64", "--context", "4000", "--prompt-tokens", "512"),
    "theory": ("theory", "--alpha", "0.7,0.8", "--gamma", "3,4", "--draft-cost", "0.05"),
    "validate": ("validate", "--steps", STEPS, "--out", "out"),
    "validate-quick": (
        "validate",
        "--measurements",
        "a100-llama-3.1-8b-eagle3-runs",
        "--quick",
        "--jobs",
        "1",
        "--out",
        "out",
    ),
    "calibrate": ("calibrate", "--steps", STEPS, "--start", "vllm", "--out", "mine.yaml", "--name", "mine"),
    "prove": ("prove", "--quick"),
    **{
        f"list-{what}": ("list", what)
        for what in ("hardware", "engines", "models", "scenarios", "grids", "lengths", "measurements", "steps")
    },
    **{f"schema-{kind}": ("schema", kind) for kind in ("scenario", "device", "engine", "grid")},
    "bad-scenario": ("curve", DEMO, "--set", "curve.batchs=[1]", "--set", "slo.tpot=5"),
    "bad-options": ("plan", DEMO, "--slo", "ttft:x", "--policies", "none,nonsense", "--num-draft-tokens", "0,x"),
    "bad-map": ("map", DEMO, "--contexts", "0,x", "--batches", "-1"),
    "bad-optimize": ("optimize", DEMO, "--tensor-parallel", "x", "--policies", "y", "--trials", "0"),
    "bad-compare": ("compare", DEMO, "no-such", "--price", "x=y", "--batches", "0", "--variant", "nonsense"),
    "infeasible": ("curve", DEMO, "--set", "workload.lengths.prompt_tokens=999999"),
}


def record(folder: Path, only: list[str]) -> None:
    """Run the cases, each in a folder of its own."""
    for name, arguments in CASES.items():
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
