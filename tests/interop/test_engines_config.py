"""What is written for engines is read back as the same schedule, and names drafters as engines do."""

import json
import shlex
from itertools import pairwise

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from specsim.inputs.models.drafters import Drafter
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.interop.engines_config import checkpoint_of, sglang_setting, tensorrt_setting, vllm_setting
from specsim.studies.decide.schedules import draft_length_at

LARGEST = 4096
KINDS = {
    "eagle": {"kind": "eagle", "model": "heads/e1/config.json", "generation": "eagle"},
    "eagle3": {"kind": "eagle", "model": "my-head"},
    "draft_model": {"kind": "draft_model", "model": "small", "tensor_parallel": 1},
    "mtp": {"kind": "mtp"},
    "medusa": {"kind": "medusa", "num_heads": 5},
    "dflash": {"kind": "block_parallel", "model": "block", "block_size": 8, "fused_layers": 5},
    "dspark": {
        "kind": "block_parallel",
        "model": "block",
        "block_size": 8,
        "fused_layers": 5,
        "sequential_correction": {"rank": 256},
    },
    "ngram": {"kind": "ngram", "host_time_per_step": "0 us", "host_time_per_sequence": "0 us"},
}


def drafter(name):
    return TypeAdapter(Drafter).validate_python(KINDS[name])


def schedule(*rows):
    """Of (last batch, draft length)."""
    starts = [1, *(last + 1 for last, _ in rows[:-1])]
    table = [{"batch": [first, last], "num_draft_tokens": k} for first, (last, k) in zip(starts, rows, strict=True)]
    return SchedulePolicy(kind="schedule", table=table)


FALLING = schedule((16, 3), (128, 2), (None, 0))


def vllm(name, rows=FALLING):
    flag, text = shlex.split(vllm_setting(drafter(name), rows, checkpoint_of(drafter(name)), LARGEST).text)
    assert flag == "--speculative-config"
    return json.loads(text)


def tensorrt(name, rows=FALLING):
    return yaml.safe_load(tensorrt_setting(drafter(name), rows, checkpoint_of(drafter(name)), LARGEST).text)


def sglang(name, k):
    words = shlex.split(sglang_setting(drafter(name), k, checkpoint_of(drafter(name))).text)
    return dict(zip(words[::2], words[1::2], strict=True))


schedules = st.builds(
    lambda lasts, lengths: [*zip(sorted(lasts), lengths, strict=False), (None, lengths[-1])],
    st.sets(st.integers(1, LARGEST - 1), min_size=1, max_size=5),
    st.lists(st.integers(0, 8), min_size=6, max_size=6).filter(any),
).map(lambda rows: schedule(*rows))


@given(schedules)
def test_vllm_reads_the_same_lengths(stated):
    form = "num_speculative_tokens_per_batch_size"
    written = vllm("eagle3", stated)
    assert written["num_speculative_tokens"] == stated.num_draft_tokens
    read = SchedulePolicy(kind="schedule", **{form: written[form]})
    assert [draft_length_at(read, b) for b in _around(stated)] == [draft_length_at(stated, b) for b in _around(stated)]


@given(schedules)
def test_tensorrt_reads_the_same_lengths(stated):
    """Up to the largest batch written; nothing is drafted beyond, and the longest draft has to come first."""
    setting = tensorrt_setting(drafter("eagle3"), stated, "my-head", LARGEST)
    if stated.rows[0].num_draft_tokens < stated.num_draft_tokens:
        assert not setting.text
        assert "the longest draft in the first range" in setting.instead
        return
    config = yaml.safe_load(setting.text)["speculative_config"]
    assert config["max_draft_len"] == stated.num_draft_tokens == next(iter(config["draft_len_schedule"].values()))
    read = SchedulePolicy(kind="schedule", draft_len_schedule=config["draft_len_schedule"])
    batches = [batch for batch in _around(stated) if batch <= LARGEST]
    assert [draft_length_at(read, b) for b in batches] == [draft_length_at(stated, b) for b in batches]
    assert draft_length_at(read, LARGEST + 1) == 0


def _around(stated):
    """Both sides of every change, and the ends."""
    changes = [row.batch[0] for row, _ in pairwise(stated.rows[1:])] + [stated.rows[-1].batch[0]]
    return sorted({1, LARGEST, 10 * LARGEST, *changes, *(change - 1 for change in changes if change > 1)})


def test_what_is_written_for_vllm():
    assert vllm("eagle3") == {
        "method": "eagle3",
        "model": "my-head",
        "num_speculative_tokens": 3,
        "num_speculative_tokens_per_batch_size": {"1-16": 3, "17-128": 2, "129-4096": 0},
    }


def test_what_is_written_for_tensorrt():
    config = {"decoding_type": "Eagle3", "max_draft_len": 3, "speculative_model": "my-head"}
    assert tensorrt("eagle3") == {"speculative_config": config | {"draft_len_schedule": {16: 3, 128: 2}}}


@pytest.mark.parametrize("name", KINDS)
def test_vllms_names_of_drafters(name):
    """The methods of vLLM's SpeculativeConfig."""
    written = vllm(name)
    assert written["method"] == name
    assert ("model" in written) == (name not in ("mtp", "ngram"))
    assert written.get("draft_tensor_parallel_size") == (1 if name == "draft_model" else None)


def test_the_folder_of_a_config_is_the_checkpoint():
    assert vllm("eagle")["model"] == "heads/e1"


@pytest.mark.parametrize(
    ("name", "due"),
    [
        ("eagle3", "Eagle3"),
        ("draft_model", "Draft_Target"),
        ("mtp", "MTP"),
        ("ngram", "NGram"),
        ("dflash", "DFlash"),
        ("eagle", None),
        ("medusa", None),
        ("dspark", None),
    ],
)
def test_tensorrts_names_of_drafters(name, due):
    """decoding_type of its llm_args.py; others have no schedule there, and a sentence says so."""
    setting = tensorrt_setting(drafter(name), FALLING, "x", LARGEST)
    assert bool(setting.text) == bool(due) != bool(setting.instead)
    if due:
        assert tensorrt(name)["speculative_config"]["decoding_type"] == due


def test_one_length_needs_no_table():
    one = schedule((None, 2))
    assert vllm("mtp", one) == {"method": "mtp", "num_speculative_tokens": 2}
    assert tensorrt("mtp", one) == {"speculative_config": {"decoding_type": "MTP", "max_draft_len": 2}}


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("eagle", "EAGLE"), ("eagle3", "EAGLE3"), ("draft_model", "STANDALONE"), ("mtp", "NEXTN")],
)
def test_sglang_counts_one_more(name, algorithm):
    flags = sglang(name, 3)
    assert flags["--speculative-algorithm"] == algorithm
    assert flags["--speculative-num-steps"] == "3"
    assert flags["--speculative-eagle-topk"] == "1"
    assert flags["--speculative-num-draft-tokens"] == "4"
    assert ("--speculative-draft-model-path" in flags) == (name != "mtp")


@pytest.mark.parametrize(("name", "algorithm"), [("ngram", "NGRAM"), ("dflash", "DFLASH"), ("dspark", "DSPARK")])
def test_sglang_drafts_these_without_steps(name, algorithm):
    flags = sglang(name, 3)
    assert flags["--speculative-algorithm"] == algorithm
    assert "--speculative-num-steps" not in flags
    assert flags["--speculative-num-draft-tokens"] == "4"


def test_sglang_has_no_medusa():
    assert sglang_setting(drafter("medusa"), 3, "x").instead == "SGLang does not support this drafter."


def test_names_are_quoted_for_a_shell():
    name = "my head's/v1"
    assert shlex.split(sglang_setting(drafter("eagle3"), 1, name).text)[3] == name
    written = json.loads(shlex.split(vllm_setting(drafter("eagle3"), FALLING, name, LARGEST).text)[1])
    assert written["model"] == name
