"""A change reaches everything that it is named after, and nothing else."""

import numpy as np
import pytest

from specsim.forward import Pass
from specsim.inputs.models.acceptance import ConstantAcceptance, MeanLengthAcceptance, ProfileAcceptance
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of
from specsim.studies.sensitivity.changes import CHANGEABLE, changed

DEMO = "llama3.1-8b-h100-eagle3"
BY_NAME = {part.name: part for part in CHANGEABLE}
VERIFY = Pass(tokens=40, logit_rows=40, sequences=10, context_tokens=5000, query_context=20_000)
EAGER = VERIFY._replace(tokens=4000, logit_rows=4000)
DRAFTS = [Pass(25, 10, 10, 4970, 12_000, 25), Pass(10, 10, 10, 4980, 4980), Pass(10, 10, 10, 4990, 4990)]
TWO = ("deployment.num_devices=2", "deployment.tensor_parallel=2")
FACTORS = (0.5, 0.9, 1.1, 3.0)


def step(inputs, work=VERIFY):
    return simulation_of(inputs).step_cost(True).price(work, DRAFTS)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_factor_of_one_changes_nothing(name):
    inputs = load_scenario(DEMO, TWO)
    same = changed(inputs, BY_NAME[name], 1.0)
    assert step(same) == step(inputs)
    stated, kept = (one.scenario.speculation.acceptance.conditional(9) for one in (inputs, same))
    assert kept.tolist() == stated.tolist()


@pytest.mark.parametrize("factor", FACTORS)
def test_draft_time_is_that_of_draft_passes_alone(factor):
    inputs = load_scenario(DEMO)
    before, after = step(inputs), step(changed(inputs, BY_NAME["draft time"], factor))
    assert after.draft == pytest.approx(factor * before.draft, rel=1e-12)
    assert after._replace(draft=0.0) == before._replace(draft=0.0)


def test_changes_of_draft_time_multiply():
    """A factor that the scenario states is changed, not replaced."""
    inputs = load_scenario(DEMO, ["speculation.drafter.time_factor=3"])
    assert changed(inputs, BY_NAME["draft time"], 1.5).scenario.speculation.drafter.time_factor == 4.5


def test_draft_time_of_lookups_is_the_hosts():
    lookup = "speculation.drafter={kind: ngram, host_time_per_step: 100 us, host_time_per_sequence: 2 us}"
    inputs = load_scenario(DEMO, [lookup])
    before, after = (
        simulation_of(one).step_cost(True).price(VERIFY, (), 10)
        for one in (inputs, changed(inputs, BY_NAME["draft time"], 2.0))
    )
    assert after.host - before.host == pytest.approx(120e-6, rel=1e-9)


@pytest.mark.parametrize("factor", FACTORS)
def test_host_time_is_all_that_the_host_does(factor):
    inputs = load_scenario(DEMO)
    before, after = step(inputs), step(changed(inputs, BY_NAME["host time"], factor))
    assert after.host == pytest.approx(factor * before.host, rel=1e-12)
    assert after._replace(host=0.0) == before._replace(host=0.0)


def test_a_slower_host_launches_kernels_later():
    inputs = load_scenario(DEMO, ["deployment.engine=vllm-0.24"])
    before, after = (step(one, EAGER) for one in (inputs, changed(inputs, BY_NAME["host time"], 50.0)))
    assert after.launch > before.launch


@pytest.mark.parametrize("factor", FACTORS)
def test_an_ideal_device_is_as_fast_as_its_figures(factor):
    """Far below the ridge a pass takes its weights' time alone, far above it its operations'."""
    inputs = load_scenario("theory-h100-ideal")
    for name, work, part in (("bandwidth achieved", VERIFY, "weights"), ("compute achieved", EAGER, "compute")):
        before, after = (step(one, work) for one in (inputs, changed(inputs, BY_NAME[name], factor)))
        target = sum(after) - after.draft
        assert getattr(before, part) > 0
        assert target == pytest.approx((sum(before) - before.draft) / factor, rel=1e-12)


def test_bandwidth_and_compute_together_leave_launches():
    """What is neither reading nor computing nor waiting for the host is as it was."""
    inputs = load_scenario(DEMO)
    after = changed(changed(inputs, BY_NAME["bandwidth achieved"], 2.0), BY_NAME["compute achieved"], 2.0)
    slow, fast = step(inputs), step(after)
    assert fast.host == slow.host
    assert fast.launch == pytest.approx(slow.launch, rel=1e-12)
    assert fast.weights + fast.compute == pytest.approx((slow.weights + slow.compute) / 2, rel=1e-12)


def test_communication_is_that_of_devices():
    inputs = load_scenario(DEMO, TWO)
    before, after = (step(one) for one in (inputs, changed(inputs, BY_NAME["communication time"], 2.0)))
    assert after.communication == pytest.approx(2 * before.communication, rel=1e-12)
    assert after._replace(communication=0.0, draft=0.0) == before._replace(communication=0.0, draft=0.0)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    "acceptance",
    [
        ConstantAcceptance(kind="constant", overlap=0.7),
        ProfileAcceptance(kind="profile", basis="marginal", values=(0.8, 0.5, 0.2)),
        ProfileAcceptance(
            kind="profile", basis="conditional", values=(0.8, 0.5), by_num_draft_tokens={1: (0.9,), 3: (0.6, 0.5, 0.4)}
        ),
        MeanLengthAcceptance(kind="mean_length", mean_acceptance_length=2.5, num_draft_tokens=3, shape="geometric"),
        MeanLengthAcceptance(
            kind="mean_length", mean_acceptance_length=2.5, num_draft_tokens=3, shape="minimum_variance"
        ),
    ],
    ids=lambda acceptance: acceptance.kind,
)
def test_each_conditional_acceptance_is_multiplied(acceptance, factor):
    for k in (1, 2, 3, 5):
        scaled = acceptance.scaled(factor).conditional(k)
        assert scaled == pytest.approx(np.minimum(1, factor * acceptance.conditional(k)), rel=1e-12)


def test_classes_and_groups_change_too():
    inputs = load_scenario(
        DEMO,
        [
            "fleet={replicas: [{count: 1}, {deployment: {device: h200}}]}",
            "workload.mixture=[{share: 0.5, acceptance: {kind: constant, overlap: 0.5}}, {share: 0.5}]",
        ],
    )
    after = changed(inputs, BY_NAME["acceptance"], 0.5)
    assert after.scenario.workload.mixture[0].acceptance.overlap == 0.25
    assert after.scenario.workload.mixture[1].acceptance is None
    faster = changed(inputs, BY_NAME["bandwidth achieved"], 2.0)
    for old, new in zip((inputs, *inputs.groups), (faster, *faster.groups), strict=True):
        assert new.device.memory.bandwidth == 2 * old.device.memory.bandwidth


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        (
            "acceptance",
            ("speculation.acceptance={kind: constant, overlap: 0.6, spread: 0.1}",),
            "varies about its mean",
        ),
        ("communication time", (), "one device"),
        ("host time", ("deployment.ideal=true",), "ideal"),
        (
            "draft time",
            ("speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}",),
            "no time",
        ),
    ],
)
def test_what_cannot_be_changed_says_why(name, changes, reason):
    assert reason in BY_NAME[name].why_not(load_scenario(DEMO, changes))
    assert not BY_NAME["compute achieved"].why_not(load_scenario(DEMO, changes))


def test_language_models_have_no_acceptance_to_change():
    inputs = load_scenario("llama3.1-8b-h100-language-models")
    assert "language models" in BY_NAME["acceptance"].why_not(inputs)
