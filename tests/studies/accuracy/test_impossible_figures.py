"""Figures that would take a step faster than memory delivers the weights are refused; seconds for ms are such."""

import dataclasses

import pytest

from specsim.errors import InputError
from specsim.inputs.measured.measurements import Located, Measurement
from specsim.inputs.measured.steps import LocatedStep, Step
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.accuracy.validate.bounds import CACHED, fastest_step, impossible_figure
from specsim.studies.accuracy.validate.measured import BASE, arm, arm_inputs
from specsim.studies.accuracy.validate.run import validate
from specsim.studies.accuracy.validate.steps import price_steps

# Llama-3.1-8B in BF16, without the embedding, of which a pass looks up rows, and 65 norms
WEIGHTS = 2 * (8_030_261_248 - 128_256 * 4096 - 65 * 4096)
STEP = (WEIGHTS - CACHED) / 3.35e12
SETTING = {"use_device": "h100-sxm", "use_engine": "vllm", "use_model": "llama-3.1-8b"}
ROW = SETTING | {
    "sweep": "s", "load_kind": "concurrency", "load": 4, "num_requests": 8, "prompt_tokens": 90, "output_tokens": 31,
    "num_draft_tokens": 2, "acceptance": (0.6, 0.4),
    "use_drafter": "{kind: eagle, model: eagle3-llama-3.1-8b, vocabulary_map: d2t}",
}  # fmt: skip
STEP_ROW = SETTING | {"measured": "step", "mode": "graph", "requests": 4, "query_tokens": (1,), "context": (500,)}


def inputs(*overrides):
    return load_scenario("llama3.1-8b-h100-eagle3", overrides)


def test_a_step_reads_every_matrix_once():
    assert fastest_step(inputs()).seconds == pytest.approx(STEP, rel=1e-12)
    head = 2 * 128_256 * 4096 / 3.35e12
    assert fastest_step(inputs()).seconds - fastest_step(inputs(), logits=False).seconds == pytest.approx(head)


def test_of_experts_only_those_of_one_token():
    """DeepSeek-R1 has 37 billion active parameters, in NVFP4 for the most part, on eight devices of 8 TB/s."""
    shared = inputs_of("deepseek-r1-8xb200-mtp")
    assert 37e9 * 0.5 / 8 < fastest_step(shared).seconds * 7.7e12 + CACHED < 37e9 * 2 / 8
    spread = dataclasses.replace(
        shared,
        scenario=shared.scenario.model_copy(
            update={"deployment": shared.scenario.deployment.model_copy(update={"expert_parallel": 8})}
        ),
    )
    assert fastest_step(spread) == fastest_step(shared), "how experts are laid out has no say"


def inputs_of(name):
    return load_scenario(name)


@pytest.mark.parametrize(
    ("metric", "limit", "above"),
    [
        ("output_tokens_per_s", 4 * 3 / STEP, True),
        ("total_tokens_per_s", 4 * 3 / STEP * 121 / 31, True),
        ("tokens_per_s_per_user", 3 / STEP, True),
        ("tpot_ms", 1e3 * STEP / 3, False),
        ("itl_p50_ms", 1e3 * STEP / 3, False),
        ("ttft_ms", 1e3 * STEP, False),
        ("e2e_ms", 1e3 * STEP * 11, False),
    ],
)
def test_every_metric_has_its_limit(metric, limit, above):
    """Three tokens a step at most, and 30 tokens after the first."""
    for factor in (0.999, 1.001):
        row = Measurement(**ROW, metric=metric, with_speculation=factor * limit)
        stated = arm_inputs(BASE, arm(row, speculating=True))
        found = list(impossible_figure("t", 2, row, stated, fastest_step(stated), speculating=True))
        assert bool(found) == ((factor > 1) == above)


def test_a_table_in_seconds_is_refused_row_by_row():
    rows = [
        Measurement(**ROW, metric="tpot_ms", baseline=0.0062, with_speculation=0.0041),
        Measurement(**ROW | {"load": 8}, metric="tpot_ms", baseline=6.4, with_speculation=0.0043),
    ]
    with pytest.raises(InputError) as caught:
        validate([Located(i, row) for i, row in enumerate(rows, start=2)], where="t.csv", jobs=1)
    assert [problem.path for problem in caught.value.problems] == [
        "line 2, baseline",
        "line 2, with_speculation",
        "line 3, with_speculation",
    ]
    assert "a step reads 15 GB of weights at 3.35 TB/s at most, which takes 4.4 ms" in str(caught.value)
    assert "so tpot_ms is 4.404 at least; check the unit" in str(caught.value)


def test_steps_in_seconds_are_refused():
    rows = [LocatedStep(2, Step(**STEP_ROW, ms=0.0069)), LocatedStep(3, Step(**STEP_ROW, ms=6.9))]
    with pytest.raises(InputError) as caught:
        price_steps(rows, where="t.csv")
    assert [problem.path for problem in caught.value.problems] == ["line 2, ms"]
