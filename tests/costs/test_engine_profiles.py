"""What an engine profile adds to a step: its own kernels, verify attention, graphs and the host's launches."""

import pytest

from specsim.costs.linear import product_rates
from specsim.costs.passes import PassCost
from specsim.costs.roofline import device_rates
from specsim.costs.shapes import target_shape
from specsim.costs.step import StepCost
from specsim.forward import Pass, attended
from specsim.inputs.checkpoints.quantisation import FORMATS
from specsim.inputs.models.engine import Engine, Graphs, Kernels, UnderFP8Cache
from specsim.inputs.read.scenario import load_scenario

DECODE = Pass(40, 40, 40, 40 * 1000, 40 * 1000)
VERIFY = Pass(160, 160, 40, 40 * 1003, 40 * attended(4, 1003), verify_context=40 * 1003)


@pytest.fixture
def engine() -> Engine:
    return load_scenario("llama3.1-8b-h100-eagle3").engine


@pytest.fixture
def cost(h100, llama_8b):
    def build(engine, factor=1.0, drafter=False):
        device = engine.on(h100)
        target = PassCost(target_shape(llama_8b), device, ideal=False, verify_factor=factor)
        return StepCost(target, target if drafter else None, engine)

    return build


# without the parts that overlap with reading
READING_ALONE = Kernels.model_validate({"attention": {"per_kv_head": "0 ns", "ramp": "0 us"}})


def graphs(**changes):
    return Graphs.model_validate({"sizes": (8, 64, 256), "eager_time_per_layer": "0 us", **changes})


def test_verify_attention_takes_the_factor_longer_to_read_and_decoding_does_not(cost, engine):
    profile = engine.model_copy(update={"kernels": READING_ALONE})
    plain, slow = cost(profile), cost(profile, factor=2.5)
    assert slow.price(DECODE) == plain.price(DECODE)
    verify, slower = plain.price(VERIFY), slow.price(VERIFY)
    assert slower.kv == pytest.approx(2.5 * verify.kv, rel=1e-12)
    assert slower._replace(kv=0) == verify._replace(kv=0)


def test_of_a_mixed_step_only_the_verifying_requests_read_longer(cost, engine):
    half = VERIFY._replace(verify_context=VERIFY.verify_context // 2)
    profile = engine.model_copy(update={"kernels": READING_ALONE})
    kv = [cost(profile, factor=3.0).price(work).kv for work in (VERIFY._replace(verify_context=0), half, VERIFY)]
    assert kv[1] == pytest.approx((kv[0] + kv[2]) / 2, rel=1e-12)


def test_a_step_is_padded_to_the_next_captured_size(cost, engine):
    captured = cost(engine.model_copy(update={"graphs": graphs()}))
    plain = cost(engine)
    padded = plain.price(DECODE._replace(tokens=64))
    assert captured.price(DECODE) == padded
    assert captured.price(VERIFY) == plain.price(VERIFY._replace(tokens=256))
    assert captured.price(DECODE._replace(tokens=257)) == plain.price(DECODE._replace(tokens=257)), "beyond all graphs"


def test_an_eager_step_takes_the_longer_of_launching_and_computing(cost, engine):
    large = DECODE._replace(tokens=300)
    device = sum(cost(engine).price(large)) - cost(engine).price(large).host
    for per_layer in (1e-6, 1e-3):
        profile = engine.model_copy(update={"graphs": graphs(eager_time_per_layer=f"{per_layer} s")})
        time = cost(profile).price(large)
        assert sum(time) - time.host == pytest.approx(max(device, 32 * per_layer), rel=1e-12)
        assert cost(profile).price(large, mode="graph") == cost(engine).price(large)


@pytest.mark.parametrize(
    ("changes", "work"),
    [
        ({"eager_time_per_layer": "1 ms"}, DECODE._replace(tokens=300)),
        ({"piecewise_time_per_layer": "1 ms"}, DECODE._replace(prompt_query_context=1000)),
    ],
)
def test_all_reduces_are_part_of_what_launching_waits_beside(engine, h100, llama_8b, changes, work):
    """On four devices: 32 layers of 1 ms are the step, whatever of them is computing and whatever communication."""
    profile = engine.model_copy(update={"graphs": graphs(**changes)})
    time = StepCost(PassCost(target_shape(llama_8b, 4), h100, ideal=False), None, profile).price(work)
    assert time.communication > 0
    assert sum(time) - time.host == pytest.approx(0.032, rel=1e-12)


def test_small_steps_with_prompts_are_launched_in_pieces(cost, engine):
    profile = engine.model_copy(update={"graphs": graphs(piecewise_time_per_layer="1 ms")})
    prompts = DECODE._replace(prompt_query_context=1000)
    assert sum(cost(profile).price(DECODE)) < 0.032
    time = cost(profile).price(prompts)
    assert sum(time) - time.host == pytest.approx(0.032, rel=1e-12)


def test_kernels_under_an_engine_replace_those_figures_and_no_others(engine, h100):
    profile = engine.model_copy(
        update={"kernels": Kernels.model_validate({"linear": {"bandwidth_efficiency": 0.5}, "attention": {}})}
    )
    device = profile.on(h100)
    assert device.linear == h100.linear.model_copy(update={"bandwidth_efficiency": 0.5})
    assert device.attention == h100.attention
    assert engine.model_copy(update={"fused_quantisation": None}).on(h100) is h100


def test_fused_quantising_spares_a_launch_for_each_product(engine, h100):
    """FP8 products on an H100 are launched with the kernel that quantises: 7.07 us, and 4.25 us in BF16."""
    separate, fused = (engine.model_copy(update={"fused_quantisation": one}).on(h100) for one in (None, True))
    assert (separate.linear_by_precision["fp8"].launch, fused.linear_by_precision["fp8"].launch) == (7.07e-6, 4.25e-6)
    assert fused.linear == h100.linear
    rest = {"launch": separate.linear_by_precision["fp8"].launch}
    assert fused.linear_by_precision["fp8"].model_copy(update=rest) == separate.linear_by_precision["fp8"]


def test_products_of_a_precision_have_own_figures_under_an_engine(engine, h100):
    own = {"linear_by_precision": {"w4a16": {"compute_efficiency": 0.5, "row_tile": [16, 16]}}}
    device = engine.model_copy(update={"kernels": Kernels.model_validate(own), "fused_quantisation": None}).on(h100)
    expected = h100.linear.model_copy(update={"compute_efficiency": 0.5, "row_tile": (16, 16)})
    assert device.linear_by_precision["w4a16"] == expected
    assert device.linear_by_precision["fp8"] == h100.linear_by_precision["fp8"]
    rates = device_rates(device, ideal=False)
    assert product_rates(FORMATS["w4a16"], rates).flops == 0.5 * h100.peak.bf16  # dequantised to BF16
    assert product_rates(FORMATS["bf16"], rates).flops == h100.linear.compute_efficiency * h100.peak.bf16


def test_an_fp8_cache_changes_attention_and_what_verifying_takes(cost, engine, h100):
    stated = {
        "attention": {"bandwidth_efficiency": 0.4},
        "verify_attention_factor": 3.0,
        "host_time_per_verify": "8 ms",
    }
    profile = engine.model_copy(update={"fp8_cache": UnderFP8Cache.model_validate(stated)})
    assert profile.with_cache("bf16") is profile
    changed = profile.with_cache("fp8")
    assert changed.on(h100).attention == h100.attention.model_copy(update={"bandwidth_efficiency": 0.4})
    assert (changed.verify_attention_factor, changed.host_time_per_verify, changed.fp8_cache) == (3.0, 8e-3, None)
    verify = DECODE._replace(verify_context=DECODE.context_tokens)
    assert cost(changed).price(verify).host - cost(engine).price(verify).host == pytest.approx(8e-3, rel=1e-12)
    assert cost(changed).price(DECODE).host == cost(engine).price(DECODE).host  # nothing is verified


def test_an_idle_drafter_taxes_steps_that_draft_nothing(cost, engine):
    profile = engine.model_copy(update={"host_time_when_idle_drafter": 1e-3})
    idle, busy = cost(profile, drafter=True).price(DECODE), cost(profile, drafter=True).price(DECODE, [DECODE])
    assert idle.host == pytest.approx(cost(engine).price(DECODE).host + 1e-3)
    assert busy.host == pytest.approx(cost(engine, drafter=True).price(DECODE, [DECODE]).host)
    assert cost(profile).price(DECODE) == cost(engine).price(DECODE), "without a drafter there is nothing idle"


def test_draft_passes_can_cost_otherwise_for_a_kind(engine):
    profile = engine.model_copy(update={"host_time_per_draft_pass_of": {"eagle3": 1e-3}})
    assert profile.draft_pass_time("eagle3") == 1e-3
    assert profile.draft_pass_time("eagle") == engine.host_time_per_draft_pass
