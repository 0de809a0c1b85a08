"""Formats of weights and caches: bytes, tensor rates, and the kernel that quantises activations."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.costs.layers import Parallelism
from specsim.costs.linear import Linear, linear_time, product_rates
from specsim.costs.passes import PassCost
from specsim.costs.roofline import device_rates
from specsim.costs.shapes import target_shape
from specsim.forward import Pass
from specsim.inputs.checkpoints.declared import PER_CHANNEL, of_checkpoint
from specsim.inputs.checkpoints.quantisation import BF16, FORMATS, Quantisation
from specsim.inputs.read.scenario import load_scenario, read_device, read_model
from specsim.simulation.replica import Simulation

B200 = read_device("b200")


@pytest.mark.parametrize(
    ("name", "bytes_per_weight", "compute"),
    [
        ("bf16", 2, "bf16"),
        ("fp8", 1 + 4 / 16384, "fp8"),
        ("int8", 1, "int8"),
        ("w4a16", 0.5 + 2 / 128, "bf16"),
        ("mxfp4", 17 / 32, "bf16"),
        ("nvfp4", 9 / 16, "fp4"),
    ],
)
def test_what_a_weight_weighs_with_its_scales(name, bytes_per_weight, compute):
    form = FORMATS[name]
    assert (form.bytes_per_weight, form.compute) == (bytes_per_weight, compute)
    assert form.quantises_activations == (compute != "bf16")


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "int8"])
def test_an_ideal_product_streams_bytes_and_then_computes_at_its_rate(name):
    form, rates = FORMATS[name], device_rates(B200, ideal=True)
    rows = np.array([1, 4096])
    held, peak = 8192 * 8192, getattr(B200.peak, form.compute)
    expected = np.maximum(held * form.bytes_per_weight / 7.7e12, 2 * held * rows / peak)
    time = linear_time([Linear(8192, 8192, format=form)], rows, rates)
    np.testing.assert_allclose(sum(time), expected, rtol=1e-13)


def test_quantising_activations_is_paid_for():
    """BF16 is read, FP8 written and read: 2 + 2 x 1.03 bytes a number instead of 2, and a launch."""
    fp8, rates = FORMATS["fp8"], replace(device_rates(B200, ideal=False), quantised={})
    quantised, plain = (linear_time([Linear(4096, 1024, format=form)], [1, 513], rates) for form in (fp8, BF16))
    grown = [time.weights[1] - time.weights[0] for time in (quantised, plain)]
    assert grown[0] - grown[1] == pytest.approx(512 * 4096 * 2 * (1 + 4 / 128) / (0.851 * 7.7e12), rel=1e-9)
    assert quantised.launch[0] - plain.launch[0] == pytest.approx(2.5e-6)


@pytest.mark.parametrize(("device", "name"), [("h100-sxm", "fp8"), ("b200", "nvfp4"), ("a100-sxm-80gb", "int8")])
def test_a_precision_with_figures_of_its_own_is_timed_by_them(device, name):
    device, form = read_device(device), FORMATS[name]
    own, rates = device.linear_by_precision[form.compute], device_rates(device, ideal=False)
    peak = own.compute_efficiency * dict(device.peak)[form.compute]
    first, then = own.row_tile
    for rows in (1, 129, 1025):
        computed = first if rows <= first else -(-rows // then) * then
        moved = 8192 * 8192 * form.bytes_per_weight + rows * (8192 * (2 + 2 * form.activation_bytes) + 8192 * 2)
        reading = moved / (own.bandwidth_efficiency * device.memory.bandwidth)
        whole = ((2 * 8192**2 * computed / peak) ** own.sharpness + reading**own.sharpness) ** (1 / own.sharpness)
        found = sum(linear_time([Linear(8192, 8192, format=form)], [rows], rates))
        assert found[0] == pytest.approx(own.launch + whole)


def test_formats_that_leave_activations_alone_keep_the_figures_of_bf16():
    rates = device_rates(B200, ideal=False)
    for name in ("w4a16", "mxfp4", "bf16"):
        assert product_rates(FORMATS[name], rates).launch == rates.linear_launch
    h100_int8 = product_rates(FORMATS["int8"], device_rates(read_device("h100-sxm"), ideal=False))
    assert h100_int8.flops == pytest.approx(0.858 * 1979e12)


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_eight_bits_halve_the_matrices_and_leave_the_tables(name, llama_8b):
    parallelism = Parallelism(quantisation=Quantisation(FORMATS[name]))
    plain, half = target_shape(llama_8b), target_shape(llama_8b, parallelism=parallelism)
    assert half.operators.bytes == pytest.approx(plain.operators.bytes / 2, rel=3e-4)
    tables = 2 * 2 * 128256 * 4096
    assert half.resident_bytes - half.operators.bytes == pytest.approx(tables, rel=1e-3)
    assert half.head == plain.head


def test_four_bits_stream_less_and_compute_as_bf16(llama_8b):
    parallelism = Parallelism(quantisation=Quantisation(FORMATS["w4a16"]))
    plain, four = (
        PassCost(target_shape(llama_8b, parallelism=s), B200, ideal=False) for s in (Parallelism(), parallelism)
    )
    one, many = Pass(1, 0, 1, 1, 1), Pass(4096, 0, 1, 1, 1)
    assert four.price(one).weights == pytest.approx(plain.price(one).weights * 0.515625 / 2, rel=0.01)
    assert sum(four.price(many)) == pytest.approx(sum(plain.price(many)), rel=0.05)


def test_attention_can_be_kept_in_bf16():
    shape = target_shape(
        read_model("deepseek-v3"), parallelism=Parallelism(quantisation=Quantisation(FORMATS["nvfp4"], "mlp"))
    )
    assert {linear.format.name for linear in shape.operators.linears[:5]} == {"bf16"}
    assert {product.format.name for product in shape.operators.experts} == {"nvfp4"}


def test_routers_stay_bf16():
    shape = target_shape(
        read_model("qwen3-30b-a3b"), parallelism=Parallelism(quantisation=Quantisation(FORMATS["fp8"]))
    )
    (router,) = [linear for linear in shape.operators.linears if linear.outputs == 128]
    assert router.format == BF16


@pytest.mark.parametrize(
    ("config", "name", "matrices"),
    [
        ({"quant_method": "fp8"}, "fp8", "all"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}, "mxfp4", "mlp"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, "nvfp4", "all"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", "all"),
        ({"quant_method": "compressed-tensors", "format": "int-quantized-int8", "ignore": ["lm_head"]}, "int8", "all"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "w4a16", "all"),
    ],
)
def test_what_checkpoints_say(config, name, matrices):
    found = of_checkpoint(config)
    assert (found.format, found.matrices) == (FORMATS[name], matrices)


FP8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
FP4 = {"num_bits": 4, "type": "float", "group_size": 16}


def compressed(weights, activations=None, format_="float-quantized", **more):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
    return {"quant_method": "compressed-tensors", "format": format_, "config_groups": {"group_0": group}, **more}


@pytest.mark.parametrize(
    ("config", "form"),
    [
        # RedHatAI's *-FP8-dynamic, the commonest FP8 checkpoints
        (compressed(FP8, FP8 | {"strategy": "token", "dynamic": True}), PER_CHANNEL),
        (compressed(FP8), FORMATS["w8a16"]),
        (
            compressed(FP8 | {"strategy": "block", "block_structure": [128, 128]}, FP8),
            FORMATS["fp8"]._replace(block=128),
        ),
        (compressed({"num_bits": 8, "type": "int"}, {"num_bits": 8, "type": "int"}, "int-quantized"), FORMATS["int8"]),
        (compressed(INT4, None, "pack-quantized"), FORMATS["w4a16"]),
        (
            compressed(INT4 | {"group_size": 32}, None, "pack-quantized"),
            FORMATS["w4a16"]._replace(bytes_per_weight=0.5 + 2 / 32),
        ),
        (compressed(FP4, {"num_bits": 4, "type": "float"}, "nvfp4-pack-quantized"), FORMATS["nvfp4"]),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, FORMATS["fp8"]._replace(block=128)),
    ],
)
def test_type_and_bits_of_a_checkpoints_groups(config, form):
    assert of_checkpoint(config) == Quantisation(form, "all")


@pytest.mark.parametrize(
    ("ignored", "matrices"),
    [
        (["lm_head"], "all"),
        (["re:.*gate$", "re:.*shared_expert_gate", "lm_head"], "all"),
        (["re:.*self_attn.*", "re:.*router", "re:vision_model.*", "re:multi_modal_projector.*"], "mlp"),
    ],
)
def test_what_a_checkpoint_ignores(ignored, matrices):
    assert of_checkpoint(compressed(FP8, FP8, ignore=ignored)).matrices == matrices


@pytest.mark.parametrize(
    ("config", "what"),
    [
        (compressed(INT4, {"num_bits": 8, "type": "int"}), "int weights of 4 bits .* activations of 8 bits"),
        (compressed(FP8, FP8, ignore=["re:.*gate_proj"]), "keeps re:.*gate_proj unquantised"),
        ({"quant_method": "fp8", "weight_block_size": [128, 64]}, r"weight blocks of \[128, 64\]"),
        ({"quant_method": "fp8", "weight_block_size": [0, 0]}, r"weight blocks of \[0, 0\]"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": FP8}, "b": {"weights": INT4}},
            },
            r"several formats \(w4a16, w8a16\)",
        ),
    ],
)
def test_what_is_not_modelled_is_refused(config, what):
    with pytest.raises(ValueError, match=what):
        of_checkpoint(config)


def test_the_group_size_of_a_four_bit_checkpoint_counts():
    assert of_checkpoint({"quant_method": "gptq", "bits": 4, "group_size": 32}).format.bytes_per_weight == 0.5 + 2 / 32


def test_an_fp8_cache_holds_twice_the_tokens_and_reads_in_half_the_time():
    bf16, fp8 = (
        Simulation(load_scenario("llama3.1-8b-h100-eagle3", [f"deployment.kv_format={f}"])) for f in ("bf16", "fp8")
    )
    assert fp8.memory(True).kv_tokens == pytest.approx(2 * bf16.memory(True).kv_tokens, abs=1)
    # long enough for the ramp, 32 x 4.9 us, to be done with
    one, two = (s.step_cost(False).price(Pass(1, 1, 0, 100_000, 100_000)).kv - 32 * 4.9e-6 for s in (fp8, bf16))
    assert one == pytest.approx(two / 2, rel=1e-12)


def test_an_mtp_layer_is_quantised_as_its_target_unless_told_otherwise():
    base = [
        "deployment.target=deepseek-v3",
        "deployment.device=h200",
        "deployment.num_devices=8",
        "deployment.tensor_parallel=8",
    ]
    own, told = (
        load_scenario("llama3.1-8b-h100-eagle3", [*base, f"speculation.drafter={drafter}"])
        for drafter in ("{kind: mtp}", "{kind: mtp, weight_format: bf16}")
    )
    assert own.drafter_quantisation == own.target_quantisation == Quantisation(FORMATS["fp8"]._replace(block=128))
    assert told.drafter_quantisation.format == BF16
