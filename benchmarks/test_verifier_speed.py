"""Speed of the verifiers against the byte floor: read the multiples, in brackets, of the first line of each group.

The floor ("oracle") reads the fewest bytes that an exact verifier must: the drafted entries of p and q up to where a
row stops, and there one row of p and, after a rejection, one of q. It adds them up with every licence to reorder.
"""

import numpy as np
import pytest
from samplers import plain_numpy

from specsim.verification import core, verify_block, verify_chain
from specsim.verification.arrays import Rule
from specsim.verification.drafts import dense
from specsim.verification.mixed import verified_by_numpy

LARGE = [
    (1, 4, 32_000, np.float32),
    (32, 4, 32_000, np.float32),
    (32, 4, 32_000, np.float64),
    (64, 4, 128_256, np.float32),
    (64, 4, 128_256, np.float64),
    (64, 8, 151_936, np.float32),
    (64, 8, 151_936, np.float64),
]
SMALL = [(1, 3, 4, np.float64), (64, 4, 16, np.float64), (256, 4, 8, np.float64), (4096, 3, 4, np.float64)]
ROUNDS = 15

compiled_only = pytest.mark.skipif(core.compiled_core() is None, reason="needs numba: install specsim-llm[fast]")


def inputs(B, K, V, dtype):
    """Random peaked rows, normalised in their type, with tokens drawn uniformly, as a poor drafter's."""
    rng = np.random.default_rng(0)
    tables = [rng.random((B, n, V), dtype=np.float32).astype(dtype) ** 8 for n in (K, K + 1)]
    for table in tables:
        table /= table.sum(axis=2, keepdims=True)
    draft = rng.integers(V, size=(B, K))
    return draft, *tables, np.full(B, K), rng.random((B, K)), rng.random(B)


def unchecked(verify, draft, q, p, num_draft, accept, final):
    return verify(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final, validate=False)


def floor(draft, q, p, num_draft, accept, final):
    from floor import read_what_must_be_read

    V = p.shape[2]
    return read_what_must_be_read(draft, q.reshape(-1, V), p.reshape(-1, V), num_draft, accept)


def in_numpy(draft, q, p, num_draft, accept, final):
    return verified_by_numpy(dense(draft, q, p, num_draft), Rule.TOKEN, None, accept, final)


def in_compiled(draft, q, p, num_draft, accept, final):
    return unchecked(verify_chain, draft, q, p, num_draft, accept, final)


def block_in_compiled(draft, q, p, num_draft, accept, final):
    return unchecked(verify_block, draft, q, p, num_draft, accept, final)


def validated(draft, q, p, num_draft, accept, final):
    return verify_chain(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final)


def read_everything(draft, q, p, num_draft, accept, final):
    from floor import read_all

    return read_all(p.reshape(-1)) + read_all(q.reshape(-1))


def in_torch(name):
    def run(draft, q, p, num_draft, accept, final):
        import torch_samplers

        return getattr(torch_samplers, name)(draft, q, p, num_draft)

    return run


VERIFIERS = {
    "floor": floor,
    "compiled": in_compiled,
    "compiled, block rule": block_in_compiled,
    "numpy": in_numpy,
    "plain numpy": plain_numpy,
    "torch, as Hugging Face": in_torch("as_hugging_face"),
    "torch, as vLLM": in_torch("as_vllm"),
}


def label(B, K, V, dtype):
    return f"B={B} K={K} V={V} {np.dtype(dtype).name}"


@compiled_only
@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize(("B", "K", "V", "dtype"), LARGE)
def test_large_vocabulary(benchmark, verifier, B, K, V, dtype):
    if verifier.startswith("torch"):
        pytest.importorskip("torch")
    benchmark.group = f"verify, {label(B, K, V, dtype)}"
    arguments = inputs(B, K, V, dtype)
    slow = verifier.startswith(("plain", "torch"))
    benchmark.pedantic(VERIFIERS[verifier], arguments, rounds=3 if slow else ROUNDS, warmup_rounds=1)


@compiled_only
@pytest.mark.parametrize("verifier", [name for name in VERIFIERS if name != "floor"])
@pytest.mark.parametrize(("B", "K", "V", "dtype"), SMALL)
def test_small_vocabulary(benchmark, verifier, B, K, V, dtype):
    if verifier.startswith("torch"):
        pytest.importorskip("torch")
    benchmark.group = f"verify, {label(B, K, V, dtype)}"
    benchmark(VERIFIERS[verifier], *inputs(B, K, V, dtype))


@compiled_only
def test_called_from_compiled_code(benchmark):
    from floor import many_steps

    B, K, V = 64, 4, 16
    benchmark.group = f"1000 steps in one compiled call, {label(B, K, V, np.float64)}"
    draft, q, p, num_draft, accept, final = inputs(B, K, V, np.float64)
    rows = np.arange(B * K).reshape(B, K), np.arange(B * (K + 1)).reshape(B, K + 1)
    out, num_out = np.empty((B, K + 1), np.int64), np.empty(B, np.int64)
    tables = q.reshape(-1, V), rows[0], p.reshape(-1, V), rows[1]
    benchmark(many_steps, 1000, 0, draft, num_draft, *tables, np.zeros(0, np.bool_), accept, final, out, num_out)


@compiled_only
@pytest.mark.parametrize("what", [read_everything, in_compiled, validated], ids=["floor", "unchecked", "validated"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_validation(benchmark, what, dtype):
    """Validation costs what the validated call takes beyond the unchecked one."""
    B, K, V = 64, 4, 128_256
    benchmark.group = f"validation of dense input, {label(B, K, V, dtype)}"
    benchmark.pedantic(what, inputs(B, K, V, dtype), rounds=ROUNDS, warmup_rounds=1)
