"""Tables of measured operators, in the layout of aiconfigurator-core: small made-up ones, and the package's own."""

import pandas as pd
import pytest

from specsim.errors import InputError
from specsim.inputs.measured import operator_tables
from specsim.inputs.measured.operator_tables import (
    OPERATORS,
    SYSTEMS,
    all_reduces,
    decode_attention,
    expert_layers,
    gemms,
    installed,
    prompt_attention,
    read_operators,
)  # fmt: skip

GEMMS = pd.DataFrame(
    {"gemm_dtype": ["bfloat16", "fp8_block", "int8_wo"], "m": [1, 2, 3], "n": 64, "k": 128, "latency": [0.01, 0.02, 1]}
)
ATTENTION = pd.DataFrame(
    {
        "attn_dtype": ["bfloat16", "bfloat16", "bfloat16", "fp8"],
        "kv_cache_dtype": ["bfloat16", "fp8", "bfloat16", "fp8"],
        "batch_size": 4, "num_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "isl": 1, "step": 1023,
        "window_size": [0, 0, 128, 0], "latency": 0.05,
    }
)  # fmt: skip


def test_matrix_products_get_our_words_and_seconds():
    table = gemms(GEMMS)
    assert table["precision"].tolist() == ["bf16", "fp8_block"]  # weight-only INT8 is not modelled
    assert table[["rows", "outputs", "inputs"]].to_numpy().tolist() == [[1, 64, 128], [2, 64, 128]]
    assert table["seconds"].tolist() == pytest.approx([1e-5, 2e-5])


def test_a_decoded_token_sees_the_cache_and_itself():
    table = decode_attention(ATTENTION)
    assert table["context"].tolist() == [1024, 1024]
    assert table["precision"].tolist() == ["bf16", "fp8"]  # neither a window nor FP8 queries


def test_prompts_with_a_prefix_are_left_out():
    table = prompt_attention(ATTENTION.assign(isl=512, step=[0, 64, 0, 0]))
    assert table["context"].tolist() == [512]


def test_a_table_without_windows_has_none():
    assert len(decode_attention(ATTENTION.drop(columns="window_size"))) == 3


def test_message_sizes_count_elements_and_eager_rows_are_left_out():
    table = pd.DataFrame(
        {
            "allreduce_dtype": "bfloat16",
            "num_gpus": 2,
            "message_size": 128,
            "latency": 0.004,
            "backend": ["v_graph", "v_eager"],
        }
    )
    assert all_reduces(table).to_numpy().tolist() == [[2, 256, pytest.approx(4e-6)]]
    assert len(all_reduces(table.drop(columns="backend"))) == 2


def test_an_expert_is_shared_among_tensor_parallel_devices():
    table = pd.DataFrame(
        {
            "kernel_source": ["triton", "triton_nongated", "triton"], "moe_dtype": "bfloat16", "moe_ep_size": [1, 1, 8],
            "moe_tp_size": 4, "num_tokens": 16, "hidden_size": 2048, "inter_size": 768, "num_experts": 128, "topk": 8,
            "distribution": "balanced", "latency": 0.1,
        }
    )  # fmt: skip
    rows = expert_layers(table)
    assert len(rows) == 1
    assert rows["inner"].item() == 192


def test_the_newest_release_of_each_framework_is_read(tmp_path, monkeypatch):
    for stack in ("vllm/0.9.0", "vllm/0.24.0", "sglang/0.5.10", "sglang/0.5.9", "trtllm/1.3.0rc3"):
        folder = tmp_path / SYSTEMS["h200"] / "gemm" / stack
        folder.mkdir(parents=True)
        (folder / "gemm_perf.parquet").touch()
    newest_has_nothing_known = GEMMS[GEMMS["gemm_dtype"] == "int8_wo"]
    monkeypatch.setattr(
        pd, "read_parquet", lambda file: newest_has_nothing_known if file.parent.name == "0.5.10" else GEMMS
    )
    found = list(read_operators(tmp_path, "h200", "matrix product"))
    assert [table.stack for table in found] == ["vllm 0.24.0", "sglang 0.5.9", "trtllm 1.3.0rc3"]


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(operator_tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"--operators: needs .*pip install 'specsim-llm\[operators\]'"):
        installed("--operators")


def test_the_package_itself():
    for name in ("aiconfigurator_core", "pyarrow"):
        pytest.importorskip(name, reason=f"needs {name} (extra: operators), which is not installed")
    folder, _ = installed("test")
    for device in SYSTEMS:
        for operator in OPERATORS:
            tables = list(read_operators(folder, device, operator))
            assert tables
            assert all((table.rows["seconds"] > 0).all() for table in tables)
