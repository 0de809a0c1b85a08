"""MLA, windows and linear attention, worked out by hand and against sums over requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.attention import AttentionCost, KVAttention
from specsim.costs.layers import Parallelism, layer_operators
from specsim.costs.lowered import within_window
from specsim.costs.passes import PassCost
from specsim.costs.roofline import device_rates
from specsim.costs.shapes import target_shape
from specsim.forward import Pass, attended
from specsim.inputs.read.scenario import read_device, read_model

MEASURED = read_device("h100-sxm")
# reading alone: the parts that overlap with it are held to their formula in test_reading_kv.py
H100 = MEASURED.model_copy(
    update={"attention": MEASURED.attention.model_copy(update={"per_kv_head": 0.0, "sharpness": 1.0, "ramp": 0.0})}
)


def operators(name, tensor=1):
    model = read_model(name)
    return layer_operators(model.layers, model.hidden_size, Parallelism(tensor))


def decode(batch, queries, keys):
    tokens = batch * queries
    return Pass(tokens, tokens, batch, batch * keys, batch * attended(queries, keys))


def test_the_latent_of_deepseek_v3_by_hand():
    """576 numbers a token and layer; a pair takes 128 heads x (2·512 + 64), a prompt's 128 x (128 + 64 + 128)."""
    (dense, sparse) = operators("deepseek-v3").attentions
    assert (dense.layers, sparse.layers) == (3, 58)
    assert sparse.bytes_per_token == 58 * 576 * 2
    assert sparse.pair_flops == 2 * 58 * 128 * (2 * 512 + 64)
    assert sparse.prompt_pair_flops == 2 * 58 * 128 * 320


def test_the_latent_is_on_every_device_and_heads_are_shared():
    (_, one), (_, eight) = operators("deepseek-v3").attentions, operators("deepseek-v3", 8).attentions
    assert eight.bytes_per_token == one.bytes_per_token
    assert eight.pair_flops == one.pair_flops / 8


def test_verifying_is_compute_bound_with_mla_and_not_with_grouped_queries():
    """242 FLOP a byte and query beside an H100's 295: from two queries on arithmetic outweighs reading the latent."""
    mla, gqa = (PassCost(target_shape(read_model(name)), H100, ideal=False) for name in ("deepseek-v3", "llama-3.1-8b"))
    far, near = decode(8, 4, 20_000), decode(8, 4, 10)
    grown = {
        name: [b - a for a, b in zip(cost.price(near), cost.price(far), strict=True)]
        for name, cost in (("mla", mla), ("gqa", gqa))
    }
    _, kv, compute, *_ = grown["mla"]
    assert compute > 3 * kv
    _, kv, compute, *_ = grown["gqa"]
    assert compute < kv / 3


def test_the_linears_of_an_mla_layer_by_hand():
    down, up, into, out_of, back = operators("deepseek-v3").linears[:5]
    assert (down.inputs, down.outputs) == (7168, 1536 + 576)
    assert (up.inputs, up.outputs) == (1536, 128 * 192)
    assert (into.inputs, into.outputs, into.stacked) == (128, 512, 128)
    assert (out_of.inputs, out_of.outputs, out_of.stacked) == (512, 128, 128)
    assert (back.inputs, back.outputs) == (128 * 128, 7168)


requests = st.lists(st.tuples(st.integers(1, 6), st.integers(6, 400)), min_size=1, max_size=6)


def sums(batch):
    return Pass(
        sum(q for q, _ in batch), 0, len(batch), sum(k for _, k in batch), sum(attended(q, k) for q, k in batch)
    )


def one_by_one(batch, window):
    reads = sum(min(keys, window - 1 + queries) for queries, keys in batch)
    pairs = sum(min(keys - back, window) for queries, keys in batch for back in range(queries))
    return reads, pairs


@given(requests, st.integers(1, 500))
def test_a_window_reads_at_most_what_its_sums_say(batch, window):
    reads, pairs = within_window(sums(batch), sums(batch).tokens, window)
    exact_reads, exact_pairs = one_by_one(batch, window)
    assert reads >= exact_reads
    assert pairs >= exact_pairs


@given(requests, st.integers(1, 500))
def test_the_sums_are_exact_where_all_contexts_are_on_one_side_of_the_window(batch, window):
    inside = all(keys <= window for _, keys in batch)
    beyond = all(keys >= window + queries - 1 for queries, keys in batch)
    if inside or beyond:
        assert within_window(sums(batch), sums(batch).tokens, window) == one_by_one(batch, window)


def test_beyond_their_window_layers_read_and_keep_no_more():
    attention = KVAttention(1, 2.0, 1.0, 1.0, 1, window=128)
    assert [attention.cached_bytes(tokens) for tokens in (1, 128, 129, 5000)] == [2, 256, 256, 256]
    cost = PassCost(target_shape(read_model("gpt-oss-20b")), H100, ideal=False)
    kv = [cost.price(decode(1, 1, keys)).kv for keys in (1000, 2000)]
    full = 12 * 2 * 8 * 64 * 2  # bytes a token in the 12 layers that see everything
    assert kv[1] - kv[0] == pytest.approx(1000 * full / (0.962 * 3.35e12), rel=1e-9)


def test_the_state_of_qwen_35b_by_hand():
    """30 layers: 32 heads x 128 x 128 float32, and 3 tokens of (2·16 + 32)·128 BF16 channels before the convolution."""
    (state,) = operators("qwen3.5-35b-a3b").states
    assert state.state_bytes == 30 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)
    assert state.token_flops == 2 * 3 * 30 * 32 * 128 * 128


def test_linear_layers_read_their_state_whatever_the_context():
    cost = PassCost(target_shape(read_model("qwen3.5-27b")), H100, ideal=False)
    (state,) = operators("qwen3.5-27b").states
    near, far, verify = (cost.price(decode(4, queries, 1000 + more)) for queries, more in ((1, 0), (1, 500), (3, 0)))
    bandwidth = 0.962 * 3.35e12
    assert far.kv - near.kv == pytest.approx(4 * 500 * 16 * 2 * 4 * 256 * 2 / bandwidth, rel=1e-9)
    # verifying 3 tokens leaves 3 states a request to go back to instead of 1
    assert verify.kv - near.kv == pytest.approx(4 * 2 * state.state_bytes / bandwidth, rel=1e-9)


def test_a_hybrid_caches_its_attention_layers_only():
    assert target_shape(read_model("qwen3.5-35b-a3b")).kv_bytes_per_token == 10 * 2 * 2 * 256 * 2


def test_more_devices_than_kv_heads_hold_copies():
    two, eight = (operators("qwen3.5-35b-a3b", group).attentions[0] for group in (2, 8))
    assert eight.bytes_per_token == two.bytes_per_token
    assert eight.kv_heads == two.kv_heads == 1


def test_the_indexer_of_deepseek_v3_2_by_hand():
    """A pair takes 64 heads x 128 at FP8's rate, twice BF16's; a key is 128 numbers in FP8 and a float32 scale."""
    full, chosen = operators("deepseek-v3"), operators("deepseek-v3.2")
    latent, index = chosen.attentions[2:]
    assert latent._replace(selected=None) == full.attentions[1]
    assert latent.selected == 2048
    assert index == KVAttention(58, 58 * 132, 2 * 58 * 64 * 128 / 2, 2 * 58 * 64 * 128 / 2, 1)
    added = chosen.weights - full.weights
    assert added == 61 * (1536 * 64 * 128 + 7168 * (128 + 64))
    # every device has it whole
    assert operators("deepseek-v3.2", 8).weights - operators("deepseek-v3", 8).weights == added


@pytest.mark.parametrize(
    ("queries", "keys", "reads", "pairs"),
    [(1, 1000, 1000, 1000), (1, 50_000, 2048, 2048), (4, 50_000, 4 * 2048, 4 * 2048)],
)
def test_each_query_reads_the_tokens_chosen_for_it(queries, keys, reads, pairs):
    """Of a long context 2,048 a query, for each query of a verify its own; of a short one everything."""
    (latent,) = [a for a in operators("deepseek-v3.2").attentions if a.selected and a.layers == 58]
    cost = AttentionCost([latent], [], device_rates(H100, ideal=False))
    traffic, arithmetic = cost.price(decode(8, queries, keys))
    assert traffic == pytest.approx(8 * reads * latent.bytes_per_token / cost.form.bandwidth, rel=1e-12)
    assert arithmetic == pytest.approx(8 * pairs * latent.pair_flops / cost.form.flops, rel=1e-12)


def test_a_chosen_cache_is_kept_whole():
    shape = target_shape(read_model("deepseek-v3.2"))
    assert shape.cached_bytes(100_000) == 100_000 * 61 * (576 * 2 + 132)


def test_kimi_delta_attention_by_hand():
    """Queries, keys and values of 32 heads x 128, two gates through 128 numbers, one a head; as many states."""
    (state,) = operators("kimi-linear-48b-a3b").states[1:]
    assert state.layers == 19
    assert state.state_bytes == 19 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)
    assert state.token_flops == 2 * 3 * 19 * 32 * 128 * 128
    (mixer,) = {layer.mixer for layer, _ in read_model("kimi-linear-48b-a3b").layers if layer.mixer[0] == 32
                and hasattr(layer.mixer, "gate_rank")}  # fmt: skip
    projections = 2304 * (3 * 4096 + 2 * 128 + 32) + 2 * 128 * 4096 + 4096 * 2304
    assert mixer.matrix_parameters(2304) == projections


def test_prompts_of_mla_are_priced_with_their_own_arithmetic():
    """1,000 tokens attend to 500,500 pairs at 128 heads x 320, and 625 more each; decodes would take 128 x 1,088."""
    (_, sparse) = operators("deepseek-v3").attentions
    cost = AttentionCost([sparse], [], device_rates(H100, ideal=False))
    pairs = attended(1000, 1000)
    prompt = Pass(1000, 1, 1, 1000, pairs, prompt_query_context=pairs, prompt_tokens=1000)
    _, arithmetic = cost.price(prompt)
    assert arithmetic * cost.form.flops == pytest.approx(2 * 58 * 128 * 320 * (500_500 + 1000 * 625), rel=1e-12)
    _, mixed = cost.price(prompt._replace(tokens=1001, sequences=2, context_tokens=1300, query_context=pairs + 300))
    decode = 2 * 58 * 128 * 1088 * 300
    assert (mixed - arithmetic) * cost.form.flops == pytest.approx(decode, rel=1e-9)


def test_devices_share_what_linear_attention_multiplies():
    """Rows of Qwen3.5-35B-A3B's mixers go in and come out whole: of two devices each holds half of both matrices."""
    (into, out), (half_into, half_out) = (
        [linear for linear in operators("qwen3.5-35b-a3b", tensor).linears if linear.repeats == 30][:2]
        for tensor in (1, 2)
    )
    assert (half_into.inputs, half_into.outputs) == (into.inputs, into.outputs // 2)
    assert (half_out.inputs, half_out.outputs) == (out.inputs // 2, out.outputs)
