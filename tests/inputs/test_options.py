"""Options of commands lie over the scenario as ``--set`` does, and mistakes in them carry their names."""

import pytest

from specsim.errors import InfeasibleError, InputError, Problem
from specsim.inputs.read.lists import counts, words
from specsim.inputs.read.overrides import Option, named_by_option
from specsim.inputs.read.scenario import load_scenario
from specsim.inputs.read.slo import parse_slo

DEMO = "llama3.1-8b-h100-eagle3"


def loaded(*options, sets=(), blocks=()):
    return load_scenario(DEMO, sets, options, blocks).scenario


def problems(*options, sets=(), scenario=DEMO):
    with pytest.raises(InputError) as caught:
        load_scenario(scenario, sets, options)
    return [(p.where, p.path, p.value) for p in caught.value.problems]


def lengths(text):
    return Option("--num-draft-tokens", "plan.num_draft_tokens", text, counts)


def test_an_option_counts_more_than_a_set_and_leaves_what_is_beside_it():
    plan = loaded(lengths("1, 3"), sets=["plan={num_draft_tokens: [5], seeds: 4}"]).plan
    assert (plan.num_draft_tokens, plan.seeds) == ((1, 3), 4)


def test_one_that_is_left_out_changes_nothing():
    assert loaded(lengths(None)) == loaded()


def test_settings_of_a_command_leave_the_description():
    assert loaded(lengths("1")).description == loaded().description


def test_blocks_are_filled_in_where_they_are_missing():
    assert loaded().map is None
    assert loaded(blocks=["map"]).map.replications == 4
    assert loaded(sets=["map.replications=3"], blocks=["map"]).map.replications == 3


def test_limits_are_those_of_the_option():
    slo = Option("--slo", "plan.slo", ["ttft:200 tpot.p90:20"], parse_slo)
    limits = loaded(slo, sets=["plan.slo={e2e: {p99: 1 s}}"]).plan.slo.limits
    assert [(limit.latency, limit.percentile) for limit in limits] == [("ttft", 99), ("tpot", 90)]


def test_everything_wrong_is_listed_at_once_under_the_option_that_says_it():
    found = problems(
        lengths("0,x,2"),
        Option("--policies", "plan.policies", "static,none", words),
        Option("--rate", "plan.rate", "40"),
        Option("--slo", "plan.slo", ["ttft.p50:300 ttft.p99:200"], parse_slo),
        sets=["seed=x", "nothing"],
    )
    assert sorted(found) == [
        ("--num-draft-tokens", "", "'0'"),
        ("--num-draft-tokens", "", "'x'"),
        ("--policies", "[1]", "'none'"),
        ("--rate", "", "'40'"),
        ("--set", "", "'nothing'"),
        ("--set seed", "seed", "'x'"),
        ("--slo", "ttft", '{"p50": "300 ms", "p99": "200 ms"}'),
    ]


def test_options_are_looked_at_although_there_is_no_such_scenario():
    assert problems(lengths("x"), scenario="nowhere") == [
        ("scenario", "", "'nowhere'"),
        ("--num-draft-tokens", "", "'x'"),
    ]


def test_of_two_that_give_one_value_the_later_is_named():
    assert problems(lengths("3,1"), sets=["plan={num_draft_tokens: [1]}"]) == [("--num-draft-tokens", "", "[3, 1]")]


def test_a_contradiction_with_the_scenario_is_the_options():
    """Although the file holds the value that is complained about."""
    group = Option("--tensor-parallel", "deployment.tensor_parallel", 4)
    assert ("--tensor-parallel", "deployment.num_devices", "1") in problems(group)


def test_what_a_run_finds_wrong_with_a_value_names_its_option():
    given, left_out = Option("--contexts", "map.contexts", "16"), Option("--batches", "map.batches", None)
    with pytest.raises(InfeasibleError) as caught, named_by_option([given, left_out]):
        raise InfeasibleError([Problem("my.yaml", f"map.{name}", "16", "") for name in ("contexts", "batches")])
    assert [(p.where, p.path) for p in caught.value.problems] == [("--contexts", ""), ("my.yaml", "map.batches")]
