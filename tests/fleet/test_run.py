"""Several replicas are as many servers in one time, in whatever order they are advanced."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.analysis.invariants import violations_of_all
from specsim.engine import run
from specsim.engine.advance import advance
from specsim.engine.run import Server, requests_of
from specsim.fleet.run import Fleet, FleetConfig, Link, fleet_closed_loop, fleet_open_loop
from specsim.inputs.models.fleet import KVAware, LeastLoaded, Random, RoundRobin
from specsim.streams import stream
from specsim.workload.arrivals import poisson_arrivals

ROUTERS = [kind(kind=kind.model_fields["kind"].annotation.__args__[0]) for kind in (RoundRobin, Random, LeastLoaded)]
ROUTERS.append(KVAware(kind="kv_aware"))
TURNS, CHANCE, LEAST, CACHE = ROUTERS


def link(replicas, bandwidth=math.inf, latency=0.0, bytes_per_token=2.0):
    return Link(bandwidth, latency, (lambda tokens: tokens * bytes_per_token,) * replicas)


def columns(records, left_out=()):
    """All that a run leaves, by name; what only fleets have is left out on demand."""
    parts = (part for part in (records.requests, records.steps, records.rounds, records.tally) if part is not None)
    return {
        (type(part).__name__, field.name): np.asarray(getattr(part, field.name)).tobytes()
        for part in parts
        for field in dataclasses.fields(part)
        if field.name not in left_out
    }


def served(fleet, case):
    """A case served by a fleet."""
    think = (case.think if len(case.think) else np.zeros(len(case.lengths.prompt))) if case.concurrency else None
    lengths = case.requests
    arrivals = np.zeros(min(case.concurrency, len(lengths.prompt))) if case.concurrency else case.arrivals
    return Fleet(fleet, lengths, think), arrivals


@st.composite
def fleets(draw, cases):
    """A case and a fleet that can serve it, with its prompts computed elsewhere or not."""
    case = draw(cases(max_priority=1))
    case = case._replace(config=dataclasses.replace(case.config, keep_rounds=draw(st.booleans())))
    replicas = st.integers(1, 4).map(lambda number: (case.config,) * number)
    router, entry = draw(st.sampled_from(ROUTERS)), draw(replicas)
    if case.config.decode_only or draw(st.booleans()):
        return case, FleetConfig(entry, router)
    carried = link(len(entry), draw(st.sampled_from([math.inf, 16.0])), draw(st.sampled_from([0.0, 0.5])))
    return case, FleetConfig(entry, router, draw(replicas), draw(st.sampled_from(ROUTERS)), carried)


@pytest.mark.slow
@pytest.mark.parametrize("router", ROUTERS, ids=lambda router: router.kind)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_one_replica_behind_a_router_is_a_server(cases, router, data):
    case = data.draw(cases(max_priority=1), "case")
    fleet, arrivals = served(FleetConfig((case.config,), router), case)
    of_fleets = ("replica", "prefill_replica", "transferred", "resumed")
    found, alone = (columns(records, of_fleets) for records in (fleet.run(arrivals), case.server().finish()))
    assert found == alone


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_order_in_which_replicas_are_advanced_makes_no_difference(cases, data):
    case, config = data.draw(fleets(cases), "fleet")
    (forwards, arrivals), (other, _) = served(config, case), served(config, case)
    other._order = data.draw(st.permutations(other._order), "order")
    assert columns(forwards.run(arrivals)) == columns(other.run(arrivals))


def test_of_prompts_complete_at_once_the_lowest_replicas_is_handed_on_first(config, lengths, constant_cost):
    """Else who decodes where would depend on who was advanced first."""
    how = config(conditional=(), cost=constant_cost(0.5))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        fleet = Fleet(FleetConfig((how, how), TURNS, (how, how), TURNS, link(2)), lengths((9, 4), (9, 4)), None)
        fleet._order = order
        np.testing.assert_array_equal(fleet.run(np.zeros(2)).requests.replica, [2, 3])


def test_what_is_seen_of_a_replica_by_hand(config, lengths, constant_cost):
    """One place and a pool of 40 blocks of 4 tokens: one request in service, one in line, one that comes later."""
    how = config(conditional=(), max_num_seqs=1, cost=constant_cost(1.0), kv_tokens=160, block_size=4)
    requests = lengths((9, 3), (20, 3), (30, 3))
    server = Server(how, requests, np.zeros(0))
    seen = []
    for request, at in enumerate((0.0, 0.0, 1.5)):
        server.accept(request, at)
    for moment in (0.0, 1.0, 2.0, 3.0):
        server.run(moment)
        seen.append((server.num_requests, 160 * server.kv_share))
    # 9 tokens take 3 blocks and so do 11; at 3 s the first is done, and the next holds 5 blocks for its prompt
    assert seen == [(3, 12 + 20 + 30), (3, 12 + 20 + 30), (3, 12 + 20 + 30), (2, 20 + 30)]


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_compiled_and_as_it_stands_a_fleet_does_the_same(cases, data):
    case, config = data.draw(fleets(cases), "fleet")
    found, arrivals = served(config, case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "advance_function", lambda: advance)
        plain, _ = served(config, case)
    assert columns(found.run(arrivals)) == columns(plain.run(arrivals))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_replica_keeps_what_holds_of_a_server_and_all_are_served(cases, data):
    case, config = data.draw(fleets(cases), "fleet")
    fleet, arrivals = served(config, case)
    records = fleet.run(arrivals)
    pools = [how.kv_tokens for how in (*config.entry, *config.decode)]
    assert violations_of_all(records, pools) == []
    assert records.steps.num_emitted.sum() == case.lengths.output.sum()
    np.testing.assert_array_equal(records.requests.output_tokens, case.lengths.output)
    if not case.concurrency:
        np.testing.assert_array_equal(records.requests.arrival, case.arrivals)
    for server in fleet.servers:
        assert server.num_requests == 0
        assert server.kv_share == 0


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_closed_loop_through_a_router_keeps_its_number_in_flight(cases, data):
    case = data.draw(cases().filter(lambda case: case.concurrency and not case.think.any()), "case")
    config = FleetConfig((case.config,) * data.draw(st.integers(2, 4)), data.draw(st.sampled_from(ROUTERS)))
    fleet, arrivals = served(config, case)
    requests = fleet.run(arrivals).requests
    assert (requests.arrival[: case.concurrency] == 0).all()
    later = requests.arrival[case.concurrency :]
    np.testing.assert_array_equal(later, np.sort(requests.finish)[: len(later)])


def alone(config, lengths, arrivals, own):
    """A server that is sent these of the requests; its records are of all of them."""
    server = Server(config, lengths, np.zeros(0), requests_of(config, lengths))
    for request in own:
        server.accept(int(request), float(arrivals[request]))
    return server.finish()


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_that_take_turns_are_servers_with_every_nth_request(config, lengths, replicas):
    pairs = [(5 + 7 * i % 40, 2 + 5 * i % 17) for i in range(60)]
    how, requests = config(max_num_seqs=4), lengths(*pairs)
    arrivals = poisson_arrivals(60, 0.3 * replicas, stream(4, "arrivals"))
    together = fleet_open_loop(FleetConfig((how,) * replicas, TURNS), requests, arrivals)
    for replica in range(replicas):
        own = np.arange(replica, 60, replicas)
        apart = alone(how, requests, arrivals, own)
        np.testing.assert_array_equal(together.requests.replica[own], replica)
        for name in ("arrival", "admitted", "first_token", "finish", "preemptions"):
            mine = getattr(together.requests, name)[own]
            np.testing.assert_array_equal(mine, getattr(apart.requests, name)[own])
        steps = together.steps.replica == replica
        for field in dataclasses.fields(apart.steps):
            if getattr(apart.steps, field.name) is not None:
                mine = getattr(together.steps, field.name)[steps]
                np.testing.assert_array_equal(mine, getattr(apart.steps, field.name))


STEP, PROMPT, OUTPUT = 0.5, 30, 3
SERVICE = STEP * OUTPUT


@pytest.fixture(scope="module")
def queue(config, lengths, constant_cost):
    """Waits and replicas of requests that two servers of one place each are sent, at a load each of rho."""

    def run(router, rho, number, seed):
        how = config(conditional=(), max_num_seqs=1, cost=constant_cost(STEP), seed=seed)
        arrivals = poisson_arrivals(number, 2 * rho / SERVICE, stream(seed, "arrivals"))
        found = fleet_open_loop(FleetConfig((how,) * 2, router), lengths(*[(PROMPT, OUTPUT)] * number), arrivals)
        return found.requests.admitted - found.requests.arrival, found.requests.replica

    return run


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.4, 0.7])
def test_two_replicas_chosen_at_random_are_m_d_1_queues_at_half_the_rate(queue, rho):
    wait, replica = queue(CHANCE, rho, 8000, seed=5)
    assert abs(np.mean(replica) - 0.5) <= 4 * 0.5 / np.sqrt(len(replica))
    for own in (wait[replica == 0], wait[replica == 1]):
        starts = np.flatnonzero(own == 0)  # whoever finds the server idle begins an independent cycle
        cycles = np.add.reduceat(own, starts)[:-1], np.diff(starts)
        mean = cycles[0].sum() / cycles[1].sum()
        standard_error = np.sqrt(((cycles[0] - mean * cycles[1]) ** 2).sum()) / cycles[1].sum()
        assert abs(mean - rho / (2 * (1 - rho)) * SERVICE) <= 4 * standard_error
        assert standard_error < 0.15 * mean, "enough cycles for the test to mean something"


@pytest.mark.slow
def test_whoever_goes_to_the_replica_with_fewest_requests_waits_less_than_by_chance(queue):
    waits = [[queue(router, 0.7, 1000, seed)[0].mean() for router in (CHANCE, LEAST)] for seed in range(8)]
    gained = -np.diff(waits)[:, 0]  # paired: the same requests at the same times
    assert gained.mean() - 4 * gained.std(ddof=1) / np.sqrt(len(gained)) > 0


def test_a_replica_that_is_twice_as_fast_serves_twice_as_many(config, lengths, constant_cost):
    """Two clients, a place on each: whoever is answered first takes the place that just became free."""
    slow, fast = (config(conditional=(), max_num_seqs=1, cost=constant_cost(seconds)) for seconds in (1.0, 0.5))
    found = fleet_closed_loop(FleetConfig((slow, fast), LEAST), lengths(*[(8, 4)] * 30), 2, np.zeros(30))
    np.testing.assert_array_equal(np.bincount(found.requests.replica), [10, 20])
    took = found.requests.finish - found.requests.arrival
    np.testing.assert_array_equal(took, np.where(found.requests.replica == 0, 4.0, 2.0))


def test_a_request_has_its_luck_on_whatever_replica(config, lengths):
    pairs = [(9, 40)] * 24
    accepted = []
    for number, router in ((1, TURNS), (3, CHANCE), (4, LEAST)):
        how = config(max_num_seqs=24, max_num_batched_tokens=1024)
        found = fleet_closed_loop(FleetConfig((how,) * number, router), lengths(*pairs), 24, np.zeros(24))
        rounds = found.rounds
        accepted.append([rounds.num_accepted[rounds.request == request].tolist() for request in range(24)])
    assert accepted[0] == accepted[1] == accepted[2]
    assert len({tuple(rounds) for rounds in accepted[0]}) > 12, "uniforms that differ by request"


class TestDisaggregated:
    """One step takes half a second, whatever it holds, unless it says otherwise."""

    @pytest.fixture
    def how(self, config, constant_cost):
        return config(conditional=(), cost=constant_cost(STEP))

    def test_a_request_alone_by_hand(self, how, lengths):
        fleet = FleetConfig((how,), TURNS, (how,), TURNS, link(1, bandwidth=10.0, latency=0.25))
        found = fleet_open_loop(fleet, lengths((30, 3)), np.array([1.0]))
        requests, steps = found.requests, found.steps
        assert (requests.arrival[0], requests.admitted[0], requests.first_token[0]) == (1.0, 1.0, 1.5)
        # 30 tokens of 2 B at 10 B/s, and then the latency
        assert (requests.transferred[0], requests.resumed[0], requests.finish[0]) == (7.75, 7.75, 8.75)
        assert (requests.prefill_replica[0], requests.replica[0]) == (0, 1)
        np.testing.assert_array_equal(steps.start, [1.0, 7.75, 8.25])
        np.testing.assert_array_equal(steps.replica, [0, 1, 1])
        np.testing.assert_array_equal(steps.num_prompt_tokens, [30, 0, 0])
        np.testing.assert_array_equal(found.tally.gap_sum, [8.75 - 1.5])

    def test_a_link_that_takes_no_time_leaves_the_times_of_a_server(self, how, lengths):
        fleet = FleetConfig((how,), TURNS, (how,), TURNS, link(1))
        found, alone = (run.requests for run in (
            fleet_open_loop(fleet, lengths((30, 6)), np.array([1.0])),
            fleet_open_loop(FleetConfig((how,), TURNS), lengths((30, 6)), np.array([1.0])),
        ))  # fmt: skip
        for name in ("arrival", "admitted", "first_token", "finish"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))

    def test_links_carry_one_cache_after_the_other(self, how, lengths):
        """Both prompts are complete at 0.5 s; the first is sent in 2 s, and the second takes 4 s from then on."""
        requests, both = lengths((10, 2), (20, 2)), np.zeros(2)
        shared = FleetConfig((how,), TURNS, (how, how), TURNS, link(1, bandwidth=10.0, latency=1.0))
        found = fleet_open_loop(shared, requests, both).requests
        np.testing.assert_array_equal(found.replica, [1, 2])
        np.testing.assert_array_equal(found.transferred, [0.5 + 2 + 1, 0.5 + 2 + 4 + 1])
        received = FleetConfig((how, how), TURNS, (how,), TURNS, link(2, bandwidth=10.0, latency=1.0))
        np.testing.assert_array_equal(fleet_open_loop(received, requests, both).requests.transferred, [3.5, 7.5])
        apart = FleetConfig((how, how), TURNS, (how, how), TURNS, link(2, bandwidth=10.0, latency=1.0))
        np.testing.assert_array_equal(fleet_open_loop(apart, requests, both).requests.transferred, [3.5, 5.5])

    def test_an_output_of_one_token_ends_where_its_prompt_is_computed(self, how, lengths):
        fleet = FleetConfig((how,), TURNS, (how,), TURNS, link(1))
        found = fleet_open_loop(fleet, lengths((10, 1), (10, 2)), np.zeros(2)).requests
        np.testing.assert_array_equal(found.replica, [0, 1])
        np.testing.assert_array_equal(np.isnan(found.transferred), [True, False])
        np.testing.assert_array_equal(found.finish, [0.5, 1.0])

    def test_the_first_token_does_not_depend_on_who_decodes(self, how, config, lengths, constant_cost):
        pairs, arrivals = [(30 + i, 40) for i in range(30)], poisson_arrivals(30, 1.0, stream(6, "arrivals"))
        slow = config(conditional=(), cost=constant_cost(50 * STEP))
        first = [
            fleet_open_loop(FleetConfig((how,), TURNS, (decoding,), TURNS, link(1, 10.0)), lengths(*pairs), arrivals)
            for decoding in (how, slow)
        ]
        np.testing.assert_array_equal(*(found.requests.first_token for found in first))
        assert first[1].requests.finish.mean() > 10 * first[0].requests.finish.mean()

    def test_two_pools_are_two_servers_one_after_the_other(self, config, lengths):
        """With drafts; the second server begins with one token out, and its uniforms go on from there."""
        pairs, number = [(5 + 7 * i % 40, 2 + 5 * i % 17) for i in range(40)], 40
        requests, how = lengths(*pairs), config(max_num_seqs=6)
        arrivals = poisson_arrivals(number, 0.4, stream(7, "arrivals"))
        found = fleet_open_loop(FleetConfig((how,), TURNS, (how,), TURNS, link(1, 20.0, 0.5)), requests, arrivals)
        first = alone(how, dataclasses.replace(requests, output=np.ones(number, np.int64)), arrivals, range(number))
        np.testing.assert_array_equal(found.requests.first_token, first.requests.finish)

        free, there = 0.0, np.zeros(number)
        for request in np.argsort(first.requests.finish, kind="stable"):
            free = max(free, first.requests.finish[request]) + requests.prompt[request] * 2.0 / 20.0
            there[request] = free + 0.5
        np.testing.assert_array_equal(found.requests.transferred, there)
        decoding = dataclasses.replace(how, decode_only=True)
        begun = requests_of(decoding, requests)
        begun.emitted[:], begun.last_token[:] = 1, first.requests.finish
        server = Server(decoding, requests, np.zeros(0), begun)
        for request in np.argsort(there, kind="stable"):
            server.accept(int(request), float(there[request]))
        second = server.finish()
        np.testing.assert_array_equal(found.requests.finish, second.requests.finish)
        np.testing.assert_array_equal(found.requests.resumed, second.requests.admitted)
        np.testing.assert_array_equal(found.steps.end[found.steps.replica == 1], second.steps.end)

    def test_who_loses_the_cache_computes_it_again_where_it_decodes(self, config, lengths, constant_cost):
        roomy, tight = (config(conditional=(), cost=constant_cost(STEP), kv_tokens=size) for size in (10_000, 96))
        requests = lengths(*[(30, 30)] * 4)
        for decoding in (roomy, tight):
            fleet = FleetConfig((roomy,), TURNS, (decoding,), TURNS, link(1))
            found = fleet_open_loop(fleet, requests, np.zeros(4))
            prompts = found.steps.num_prompt_tokens[found.steps.replica == 1].sum()
            lost = found.requests.preemptions.sum()
            assert (prompts > 0) == (lost > 0) == (decoding is tight)
            assert violations_of_all(found, [roomy.kv_tokens, decoding.kv_tokens]) == []
