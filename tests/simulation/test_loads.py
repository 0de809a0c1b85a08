"""Loads as they reach the server: replays to the bit, the law of interactive response times, priorities, long rows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from specsim.errors import InfeasibleError, InputError
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

DEMO, THEORY = "llama3.1-8b-h100-eagle3", "theory-h100-ideal"


def run(scenario, *overrides, k=0, replication=0):
    inputs = load_scenario(scenario, overrides)
    workload = inputs.scenario.workload
    records = Simulation(inputs).run(
        workload.load, num_draft_tokens=k, num_requests=workload.num_requests, replication=replication
    )
    return records.requests


@pytest.fixture
def trace(tmp_path):
    """Thirty requests of irregular gaps, lengths and priorities, as the overrides that replay them."""
    rng = np.random.default_rng(1)
    times, prompt, output = np.cumsum(rng.exponential(0.3, 30)), rng.integers(1, 90, 30), rng.integers(1, 20, 30)
    file = tmp_path / "trace.csv"
    rows = (f"{a!r},{b},{c}" for a, b, c in zip(times.tolist(), prompt, output, strict=True))
    file.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return file, times, prompt, output


def replay(file, speed=1, number=30):
    lengths = f"workload.lengths={{kind: trace, file: '{file}'}}"
    return lengths, f"workload.load={{kind: replay, speed: {speed}}}", f"workload.num_requests={number}"


@pytest.mark.parametrize("speed", [1, 0.7, 3])
@pytest.mark.parametrize("k", [0, 3])
def test_a_replay_keeps_times_and_lengths_to_the_bit(trace, speed, k):
    file, times, prompt, output = trace
    requests = run(DEMO, *replay(file, speed), k=k)
    np.testing.assert_array_equal(requests.arrival, times / speed)
    np.testing.assert_array_equal(requests.prompt_tokens, prompt)
    np.testing.assert_array_equal(requests.output_tokens, output)


def test_a_replay_is_of_the_first_requests_in_every_replication(trace):
    file, times, prompt, _ = trace
    for replication in (0, 1):
        requests = run(DEMO, *replay(file, number=7), replication=replication)
        np.testing.assert_array_equal(requests.arrival, times[:7])
        np.testing.assert_array_equal(requests.prompt_tokens, prompt[:7])


def test_more_requests_than_the_trace_has_are_refused(trace):
    with pytest.raises(InputError, match=rf"{DEMO}.yaml: workload.num_requests is 31: the trace .* 30 requests"):
        run(DEMO, *replay(trace[0], number=31))


@pytest.mark.parametrize("load", ["{kind: closed_loop, concurrency: 2}", "{kind: replay}"])
def test_every_row_that_could_never_be_served_is_named_before_anything_runs(tmp_path, load):
    file = tmp_path / "long.csv"
    file.write_text(
        "arrival_s,prompt_tokens,output_tokens\n0,5,5\n\n1,131000,73\n2,100,200000\n3,131000,72\n4,900000,1\n"
    )
    lengths = f"workload.lengths={{kind: trace, file: '{file}'}}"
    with pytest.raises(InfeasibleError) as caught:
        run(DEMO, lengths, f"workload.load={load}", "workload.num_requests=5")
    found = [(p.where, p.path, p.value) for p in caught.value.problems if "max_position_embeddings" in p.remedy]
    lines = ((4, "131000 + 73"), (5, "100 + 200000"), (7, "900000 + 1"))
    assert found == [(str(file), f"line {line}, prompt + output", f"{value} tokens") for line, value in lines]
    pool = [p.path for p in caught.value.problems if "KV pool" in p.remedy]
    assert pool == ["line 7, prompt + output"]


def test_rows_beyond_those_replayed_may_be_long(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text("arrival_s,prompt_tokens,output_tokens\n0,5,5\n1,900000,1\n")
    assert run(DEMO, *replay(file, number=1)).finish.size == 1


def test_constant_gaps_reach_the_server_exactly():
    requests = run(DEMO, "workload.load={kind: constant, rate: 8 requests/s}", "workload.num_requests=20")
    np.testing.assert_array_equal(requests.arrival, np.arange(1, 21) / 8)


@pytest.mark.slow
@pytest.mark.parametrize(("clients", "think", "cv"), [(8, "200 ms", 1), (8, "50 ms", 2), (40, "100 ms", 0.5)])
def test_clients_obey_the_interactive_response_time_law(clients, think, cv):
    """N = X·(R + Z) for any server: each of the N clients is waiting for an answer or thinking.

    Over a window, X·R is the mean number of requests being answered as far as windows cut none in two; its error is
    taken from independent replications.
    """
    estimates = []
    for replication in range(24):
        requests = run(
            THEORY,
            f"workload.load={{kind: closed_loop, concurrency: {clients}, think_time: {think}, think_cv: {cv}}}",
            "workload.lengths={kind: uniform, prompt: [10, 200], output: [1, 40]}",
            f"workload.num_requests={100 * clients}",
            k=4,
            replication=replication,
        )
        opens, closes = np.quantile(requests.arrival, [0.2, 0.95])
        seen = (requests.finish > opens) & (requests.finish <= closes)
        throughput = seen.sum() / (closes - opens)
        response = (requests.finish - requests.arrival)[seen].mean()
        estimates.append(throughput * (response + float(think.removesuffix(" ms")) / 1e3))
    error = np.std(estimates, ddof=1) / math.sqrt(len(estimates))
    assert abs(np.mean(estimates) - clients) <= 4 * error
    assert error < 0.02 * clients, "else nothing would be tested"


def test_think_times_of_zero_change_nothing():
    plain = run(DEMO, "workload.load={kind: closed_loop, concurrency: 4}", "workload.num_requests=12")
    waits = run(DEMO, "workload.load={kind: closed_loop, concurrency: 4, think_time: 0 s}", "workload.num_requests=12")
    np.testing.assert_array_equal(plain.finish, waits.finish)


def test_constant_think_times_are_kept_to_the_bit():
    load = "workload.load={kind: closed_loop, concurrency: 1, think_time: 3 s, think_cv: 0}"
    requests = run(DEMO, load, "workload.num_requests=6", "workload.lengths.output_tokens=5")
    np.testing.assert_array_equal(requests.arrival[1:], requests.finish[:-1] + 3)


def classes(first, second):
    lengths = "{kind: fixed, prompt_tokens: 50, output_tokens: 9}"
    return (
        f"workload.mixture=[{{share: 0.5, priority: {first}}}, {{share: 0.5, priority: {second}, lengths: {lengths}}}]"
    )


def test_a_class_of_lower_number_is_served_first():
    """When all come in an instant and few fit, whoever has priority 0 is admitted before anyone of priority 1."""
    load = "workload.load={kind: constant, rate: 1e6 requests/s}"
    for first, second in ((0, 1), (1, 0)):
        inputs = load_scenario(DEMO, [load, classes(first, second), "workload.num_requests=64"])
        engine = inputs.engine.model_copy(update={"max_num_seqs": 4, "speculation_max_num_seqs": 4})
        requests = (
            Simulation(replace(inputs, engine=engine))
            .run(inputs.scenario.workload.load, num_draft_tokens=0, num_requests=64, replication=0)
            .requests
        )
        of_second = requests.output_tokens == 9
        early, late = (of_second, ~of_second) if second == 0 else (~of_second, of_second)
        later_than_first_step = requests.admitted > requests.admitted.min()
        assert requests.admitted[early].max() <= requests.admitted[late & later_than_first_step].min()


def test_a_mixture_has_its_shares_and_each_class_its_lengths():
    requests = run(DEMO, classes(0, 0), "workload.num_requests=2000", "workload.lengths.output_tokens=4")
    share = (requests.output_tokens == 9).mean()
    assert abs(share - 0.5) <= 4 * math.sqrt(0.25 / 2000)
    assert set(requests.prompt_tokens[requests.output_tokens == 9].tolist()) == {50}


def test_what_is_sent_does_not_depend_on_speculation():
    for load in ("{kind: gamma, rate: 9 requests/s, cv: 3}", "{kind: constant, rate: 9 requests/s}"):
        without, drafted = (run(DEMO, f"workload.load={load}", "workload.num_requests=20", k=k) for k in (0, 3))
        np.testing.assert_array_equal(without.arrival, drafted.arrival)
