"""Written once, run in two ways: as it stands and compiled; and whoever interrupts a run leaves no mark on it."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.engine import run
from specsim.engine.advance import IDLE, advance
from specsim.engine.compiled import advance_function
from specsim.engine.config import cost_form
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.workload.lengths import Lengths


@pytest.fixture(scope="module")
def lowered_cost():
    """Prices steps of an 8B model with an EAGLE head on an H100, with graphs and host times, inside the engine."""
    cost = Simulation(load_scenario("llama3.1-8b-h100-eagle3")).step_cost(True)
    return lambda: cost


@pytest.fixture(scope="module")
def compiled():
    function = advance_function()
    if function is advance:
        pytest.skip("needs numba, which is not installed or not asked for")
    return function


def bytes_of(server, records):
    """All that a run leaves behind; the log is emptied on the way, at other times where there are horizons.

    Scratch is left out: nobody reads what a step worked out there once it is over.
    """
    tables = [getattr(part, field.name) for part in vars(records).values() for field in dataclasses.fields(part)]
    replica = server.replica._replace(scratch=0.0, cache=0.0)
    kept = (*tables, server.requests, *server.replica.cache, *replica)
    return [np.asarray(table).tobytes() for table in kept]


def finished(case, function=None):
    server = case.server()
    if function:
        server._advance = function
    return bytes_of(server, server.finish())


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_compiled_and_plain_code_do_the_same_byte_for_byte(cases, compiled, lowered_cost, data):
    make = data.draw(st.sampled_from([lowered_cost, None]))
    case = data.draw(cases(make, max_priority=2) if make else cases(max_priority=2), "case")
    assert finished(case, compiled) == finished(case, advance)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.data(), st.floats(0.5, 30))
def test_many_horizons_or_one_make_no_difference(cases, data, stride):
    case, server, horizon = data.draw(cases(), "case"), None, 0.0
    at_once, server = finished(case), case.server()
    while server.run(horizon) != IDLE:
        assert server.replica.clock.now[0] <= horizon
        horizon += stride
    assert bytes_of(server, server.finish()) == at_once


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.data(), st.floats(0.5, 30))
def test_arrivals_may_become_known_as_late_as_they_come(cases, make_case, data, stride):
    case, horizon, known = data.draw(cases(), "case"), 0.0, 0
    case = make_case(
        case.lengths, case.config, case.arrivals if len(case.arrivals) else np.zeros(len(case.lengths.prompt))
    )
    at_once, server = finished(case), case._replace(arrivals=np.zeros(0)).server()
    while known < len(case.arrivals):
        coming = int(np.searchsorted(case.arrivals, horizon, side="right"))
        server.send(case.arrivals[known:coming])
        known = coming
        server.run(horizon)
        horizon += stride
    assert bytes_of(server, server.finish()) == at_once


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.data(), st.floats(0, 100))
def test_at_a_horizon_all_steps_that_end_by_then_are_over_and_none_begins_later(cases, data, horizon):
    case = data.draw(cases(), "case")
    whole = case.server().finish()
    server = case.server()
    server.run(horizon)
    over = whole.steps.end <= horizon
    emitted = np.bincount(
        whole.rounds.request[over[whole.rounds.step]],
        whole.rounds.num_emitted[over[whole.rounds.step]],
        minlength=len(server.requests),
    )
    np.testing.assert_array_equal(server.requests.emitted, emitted)
    assert server.replica.clock.now[0] <= horizon


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_how_often_rows_are_taken_away_makes_no_difference(cases, data):
    case = data.draw(cases(), "case")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "LOG_STEPS", 1)
        server = case.server()
        often = bytes_of(server, server.finish())
    assert often == finished(case)


def test_cost_tables_grow_with_the_steps(config, make_case, lowered_cost):
    how = config(cost=lowered_cost(), max_num_batched_tokens=4096)
    case = make_case(Lengths(np.array([3000, 40]), np.array([3, 3])), how, np.zeros(2))
    server = case.server()
    server._params = server._params._replace(costs=cost_form(how.cost, 1))
    assert server._params.costs.rows < 3000
    assert bytes_of(server, server.finish()) == finished(case)
    assert math.isfinite(server.requests.finish.max())
