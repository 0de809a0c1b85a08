"""Variants of the command line: what they change, what they are called, and what is no variant."""

import pytest

from specsim.errors import InputError
from specsim.inputs.read.lists import counts
from specsim.inputs.read.overrides import Option
from specsim.inputs.read.variants import load_compared, parse_variants

DEMO, AZURE = "llama3.1-8b-h100-eagle3", "azure-conversation-h100-eagle3"


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        ("deployment.device=h200", {"deployment.device": "h200"}),
        ("a.b=1 c.d=2", {"a.b": "1", "c.d": "2"}),
        ("workload.load.rate=4 requests/s seed=2", {"workload.load.rate": "4 requests/s", "seed": "2"}),
        (
            "a={kind: x, at: {b: c d=e}, f: 1 g=2} seed = 3",
            {"a": "{kind: x, at: {b: c d=e}, f: 1 g=2}", "seed": " 3"},
        ),
        ("curve.batches=[1, 2 ] seed=2", {"curve.batches": "[1, 2 ]", "seed": "2"}),
    ],
)
def test_assignments_end_where_the_next_begins(changes, given):
    [variant] = parse_variants([f"some-name: {changes}"])
    assert variant.name == "some-name"
    assert {change.path: change.given for change in variant.changes} == given


def test_all_that_are_none_are_listed():
    with pytest.raises(InputError) as caught:
        parse_variants(["fp8", "fp8:", "two words: a=1", "h: h200", ": a=1", "right: a=1"])
    assert [problem.value for problem in caught.value.problems] == [
        "'fp8'",
        "'fp8:'",
        "'two words: a=1'",
        "'h: h200'",
        "': a=1'",
    ]


def batches(text):
    return Option("--batches", "curve.batches", text, counts)


def test_a_variant_has_its_own_name_and_that_of_its_scenario_where_there_are_several():
    variants = parse_variants(["b: seed=2 curve.replications=3", "c: deployment.device=h200"])
    alone = load_compared([DEMO], variants, ["curve.replications=4"], [batches("1,8")])
    assert [inputs.scenario.name for inputs in alone] == [DEMO, "b", "c"]
    assert [inputs.scenario.seed for inputs in alone] == [1, 2, 1]
    assert [inputs.scenario.curve.replications for inputs in alone] == [4, 3, 4]  # a variant goes before --set
    assert [inputs.device.name for inputs in alone[1:]] == ["NVIDIA H100 SXM5 80 GB", "NVIDIA H200 SXM 141 GB"]
    assert {inputs.scenario.curve.batches for inputs in alone} == {(1, 8)}
    both = load_compared([DEMO, AZURE], variants[:1], ())
    assert [inputs.scenario.name for inputs in both] == [DEMO, f"{DEMO}-b", AZURE, f"{AZURE}-b"]


def refused(*arguments):
    with pytest.raises(InputError) as caught:
        load_compared(*arguments)
    return [str(problem) for problem in caught.value.problems]


def test_one_scenario_is_none_to_compare():
    [problem] = refused([DEMO], (), ())
    assert "is the only one; name another to compare it with, or add a variant of it: --variant" in problem


def test_names_stand_for_one_scenario_each():
    [problem] = refused([DEMO], parse_variants([f"{DEMO}: seed=2", "other: seed=3"]), ())
    assert f"name is '{DEMO}': is the name of 2 of those compared" in problem


def test_a_wrong_value_is_that_of_the_option_that_states_it():
    variants = parse_variants(["a: deployment.device=h300", "b: speculation.policy.num_draft_tokens=x"])
    found = refused([DEMO], variants, ("seed=-1",), [batches("8,1")])
    assert any(problem.startswith("--variant a: deployment.device is 'h300'") for problem in found)
    assert any(problem.startswith("--variant b: speculation.policy.num_draft_tokens") for problem in found)
    assert any(problem.startswith("--set seed: seed is -1") for problem in found)
    assert any(problem.startswith("--batches is [8, 1]: must ascend") for problem in found)
    assert len(found) == 4  # what is wrong in all is said once


def test_a_path_stated_twice_and_a_name_given_twice_are_refused():
    with pytest.raises(InputError, match=r"--variant: deployment.device is .*: is given twice; give it once"):
        parse_variants(["h: deployment.device=h200 deployment.device=b200"])
    variants = parse_variants(["a: deployment.device=h200", "a: deployment.weight_format=fp8"])
    with pytest.raises(InputError, match="--variant is 'a': names 2 variants"):
        load_compared([DEMO], variants, ())
