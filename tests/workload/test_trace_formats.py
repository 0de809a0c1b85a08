"""Traces in every format: what is read, how the format is told, and every way in which a file can be wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.workload.columns import MAX_PROBLEMS
from specsim.workload.traces import read_trace

MOONCAKE = Path(__file__).parents[2].parent / "shared" / "traces" / "mooncake_conversation_head3000.jsonl"
BURSTGPT = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
OWN = "arrival_s,prompt_tokens,output_tokens\n"


def read(tmp_path, text, form=None):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    return read_trace(path, form)


def problems(tmp_path, text, form=None):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, form)
    assert all(problem.where.endswith("trace.txt") for problem in caught.value.problems)
    return [(problem.path, problem.value) for problem in caught.value.problems]


def line(**fields):
    whole = {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]} | fields
    return json.dumps({name: value for name, value in whole.items() if value is not None}) + "\n"


def test_mooncake():
    if not MOONCAKE.exists():
        pytest.skip("needs ../shared/traces/mooncake_conversation_head3000.jsonl, which is not beside this checkout")
    trace = read_trace(MOONCAKE)
    rows = [json.loads(text) for text in MOONCAKE.read_text().splitlines()]
    assert trace.arrival.tolist() == [row["timestamp"] / 1000 for row in rows]
    assert trace.lengths.prompt.tolist() == [row["input_length"] for row in rows]
    assert trace.lengths.output.tolist() == [row["output_length"] for row in rows]
    prefixes = trace.lengths.prefixes
    for i in (0, 1, 2999):
        here = slice(prefixes.starts[i], prefixes.starts[i + 1])
        assert prefixes.ids[here].tolist() == rows[i]["hash_ids"]
        assert prefixes.ends[here].tolist() == [*range(512, rows[i]["input_length"], 512), rows[i]["input_length"]]
    assert trace.lines[-1] == len(rows)


def test_mooncake_times_count_from_the_first_in_seconds(tmp_path):
    trace = read(tmp_path, line(timestamp=1500) + "\n" + line(timestamp=4000.5))
    assert trace.arrival.tolist() == [0, 2.5005]
    assert trace.lines.tolist() == [1, 3]


def test_every_bad_field_of_mooncake_is_named(tmp_path):
    text = (
        line(timestamp=-1)
        + line(timestamp=5, input_length=0, hash_ids=[])
        + line(timestamp=4, output_length=2.5)
        + line(hash_ids=[1, -2], input_length=True, timestamp=9)
        + line(hash_ids=None, timestamp=9)
        + "[1]\n"
    )
    assert problems(tmp_path, text)[:8] == [
        ("line 1, timestamp", "-1"),
        ("line 2, input_length", "0"),
        ("line 3, timestamp", "4"),
        ("line 3, output_length", "2.5"),
        ("line 4, input_length", "True"),
        ("line 4, hash_ids", "[1, -2]"),
        ("line 5, hash_ids", "''"),
        ("line 6, timestamp", "''"),
    ]


def test_prompts_have_a_block_for_every_512_tokens(tmp_path):
    assert problems(tmp_path, line() + line(hash_ids=[1])) == [("line 2, hash_ids", "1 blocks")]


def test_burstgpt_leaves_failures_out_and_counts_them(tmp_path):
    text = BURSTGPT + "5,ChatGPT,472,18,490,API log\n45,GPT-4,10,0,10,API log\n50.5,GPT-4,7,3,10,Conversation log\n"
    trace = read(tmp_path, text)
    assert trace.arrival.tolist() == [0, 45.5]
    assert trace.lengths.prompt.tolist() == [472, 7]
    assert trace.lengths.output.tolist() == [18, 3]
    assert (trace.left_out, trace.lines.tolist()) == (1, [2, 4])


def test_a_file_of_failures_alone(tmp_path):
    assert problems(tmp_path, BURSTGPT + "5,GPT-4,10,0,10,API log\n") == [("", "")]


def test_every_bad_cell_of_burstgpt_is_named(tmp_path):
    found = problems(tmp_path, BURSTGPT + "5,a,0,18,18,x\nnan,a,1,-1,0,x\n4,a,,1,1,x\n")
    assert found == [
        ("line 2, Request tokens", "'0'"),
        ("line 3, Timestamp", "'nan'"),
        ("line 3, Response tokens", "'-1'"),
        ("line 4, Timestamp", "'4'"),
        ("line 4, Request tokens", "''"),
    ]


def test_own_format_counts_from_the_start_of_the_run(tmp_path):
    trace = read(tmp_path, OWN + "1.5,10,2\n1.5,11,3\n")
    assert trace.arrival.tolist() == [1.5, 1.5]
    assert trace.lengths.priority is None
    assert trace.lengths.domain is None


def test_own_format_with_domains_and_priorities(tmp_path):
    trace = read(tmp_path, "priority,arrival_s,prompt_tokens,output_tokens,domain\n1,0,10,2,0\n0,0.25,11,3,4\n")
    assert trace.lengths.priority.tolist() == [1, 0]
    assert trace.lengths.domain.tolist() == [0, 4]
    chosen = trace.lengths[np.array([1])]
    assert (chosen.priority.tolist(), chosen.domain.tolist(), chosen.prompt.tolist()) == ([0], [4], [11])


def test_every_bad_cell_of_the_own_format_is_named(tmp_path):
    text = "arrival_s,prompt_tokens,output_tokens,priority,domain\n-1,1,1,0,0\n2,1,1,64,a\n1,1,1e3,0,0\n"
    assert problems(tmp_path, text) == [
        ("line 2, arrival_s", "'-1'"),
        ("line 3, domain", "'a'"),
        ("line 3, priority", "'64'"),
        ("line 4, arrival_s", "'1'"),
        ("line 4, output_tokens", "'1e3'"),
    ]


def test_a_long_list_is_capped_with_a_count(tmp_path):
    found = problems(tmp_path, line() + line(input_length=0) * 1000)
    assert len(found) == MAX_PROBLEMS + 1


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("TIMESTAMP,x\n", ["ContextTokens", "GeneratedTokens"]),
        ("Timestamp,Model\n", ["Request tokens", "Response tokens"]),
        ("arrival_s,prompt_tokens\n", ["output_tokens"]),
    ],
)
def test_the_format_is_told_from_any_of_its_columns(tmp_path, text, missing):
    assert [path for path, _ in problems(tmp_path, text)] == missing


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "", "1 2 3\n"])
def test_a_file_in_no_known_format_is_told_them_all(tmp_path, text):
    (tmp_path / "trace.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        read_trace(tmp_path / "trace.txt")
    for named in ("azure: TIMESTAMP", "burstgpt: Timestamp", "specsim: arrival_s", "mooncake"):
        assert named in str(caught.value)


def test_a_format_that_is_named_is_taken_at_its_word(tmp_path):
    assert problems(tmp_path, OWN + "1,1,1\n", "azure")[0][0] == "TIMESTAMP"
