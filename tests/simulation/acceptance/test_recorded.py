"""Replayed acceptance: rounds accept what was recorded where they start, cut to their drafts; exactly."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.inputs.models.policy import PerRequestPolicy
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.workload.recordings import read_recording

DEMO, K = "llama3.1-8b-h100-eagle3", 4
REAL = sorted((Path(__file__).parents[3].parent / "shared" / "traces" / "acceptance").glob("*.jsonl"))


def written(path, requests=20, seed=0):
    """Lists of up to 30 tokens for outputs of up to 40: some shorter than the output, some longer."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "request": str(i),
            "prompt_tokens": int(rng.integers(5, 50)),
            "output_tokens": int(rng.integers(2, 41)),
            "eagle": rng.integers(1, 9, rng.integers(1, 31)).tolist(),
            "ngram": [1, 1, 3],
        }
        for i in range(requests)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return rows


def overrides(file, *more, field="eagle"):
    return [
        f"speculation.acceptance={{kind: replay, file: '{file}', field: {field}}}",
        "speculation.temperature=0",
        f"workload.lengths={{kind: trace, file: '{file}'}}",
        *more,
    ]


def served(simulation, num_draft_tokens, *, number=60, policy=None):
    load = ClosedLoop(kind="closed_loop", concurrency=8)
    return simulation.run(load, num_draft_tokens=num_draft_tokens, num_requests=number, replication=0, policy=policy)


def walk(found, output, num_draft_tokens):
    """Accepted drafts round by round, by a walk along the list from the position after the prompt's token."""
    accepted, position = [], 1
    while position < output:
        accepted.append(min(found[position % len(found)] - 1, num_draft_tokens))
        position += accepted[-1] + 1
    return accepted


def by_request(rounds):
    order = np.argsort(rounds.request, kind="stable")
    order = order[~rounds.from_prompt[order]]
    return [rounds.num_accepted[order[rounds.request[order] == r]].tolist() for r in range(rounds.request.max() + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [1, 3, 7])
@pytest.mark.parametrize("drafts", ["sampled", "argmax"])
def test_rounds_are_those_of_a_walk_along_the_lists(tmp_path, num_draft_tokens, drafts):
    rows = written(tmp_path / "recording.jsonl")
    stated = overrides(tmp_path / "recording.jsonl", f"speculation.drafts={drafts}")
    simulation = Simulation(load_scenario(DEMO, stated))
    lengths = simulation.lengths(60, 0)
    assert len(set(lengths.recording.tolist())) > 10
    due = []
    for r, recorded in enumerate(lengths.recording):
        assert lengths.prompt[r] == rows[recorded]["prompt_tokens"]
        assert lengths.output[r] == rows[recorded]["output_tokens"]
        due.append(walk(rows[recorded]["eagle"], lengths.output[r], num_draft_tokens))
    assert by_request(served(simulation, num_draft_tokens).rounds) == due


def test_the_expected_tokens_are_those_of_the_walk_over_the_recording(tmp_path):
    rows = written(tmp_path / "recording.jsonl")
    simulation = Simulation(load_scenario(DEMO, overrides(tmp_path / "recording.jsonl")))
    steps = [1 + n for row in rows for n in walk(row["eagle"], row["output_tokens"], K)]
    assert tokens_per_verify(simulation, K) == np.mean(steps)


def test_draft_lengths_that_change_cut_what_was_recorded(tmp_path):
    rows = written(tmp_path / "recording.jsonl")
    simulation = Simulation(load_scenario(DEMO, overrides(tmp_path / "recording.jsonl")))
    policy = PerRequestPolicy(kind="per_request", num_draft_tokens=6, start=2)
    rounds, lengths = served(simulation, 6, policy=policy).rounds, simulation.lengths(60, 0)
    emitted = np.zeros(60, int)
    for i in range(len(rounds.request)):
        r = rounds.request[i]
        if not rounds.from_prompt[i]:
            found = rows[lengths.recording[r]]["eagle"]
            assert rounds.num_accepted[i] == min(found[emitted[r] % len(found)] - 1, rounds.num_draft[i])
        emitted[r] += rounds.num_emitted[i]
    assert len(set(rounds.num_draft.tolist())) > 3


@pytest.mark.skipif(not REAL, reason="needs ../shared/traces/acceptance, which is not beside this checkout")
@pytest.mark.parametrize("field", ["eagle", "ngram"])
@pytest.mark.parametrize("file", REAL, ids=lambda file: file.stem)
def test_published_recordings(file, field):
    """In a run whose lengths are the recording's each round and so the mean is that of the walk, exactly."""
    simulation = Simulation(load_scenario(DEMO, overrides(file, field=field)))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    lengths = simulation.lengths(50, 0)
    due = [walk(rows[i][field], n, K) for i, n in zip(lengths.recording, lengths.output, strict=True)]
    rounds = served(simulation, K, number=50).rounds
    assert by_request(rounds) == due
    assert rounds.num_accepted[~rounds.from_prompt].mean() == np.mean([*chain(*due)])


def test_with_lengths_of_their_own_requests_take_recordings_by_luck(tmp_path):
    rows = written(tmp_path / "recording.jsonl")
    lengths = "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 30}"
    simulation = Simulation(load_scenario(DEMO, overrides(tmp_path / "recording.jsonl", lengths)))
    drawn = simulation.lengths(2000, 0).recording
    count = np.bincount(drawn, minlength=20)
    assert (np.abs(count - 100) < 4 * np.sqrt(100 * 0.95)).all()  # each of 20 is as likely
    np.testing.assert_array_equal(simulation.lengths(60, 0).recording, drawn[:60])
    due = [walk(rows[r]["eagle"], 30, K) for r in drawn[:60]]
    assert by_request(served(simulation, K).rounds) == due


def test_classes_replay_recordings_of_their_own(tmp_path):
    """And a class whose acceptance is stated shares the batch."""
    one, two = written(tmp_path / "one.jsonl", seed=1), written(tmp_path / "two.jsonl", requests=7, seed=2)
    mixture = (
        "workload.mixture=[{share: 0.4}, "
        f"{{share: 0.3, acceptance: {{kind: replay, file: '{tmp_path / 'two.jsonl'}', field: ngram}}}}, "
        "{share: 0.3, acceptance: {kind: constant, overlap: 1.0}}]"
    )
    simulation = Simulation(load_scenario(DEMO, overrides(tmp_path / "one.jsonl", mixture)))
    lengths = simulation.lengths(60, 0)
    seen = by_request(served(simulation, K).rounds)
    for r, (domain, recording, output) in enumerate(
        zip(lengths.domain, lengths.recording, lengths.output, strict=True)
    ):
        found = [K + 1] if domain == 2 else two[recording]["ngram"] if domain else one[recording]["eagle"]
        assert (recording >= 0) == (domain < 2)
        assert seen[r] == walk(found, output, K)
        if domain == 0:  # whose lengths are the recording's
            assert output == one[recording]["output_tokens"]


def problems(path, field="eagle"):
    with pytest.raises(InputError) as caught:
        read_recording(path, field)
    return [(problem.path, problem.value) for problem in caught.value.problems]


def test_everything_wrong_with_a_recording_is_said_at_once(tmp_path):
    path = tmp_path / "recording.jsonl"
    good = {"prompt_tokens": 5, "output_tokens": 4, "eagle": [1, 2]}
    bad = [{"eagle": [1, 0]}, {"eagle": []}, {"eagle": [1.5]}, {"eagle": [66]}, {"prompt_tokens": -1}, {"eagle": "2"}]
    path.write_text("\n".join(json.dumps(good | change) for change in ({}, *bad)))
    places = [
        ("line 2, eagle", "[1, 0]"),
        ("line 3, eagle", "[]"),
        ("line 4, eagle", "[1.5]"),
        ("line 5, eagle", "[66]"),
    ]
    assert problems(path) == [*places, ("line 6, prompt_tokens", "-1"), ("line 7, eagle", "'2'")]
    path.write_text(json.dumps(good) + "\n{}\n")
    assert [place for place, _ in problems(path)] == ["line 2, prompt_tokens", "line 2, output_tokens", "line 2, eagle"]


def test_a_field_that_is_not_there_is_named_once(tmp_path):
    written(tmp_path / "recording.jsonl")
    with pytest.raises(InputError, match="lists in this recording: eagle, ngram"):
        read_recording(tmp_path / "recording.jsonl", "eagel")
    assert problems(tmp_path / "recording.jsonl", "eagel") == [("eagel", "")]


def test_a_recording_has_no_times_to_replay(tmp_path):
    written(tmp_path / "recording.jsonl")
    stated = overrides(tmp_path / "recording.jsonl", "workload.load={kind: replay}", "workload.num_requests=5")
    simulation = Simulation(load_scenario(DEMO, stated))
    load = simulation.inputs.scenario.workload.load
    with pytest.raises(InputError, match="no times"):
        simulation.run(load, num_draft_tokens=1, num_requests=5, replication=0)
