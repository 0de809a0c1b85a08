"""Prices beyond what a device was measured over are warned of once, on standard error and in the result."""

import json
import re

import pytest

from specsim.inputs.read import catalogue

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "curve.batches=[1,16]", "--set", "curve.num_draft_tokens=[3]", "--set", "curve.replications=2"),
    *("--set", "run.replications=2", "--set", "workload.num_requests=16", "--set", "workload.load.concurrency=16"),
    *("--set", "workload.lengths.output_tokens=16"),
)
WARNING = (
    r"Beyond the measured matrix products of NVIDIA H100 SXM5 80 GB: steps of more than 1,025 tokens take up to "
    r"(?P<share>\d+)% of the time, which by measured errors may move times by (?P<effect>\d)%, and speedups by less\."
)
SETTLED = r" Step times of your own settle it: specsim calibrate\."
ERROR = 0.057  # median of the H100's products of more than 1,025 rows
LONG = ("--set", "workload.lengths.prompt_tokens=1600")
CASES = {
    "curve": (("--jobs", "1", *SMALL, *LONG), ["provenance.json"]),
    "simulate": ((*SMALL, *LONG), ["provenance.json", "summary.json"]),
    "cost": (("--batch", "1,300", "--num-draft-tokens", "0,3"), ["provenance.json"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("job", CASES)
def test_it_is_said_once_and_kept(command, tmp_path, job):
    arguments, files = CASES[job]
    code, out, err = command(job, DEMO, *arguments, "--out", tmp_path / "new")
    assert code == 0
    found = re.fullmatch(WARNING + SETTLED + "\n", err)
    assert abs(int(found["effect"]) - ERROR * int(found["share"])) <= 0.5 + ERROR / 2  # both are rounded
    assert "Beyond the measured" not in out
    for file in files:
        assert json.loads((tmp_path / "new" / file).read_text())["warning"] == err.strip()


def test_a_small_effect_is_not_said(command, tmp_path):
    """Prompts of 1,100 tokens that come now and then are beyond the range, for less than 44 % of the time."""
    arguments = (*SMALL, "--set", "workload.load.concurrency=4", "--set", "workload.lengths.prompt_tokens=1100")
    lengths = ("--set", "workload.lengths.output_tokens=64")
    code, _, err = command("simulate", DEMO, *arguments, *lengths, "--out", tmp_path / "new")
    assert (code, err) == (0, "")


FITTED = r" Up to \d+% of the time lies beyond what the engine profile 'mine' was calibrated on: "
BEYOND = {
    "curve": r"up to 16 requests in a step \(calibrated up to 8\)\.",
    "simulate": r"up to 16 requests in a step \(calibrated up to 8\)\.",
    "cost": r"up to 300 requests in a step \(calibrated up to 8\)\.",
}


@pytest.fixture
def mine(tmp_path):
    """An engine profile that says how far its measurements went."""
    lines = (catalogue.ROOT / "hardware" / "engines" / "vllm.yaml").read_text().splitlines()[2:]
    measured = "measured_range: {step_tokens: 8192, requests: 8, context_tokens: 1000000}"
    source = "  measured_range: {kind: measured, reference: our own runs}"
    (tmp_path / "mine.yaml").write_text("\n".join(["name: mine", measured, *lines, source]))
    return tmp_path / "mine.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("job", CASES)
def test_beyond_what_a_profile_was_fitted_to(command, tmp_path, mine, job):
    arguments, files = CASES[job]
    options = (*arguments, "--set", f"deployment.engine={mine}", "--out", tmp_path / "new")
    code, _, err = command(job, DEMO, *options)
    assert code == 0
    assert re.fullmatch(WARNING + FITTED + BEYOND[job] + SETTLED + "\n", err)
    for file in files:
        assert json.loads((tmp_path / "new" / file).read_text())["warning"] == err.strip()


TABLE = """\
sweep,load_kind,load,num_requests,prompt_tokens,output_tokens,num_draft_tokens,metric,baseline,with_speculation
mine,concurrency,1,2,90,16,2,output_tokens_per_s,150,250
mine,concurrency,16,32,90,16,2,output_tokens_per_s,1000,900
other,concurrency,12,24,90,16,2,output_tokens_per_s,1000,900
"""
STEPS = "measured,mode,requests,query_tokens,context,ms\nstep,graph,8,1,200000,900\nstep,graph,2,1000,1000,90\n"


@pytest.fixture
def base(tmp_path, mine):
    (tmp_path / "base.yaml").write_text(f"extends: {DEMO}\nname: base\ndeployment: {{engine: {mine}}}\n")
    return ("--scenario", tmp_path / "base.yaml", "--jobs", "1", "--out", tmp_path / "new")


@pytest.mark.slow
def test_validate_says_it_once_for_all_rows_and_keeps_it(command, tmp_path, base):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "trace.csv").write_text(STEPS)
    tables = ("--measurements", tmp_path / "table.csv", "--steps", tmp_path / "trace.csv")
    code, out, err = command("validate", *tables, *base)
    both = BEYOND["curve"][:-2] + r"; up to 1,600,000 tokens of context in a step \(calibrated up to 1,000,000\)\."
    assert code == 0
    assert re.fullmatch(WARNING + FITTED + both + SETTLED + "\n", err)
    assert "Beyond the measured" not in out
    assert (tmp_path / "new" / "accuracy.md").read_text().count(err.strip()) == 1


def test_validate_within_the_ranges_says_nothing(command, tmp_path, base):
    (tmp_path / "trace.csv").write_text("measured,mode,requests,query_tokens,context,ms\nstep,graph,8,1,200,9\n")
    code, _, err = command("validate", "--steps", tmp_path / "trace.csv", *base)
    assert (code, err) == (0, "")
    assert "Beyond the measured" not in (tmp_path / "new" / "accuracy.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("job", CASES)
def test_nothing_is_said_within_the_range(command, tmp_path, job):
    quiet = {
        "curve": ("--set", "curve.batches=[1,4]", "--set", "workload.lengths.prompt_tokens=100"),
        "simulate": ("--set", "workload.load.concurrency=4", "--set", "workload.lengths.prompt_tokens=100"),
        "cost": ("--batch", "8"),
    }[job]
    arguments = CASES[job][0] if job != "cost" else ()
    code, _, err = command(job, DEMO, *arguments, *quiet, "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert "warning" not in json.loads((tmp_path / "new" / "provenance.json").read_text())
