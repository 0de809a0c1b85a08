"""Measured times of single operators, from the package aiconfigurator-core (Apache-2.0).

Its tables are parquet files, ``systems/data/<system>/<operator>/<framework>/<version>/``. Here they get SI units and
this package's names. Knows nothing of how operators are priced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from specsim.errors import InputError, Problem

PACKAGE = "aiconfigurator-core"
SYSTEMS = {"h100-sxm": "h100_sxm", "h200": "h200_sxm", "a100-sxm-80gb": "a100_sxm", "b200": "b200_sxm"}
"""Device of the catalogue → the package's name for it."""

PRECISIONS = {
    "bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "sq": "int8", "int4_wo": "w4a16", "nvfp4": "nvfp4",
}  # fmt: skip
"""A table's data type → the precision it is here: fp8 has one scale per tensor, fp8_block one per 128 numbers."""


class OperatorTable(NamedTuple):
    """One operator, measured on one device under one serving stack.

    Attributes:
        device: name in the catalogue.
        stack: framework and version.
        operator: a key of ``OPERATORS``.
        rows: one measurement each; columns as the function in ``OPERATORS`` says, times in seconds.
    """

    device: str
    stack: str
    operator: str
    rows: pd.DataFrame


def gemms(table: pd.DataFrame) -> pd.DataFrame:
    """Matrix products: precision, rows, outputs, inputs, seconds."""
    known = table[table["gemm_dtype"].isin(list(PRECISIONS))]
    return pd.DataFrame(
        {
            "precision": known["gemm_dtype"].map(PRECISIONS),
            "rows": known["m"],
            "outputs": known["n"],
            "inputs": known["k"],
            "seconds": known["latency"] * 1e-3,
        }
    )


def decode_attention(table: pd.DataFrame) -> pd.DataFrame:
    """One query token per sequence: sequences, context (the token's own entry included), heads..., seconds."""
    return _attention(table, table["isl"] + table["step"])


def prompt_attention(table: pd.DataFrame) -> pd.DataFrame:
    """Whole prompts: sequences, context (as many queries), heads..., seconds."""
    first_chunks = table[table["step"] == 0]
    return _attention(first_chunks, first_chunks["isl"])


def _attention(table: pd.DataFrame, context: pd.Series[int]) -> pd.DataFrame:
    """BF16 queries, no windows: precision (of the cache), sequences, context, heads, kv_heads, head_size, seconds."""
    windows = table["window_size"] if "window_size" in table else pd.Series(0, index=table.index)
    chosen = (windows == 0) & table["kv_cache_dtype"].isin(["bfloat16", "fp8"]) & (table["attn_dtype"] == "bfloat16")
    rows = table[chosen]
    return pd.DataFrame(
        {
            "precision": rows["kv_cache_dtype"].map({"bfloat16": "bf16", "fp8": "fp8"}),
            "sequences": rows["batch_size"],
            "context": context[chosen],
            "heads": rows["num_heads"],
            "kv_heads": rows["num_key_value_heads"],
            "head_size": rows["head_dim"],
            "seconds": rows["latency"] * 1e-3,
        }
    )


def all_reduces(table: pd.DataFrame) -> pd.DataFrame:
    """Sums over a group, replayed as a graph: group, bytes, seconds; the table's message_size counts elements."""
    backend = table["backend"] if "backend" in table else pd.Series("", index=table.index)
    rows = table[~backend.str.endswith("_eager") & (table["allreduce_dtype"] == "bfloat16")]
    return pd.DataFrame(
        {"group": rows["num_gpus"], "bytes": 2 * rows["message_size"], "seconds": rows["latency"] * 1e-3}
    )


def expert_layers(table: pd.DataFrame) -> pd.DataFrame:
    """Gated MLPs of routed experts in BF16, all on one device.

    Columns tokens, hidden, inner (of an expert's share), number, per_token, routing, seconds.
    """
    gated = ~table["kernel_source"].str.contains("nongated")
    rows = table[gated & (table["moe_dtype"] == "bfloat16") & (table["moe_ep_size"] == 1)]
    return pd.DataFrame(
        {
            "tokens": rows["num_tokens"],
            "hidden": rows["hidden_size"],
            "inner": rows["inter_size"] // rows["moe_tp_size"],
            "number": rows["num_experts"],
            "per_token": rows["topk"],
            "routing": rows["distribution"],
            "seconds": rows["latency"] * 1e-3,
        }
    )


OPERATORS: dict[str, tuple[str, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "matrix product": ("gemm/{stack}/gemm_perf.parquet", gemms),
    "decode attention": ("attention/{stack}/generation_attention_perf.parquet", decode_attention),
    "prefill attention": ("attention/{stack}/context_attention_perf.parquet", prompt_attention),
    "all-reduce": ("comm/{stack}/custom_allreduce_perf.parquet", all_reduces),
    "routed experts": ("moe/{stack}/moe_perf.parquet", expert_layers),
}
"""Operator → its files and what reads them."""

FRAMEWORKS = ("vllm", "sglang", "trtllm")


def installed(where: str) -> tuple[Path, str]:
    """(folder of the systems' tables, version of the package).

    Args:
        where: the option or field that asks for them, for the message.

    Raises:
        InputError: when the package, or pyarrow that reads its files, is missing.
    """
    package = find_spec("aiconfigurator_core")
    if package is None or not package.submodule_search_locations or find_spec("pyarrow") is None:
        remedy = f"needs the tables of {PACKAGE}, and pyarrow; install both with: pip install 'specsim-llm[operators]'"
        raise InputError([Problem(where, "", "", remedy)])
    return Path(package.submodule_search_locations[0]) / "systems" / "data", version(PACKAGE)


def read_operators(folder: Path, device: str, operator: str) -> Iterator[OperatorTable]:
    """The newest table of every framework that has one.

    Args:
        folder: of the systems' tables.
        device: a key of ``SYSTEMS``.
        operator: a key of ``OPERATORS``.
    """
    pattern, rows_of = OPERATORS[operator]
    for framework in FRAMEWORKS:
        files = (folder / SYSTEMS[device]).glob(pattern.format(stack=f"{framework}/*"))
        for file in sorted(files, key=lambda file: _release(file.parent.name), reverse=True):
            rows = rows_of(pd.read_parquet(file)).drop_duplicates(ignore_index=True)
            if len(rows):
                yield OperatorTable(device, f"{framework} {file.parent.name}", operator, rows)
                break


def _release(name: str) -> tuple[int, ...]:
    """1.3.0rc20 → (1, 3, 0, 20)."""
    return tuple(int(number) for number in re.findall(r"\d+", name))


def measured_products(device: str, precision: str) -> OperatorTable | None:
    """The matrix products of the first framework that measured the precision on a device.

    Args:
        device: name in the catalogue.
        precision: as in ``PRECISIONS``.

    Raises:
        InputError: when the package is missing or knows no such device.
    """
    where = "deployment.costs"
    if device not in SYSTEMS:
        remedy = f"{PACKAGE} has tables of {', '.join(SYSTEMS)} only; write 'roofline' or use one of these devices"
        raise InputError([Problem(where, "", "'aiconfigurator'", remedy)])
    folder, _ = installed(where)
    for table in read_operators(folder, device, "matrix product"):
        rows = table.rows[table.rows["precision"] == precision]
        if len(rows):
            return table._replace(rows=rows)
    return None
