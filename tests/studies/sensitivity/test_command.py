"""``specsim sensitivity``: an answer with its files, what was finished before Ctrl-C, and bad input."""

import pandas as pd
import pytest

from specsim.studies.shared import points

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "workload.lengths={kind: fixed, prompt_tokens: 16, output_tokens: 32}"),
    *("--set", "curve={batches: [1, 200], replications: 2, requests_per_slot: 3}"),
    *("--set", "speculation.acceptance={kind: constant, overlap: 0.5}"),
    *("--jobs", "1"),
)
FILES = {
    *("answer.txt", "manifest.json", "provenance.json", "scenario.yaml"),
    *("sensitivity.csv", "sensitivity.png", "sensitivity.svg"),
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return tmp_path_factory.mktemp("sensitivity") / "first"


@pytest.fixture(scope="module")
def runs():
    """Arguments and results of the points of a whole sensitivity, in their order."""
    return []


@pytest.fixture
def played_back(monkeypatch, runs):
    """Returns what was simulated before, to whoever asks for the same in the same order."""
    before = iter(runs)

    def run_point(*asked):
        given, result = next(before)
        assert asked == given
        return result

    monkeypatch.setattr(points, "run_point", run_point)
    return run_point


def test_an_answer_and_its_files(command, result, runs, monkeypatch):
    function = points.run_point

    def recorded(*asked):
        runs.append((asked, function(*asked)))
        return runs[-1][1]

    monkeypatch.setattr(points, "run_point", recorded)
    code, out, _ = command("sensitivity", DEMO, *SMALL, "--out", result)
    assert code == 0
    assert out.startswith("With 3 draft tokens speculation pays up to batch ")
    assert {path.name for path in result.iterdir()} == FILES
    table = pd.read_csv(result / "sensitivity.csv")
    assert table["input"].value_counts().to_dict() == {
        "none": 1,
        **dict.fromkeys(("acceptance", "bandwidth achieved", "compute achieved", "draft time", "host time"), 2),
    }


@pytest.mark.usefixtures("played_back")
def test_the_same_runs_give_the_same_bytes(command, result, tmp_path):
    assert command("sensitivity", DEMO, *SMALL, "--out", tmp_path / "again").code == 0
    for name in FILES - {"provenance.json"}:
        assert (tmp_path / "again" / name).read_bytes() == (result / name).read_bytes()


def test_inputs_that_are_finished_are_written(command, tmp_path, monkeypatch, played_back):
    calls = []

    def stopped(*asked):
        calls.append(1)
        if len(calls) > 140:
            raise KeyboardInterrupt
        return played_back(*asked)

    monkeypatch.setattr(points, "run_point", stopped)
    code, out, err = command("sensitivity", DEMO, *SMALL, "--out", tmp_path / "new")
    assert code == 130
    last = err.splitlines()[-1]
    assert last.startswith("interrupted; ")
    assert last.endswith(" missing")
    assert "Interrupted: " in out
    assert (tmp_path / "new" / "sensitivity.csv").exists()


def test_before_one_is_finished_nothing_is_written(command, tmp_path, monkeypatch):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(points, "run_point", stopped)
    code, _, err = command("sensitivity", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--change", "0"), "--change is 0.0: must be a share from 0.01 to 0.9"),
        (("--change", "1"), "--change"),
        (("--change", "nan"), "--change is nan: must be a share from 0.01 to 0.9"),
        (("--set", "speculation.policy.num_draft_tokens=0"), "drafts nothing"),
    ],
)
def test_bad_input_is_refused(command, tmp_path, options, said):
    code, _, err = command("sensitivity", DEMO, *SMALL, *options, "--out", tmp_path / "new")
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "new").exists()
