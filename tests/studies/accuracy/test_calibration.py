"""Calibration finds what made the data, says what it cannot know, and shipped profiles are what it gives."""

import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import yaml

from specsim.forward import Reach
from specsim.inputs.measured.serving_tables import read_measurements
from specsim.inputs.measured.steps import read_steps
from specsim.inputs.models.engine import Engine
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.accuracy.calibrate.answer import profile_text
from specsim.studies.accuracy.calibrate.observations import serving_observations, step_observations
from specsim.studies.accuracy.calibrate.parameters import PARAMETERS, candidates, own_value, prior_value, with_values
from specsim.studies.accuracy.calibrate.run import NOISE, Observation, calibrate
from specsim.studies.accuracy.calibrate.usable import chosen_rows

TRUTH = {
    "kernels.linear.bandwidth_efficiency": 0.78,
    "kernels.attention.bandwidth_efficiency": 0.7,
    "host_time_per_verified_row": 18e-6,
    "host_time_per_draft_pass": 0.5e-3,
}


def table(name):
    return catalogue.KINDS["steps"][0] / f"{name}.csv"


@pytest.fixture(scope="module")
def seen():
    """All steps of a published table, as observations."""
    rows = [located._replace(row=located.row.model_copy(update={"split": "calibration"}))
            for located in read_steps(table("a100-llama-3.1-8b-median-itl"))]  # fmt: skip
    return list(step_observations(rows, None, "vllm"))


@pytest.fixture(scope="module")
def made_up(seen):
    """The same steps, as long as an engine of our own would take, with noise."""
    engine, rng = with_values(seen[0].inputs.engine, TRUTH), np.random.default_rng(3)
    return [
        Observation(
            s.observation.name, s.observation.predict(engine) * np.exp(NOISE * rng.normal()), s.observation.predict
        )
        for s in seen
    ]


@pytest.fixture(scope="module")
def found(seen, made_up):
    inputs = seen[0].inputs
    return calibrate(inputs.engine, inputs.device, made_up)


@pytest.mark.slow
def test_what_made_the_data_is_found_within_four_standard_errors(found):
    fitted = {p.path: p for p in found.parameters}
    for path, true in TRUTH.items():
        assert fitted[path].identified, path
        # the priors pull a little: they are part of the estimate, and so is their spread of its error
        assert abs(np.log(fitted[path].value / true)) < 4 * fitted[path].error, path


@pytest.mark.slow
def test_errors_shrink_to_the_noise(found):
    # the root mean square of the misfit is below the noise's by the parameters fitted; four of its own standard errors
    n = len(found.errors)
    assert np.sqrt(np.mean(found.errors**2)) < NOISE * (1 + 4 / np.sqrt(2 * n))
    assert np.abs(found.prior_errors).max() > 0.1


def test_what_the_data_do_not_touch_keeps_its_prior(found, seen):
    kept = {p.path: p for p in found.parameters if not p.identified}
    assert {"graphs.eager_time_per_layer", "graphs.piecewise_time_per_layer"} <= set(kept)
    engine, device = seen[0].inputs.engine, seen[0].inputs.device
    for parameter in PARAMETERS:
        if parameter.path in kept:
            assert kept[parameter.path].value == own_value(parameter, engine, device)
            assert own_value(parameter, found.engine, device) == own_value(parameter, engine, device)


def test_the_profile_reads_back_as_it_was_fitted(found):
    text = profile_text(
        found,
        name="x",
        device="a100-sxm-80gb",
        data=[Path("t.csv")],
        num_points=24,
        reached=Reach(384, 64, 54_000),
        today=date(2026, 1, 2),
    )
    read = Engine.model_validate(yaml.safe_load(text))
    assert read.device == "a100-sxm-80gb"
    assert read.measured_range.model_dump() == {"step_tokens": 384, "requests": 64, "context_tokens": 54_000}
    assert read.model_copy(
        update={"name": "", "device": None, "sources": {}, "measured_range": None}
    ) == found.engine.model_copy(update={"name": "", "device": None, "sources": {}})
    assert all("24 figures of t.csv" in read.sources[p.path].reference for p in found.parameters if p.identified)


@pytest.mark.slow
def test_what_would_end_beyond_its_limit_stays_there(seen):
    """A factor of 0.6 is none that a profile can have; the profile written has to read back."""
    inputs = seen[0].inputs
    faster = with_values(inputs.engine, {"verify_attention_factor": 0.6})
    made_up = [Observation(o.name, o.predict(faster), o.predict) for o in (s.observation for s in seen)]
    paths = {"verify_attention_factor", "kernels.attention.bandwidth_efficiency", "host_time_per_verified_row"}
    found = calibrate(inputs.engine, inputs.device, made_up, [p for p in PARAMETERS if p.path in paths])
    (factor,) = (p for p in found.parameters if p.path == "verify_attention_factor")
    assert (factor.value, factor.identified, factor.at_limit) == (1.0, False, True)
    written = {"name": "x", "device": "a100-sxm-80gb", "data": [Path("t.csv")], "num_points": 24}
    text = profile_text(found, **written, reached=Reach(384, 64, 54_000), today=date(2026, 1, 2))
    read = Engine.model_validate(yaml.safe_load(text))
    assert read.verify_attention_factor == 1.0
    assert "beyond this limit" in read.sources["verify_attention_factor"].reference


def test_kinds_of_drafters_have_their_own_draft_pass_where_there_are_several():
    paths = [p.path for p in candidates({"eagle", "eagle3"})]
    assert paths[-2:] == ["host_time_per_draft_pass_of.eagle", "host_time_per_draft_pass_of.eagle3"]
    assert "host_time_per_draft_pass" not in paths
    assert candidates({"eagle"}) == PARAMETERS


@pytest.mark.parametrize("path", ["kernels.linear_by_precision.w4a16.launch", "fp8_cache.verify_attention_factor"])
def test_quantised_kinds_have_parameters_of_their_own(path, seen):
    """Known of them is what the device's file or the profile says, else what BF16's kernels do."""
    inputs = seen[0].inputs
    (parameter,) = (p for p in candidates({"eagle3"}, {"w4a16"}, fp8_cache=True) if p.path == path)
    assert path not in [p.path for p in candidates({"eagle3"})]
    engine = with_values(inputs.engine, {path: 3.0})
    assert own_value(parameter, engine, inputs.device) == 3.0
    like = next(p for p in PARAMETERS if p.path == parameter.like)
    expected = {"kernels.linear_by_precision.w4a16.launch": inputs.device.linear_by_precision["w4a16"].launch}
    prior = prior_value(parameter, inputs.engine, inputs.device)
    assert prior == expected.get(path, prior_value(like, inputs.engine, inputs.device))


def test_the_profile_that_was_fitted_from_is_named(found):
    def general(start):
        text = profile_text(
            found, name="x", device="a100-sxm-80gb", data=[Path("t.csv")], num_points=24,
            reached=Reach(384, 64, 54_000), today=date(2026, 1, 2), start=start,
        )  # fmt: skip
        return Engine.model_validate(yaml.safe_load(text)).general

    assert (general("vllm"), general("mine/own.yaml")) == ("vllm", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "steps"),
    [
        ("vllm-2026-01-h100-sxm", "h100-llama-3.1-8b-batch-by-k"),
        ("vllm-0.28-h100-sxm", "h100-qwen3-1.7b-forward"),
    ],
)
def test_shipped_profiles_are_what_calibration_gives(profile, steps):
    """Nobody has turned their numbers: they are those of the fit to the points marked calibration."""
    assert_shipped_as_fitted(profile, list(step_observations(read_steps(table(steps)), None, "vllm")), PARAMETERS)


def serving(name, sweeps, start):
    file = catalogue.find("measurements", name, [], where="", path="")
    return list(serving_observations(chosen_rows(read_measurements(file), sweeps, None, str(file)), None, start))


def steps(names, start):
    return [one for name in names for one in step_observations(read_steps(table(name)), None, start)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "points", "parameters"),
    [
        (
            "vllm-2025-07-h100-sxm",
            lambda: serving("published", ["S15-eagle", "S15-eagle3"], "vllm-0.10"),
            candidates({"eagle", "eagle3"}),
        ),
        (
            "vllm-0.24-a100-sxm-80gb",
            lambda: steps(["a100-llama-3.1-8b-median-itl", "a100-llama-3.1-8b-quantised-itl"], "vllm"),
            candidates({"eagle3"}, {"w4a16"}, fp8_cache=True),
        ),
    ],
)
def test_a_profile_is_where_its_calibration_ends(profile, points, parameters):
    """One Gauss-Newton step from the shipped values moves none of them by more than their rounding does.

    The whole fits take ten times as long; the fits to steps above hold that the search ends where this step is zero.
    """
    seen = points()
    observations, inputs = [s.observation for s in seen], seen[0].inputs
    shipped = shipped_engine(profile, inputs)
    start = {p: prior_value(p, inputs.engine, inputs.device) for p in parameters}
    fitted = {p: own_value(p, shipped, inputs.device) for p in start}
    moved = [p for p, prior in start.items() if fitted[p] not in (None, 0.0, prior, p.least, p.most)]
    assert len(moved) > 2
    spread = np.array([p.spread for p in moved])
    centre = np.log([start[p] for p in moved])

    def residuals(logs):
        engine = with_values(shipped, {p.path: math.exp(log) for p, log in zip(moved, logs, strict=True)})
        misfit = [math.log(point.predict(engine) / point.measured) / NOISE for point in observations]
        return np.concatenate([misfit, (logs - centre) / spread])

    at = np.log([fitted[p] for p in moved])
    base = residuals(at)
    slopes = np.stack([(residuals(at + 1e-3 * unit) - base) / 1e-3 for unit in np.eye(len(at))], axis=1)
    step = np.linalg.lstsq(slopes, -base, rcond=None)[0]
    assert np.abs(step).max() < math.log(1.011)  # a unit in the third digit, as above


def shipped_engine(profile, inputs):
    device = f"deployment.device={inputs.scenario.deployment.device}"
    return load_scenario("llama3.1-8b-h100-eagle3", [f"deployment.engine={profile}", device]).engine


def assert_shipped_as_fitted(profile, seen, parameters):
    inputs = seen[0].inputs
    result = calibrate(inputs.engine, inputs.device, [s.observation for s in seen], parameters)
    shipped = shipped_engine(profile, inputs)
    for p in result.parameters:
        value = own_value(next(q for q in parameters if q.path == p.path), shipped, inputs.device)
        # to a unit in the third digit, in which two machines' fits may differ
        assert value == (None if p.value is None else pytest.approx(p.value, rel=0.011)), p.path
