"""``specsim calibrate`` from the command line: what it needs, what it refuses, what it writes."""

import pytest
import yaml

from specsim.inputs.models.engine import Engine

DEMO = "llama3.1-8b-h100-eagle3"
HEAD = (
    "sweep,device,engine,model,drafter,load_kind,load,num_requests,prompt_tokens,output_tokens,num_draft_tokens,metric,"
    "baseline,with_speculation\n"
)
ROW = "mine,H100,vLLM,Llama,eagle3,concurrency,{load},8,60,20,{k},output_tokens_per_s,{baseline},{drafted}\n"


@pytest.fixture
def table(tmp_path):
    def write(*rows):
        file = tmp_path / "mine.csv"
        file.write_text(HEAD + "".join(rows))
        return file

    return write


@pytest.mark.slow
def test_a_profile_is_fitted_and_written_and_can_be_named_in_a_scenario(command, table, tmp_path):
    row = ROW.format(load=4, k=3, baseline=460, drafted=700)
    code, out, err = command("calibrate", table(row), "--scenario", DEMO, "--out", tmp_path / "mine.yaml")
    assert (code, err) == (0, "")
    assert " parameters are identified by 2 measured figures" in out.splitlines()[0]
    assert out.splitlines()[1].startswith("It narrows the model's error of speedups (90 %) to 0.9")
    profile = Engine.model_validate(yaml.safe_load((tmp_path / "mine.yaml").read_text()))
    assert profile.general == "vllm"
    assert profile.device == "h100-sxm"
    seen = profile.measured_range
    # four prompts at once; and in the last step with drafts each has 60 + 19 tokens and 3 drafts at most
    assert (seen.step_tokens, seen.requests) == (4 * 60, 4)
    assert 4 * (60 + 10) < seen.context_tokens <= 4 * (60 + 19 + 3)
    assert "measured_range" in profile.sources
    engine = ("--set", f"deployment.engine={tmp_path / 'mine.yaml'}")
    code, _, err = command("cost", DEMO, *engine, "--batch", "4", "--context", "60")
    assert (code, err) == (0, "")
    code, _, err = command("cost", DEMO, *engine, "--batch", "64", "--context", "60")
    assert code == 0
    beyond = f"Up to 100% of the time lies beyond what the engine profile '{profile.name}' was calibrated on: steps of "
    assert err.startswith(f"{beyond}up to 256 tokens")


@pytest.mark.slow
def test_without_speculation_it_says_what_is_not_fitted(command, table):
    row = ROW.format(load=1, k=0, baseline=120, drafted="")
    code, out, _ = command("calibrate", table(row), "--scenario", DEMO)
    assert code == 0
    assert "No figure was measured with speculation" in out


@pytest.mark.slow
def test_starting_from_a_calibrated_profile_is_said(command):
    out = command("calibrate", "--steps", "a100-llama-3.1-8b-median-itl").out
    assert "is calibrated itself" in out


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([ROW.format(load=1, k=3, baseline=120, drafted=210)], (), "line 2 is no device profile (use_device)"),
        (
            [ROW.format(load=1, k=3, baseline=0.12, drafted=0.2)],
            ("--scenario", DEMO),
            "is more than 20 times off",
        ),
        (
            [ROW.format(load=1, k=3, baseline=120, drafted=210)],
            ("--scenario", DEMO, "--sweep", "other"),
            "sweep is 'other': no row has it; known: mine",
        ),
        (
            [ROW.replace("concurrency", "rate").format(load=1, k=3, baseline=120, drafted=210)],
            ("--scenario", DEMO),
            "load_kind is rate: open loops cannot be timed again",
        ),
        (
            [ROW.format(load=1, k=3, baseline=120, drafted=210)],
            ("--scenario", DEMO, "--out", "/nowhere/mine.yaml"),
            "name a file in a writable folder that exists",
        ),
    ],
    ids=["rows that do not say everything", "another unit", "no such sweep", "open loops", "nowhere to write"],
)
def test_what_cannot_be_fitted_is_refused(command, table, rows, options, message):
    code, out, err = command("calibrate", table(*rows), *options)
    assert (code, out) == (2, "")
    assert message in err


def test_steps_that_do_not_say_everything_are_refused_too(command, tmp_path):
    (tmp_path / "steps.csv").write_text("measured,mode,requests,query_tokens,context,ms\nstep,graph,4,1,100,7\n")
    code, out, err = command("calibrate", "--steps", tmp_path / "steps.csv")
    assert (code, out) == (2, "")
    assert "steps.csv: line 2 is no use_device, no use_engine, no use_model: say it in the row" in err


@pytest.mark.slow
def test_rows_of_open_loops_beside_others_are_said_to_be_left_out(command, table):
    closed = ROW.format(load=1, k=0, baseline=120, drafted="")
    opened = ROW.replace("mine", "open").replace("concurrency", "rate").format(load=2, k=0, baseline=120, drafted="")
    code, out, _ = command("calibrate", table(closed, opened), "--scenario", DEMO)
    assert code == 0
    assert "1 rows of open loops are not used" in out


def test_no_table_at_all(command):
    code, _, err = command("calibrate")
    assert code == 2
    assert "name a table of measurements, or --steps TABLE" in err
