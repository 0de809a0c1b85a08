"""What a tree's branching means, and that all that does not fit is refused with the place named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from specsim.inputs.models.tree import MAX_NODES, Tree


def tree(*branching):
    return Tree(branching=branching, siblings="one_hot")


def test_one_number_stands_for_every_node_of_the_level_above():
    assert tree(3, 2, 1).children == ((3,), (2, 2, 2), (1,) * 6) == tree([3], [2] * 3, [1] * 6).children
    found = tree(4, [3, 2, 2, 1], [3, 2, 2, 1, 0, 0, 0, 0], [3, *[0] * 7], [2, 0, 0])
    assert [found.num_nodes(levels) for levels in range(6)] == [0, 4, 12, 20, 23, 25]
    assert (found.num_levels, found.width) == (5, 4)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_nodes_are_products_of_the_branching(branching):
    nodes, level = 0, 1
    for number in branching:
        level *= number
        nodes += level
    assert tree(*branching).num_nodes(len(branching)) == nodes


def test_the_most_nodes():
    assert tree(32, 31).num_nodes(2) == MAX_NODES == 1024
    with pytest.raises(ValidationError, match="more than 1024 nodes"):
        tree(32, [32, *[31] * 31])


@pytest.mark.parametrize("level", [0, 65, -1, True, 1.0, "2", [], [True], [1.5], [-1], None, {}])
def test_what_is_no_level(level):
    with pytest.raises(ValidationError, match="must be a whole number of children from 1 to 64") as caught:
        tree(2, level)
    assert [error["loc"] for error in caught.value.errors()] == [("branching", 1)]
