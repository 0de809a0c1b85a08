"""0: done; 1: the answer is no; 2: the question has to be corrected."""

import re

import pytest

DEMO = "llama3.1-8b-h100-eagle3"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("nonsense",),
        ("curve",),
        ("curve", DEMO, "--nonsense"),
        ("curve", DEMO, "--jobs", "0"),
        ("curve", DEMO, "--set"),
        ("simulate",),
        ("list",),
        ("list", "nonsense"),
        ("schema", "nonsense"),
        ("quantiles", "trace.csv"),
        ("theory", "--draft-cost", "-1"),
        ("theory", "--draft-cost", "nan"),
        ("prove", "--seed", "-1"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_makes_no_sense(command, arguments):
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize("job", ["curve", "simulate"])
def test_input_that_has_to_be_corrected(command, job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(job, DEMO, "--set", "curve.batchs=[1]", "--set", "slo.tpot=5")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "specsim: invalid input (2 problems):"
    assert len(err.splitlines()) == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("job", ["curve", "simulate"])
def test_a_scenario_that_can_never_run(command, job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(job, DEMO, "--set", "workload.lengths.prompt_tokens=999999")
    assert (code, out) == (2, "")
    assert err.startswith("specsim: this scenario can never run (2 problems):")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("job", ["curve", "simulate"])
def test_results_are_not_overwritten_unasked(command, job, tmp_path, monkeypatch):
    def nothing_runs(*args, **kwargs):
        raise AssertionError("something was simulated")

    monkeypatch.setattr("specsim.simulation.replica.serve_closed_loop", nothing_runs)
    (tmp_path / "curve.csv").write_text("mine")
    code, out, err = command(job, DEMO, "--out", tmp_path)
    assert (code, out) == (2, "")
    assert "--force" in err
    assert (tmp_path / "curve.csv").read_text() == "mine"


@pytest.fixture
def few_checks(monkeypatch):
    """The first of the proof's checks; tests/verification/test_losslessness.py runs all."""
    from specsim.verification.proof import chain_checks as proof

    monkeypatch.setattr(proof, "JOBS", proof.JOBS[:2])
    monkeypatch.setattr(proof, "tree_checks", lambda seed, quick: ())
    return proof


@pytest.mark.slow
def test_a_verifier_that_is_lossless(command, few_checks):
    code, out, _ = command("prove", "--quick")
    assert code == 0
    assert re.match(
        r"The verifiers pass all \d+ checks of losslessness, and all \d+ checks of deliberately wrong verifiers", out
    )
    assert "WRONG" not in out


@pytest.mark.slow
def test_a_verifier_that_is_not(command, few_checks, monkeypatch):
    from specsim.verification.proof.mutants.residuals import absolute_difference
    from specsim.verification.proof.trials import EXACT

    job = few_checks.trial_job("verify_chain", absolute_difference, "token", EXACT, "pass")
    monkeypatch.setattr(few_checks, "JOBS", (job, *few_checks.JOBS))
    code, out, _ = command("prove", "--quick")
    assert code == 1
    assert out.startswith("NOT proved: ")
    assert "WRONG" in out


@pytest.mark.slow
def test_an_interruption_says_so(command, monkeypatch, tmp_path):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("specsim.simulation.replica.serve_closed_loop", interrupted)
    code, _, err = command("curve", DEMO, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 130
    assert "interrupted; nothing was written" in err
    assert not list(tmp_path.iterdir())


def test_a_bug_is_not_dressed_up_as_bad_input(command, monkeypatch, tmp_path):
    def bug(*args, **kwargs):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("specsim.simulation.replica.serve_closed_loop", bug)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        command("simulate", DEMO, "--out", tmp_path / "new")
