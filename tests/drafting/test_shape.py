"""Chains and trees as numbered nodes: by hand, and against a walk from each node to the root."""

from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.shape import chain, tree


@st.composite
def children(draw):
    """Numbers of children, level by level; no level is empty."""
    levels, above = [], 1
    for _ in range(draw(st.integers(1, 4))):
        numbers = draw(st.lists(st.integers(0, 3), min_size=above, max_size=above).filter(any))
        levels.append(numbers)
        above = sum(numbers)
    return levels


def test_a_tree_by_hand():
    found = tree([[3], [2, 1, 0], [0, 1, 2]])
    assert found.parents.tolist() == [-1, -1, -1, 0, 0, 1, 4, 5, 5]
    assert found.sibling.tolist() == [0, 1, 2, 0, 1, 0, 0, 0, 1]
    assert found.level.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert found.inner.tolist() == [True, True, False, False, True, True, False, False, False]
    assert found.num_nodes.tolist() == [0, 3, 6, 9]
    assert found.total_depth.tolist() == [0, 3, 9, 18]
    assert found.num_inner.tolist() == [1, 2, 2, 0]
    assert (found.width, found.num_levels, found.max_nodes) == (3, 3, 9)


def test_a_chain_by_hand():
    found = chain(3)
    assert found.parents.tolist() == [-1, 0, 1]
    assert found.num_nodes.tolist() == [0, 1, 2, 3]
    assert found.total_depth.tolist() == [0, 1, 3, 6]
    assert found.num_inner.tolist() == [1, 1, 1, 0]
    assert found.width == 1


def test_no_draft_at_all():
    found = chain(0)
    assert (found.num_nodes.tolist(), found.total_depth.tolist(), found.num_inner.tolist()) == ([0], [0], [0])
    assert (found.width, found.num_levels, found.max_nodes) == (0, 0, 0)


@given(children())
def test_every_tree_is_that_of_a_walk_from_each_node(levels):
    found = tree(levels)
    parents = found.parents.tolist()
    for node, level in enumerate(found.level.tolist()):
        steps, at = 0, node
        while at >= 0:
            at, steps = parents[at], steps + 1
        assert steps == level
        assert found.sibling[node] == parents[:node].count(parents[node])
        assert found.inner[node] == (node in parents)
    for depth in range(found.num_levels + 1):
        shallow = found.level <= depth
        assert found.num_nodes[depth] == shallow.sum()
        assert found.total_depth[depth] == found.level[shallow].sum()
        of_level = [-1] if depth == 0 else [node for node in range(len(parents)) if found.level[node] == depth]
        assert found.num_inner[depth] == sum(node in parents for node in of_level)


@given(children())
def test_the_first_levels_are_the_tree_that_is_cut(levels):
    whole = tree(levels)
    for depth in range(len(levels) + 1):
        cut = tree(levels[:depth])
        assert cut.parents.tolist() == whole.parents[: whole.num_nodes[depth]].tolist()
        assert cut.num_nodes.tolist() == whole.num_nodes[: depth + 1].tolist()
