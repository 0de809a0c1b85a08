"""Counted nouns."""

import pytest

from specsim.units import plural


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("replica",), "1 replica"),
        (2000, ("replica",), "2,000 replicas"),
        (0, ("GPU",), "0 GPUs"),
        (3, ("batch", "batches"), "3 batches"),
        (1, ("batch", "batches"), "1 batch"),
    ],
)
def test_a_number_of_things(number, nouns, text):
    assert plural(number, *nouns) == text
