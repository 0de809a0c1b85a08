"""Operators measured are priced with the functions that price steps."""

import zlib

import numpy as np
import pandas as pd
import pytest

from specsim.costs.collectives import all_reduce_seconds
from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import device_rates
from specsim.inputs.measured.operator_tables import OperatorTable
from specsim.inputs.read.scenario import read_device
from specsim.reporting.publish import answer_files
from specsim.studies.accuracy.operators.answer import operators_answer
from specsim.studies.accuracy.operators.run import Operators, folds, priced, summaries
from specsim.studies.accuracy.operators.text import operator_sentences

H100 = read_device("h100-sxm")
PRODUCTS = pd.DataFrame(
    {
        "precision": ["bf16", "bf16", "fp8_block", "nvfp4"], "rows": [1, 2048, 1, 1], "outputs": 8192, "inputs": 4096,
        "seconds": 3e-5,
    }
)  # fmt: skip
DECODE = pd.DataFrame(
    {
        "precision": ["bf16", "fp8", "bf16"], "sequences": [64, 64, 1], "context": [1024, 1024, 16], "heads": 32,
        "kv_heads": 8, "head_size": [128, 128, 512], "seconds": 1e-4,
    }
)  # fmt: skip


def test_matrix_products():
    table = priced(OperatorTable("h100-sxm", "vllm 1", "matrix product", PRODUCTS), H100)
    assert table["precision"].tolist() == ["bf16", "bf16", "fp8_block"]  # the device has no FP4
    rates = device_rates(H100, ideal=False)
    expected = [sum(linear_time([Linear(4096, 8192)], [rows], rates))[0] for rows in (1, 2048)]
    assert table["predicted"].tolist()[:2] == expected
    assert table["size_class"].tolist() == [
        "weights ≥ 32 MB, ≤ 1025 rows", "weights ≥ 32 MB, more rows", "weights ≥ 32 MB, ≤ 1025 rows",
    ]  # fmt: skip
    assert table["size"].tolist()[0] == 2 * 8192 * 4096


def test_decode_attention_is_the_formula_of_its_profile():
    table = priced(OperatorTable("h100-sxm", "vllm 1", "decode attention", DECODE), H100)
    kv = 2 * 2 * 64 * 1024 * 8 * 128
    assert table["size"].tolist()[:2] == [kv, kv / 2]
    assert table["size_class"].tolist() == ["KV ≥ 50 MB", "KV ≥ 50 MB", "KV < 50 MB, heads of 512"]
    figures = H100.attention
    work = 4 * 64 * 1024 * 32 * 128 / (figures.compute_efficiency * H100.peak.bf16)
    # far beyond the ramp
    read, heads = kv / (figures.bandwidth_efficiency * H100.memory.bandwidth) + figures.ramp, 64 * 8
    n = figures.sharpness
    reading = (read**n + (figures.per_kv_head * heads) ** n) ** (1 / n)
    assert table["predicted"][0] == pytest.approx(figures.launch + reading + work)


def test_a_prompt_attends_to_half_its_square_and_to_the_overhead_of_each_token():
    rows = DECODE.assign(sequences=1, context=1000)
    table = priced(OperatorTable("h100-sxm", "vllm 1", "prefill attention", rows), H100)
    decode = priced(OperatorTable("h100-sxm", "vllm 1", "decode attention", rows), H100)
    pairs = 1000 * 1001 / 2 - 1000 + 1000 * H100.attention.prompt_overhead
    more = 4 * pairs * 32 * 128 / (H100.attention.compute_efficiency * H100.peak.bf16)
    assert table["predicted"][0] == pytest.approx(decode["predicted"][0] + more)


def test_all_reduces():
    rows = pd.DataFrame({"group": [2, 4], "bytes": [1024, 2**28], "seconds": 1e-5})
    table = priced(OperatorTable("h100-sxm", "vllm 1", "all-reduce", rows), H100)
    assert table["predicted"].tolist() == [all_reduce_seconds(1024, 2, H100), all_reduce_seconds(2**28, 4, H100)]
    assert table["size_class"].tolist() == ["2 devices", "4 devices, > 128 MiB"]


def test_experts_touched_are_read():
    rows = pd.DataFrame(
        {
            "tokens": [1, 4096],
            "hidden": 2048,
            "inner": 768,
            "number": 128,
            "per_token": 8,
            "routing": "balanced",
            "seconds": 1e-4,
        }
    )
    table = priced(OperatorTable("h100-sxm", "vllm 1", "routed experts", rows), H100)
    eight = 8 * 3 * 2048 * 768 * 2 / (H100.linear.bandwidth_efficiency * H100.memory.bandwidth)
    launches = 2 * H100.linear.launch + 3 * H100.elementwise.launch
    assert table["predicted"][0] == pytest.approx(eight + launches, rel=0.01)  # and the activations of one token
    assert table["predicted"][1] > 10 * table["predicted"][0]


def test_a_shape_is_held_out_whole_and_about_a_fifth_are():
    shapes = pd.DataFrame({"outputs": np.repeat(np.arange(64, 64064, 64), 2), "inputs": 4096})
    found = folds(shapes)
    assert (found[::2] == found[1::2]).all()
    # 1,000 shapes, each held out with 1/5: four standard errors of 12.6
    assert abs((found[::2] == 0).sum() - 200) < 4 * np.sqrt(1000 * 0.2 * 0.8)
    assert folds(pd.DataFrame({"outputs": [4096], "inputs": [4096]})).tolist() == [zlib.crc32(b"4096,4096") % 5]


@pytest.mark.slow
def test_errors_by_group(tmp_path):
    rows = pd.concat(
        [
            priced(OperatorTable("h100-sxm", stack, operator, table), H100)
            for stack in ("vllm 0.24.0", "sglang 0.5.14")
            for operator, table in (("matrix product", PRODUCTS), ("decode attention", DECODE))
        ],
        ignore_index=True,
    )
    rows["measured"] = rows["predicted"] / 1.1
    table = summaries(rows)
    assert table["rows"].sum() == len(rows)
    assert table["median"].tolist() == pytest.approx([0.1] * len(table))
    assert table["stack"].tolist()[0] == "vllm 0.24.0"
    operators = Operators(rows, "0.0")
    first, device = operator_sentences(operators)
    assert first.startswith("Large BF16 matrix products are priced within 10.0% and decode attention within 10.0% ")
    assert device.startswith("h100-sxm, vllm 0.24.0: matrix product (weights ≥ 32 MB, ≤ 1025 rows) 10.0% median")
    for name, write in answer_files(operators_answer(operators, drawn=True)).items():
        write(tmp_path / name)
    assert "0 of" not in (tmp_path / "operators.md").read_text()
    assert len(pd.read_csv(tmp_path / "operators.csv")) == len(table)
    assert (tmp_path / "operators.png").read_bytes().startswith(b"\x89PNG")
