"""The same scenario gives the same files, whatever the number of processes; another seed gives others."""

import pytest

SMALL = (
    *("--set", "curve.batches=[1,4]"),
    *("--set", "curve.num_draft_tokens=[1,2]"),
    *("--set", "curve.replications=2"),
    *("--set", "workload.lengths={kind: quantiles, table: azure-2023-conversation}"),
    *("--set", "curve.requests_per_slot=3"),
    *("--set", "curve.min_requests=6"),
    *("--set", "run.replications=2"),
    *("--set", "workload.num_requests=12"),
    *("--set", "workload.load.concurrency=3"),
)


@pytest.fixture
def written(command, tmp_path):
    """Runs a small scenario and gives its files by name."""

    def run(job, *arguments, scenario="llama3.1-8b-h100-eagle3", options=SMALL):
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        outcome = command(job, scenario, "--out", folder, *options, *arguments)
        assert outcome.code == 0, outcome.err
        return {file.name: file.read_bytes() for file in folder.iterdir()}

    return run


def differing(one, other):
    assert set(one) == set(other)
    return {name for name in one if one[name] != other[name]}


@pytest.mark.slow
def test_curves(written):
    first = written("curve", "--jobs", "1")
    assert set(first) == {
        *("curve.csv", "closed_form.csv", "curve.png", "curve.svg"),
        *("answer.txt", "scenario.yaml", "provenance.json", "manifest.json"),
    }
    assert not differing(first, written("curve", "--jobs", "1"))
    assert not differing(first, written("curve", "--jobs", "2"))
    assert {"curve.csv", "curve.svg", "scenario.yaml"} <= differing(first, written("curve", "--set", "seed=2"))


@pytest.mark.slow
def test_a_single_load(written):
    first = written("simulate")
    assert set(first) == {
        *("answer.txt", "manifest.json", "summary.json", "scenario.yaml", "provenance.json"),
        *("requests-0.csv", "steps-0.csv", "requests-3.csv", "steps-3.csv", "simulate.png", "simulate.svg"),
    }
    assert not differing(first, written("simulate"))
    assert {"summary.json", "requests-3.csv"} <= differing(first, written("simulate", "--set", "seed=2"))


@pytest.mark.slow
@pytest.mark.parametrize("job", ["curve", "simulate"])
def test_the_scenario_written_runs_again_and_gives_the_same(written, job, tmp_path):
    one_job = ("--jobs", "1") if job == "curve" else ()
    first = written(job, *one_job)
    file = tmp_path / "again.yaml"
    file.write_bytes(first["scenario.yaml"])
    again = written(job, *one_job, scenario=file, options=())
    # provenance names the scenario file that was read, which is another one
    assert differing(first, again) == {"provenance.json"}
