"""Gathers the residuals that model errors rest on, and says how often each class's intervals hold what was measured.

    python benchmarks/model_error.py CALIBRATED.csv GENERAL.csv RESIDUALS.csv > page.md

The first two are the ``accuracy.csv`` of ``specsim validate`` with the profiles that rows name, and with profiles for
any device (``--general``). Residuals of what calibration saw are left out. `make published` runs it.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from specsim.analysis.model_error import CONFIDENCE, Coverage, left_out_coverage, scale_of
from specsim.studies.shared.model_error import COMPARED, residuals_of

LATENCIES = ("tpot_ms", "e2e_ms", "ttft_ms", "itl_p50_ms")
CASE = ["profile", "target", "numbers", "drafter_kind", "devices", "figures", "software"]
SMALLEST_JUDGED = 20  # points of a class whose coverage is to be 85 % or more
WANTED = 0.85


PAGE = f"""\
Made by `make published`. Each row: measured points of a class of cases, how far predictions of them are off, and the
{CONFIDENCE:.0%} interval of measured / predicted - 1 that answers give. Coverage: points of each sweep within the
interval that the other sweeps alone would have given. `specsim/analysis/model_error.py` has the method. Points that
calibration saw are left out. Calibrated: under profiles fitted to the device and engine; general: under those for any
device.
"""
HEAD = "| class | points | sweeps | mean error | bias | 90 % interval | coverage |\n" + "| --- " * 7 + "|"


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


def table(compared: str, rows: pd.DataFrame) -> list[str]:
    """A class a line: its points, bias, half-width and coverage."""
    residuals = residuals_of(rows.astype(object).where(rows.notna(), "").astype(str).to_dict("records"), compared)
    lines = []
    for path, cover in left_out_coverage(residuals).items():
        logs = np.concatenate([one.logs for one in residuals if one.path[: len(path)] == path])
        name = ", ".join(path) or "all"
        half = scale_of(residuals, path).half_width
        lines.append(
            f"| {name} | {cover.points} | {cover.sweeps} | {np.mean(np.abs(np.expm1(-logs))):.1%} | "
            f"{np.mean(np.expm1(-logs)):+.1%} | {np.expm1(-half):+.0%} to {np.expm1(half):+.0%} | {verdict(cover)} |"
        )
    return lines


def verdict(cover: Coverage) -> str:
    """Share of points within, and whether that is what was wanted where there are enough to judge."""
    share = cover.within / cover.points
    too_few = cover.points < SMALLEST_JUDGED
    return f"{share:.0%}" + ("" if too_few or share >= WANTED else f" (below {WANTED:.0%})")


def main() -> None:
    calibrated, general, out = sys.argv[1:]
    named = pd.read_csv(calibrated)
    tuned = set(named.loc[(named["profile"] == "general") & (named["split"] == "calibration"), "sweep"])
    general_rows = gathered(general, tuned)
    # a row whose profile is for any device anyway is in both
    rows = pd.concat([gathered(calibrated, tuned), general_rows]).drop_duplicates(
        ["sweep", "load", "num_draft_tokens", "profile"]
    )
    rows.round(6).to_csv(Path(out), index=False)
    print("# The model's error by class\n")
    print(PAGE)
    for compared, words in COMPARED.items():
        print(f"## {words}\n")
        print(HEAD)
        print("\n".join(table(compared, rows)) + "\n")


if __name__ == "__main__":
    main()
