"""Measured operators, priced one by one with the functions that steps are priced with."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from specsim.arrays import Floats
from specsim.costs.attention import AttentionCost, KVAttention
from specsim.costs.collectives import all_reduce_seconds
from specsim.costs.experts import ExpertProduct, expert_time
from specsim.costs.layers import EXPERT_KERNELS
from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import Rates, device_rates
from specsim.forward import Pass, attended
from specsim.inputs.checkpoints.quantisation import FORMATS, KV_BYTES, Format
from specsim.inputs.measured.operator_tables import FRAMEWORKS, OPERATORS, SYSTEMS, OperatorTable, read_operators
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.scenario import read_device

SHAPES = {
    "matrix product": ["outputs", "inputs"],
    "decode attention": ["heads", "kv_heads", "head_size"],
    "prefill attention": ["heads", "kv_heads", "head_size"],
    "routed experts": ["hidden", "inner", "number", "per_token"],
}
"""What is held out of a fit together, in the operators that are fitted: everything measured on one shape."""
FOLDS = 5
MEGABYTE = 1e6
LARGEST_MESSAGE = 2**27  # 8,192 tokens of a hidden size of 8,192 in BF16: no engine step sends more
LARGEST_HEAD = 256  # wider heads (Gemma's 512) run on other kernels


def folds(shapes: pd.DataFrame) -> NDArray[np.int64]:
    """The part, 0 to 4, that each row's shape falls into; part 0 is held out of fits.

    CRC-32 of the shape's numbers, written with commas between them, modulo 5: a shape is in one part as a whole, on
    every device and under every stack.
    """
    unique, which = np.unique(shapes.to_numpy(dtype=np.int64), axis=0, return_inverse=True)
    parts = [zlib.crc32(",".join(map(str, shape)).encode()) % FOLDS for shape in unique.tolist()]
    return np.array(parts, dtype=np.int64)[which.ravel()]


def price_operators(folder: Path, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """Every measured operator of every device that has tables.

    Args:
        folder: of the systems' tables.
        progress: told of finished work.

    Returns:
        One row per measurement: device, stack, operator, precision, size_class, size (of weights, KV or message [B], or
        tokens), held_out, measured and predicted [s].
    """
    asked = [(device, operator) for device in SYSTEMS for operator in OPERATORS]
    frames = []
    for device, operator in asked:
        profile = read_device(device)
        frames += [priced(table, profile) for table in read_operators(folder, device, operator)]
        if progress:
            progress(1 / len(asked))
    return pd.concat(frames, ignore_index=True)


def priced(table: OperatorTable, device: Device) -> pd.DataFrame:
    """The rows of one table that the device has a peak and figures for; columns as ``price_operators``."""
    rates = device_rates(device, ideal=False)
    match table.operator:
        case "matrix product":
            rows, found = _matrix_products(table.rows, rates)
        case "all-reduce":
            rows, found = _all_reduces(table.rows, device)
        case "routed experts":
            rows, found = _routed_experts(table.rows, rates)
        case _:
            rows, found = _attention(table.rows, rates, prompts=table.operator == "prefill attention")
    return pd.DataFrame(
        {
            "device": table.device,
            "stack": table.stack,
            "operator": table.operator,
            "precision": rows["precision"].to_numpy() if "precision" in rows else "bf16",
            "size_class": found["size_class"].to_numpy(),
            "size": found["size"].to_numpy(),
            "held_out": folds(rows[SHAPES[table.operator]]) == 0 if table.operator in SHAPES else False,
            "measured": rows["seconds"].to_numpy(),
            "predicted": found["predicted"].to_numpy(),
        }
    )


def format_of(precision: str) -> Format:
    """The format whose weights a table's precision has."""
    return FORMATS["fp8" if precision == "fp8_block" else precision]


def _matrix_products(rows: pd.DataFrame, rates: Rates) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = rows[rows["precision"].map(lambda precision: format_of(precision).compute in rates.flops_in)]
    size, predicted = np.zeros(len(rows)), np.zeros(len(rows))
    asked = rows["rows"].to_numpy()
    for (precision, outputs, inputs), same in _shapes(rows, ["precision", *SHAPES["matrix product"]]):
        linear = Linear(inputs, outputs, format=format_of(precision))
        size[same] = linear.bytes
        predicted[same] = sum(linear_time([linear], asked[same], rates))
    names = np.array(["weights < 8 MB", "weights 8-32 MB", "weights ≥ 32 MB"])
    weights = names[np.searchsorted([8 * MEGABYTE, 32 * MEGABYTE], size, side="right")]
    return rows, _found(size, predicted, weights, np.where(asked <= 1025, ", ≤ 1025 rows", ", more rows"))


def _attention(rows: pd.DataFrame, rates: Rates, *, prompts: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    size, predicted = np.zeros(len(rows)), np.zeros(len(rows))
    sequences, context = rows["sequences"].to_numpy(), rows["context"].to_numpy()
    for (precision, heads, kv_heads, head_size), same in _shapes(rows, ["precision", *SHAPES["decode attention"]]):
        per_token, pair = 2.0 * KV_BYTES[precision] * kv_heads * head_size, 4.0 * heads * head_size
        cost = AttentionCost([KVAttention(1, per_token, pair, pair, kv_heads)], [], rates)
        each = zip(sequences[same].tolist(), context[same].tolist(), strict=True)
        predicted[same] = [
            rates.attention_launch + sum(cost.price(_attention_pass(n, length, prompts=prompts))) for n, length in each
        ]
        size[same] = sequences[same] * context[same] * (1.0 if prompts else per_token)
    if prompts:
        classes = np.where(size <= 1025, "≤ 1025 tokens", "more tokens")
    else:
        classes = np.where(size >= 50 * MEGABYTE, "KV ≥ 50 MB", "KV < 50 MB")
    return rows, _found(size, predicted, classes, np.where(rows["head_size"] > LARGEST_HEAD, ", heads of 512", ""))


def _attention_pass(sequences: int, context: int, *, prompts: bool) -> Pass:
    queries = context if prompts else 1
    pairs = sequences * attended(queries, context)
    work = Pass(sequences * queries, sequences, sequences, sequences * context, pairs)
    return work._replace(prompt_query_context=pairs, prompt_tokens=work.tokens) if prompts else work


def _all_reduces(rows: pd.DataFrame, device: Device) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = rows[rows["group"].isin(device.group_sizes)]
    size, predicted = rows["bytes"].to_numpy(dtype=np.float64), np.zeros(len(rows))
    for (group,), same in _shapes(rows, ["group"]):
        predicted[same] = all_reduce_seconds(size[same], group, device)
    large = np.where(size > LARGEST_MESSAGE, ", > 128 MiB", "")
    return rows, _found(size, predicted, rows["group"].astype(str) + " devices", large)


def _routed_experts(rows: pd.DataFrame, rates: Rates) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two grouped products and the kernels around them, under uniform routing whatever the table's."""
    predicted, tokens = np.zeros(len(rows)), rows["tokens"].to_numpy()
    for (hidden, inner, number, per_token), same in _shapes(rows, SHAPES["routed experts"]):
        products = [
            ExpertProduct(hidden, 2 * inner, number, per_token),
            ExpertProduct(inner, hidden, number, per_token),
        ]
        predicted[same] = sum(expert_time(products, tokens[same], rates)) + EXPERT_KERNELS * rates.kernel_launch
    few = np.where(tokens <= 1024, ", ≤ 1024 tokens", ", more tokens")
    return rows, _found(tokens.astype(np.float64), predicted, rows["routing"], few)


def _shapes(rows: pd.DataFrame, columns: list[str]) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Each combination of the columns' values, and where it stands."""
    for shape, where in rows.groupby(columns).indices.items():
        yield (shape if isinstance(shape, tuple) else (shape,)), np.asarray(where)


def _found(size: Floats, predicted: Floats, first: ArrayLike, second: ArrayLike) -> pd.DataFrame:
    classes = np.char.add(np.asarray(first, dtype=np.str_), np.asarray(second, dtype=np.str_))
    return pd.DataFrame({"size_class": classes, "size": size, "predicted": predicted})


def summaries(operators: pd.DataFrame) -> pd.DataFrame:
    """Errors by device, operator, precision, size class and stack: over all rows, and over shapes held out of fits.

    Columns rows, median, p90 (of absolute errors), bias (mean error), and the same of shapes held out.
    """
    keys = ["device", "operator", "precision", "size_class", "stack"]
    errors = (operators["predicted"] / operators["measured"] - 1).to_numpy()
    held = operators["held_out"].to_numpy()
    rows = [
        {
            **dict(zip(keys, key, strict=True)),
            **_errors(errors[where], ""),
            **_errors(errors[where[held[where]]], "held_out_"),
        }
        for key, where in _shapes(operators, keys)
    ]
    table = pd.DataFrame(rows)
    ranks = {"device": list(SYSTEMS), "operator": list(OPERATORS)}

    def rank(column: pd.Series[str]) -> pd.Series[Any]:
        if column.name == "stack":
            return column.map(lambda stack: FRAMEWORKS.index(stack.split()[0]))
        return column.map(ranks[str(column.name)].index) if column.name in ranks else column

    return table.sort_values(keys, key=rank, ignore_index=True)


def _errors(errors: Floats, prefix: str) -> dict[str, float]:
    if not errors.size:
        return {f"{prefix}rows": 0}
    median, p90 = np.percentile(np.abs(errors), (50, 90))
    found = {"rows": errors.size, "median": median, "p90": p90, "bias": errors.mean()}
    return {prefix + name: value for name, value in found.items()}


@dataclass(frozen=True)
class Operators:
    """Priced operators.

    Attributes:
        rows: as ``price_operators`` returns them.
        release: of the package that holds their measurements.
    """

    rows: pd.DataFrame
    release: str

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Errors by group."""
        return summaries(self.rows)
