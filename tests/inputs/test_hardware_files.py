"""The hardware that ships: every number has a source, peaks are dense, and GB is not GiB."""

import re

import pytest

from specsim.errors import InputError
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.read import catalogue, documents
from specsim.inputs.read.scenario import load_scenario, read_device, read_engine

DEVICES, ENGINES = catalogue.names("device"), catalogue.names("engine")
MODELS = {"device": Device, "engine": Engine}
ALL = [("device", name) for name in DEVICES] + [("engine", name) for name in ENGINES]


@pytest.mark.parametrize("engine", ["vllm", "vllm-0.10", "vllm-0.24"])
@pytest.mark.parametrize(
    ("device", "limits"),
    [
        ("h100-sxm", (1024, 8192)),
        ("h200", (1024, 8192)),
        ("a100-sxm-80gb", (256, 2048)),  # 80 GB, but an A100
        ("a100-sxm-40gb", (256, 2048)),
        ("l40s", (256, 2048)),  # 48 GB
    ],
)
def test_vllm_takes_the_limits_of_the_device(engine, device, limits):
    """Defaults of vllm/engine/arg_utils.py: 70 GiB and no A100."""
    settings = [f"deployment.engine={engine}", f"deployment.device={device}"]
    found = load_scenario("llama3.1-8b-h100-eagle3", settings).engine
    assert (found.max_num_seqs, found.max_num_batched_tokens) == limits


def test_a_group_of_other_devices_has_their_limits():
    groups = "fleet={replicas: [{deployment: {device: l40s}}, {count: 2}]}"
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [groups])
    assert [group.engine.max_num_seqs for group in inputs.groups] == [256, 1024]


# dense BF16 FLOP/s and memory bytes/s, from the vendors' datasheets; those of a new device are in its own file
DATASHEET = {
    "a10": (125e12, 0.6e12),
    "a100-sxm-40gb": (312e12, 1.555e12),
    "a100-sxm-80gb": (312e12, 2.039e12),
    "b200": (2.25e15, 7.7e12),
    "b300": (2.25e15, 7.7e12),
    "gaudi3": (1678e12, 3.7e12),
    "gb10": (125e12, 0.273e12),
    "gh200": (989e12, 4.0e12),
    "h100-pcie": (756e12, 2.0e12),
    "h100-sxm": (989e12, 3.35e12),
    "h20": (148e12, 4.0e12),
    "h200": (989e12, 4.8e12),
    "l4": (121e12, 0.3e12),
    "l40s": (362e12, 0.864e12),
    "m3-max": (14.3e12, 0.4e12),
    "m4-max": (16.2e12, 0.546e12),
    "mi300x": (1307.4e12, 5.3e12),
    "mi325x": (1307.4e12, 6.0e12),
    "mi355x": (2516.6e12, 8.0e12),
    "rtx-3090": (71e12, 0.936e12),
    "rtx-4090": (165.2e12, 1.008e12),
    "rtx-5090": (209.5e12, 1.792e12),
    "rtx-pro-6000": (503.8e12, 1.792e12),
    "strix-halo": (59.4e12, 0.256e12),
}
# 8-bit rates over BF16's, where they are not two
EIGHT_BIT = {
    # GeForce cards halve BF16 and FP8 with FP32 accumulation, and not INT8
    ("rtx-3090", "int8"): 4,
    ("rtx-4090", "int8"): 4,
    ("rtx-5090", "int8"): 4,
    ("b300", "int8"): 0.068,
    ("gaudi3", "fp8"): 1,
    ("strix-halo", "int8"): 1,
}


def data(kind, name):
    return documents.read_mapping(catalogue.find(kind, name, [], where="", path=""))


def test_the_catalogue_is_complete():
    assert set(DATASHEET) <= set(DEVICES)
    assert {"ideal", "vllm", "vllm-0.10", "vllm-0.24", "sglang-0.5", "trtllm-1.x"} <= set(ENGINES)
    assert all(read_device(name) for name in DEVICES)
    assert all(read_engine(name) for name in ENGINES)


@pytest.mark.parametrize("name", DATASHEET)
def test_datasheet_figures(name):
    device = read_device(name)
    assert (device.peak.bf16, device.memory.bandwidth) == DATASHEET[name]


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_holds_what_its_name_says(name):
    device = read_device(name)
    gigabytes = int(re.search(r"(\d+) GB", device.name)[1])
    # what is sold as 80 GB lies between 80e9 and 80 GiB plus a few percent, less what error correction takes
    assert 0.95 * gigabytes * 1e9 < device.memory.capacity <= 1.005 * gigabytes * 2**30


@pytest.mark.parametrize("name", DEVICES)
def test_eight_bit_peaks_are_twice_the_dense_ones(name):
    peak = read_device(name).peak
    for precision in ("fp8", "int8"):
        rate = dict(peak)[precision]
        assert rate is None or rate == pytest.approx(EIGHT_BIT.get((name, precision), 2) * peak.bf16, rel=0.02)


def test_gigabytes_and_gibibytes_are_told_apart():
    sizes = {}
    for unit in ("GB", "GiB"):
        profile = data("device", "h100-sxm")
        profile["memory"]["capacity"] = f"80 {unit}"
        sizes[unit] = Device.model_validate(profile).memory.capacity
    assert sizes == {"GB": 80e9, "GiB": 80 * 2**30}


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_no_number_goes_without_a_source(kind, name):
    complete = data(kind, name)
    for key in complete["sources"]:
        without = complete | {"sources": {k: v for k, v in complete["sources"].items() if k != key}}
        covered = any(key.startswith(f"{other}.") for other in without["sources"])
        if covered:
            continue
        with pytest.raises(ValueError, match=f"no number without a source.*{key}"):
            MODELS[kind].model_validate(without)


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_a_source_of_nothing_is_refused(kind, name):
    complete = data(kind, name)
    stray = {"kind": "assumed", "reference": "a number that is not there"}
    with pytest.raises(ValueError, match=r"'sources' names fields that do not exist: linear\.speed"):
        MODELS[kind].model_validate(complete | {"sources": complete["sources"] | {"linear.speed": stray}})


def test_a_source_needs_a_kind_and_a_reference():
    profile = data("engine", "ideal")
    profile["sources"]["max_num_seqs"] = {"kind": "guess", "reference": "me"}
    with pytest.raises(ValueError, match="2 validation errors"):
        Engine.model_validate(profile)


def test_all_reduce_figures_come_in_pairs():
    profile = data("device", "h100-sxm")
    del profile["allreduce"]["sharpness"][4]
    with pytest.raises(ValueError, match="same numbers of devices"):
        Device.model_validate(profile)


@pytest.mark.parametrize("value", [True, "0.8", 0, 1.6])
def test_efficiencies_are_positive_numbers(value):
    profile = data("device", "h100-sxm")
    profile["linear"]["compute_efficiency"] = value
    with pytest.raises(ValueError, match="compute_efficiency"):
        Device.model_validate(profile)


def test_a_device_of_another_name_is_an_error():
    with pytest.raises(InputError, match="did you mean 'h100-"):
        read_device("h100")


def test_figures_of_a_precision_need_its_peak():
    figures = data("device", "a100-sxm-80gb")
    figures["linear_by_precision"]["fp8"] = figures["linear_by_precision"]["int8"]
    with pytest.raises(ValueError, match=r"linear_by_precision\.fp8 needs peak\.fp8"):
        Device.model_validate(figures)
