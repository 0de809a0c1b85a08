"""A replica whose costs are plain numbers, so that the engine is tested apart from the cost model."""

from collections.abc import Callable

import numpy as np
import pytest

from specsim.costs.step import StepTime
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.shape import chain, tree
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.engine.lookups import Lookups
from specsim.engine.replica import Serving
from specsim.engine.speculator import Speculator
from specsim.engine.tree_speculator import TreeSpeculator
from specsim.policies.static import Static
from specsim.rng import stream
from specsim.schema.speculation import EagleHead
from specsim.workload.lengths import Lengths

EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
CHILDREN = ((3,), (2, 1, 0), (1, 1, 2), (1, 0, 1, 1))
"""3, 3, 4 and 3 nodes; wider where better candidates are."""


class PlainCost:
    """A step takes 1 s, 1/64 s more for each token and 1/4 s for each draft pass; remembers what it was asked."""

    def __init__(self):
        self.asked, self.lookups = [], []

    def price(self, target_pass, draft_passes=(), num_lookups=0):
        draft_passes = list(draft_passes)
        self.asked.append((target_pass, draft_passes))
        self.lookups.append(num_lookups)
        return StepTime(1.0, 0.0, target_pass.tokens / 64, 0.0, 0.0, len(draft_passes) / 4, 0.0)


class ConstantCost:
    """Every step takes the same time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def price(self, target_pass, draft_passes=(), num_lookups=0):
        return StepTime(self.seconds, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def make_speculator(shape, conditional, rule, **streams):
    """Of a chain's rule, such as 'token' or 'token argmax', or of 'tree' and its siblings, such as 'tree one_hot'."""
    rng = stream(streams["seed"], "distributions")
    if not rule.startswith("tree"):
        rule, *argmax = rule.split()
        source = PositionAcceptance(conditional, 8, rng, sampled=not argmax)
        return Speculator(source, rule=rule, max_draft_tokens=shape.num_levels, **streams)
    siblings = rule.split()[1]
    source = TreeAcceptance(conditional, shape, siblings=siblings, greedy="greedy" in rule, vocabulary=8, rng=rng)
    return TreeSpeculator(source, shape, **streams)


def make_serving(
    lengths: Lengths,
    *,
    conditional=(0.7, 0.7, 0.7),
    policy=None,
    max_num_seqs=8,
    max_num_batched_tokens=256,
    kv_tokens=1_000_000,
    decode_only=False,
    drafter=EAGLE3,
    at_least=None,
    rule="token",
    children=CHILDREN,
    seed=1,
    replication=0,
    cost=None,
) -> Serving:
    """How a replica serves; drafts are as long as the profile unless a policy says otherwise.

    With at_least they are looked up, and that is the share of lookups that yield at least 1, 2, .. of them.
    """
    longest = len(conditional)
    shape = tree(children[:longest]) if rule.startswith("tree") else chain(longest)
    streams = {"seed": seed, "replication": replication, "num_slots": min(max_num_seqs, len(lengths.prompt))}
    num_positions = int(lengths.output.max())
    speculator = make_speculator(shape, conditional, rule, **streams, num_positions=num_positions + longest)
    lookups = None if at_least is None else Lookups(np.array(at_least), **streams, num_positions=num_positions)
    return Serving(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        kv_tokens=kv_tokens,
        decode_only=decode_only,
        cost=cost or PlainCost(),
        drafter=drafter if longest and lookups is None else None,
        lookups=lookups,
        policy=policy or Static(longest),
        shape=shape,
        speculator=speculator,
    )


@pytest.fixture(scope="session")
def serving() -> Callable[..., Serving]:
    return make_serving


@pytest.fixture(scope="session")
def constant_cost() -> type[ConstantCost]:
    return ConstantCost


@pytest.fixture(scope="session")
def lengths() -> Callable[..., Lengths]:
    """Lengths from pairs (prompt, output)."""

    def from_pairs(*pairs: tuple[int, int]) -> Lengths:
        table = np.array(pairs, dtype=np.int64)
        return Lengths(table[:, 0], table[:, 1])

    return from_pairs


@pytest.fixture(scope="session")
def ragged_policy() -> Callable[..., object]:
    """Makes a policy under which request i of the batch drafts (i + step) mod (longest + 1) tokens."""

    def up_to(longest: int):
        def policy(observation, step):
            step = step or 0
            return (np.arange(observation.num_decodes) + step) % (longest + 1), step + 1

        return policy

    return up_to
