"""Errors keep what they say from one process to another."""

import pickle

from specsim.errors import InfeasibleError, Problem


def test_problems_travel():
    error = InfeasibleError([Problem("here", "a.b", "1", "write 2"), Problem("there", "", "", "leave it out")])
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is InfeasibleError
    assert arrived.problems == error.problems
    assert str(arrived) == str(error)
