"""Prices beyond what a device was measured over are warned of once, on standard error and in the result."""

import json

import pytest

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "curve.batches=[1,16]", "--set", "curve.num_draft_tokens=[3]", "--set", "curve.replications=2"),
    *("--set", "run.replications=2", "--set", "workload.num_requests=16", "--set", "workload.load.concurrency=16"),
    *("--set", "workload.lengths.output_tokens=16"),
)
WARNING = (
    "Beyond what the matrix products of NVIDIA H100 SXM5 80 GB were fitted to: steps of up to {} tokens, measured up "
    "to 1,025."
)
# sixteen prompts at once
CASES = {
    "curve": (("--jobs", "1", *SMALL), "1,600", ["provenance.json"]),
    "simulate": (SMALL, "1,600", ["provenance.json", "summary.json"]),
    "cost": (("--batch", "1,300", "--num-draft-tokens", "0,3"), "1,200", ["provenance.json"]),
}


@pytest.mark.parametrize("job", CASES)
def test_it_is_said_once_and_kept(command, tmp_path, job):
    arguments, tokens, files = CASES[job]
    code, out, err = command(job, DEMO, *arguments, "--out", tmp_path / "new")
    assert code == 0
    assert err == WARNING.format(tokens) + "\n"
    assert "Beyond" not in out
    for file in files:
        assert json.loads((tmp_path / "new" / file).read_text())["warning"] == WARNING.format(tokens)


@pytest.mark.parametrize("job", CASES)
def test_nothing_is_said_within_the_range(command, tmp_path, job):
    quiet = {
        "curve": ("--set", "curve.batches=[1,4]"),
        "simulate": ("--set", "workload.load.concurrency=4"),
        "cost": ("--batch", "8"),
    }[job]
    arguments = CASES[job][0] if job != "cost" else ()
    code, _, err = command(job, DEMO, *arguments, *quiet, "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert "warning" not in json.loads((tmp_path / "new" / "provenance.json").read_text())
