"""Fits a device's figures to measured operators, and says how far off they are on shapes that the fit did not see.

    python benchmarks/fit_operators.py [DEVICE...]

needs the extra ``operators``. Matrix products: weights of 32 MB and more, at most 1025 rows; where activations are
quantised 4,096 outputs and more and at most 16,384 inputs, since their kernels do not share a sum over inputs among
processors, so that few outputs leave most of the device idle (errors of -20 to -70 % there). Decode attention: KV of
50 MB and more, heads of at most 256; prefill attention: more than 1,025 tokens, the same heads; routed experts:
balanced routing. Shapes fall into five parts (``specsim.studies.accuracy.operators.run.folds``). The figures
printed are fitted to parts 1 to 4; "held out" is part 0. "crossed" is five such fits, each judged on the part that it
left out, so that every shape counts once: a fifth of the shapes alone is a noisy judge.
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from specsim.costs.linear import activation_bytes
from specsim.costs.roofline import padded_rows, soft_maximum
from specsim.inputs.measured.operator_tables import PRECISIONS, SYSTEMS, OperatorTable, installed, read_operators
from specsim.inputs.read.scenario import read_device
from specsim.studies.accuracy.operators.run import FOLDS, LARGEST_HEAD, SHAPES, folds, format_of, priced

# Errors beyond this count by their size and not by its square, as what is judged are medians
ROBUST = 0.02
# Of an A100 the tables do not decide between tiles of (16, 64) and (64, 128) rows (crossed medians of 5.8 and 5.7 %);
# whole steps do (hardware/measured/steps): their errors are half as large with the smaller
TILES = {"bf16": [(1, 1), (16, 64)], "other": [(1, 1), (64, 64), (64, 128), (128, 128)]}


class Form(NamedTuple):
    """Seconds of every row as a function of a few figures, with where they start and may go."""

    seconds: Callable[[np.ndarray], np.ndarray]
    start: list[float]
    low: list[float]
    high: list[float]


def fit(form: Form, measured: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    def errors(figures):
        return np.log(form.seconds(figures)[chosen] / measured[chosen])

    return least_squares(errors, form.start, bounds=(form.low, form.high), loss="soft_l1", f_scale=ROBUST).x


def judge(form: Form, measured: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, float, str]:
    """The figures fitted without part 0, the crossed median, and both verdicts in words."""
    fits = [fit(form, measured, part != left_out) for left_out in range(FOLDS)]
    predicted = np.array([form.seconds(figures) for figures in fits])
    crossed = predicted[part, np.arange(len(part))] / measured - 1
    held_out = crossed[part == 0]
    return fits[0], float(np.median(np.abs(crossed))), f"held out {error(held_out)}, crossed {error(crossed)}"


def error(errors: np.ndarray) -> str:
    median, p90 = np.percentile(np.abs(errors), (50, 90))
    return f"{median:.1%} / {p90:.1%} ({errors.mean():+.1%})"


def product_form(rows: pd.DataFrame, precision: str, tile: tuple[int, int], device) -> Form:
    form, asked = format_of(precision), rows["rows"].to_numpy()
    held = (rows["outputs"] * rows["inputs"]).to_numpy(dtype=float)
    per_row = np.array([activation_bytes(i, o, form) for i, o in zip(rows["inputs"], rows["outputs"], strict=True)])
    moved = (held * form.bytes_per_weight + asked * per_row) / device.memory.bandwidth
    peak = dict(device.peak)[form.compute]
    computed = 2 * held * padded_rows(asked, tile) / peak

    def seconds(figures):
        launch, compute, bandwidth, sharpness = figures
        return 1e-6 * launch + soft_maximum(computed / compute, moved / bandwidth, sharpness)

    return Form(seconds, [5, 0.7, 0.85, 2.5], [0, 0.1, 0.2, 0.8], [100, 1.0, 1.0, 20])


def decode_forms(rows: pd.DataFrame, device) -> Iterator[tuple[str, Form]]:
    """Two forms: launch, KV heads and reading added up, and the profile's with its soft maximum and ramp.

    The second's launch is read off caches of at most 0.2 MB, where nothing else takes time. Both add the arithmetic, at
    the profile's efficiency of prefill.
    """
    heads = (rows["sequences"] * rows["kv_heads"]).to_numpy(dtype=float)
    cache = (rows["sequences"] * rows["context"] * 4 * rows["kv_heads"] * rows["head_size"]).to_numpy()
    read, chosen = cache / device.memory.bandwidth, cache >= 50e6
    floor = float(np.median(rows["seconds"][(cache < 0.2e6) & (heads <= 8)]))
    pairs = (rows["sequences"] * rows["context"] * 4 * rows["heads"] * rows["head_size"]).to_numpy()
    work = pairs[chosen] / (device.attention.compute_efficiency * device.peak.bf16)
    heads, read = heads[chosen], read[chosen]

    def added(figures):
        launch, each, bandwidth = figures
        return 1e-6 * launch + 1e-9 * each * heads + read / bandwidth + work

    def soft(figures):
        each, bandwidth, sharpness, ramp = figures
        reading = read / bandwidth + np.minimum(read / bandwidth, 1e-6 * ramp)
        return floor + soft_maximum(1e-9 * each * heads, reading, sharpness) + work

    yield "sum: launch [us], KV head [ns], b", Form(added, [13, 15, 0.9], [0, 0, 0.2], [60, 200, 1.0])
    yield (
        f"launch {1e6 * floor:.1f} us; KV head [ns], b, n, ramp [us]",
        Form(soft, [20, 0.9, 2, 5], [0, 0.2, 1, 0], [200, 1.0, 30, 40]),
    )


def products(folder, name: str) -> None:
    device = read_device(name)
    for table in read_operators(folder, name, "matrix product"):
        for precision in PRECISIONS.values():
            form = format_of(precision)
            rows = table.rows[table.rows["precision"] == precision]
            size = form.bytes_per_weight * rows["outputs"] * rows["inputs"]
            rows = rows[(size >= 32e6) & (rows["rows"] <= 1025)]
            if form.quantises_activations:
                rows = rows[(rows["outputs"] >= 4096) & (rows["inputs"] <= 16384)]
            if rows.empty or dict(device.peak)[form.compute] is None:
                continue
            measured, part = rows["seconds"].to_numpy(), folds(rows[SHAPES["matrix product"]])
            tried = [
                (judge(product_form(rows, precision, tile, device), measured, part), tile)
                for tile in TILES.get(precision, TILES["other"])
            ]
            (figures, _, verdict), tile = min(tried, key=lambda one: one[0][1])
            launch, compute, bandwidth, sharpness = figures
            print(
                f"{name:14} {table.stack:17} {precision:9} launch {launch:5.2f} us, {compute:.3f}, {bandwidth:.3f}, "
                f"sharpness {sharpness:5.2f}, tile {tile}: {verdict}, {len(rows)} rows"
            )


def decodes(folder, name: str) -> None:
    device = read_device(name)
    for table in read_operators(folder, name, "decode attention"):
        rows = table.rows[(table.rows["precision"] == "bf16") & (table.rows["head_size"] <= LARGEST_HEAD)]
        large = 4 * rows["sequences"] * rows["context"] * rows["kv_heads"] * rows["head_size"] >= 50e6
        measured, part = rows["seconds"][large].to_numpy(), folds(rows.loc[large, SHAPES["decode attention"]])
        for form_name, form in decode_forms(rows, device):
            figures, _, verdict = judge(form, measured, part)
            words = ", ".join(f"{figure:.3g}" for figure in figures)
            print(f"{name:14} {table.stack:17} decode, {form_name}: {words}: {verdict}, {large.sum()} rows")


def prefills(folder, name: str) -> None:
    """The overhead of a prompt token, all else as in the profile: more than 1,025 tokens."""
    device = read_device(name)
    for table in read_operators(folder, name, "prefill attention"):
        rows = table.rows[(table.rows["precision"] == "bf16") & (table.rows["head_size"] <= LARGEST_HEAD)]
        rows = rows[rows["sequences"] * rows["context"] > 1025]
        measured, part = rows["seconds"].to_numpy(), folds(rows[SHAPES["prefill attention"]])
        without, with_one = (predicted_with_overhead(table, rows, device, tokens) for tokens in (0, 1))

        def seconds(figures, without=without, each=with_one - without):
            return without + figures[0] * each

        form = Form(seconds, [500], [0], [5000])
        figures, _, verdict = judge(form, measured, part)
        print(f"{name:14} {table.stack:17} prefill, {figures[0]:.0f} tokens more: {verdict}, {len(rows)} rows")


def experts(folder, name: str) -> None:
    """What grouped products reach of the arithmetic of plain ones, all else as in the profile: balanced routing."""
    device = read_device(name)
    for table in read_operators(folder, name, "routed experts"):
        rows = table.rows[table.rows["routing"] == "balanced"]
        if rows.empty:
            continue

        table = table._replace(rows=rows)

        def seconds(figures, table=table):
            found = priced(table, device.model_copy(update={"grouped_products": figures[0]}))
            return found["predicted"].to_numpy()

        measured, part = rows["seconds"].to_numpy(), folds(rows[SHAPES["routed experts"]])
        form = Form(seconds, [0.6], [0.05], [1.5])
        figures, _, verdict = judge(form, measured, part)
        words = f"experts, {figures[0]:.3f} of the arithmetic of products"
        print(f"{name:14} {table.stack:17} {words}: {verdict}, {len(rows)} rows")


def predicted_with_overhead(table: OperatorTable, rows: pd.DataFrame, device, tokens: int) -> np.ndarray:
    attention = device.attention.model_copy(update={"prompt_overhead": tokens})
    found = priced(table._replace(rows=rows), device.model_copy(update={"attention": attention}))
    return found["predicted"].to_numpy()


def main() -> None:
    folder, release = installed("benchmarks/fit_operators.py")
    print(f"aiconfigurator-core {release}; errors: median / 90th percentile (bias)")
    for name in sys.argv[1:] or SYSTEMS:
        products(folder, name)
        decodes(folder, name)
        prefills(folder, name)
        experts(folder, name)


if __name__ == "__main__":
    main()
