"""How far measured speedups lie from a smooth curve in the number of drafts: what one run per K can tell apart.

    python benchmarks/scatter_in_k.py

For each load of a sweep, a parabola in log(K + 1) through the logarithms of its speedups; printed is each point's
distance from it, and the root mean square per degree of freedom. Runs of one K at every load are one job, so what its
job adds shows as the same sign at every load. Of S13, the time per step (mean accepted length over tokens per second)
is held against a straight line in K instead: every draft is one more pass of the same layer.
"""

from collections import defaultdict

import numpy as np

from specsim.inputs.measured.serving_tables import read_measurements
from specsim.inputs.read import catalogue

SWEEPS = ("S04-dspark", "S04-eagle3")
MTP_STEPS = "S13-mtp"


def main() -> None:
    rows = read_measurements(catalogue.find("measurements", "published", [], where="", path=""))
    for sweep in SWEEPS:
        by_load = defaultdict(list)
        for _, row in rows:
            if row.sweep == sweep:
                by_load[row.load].append((row.num_draft_tokens, row.speedup))
        distances = [from_parabola(load, points) for load, points in by_load.items()]
        freedom = sum(len(each) - 3 for each in distances)
        print(f"{sweep}: rms {np.sqrt(sum((each**2).sum() for each in distances) / freedom):.1%}\n")
    found = [row for _, row in rows if row.sweep == MTP_STEPS]
    steps = [(row.num_draft_tokens, 1e3 * row.acceptance_length / row.with_speculation) for row in found]
    drafts, ms = np.array([(0, 1e3 / found[0].baseline), *steps]).T
    apart = ms / np.polyval(np.polyfit(drafts, ms, 1), drafts) - 1
    each = [f"{k:.0f}: {time:.2f} ({d:+.1%})" for k, time, d in zip(drafts, ms, apart, strict=True)]
    print(f"{MTP_STEPS}, ms a step: {', '.join(each)}")


def from_parabola(load: float, points: list[tuple[int, float]]) -> np.ndarray:
    drafts, speedups = np.array(points, dtype=float).T
    powers = np.vander(np.log(drafts + 1), 3)
    logs = np.log(speedups)
    distance = logs - powers @ np.linalg.lstsq(powers, logs, rcond=None)[0]
    print(f"{load:>5.0f} in flight:", ", ".join(f"{k:.0f}: {d:+.1%}" for k, d in zip(drafts, distance, strict=True)))
    return distance


if __name__ == "__main__":
    main()
