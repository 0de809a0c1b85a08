"""The shape of a drafted tree, and how siblings in it are chosen."""

from __future__ import annotations

from itertools import accumulate, repeat
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from specsim.inputs.models.base import Input

MAX_CHILDREN = 64
MAX_NODES = 1024  # Sequoia (arXiv 2402.12374) grows trees of up to 768

_CHILDREN = {"type": "integer", "minimum": 0, "maximum": MAX_CHILDREN}


def _level(value: object) -> int | tuple[int, ...]:
    if isinstance(value, list | tuple) and value and all(_number(entry, 0) for entry in value):
        return tuple(value)
    if isinstance(value, int) and _number(value, 1):
        return value
    raise ValueError(
        f"must be a whole number of children from 1 to {MAX_CHILDREN}, or a list with the number of each node of the "
        "level above; write for example 2 or [3, 1, 0]"
    )


def _number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_CHILDREN


Level = Annotated[
    int | tuple[int, ...],
    PlainValidator(_level),
    PlainSerializer(lambda level: level, return_type=Any),  # as it is; pydantic would look for a tuple in JSON's list
    WithJsonSchema({"anyOf": [_CHILDREN | {"minimum": 1}, {"type": "array", "items": _CHILDREN, "minItems": 1}]}),
]


class Tree(Input):
    """A drafted tree: several candidates for a position, each with candidates for what follows it."""

    branching: Annotated[tuple[Level, ...], Field(min_length=1, max_length=64)]
    """Children of each node, level by level: [4, 2, 1] is 4 candidates for the next token, 2 after each of these and 1
    after each of those, 4 + 8 + 8 nodes. A level may also list the children of each node of the level above, in
    order: [3, [2, 1, 0]] is EAGLE's and Sequoia's kind of tree, wider where the better candidates are."""
    siblings: Literal["with_replacement", "without_replacement", "one_hot"]
    """How the children of a node come from the drafter's distribution: with_replacement, drawn independently
    (SpecInfer); without_replacement, each drawn from what its siblings left (Sequoia); one_hot, the most likely ones,
    not drawn at all (the top-k of EAGLE and Medusa)."""

    @model_validator(mode="after")
    def _levels_fit_together(self) -> Tree:
        above = 1
        for number, level in enumerate(self.branching, start=1):
            if isinstance(level, tuple) and len(level) != above:
                raise ValueError(
                    f"level {number} of branching lists the children of {len(level)} nodes, but the level above has "
                    f"{above}; list one number for each"
                )
            above = sum(level) if isinstance(level, tuple) else above * level
            if above == 0:
                raise ValueError(f"level {number} of branching has no nodes; leave it out")
            if above > MAX_NODES:
                break
        if above > MAX_NODES or self.num_nodes(self.num_levels) > MAX_NODES:
            raise ValueError(f"branching makes more than {MAX_NODES} nodes; verifying that many tokens never pays")
        return self

    @property
    def num_levels(self) -> int:
        """Levels of the tree: the longest path of drafts."""
        return len(self.branching)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node of the level above, level by level; above the first level is the root."""
        levels: list[tuple[int, ...]] = []
        for level in self.branching:
            above = sum(levels[-1]) if levels else 1
            levels.append(level if isinstance(level, tuple) else tuple(repeat(level, above)))
        return tuple(levels)

    @property
    def width(self) -> int:
        """The most children that a node has."""
        return max(map(max, self.children))

    def num_nodes(self, num_levels: int) -> int:
        """Nodes of the first levels, in total."""
        return [0, *accumulate(map(sum, self.children))][num_levels]
