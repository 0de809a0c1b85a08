"""Gathers the residuals that model errors rest on, and says how far predictions are off by class: docs/accuracy.md.

    python benchmarks/model_error.py CALIBRATED.csv GENERAL.csv RUNS.csv RESIDUALS.csv > page.md

The first three are ``accuracy.csv`` of ``specsim validate``: of published points with the profiles that rows name, with
profiles for any device (``--general``), and of single runs that have latencies too. The fourth is written. Residuals of
what calibration saw are left out. `make published` runs it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from specsim.analysis.model_error import CONFIDENCE, Coverage, Residuals, left_out_coverage, scale_of
from specsim.inputs.read.case import Case
from specsim.studies.shared.model_error import COMPARED, residuals_of

LATENCIES = ("tpot_ms", "e2e_ms", "ttft_ms", "itl_p50_ms")
CASE = list(Case._fields)
SMALLEST_JUDGED = 20  # points of a class whose coverage is to be 85 % or more
WANTED = 0.85
PAGE = f"""\
# Accuracy by class

Made by `make published`; [every point](accuracy/accuracy.md). Each row is a class of cases: how many measured points
and sweeps it has, how far predictions are off (MAPE, bias), the {CONFIDENCE:.0%} interval of measured / predicted - 1
that answers give, and its coverage: points of each sweep within the interval that the other sweeps alone would have
given. `specsim/analysis/model_error.py` has the method. Points that calibration saw are left out. Calibrated: under
profiles fitted to the device and engine; general: under those for any device, as for a server that nobody calibrated.
A case with a feature that no sweep has (a drafter kind, several devices, a device whose kernels were not measured,
other software) takes the widest interval, and answers say "not validated".
"""
HEAD = "| class | points | sweeps | MAPE | bias | worst | 90 % interval | coverage |\n" + "| --- " * 8 + "|"


def gathered(path: str, tuned: set[str]) -> pd.DataFrame:
    """Rows with log(measured / predicted) of the speedup and of the rates without and with speculation.

    Args:
        path: of the table.
        tuned: sweeps whose calibration points informed a profile for any device.
    """
    rows = pd.read_csv(path)
    rows = rows[rows["split"].isin(["calibration", "validation"]) & rows["profile"].notna()]
    seen = (rows["split"] == "calibration") & ((rows["profile"] == "calibrated") | rows["sweep"].isin(tuned))
    turned = np.where(rows["metric"].isin(LATENCIES), -1.0, 1.0)
    found = rows[["sweep", "load", "num_draft_tokens", *CASE]].copy()
    found["speedup"] = -np.log1p(rows["error_speedup"]).mask(seen)
    # of calibrated profiles, calibration sees every figure without speculation
    known = (rows["profile"] == "calibrated") | rows["sweep"].isin(tuned)
    found["without"] = (-np.log1p(rows["error_baseline"]) * turned).mask(known)
    # one run without speculation may stand beside several draft lengths
    found["without"] = found["without"].mask(rows.duplicated(["sweep", "load", "metric", "measured_baseline"]))
    found["with"] = (-np.log1p(rows["error_with_speculation"]) * turned).mask(seen)
    return found.dropna(subset=["speedup", "without", "with"], how="all")


def table(residuals: tuple[Residuals, ...]) -> Iterator[str]:
    """A class a line."""
    for path, cover in left_out_coverage(residuals).items():
        members = [one for one in residuals if one.path[: len(path)] == path]
        errors = np.concatenate([np.expm1(np.negative(one.logs)) for one in members])
        worst = max(members, key=lambda one: np.abs(np.expm1(np.negative(one.logs))).max())
        half = scale_of(residuals, path).half_width
        yield (
            f"| {', '.join(path) or 'all'} | {cover.points} | {cover.sweeps} | {np.mean(np.abs(errors)):.1%} | "
            f"{errors.mean():+.1%} | {errors[np.abs(errors).argmax()]:+.0%}, {worst.sweep} | "
            f"{np.expm1(-half):+.0%} to {np.expm1(half):+.0%} | {verdict(cover)} |"
        )


def verdict(cover: Coverage) -> str:
    """Share of points within, and whether that is what was wanted where there are enough to judge."""
    share = cover.within / cover.points
    too_few = cover.points < SMALLEST_JUDGED
    return f"{share:.0%}" + ("" if too_few or share >= WANTED else f" (below {WANTED:.0%})")


def trust(residuals: dict[str, tuple[Residuals, ...]]) -> Iterator[str]:
    """Which numbers to trust for what, dense targets in BF16, from the same intervals."""
    yield "## Which numbers to trust for what\n"
    yield "Of dense targets in BF16, nine in ten measurements lie within:\n"
    yield "| number | calibrated profile | general profile | what for |\n| --- | --- | --- | --- |"
    uses = {
        "speedup": "whether speculation pays, and up to which load: far from the break-even; near it measure",
        "rate": "how many GPUs: calibrate first",
        "lengths": "which of two neighbouring draft lengths; where they differ by less take the shorter",
    }
    for compared, use in uses.items():
        halves = [
            scale_of(residuals[compared], (kind, "dense", "BF16")).half_width for kind in ("calibrated", "general")
        ]
        cells = [f"{np.expm1(-half):+.0%} to {np.expm1(half):+.0%}" for half in halves]
        yield f"| {COMPARED[compared]} | {' | '.join(cells)} | {use} |"
    yield ""


def latencies(path: str) -> Iterator[str]:
    """Metrics that make no speedup, of single runs."""
    rows = pd.read_csv(path)
    yield "## Latencies\n"
    yield "Single runs of Llama-3.1-8B with EAGLE-3, K = 5, on an A100 under vLLM 0.24 (S03): MAPE and bias of means.\n"
    yield "| workload | metric | without speculation | with speculation |\n| --- | --- | --- | --- |"
    for (sweep, metric), group in rows.groupby(["sweep", "metric"], sort=False):
        cells = [group[f"error_{arm}"].dropna() for arm in ("baseline", "with_speculation")]
        yield f"| {sweep} | {metric} | {' | '.join(f'{e.abs().mean():.1%} ({e.mean():+.1%})' for e in cells)} |"
    yield ""


def main() -> None:
    calibrated, general, runs, out = sys.argv[1:]
    named = pd.read_csv(calibrated)
    tuned = set(named.loc[(named["profile"] == "general") & (named["split"] == "calibration"), "sweep"])
    # a row whose profile is for any device anyway is in both
    rows = pd.concat([gathered(calibrated, tuned), gathered(general, tuned)])
    rows = rows.drop_duplicates(["sweep", "load", "num_draft_tokens", "profile"]).round(6)
    rows.to_csv(Path(out), index=False)
    records = rows.astype(object).where(rows.notna(), "").astype(str).to_dict("records")
    residuals = {compared: residuals_of(records, compared) for compared in COMPARED}
    print(PAGE)
    print("\n".join(trust(residuals)))
    for compared, words in COMPARED.items():
        print(f"## {words}\n\n{HEAD}")
        print("\n".join(table(residuals[compared])) + "\n")
    print("\n".join(latencies(runs)).rstrip())


if __name__ == "__main__":
    main()
