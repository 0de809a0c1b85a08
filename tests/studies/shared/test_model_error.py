"""The model's error of a scenario: its class, what was never measured, and what the shipped table gives."""

import math

import pytest

from specsim.analysis.model_error import left_out_coverage
from specsim.inputs.read.case import case_of
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.shared.model_error import COMPARED, NORMAL, error_of, model_error, residuals_of, rows

DEMO = "llama3.1-8b-h100-eagle3"
ENOUGH, WANTED = 20, 0.85


def inputs(*overrides, name=DEMO):
    return load_scenario(name, overrides)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), {"profile": "general", "target": "dense", "numbers": "BF16", "drafter_kind": "eagle3"}),
        (("deployment.engine=vllm-2026-01-h100-sxm",), {"profile": "calibrated"}),
        (("deployment.kv_format=fp8",), {"numbers": "quantised cache"}),
        (("deployment.engine=sglang-0.5",), {"software": "SGLang"}),
        (("deployment.engine=ideal",), {"software": "other software"}),
        (("deployment.weight_format=fp8", "deployment.kv_format=fp8"), {"numbers": "quantised weights and cache"}),
        (("deployment.device=a100-sxm-40gb",), {"figures": "carried over", "devices": "one device"}),
    ],
)
def test_a_case_is_what_a_scenario_states(overrides, expected):
    found = case_of(inputs(*overrides))._asdict()
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "target", "devices"),
    [
        ("deepseek-r1-8xb200-mtp", "MLA", "several devices"),
        ("qwen3.5-35b-a3b-h200-mtp", "MoE", "one device"),
    ],
)
def test_targets_of_other_kinds(name, target, devices):
    case = case_of(inputs(name=name))
    assert (case.target, case.devices) == (target, devices)


def test_the_textbook_device_has_no_model_error():
    assert error_of(inputs("deployment.ideal=true"), "speedup") is None


def test_calibrating_narrows_it():
    general, calibrated = (
        error_of(inputs(f"deployment.engine={engine}"), "speedup") for engine in ("vllm", "vllm-2026-01-h100-sxm")
    )
    assert not general.unmeasured
    assert calibrated.half_width < general.half_width / 1.5


def test_what_was_never_measured_takes_the_widest_and_says_so():
    case = case_of(inputs())
    widest = max(model_error(case._replace(**kind), "speedup").half_width for kind in (
        {"target": row["target"], "numbers": row["numbers"], "profile": row["profile"]} for row in rows()
    ))  # fmt: skip
    found = model_error(case._replace(drafter_kind="medusa"), "speedup")
    assert found.unmeasured == ("a medusa drafter",)
    assert found.half_width == pytest.approx(widest)
    assert "not validated: no measurement with a medusa drafter" in found.sentence


def test_words_hold_the_ends():
    found = error_of(inputs(), "speedup")
    low, high = (math.exp(end) for end in (-found.half_width, found.half_width))
    assert found.words_around(1.0, "{:.3f}".format) == f" (90 % model {low:.3f} to {high:.3f})"
    assert f"between {100 * (1 - low):.0f} % below and {100 * (high - 1):.0f} % above those predicted" in found.sentence


def test_counted_acceptance_widens_it():
    """Errors of model and acceptance are independent: squares add."""
    counts = "speculation.acceptance={kind: counts, drafts: 50, accepted: [40, 20], source: my server}"
    plain, found = error_of(inputs(), "speedup"), error_of(inputs(counts), "speedup")
    relative = load_scenario(DEMO, [counts]).scenario.speculation.acceptance.length_error
    assert found.half_width == pytest.approx(math.hypot(plain.half_width, NORMAL * relative))
    assert f"the acceptance's ±{100 * NORMAL * relative:.1f} %" in found.sentence
    assert error_of(inputs(counts), "lengths") == error_of(inputs(), "lengths")


@pytest.mark.parametrize("compared", ["speedup", "rate", "lengths"])
def test_intervals_hold_what_other_sweeps_measured(compared):
    """The bar of docs/accuracy.md: 85 % of the points left out, in all and in each class of 20 points."""
    assert compared in COMPARED
    for path, cover in left_out_coverage(residuals_of(rows(), compared)).items():
        if cover.points >= ENOUGH:
            assert cover.within / cover.points >= WANTED, path
