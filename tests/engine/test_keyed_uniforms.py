"""A request's uniforms depend neither on who shares the batch nor on the order, slot or time of service."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.shape import chain, tree
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.engine import run
from specsim.engine.run import serve_closed_loop
from specsim.streams import stream
from specsim.uniforms import (
    BY_POSITION,
    BY_ROUND,
    LANE_ACCEPT,
    LANE_DRAFT,
    LANE_FINAL,
    NUM_LANES,
    draw_uniforms,
    uniforms_key,
)
from specsim.verification import verify_block, verify_chain, verify_tree

POSITIONS, LONGEST = 40, 4
CHAINS = ["token", "block", "greedy", "token argmax"]
TREES = ["tree with_replacement", "tree without_replacement", "tree one_hot", "tree one_hot greedy"]
RULES = CHAINS + TREES
CHILDREN = ((3,), (2, 1, 0), (1, 1, 2), (1, 0, 1, 1))


@pytest.fixture(scope="module")
def make_rounds(rounds_at):
    def made(num_slots, *, rule="token", num_positions=POSITIONS, longest=LONGEST, source=None, shape=None, **uniforms):
        if rule.startswith("tree"):
            shape = shape or tree(CHILDREN)
            source = source or tree_source(rule, shape)
        else:
            shape, sampled = chain(longest), "argmax" not in rule
            conditional = [0.7] * longest
            source = source or PositionAcceptance(conditional, 8, stream(1, "distributions"), sampled=sampled)
        return rounds_at(num_slots, source, shape, rule.split()[0], num_positions, **uniforms)

    return made


def uniforms_of(request, purpose=BY_POSITION, replication=0, columns=1):
    """The table [lanes, positions, columns] of a request, from its first output position on."""
    table = np.empty((NUM_LANES, columns, POSITIONS))
    draw_uniforms(table, uniforms_key(1, replication), request, 0, purpose)
    return table.transpose(0, 2, 1)


def tree_source(rule, shape):
    _, siblings, *greedy = rule.split()
    rng = stream(1, "distributions")
    return TreeAcceptance(
        [0.7] * shape.num_levels, shape, siblings=siblings, greedy=bool(greedy), vocabulary=8, rng=rng
    )


def verified(rounds, rows):
    requests, positions, num_draft = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return rounds.verify(requests, positions, num_draft)[0].tolist()


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, POSITIONS - LONGEST), st.integers(0, LONGEST)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from(RULES),
)
def test_a_round_is_the_same_alone_and_in_any_batch(make_rounds, places, random, rule):
    rows = [(request, position, drafts) for request, (position, drafts) in enumerate(places)]
    alone = {}
    for row in rows:
        rounds = make_rounds(1, rule=rule)
        rounds.admit(row[0])
        alone[row] = verified(rounds, [row])[0]
    together = make_rounds(len(rows), rule=rule)
    for request in random.sample(range(len(rows)), len(rows)):
        together.admit(request)
    shuffled = random.sample(rows, len(rows))
    assert verified(together, shuffled) == [alone[row] for row in shuffled]


def test_a_round_reads_the_uniforms_of_its_own_output_positions(make_rounds):
    """Rounds against the verifier on arrays cut by hand from the request's own table."""
    conditional = [0.3, 0.6, 0.9, 0.7]
    source = PositionAcceptance(conditional, 8, stream(1, "distributions"))
    rounds = make_rounds(1, source=source, replication=2)
    rounds.admit(5)
    table = uniforms_of(5, replication=2)[:, :, 0].T
    counts = []
    for position in range(POSITIONS - LONGEST):
        window = table[None, position : position + LONGEST]
        draft = source.propose(window[:, :, LANE_DRAFT])
        _, num_out = verify_chain(
            draft,
            *source.score(draft),
            np.array([LONGEST]),
            accept_uniforms=window[:, :, LANE_ACCEPT],
            final_uniforms=window[:, 0, LANE_FINAL],
        )
        counts += num_out.tolist()
        assert verified(rounds, [(5, position, LONGEST)]) == num_out.tolist()
    assert len(set(counts)) > 2


def test_a_round_of_the_block_rule_reads_the_uniforms_of_its_own_start(make_rounds):
    source = PositionAcceptance([0.7] * LONGEST, 8, stream(1, "distributions"))
    rounds = make_rounds(1, rule="block")
    rounds.admit(5)
    final, table = uniforms_of(5)[LANE_FINAL, :, 0], uniforms_of(5, BY_ROUND, columns=LONGEST)
    counts = []
    for start in range(POSITIONS - LONGEST):
        draft = source.propose(table[None, LANE_DRAFT, start])
        _, num_out = verify_block(
            draft,
            *source.score(draft),
            np.array([LONGEST]),
            accept_uniforms=table[None, LANE_ACCEPT, start],
            final_uniforms=final[start : start + 1],
        )
        counts += num_out.tolist()
        assert verified(rounds, [(5, start, LONGEST)]) == num_out.tolist()
    assert len(set(counts)) > 2


@pytest.mark.parametrize("rule", ["tree with_replacement", "tree without_replacement"])
def test_a_round_of_trees_reads_the_uniforms_of_its_positions_and_siblings(make_rounds, rule):
    shape = tree(CHILDREN)
    source, rounds = tree_source(rule, shape), make_rounds(1, rule=rule)
    rounds.admit(5)
    table = np.moveaxis(uniforms_of(5, columns=shape.width), 0, 2)
    final = table[:, 0, LANE_FINAL]
    counts = []
    for start in range(POSITIONS - LONGEST):
        window = table[start : start + LONGEST]
        token = source.propose(window[None, :, :, LANE_DRAFT])
        trees = source.score_sampled(token)
        accept = [window[level - 1, j, LANE_ACCEPT] for level, j in zip(shape.level, shape.sibling, strict=True)]
        _, num_out, _ = verify_tree(
            shape.parents[None],
            token,
            np.array([shape.max_nodes]),
            *trees[:4],
            siblings=trees.siblings,
            accept_uniforms=np.array([accept]),
            final_uniforms=final[start : start + 1],
        )
        counts += num_out.tolist()
        assert verified(rounds, [(5, start, LONGEST)]) == num_out.tolist()
    assert len(set(counts)) > 2


@pytest.mark.parametrize(
    ("rule", "same"),
    [("tree with_replacement", "token"), ("tree without_replacement", "token"), ("tree one_hot greedy", "greedy")],
)
def test_a_tree_without_forks_has_the_luck_of_a_chain(make_rounds, rule, same):
    forkless, chains = make_rounds(1, rule=rule, shape=chain(LONGEST)), make_rounds(1, rule=same)
    for rounds in (forkless, chains):
        rounds.admit(0)
    rows = [(0, position, LONGEST) for position in range(POSITIONS - LONGEST)]
    assert [verified(forkless, [row]) for row in rows] == [verified(chains, [row]) for row in rows]


@pytest.mark.parametrize("rule", TREES)
def test_a_draft_is_new_to_the_drafter_where_none_was_drafted_after_it(make_rounds, rule):
    """After level 2 every node has children, at levels 1 and 3 some, and after level 4 nothing was drafted."""
    rounds = make_rounds(1, rule=rule)
    rounds.admit(0)
    seen = set()
    for position in range(POSITIONS - LONGEST):
        row = (np.array([value]) for value in (0, position, LONGEST))
        num_out, last_is_new = rounds.verify(*row)
        seen.add((int(num_out[0]) - 1, bool(last_is_new[0])))
    assert seen <= {(0, False), (1, False), (1, True), (2, False), (3, False), (3, True), (4, True)}
    assert {(1, False), (4, True)} <= seen


def test_luck_of_blocks_does_not_depend_on_the_longest_draft(make_rounds):
    source = PositionAcceptance([0.7] * LONGEST, 8, stream(1, "distributions"))
    short, long = (make_rounds(1, rule="block", longest=K, source=source) for K in (LONGEST, 2 * LONGEST))
    for rounds in (short, long):
        rounds.admit(0)
    for position in range(POSITIONS - LONGEST):
        assert verified(short, [(0, position, LONGEST)]) == verified(long, [(0, position, LONGEST)])


@pytest.mark.parametrize("rule", RULES)
def test_a_slot_that_is_used_again_holds_the_new_requests_luck(make_rounds, rule):
    rows = [(7, position, LONGEST) for position in range(30)]
    fresh, used = make_rounds(1, rule=rule), make_rounds(1, rule=rule)
    for request in (3, 4, 5):
        used.admit(request)
        used.release(request)
    for rounds in (fresh, used):
        rounds.admit(7)
    assert [verified(fresh, [row]) for row in rows] == [verified(used, [row]) for row in rows]


@pytest.mark.parametrize("rule", RULES)
def test_luck_does_not_depend_on_how_long_outputs_can_be(make_rounds, rule):
    short, long = make_rounds(1, rule=rule), make_rounds(1, rule=rule, num_positions=10 * POSITIONS)
    for rounds in (short, long):
        rounds.admit(0)
    for position in range(POSITIONS - LONGEST):
        assert verified(short, [(0, position, LONGEST)]) == verified(long, [(0, position, LONGEST)])


def test_a_shorter_draft_is_accepted_as_far_as_it_goes(make_rounds):
    """Paired uniforms: at one position, K drafts are accepted up to min(K, what more drafts are accepted up to)."""
    rounds = make_rounds(1)
    rounds.admit(0)
    for position in range(POSITIONS - LONGEST):
        counts = [verified(rounds, [(0, position, drafts)])[0] - 1 for drafts in range(LONGEST + 1)]
        assert counts == [min(drafts, counts[-1]) for drafts in range(LONGEST + 1)]


def rounds_of(records, request):
    mine = records.rounds.request == request
    columns = (records.rounds.num_draft, records.rounds.num_accepted, records.rounds.num_emitted)
    return list(zip(*(column[mine].tolist() for column in columns), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("decode_only", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_rounds_of_a_request_are_the_same_at_every_concurrency(config, lengths, decode_only, rule):
    pairs = lengths(*[(5 + i, 20 + 3 * i) for i in range(16)])
    runs = [
        serve_closed_loop(config(decode_only=decode_only, rule=rule), pairs, concurrency) for concurrency in (1, 3, 8)
    ]
    for request in range(16):
        first, *others = (rounds_of(records, request) for records in runs)
        assert all(other == first for other in others)


def test_another_replication_or_seed_has_other_luck(config, lengths):
    pairs = lengths(*[(5, 60)] * 4)
    accepted = [
        serve_closed_loop(config(**streams), pairs, 4).rounds.num_accepted.tolist()
        for streams in ({"seed": 1}, {"seed": 2}, {"seed": 1, "replication": 1})
    ]
    assert accepted[0] != accepted[1]
    assert accepted[0] != accepted[2]


@pytest.mark.parametrize("rule", ["token", "block", "tree with_replacement"])
def test_how_far_ahead_luck_is_drawn_makes_no_difference(config, lengths, monkeypatch, rule):
    pairs, runs = lengths(*[(5 + i, 20 + 3 * i) for i in range(8)]), []
    for ahead in (1, 7, 256):
        monkeypatch.setattr(run, "POSITIONS_AHEAD", ahead)
        runs.append(serve_closed_loop(config(rule=rule), pairs, 4).rounds)
    for column in fields(runs[0]):
        first, *others = (getattr(rounds, column.name).tobytes() for rounds in runs)
        assert all(other == first for other in others)
