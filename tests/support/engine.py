"""A replica whose costs are plain numbers, so that the engine is tested apart from the cost model."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.ngrams import count_ngrams, tokens_of
from specsim.drafting.replayed import ReplayedAcceptance
from specsim.drafting.shape import chain, tree
from specsim.drafting.text_models import text_models
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.drafting.varying import VaryingAcceptance
from specsim.engine import run
from specsim.engine.advance import advance
from specsim.engine.config import ReplicaConfig
from specsim.engine.kv_cache import new_cache
from specsim.engine.run import Server
from specsim.engine.slots import look_ahead
from specsim.engine.state import new_replica, new_requests
from specsim.engine.verify_chains import verify_chains
from specsim.engine.verify_trees import verify_trees
from specsim.inputs.models.acceptance import ConstantAcceptance
from specsim.inputs.models.drafters import DraftModel, EagleHead
from specsim.inputs.models.policy import (
    ConfidencePolicy,
    GoodputPolicy,
    OffAbovePolicy,
    OraclePolicy,
    PerRequestPolicy,
    StaticPolicy,
)
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.records import RunRecords, StepTime
from specsim.streams import stream
from specsim.uniforms import uniforms_key
from specsim.verification.arrays import Rule
from specsim.workload.lengths import Lengths
from specsim.workload.prefixes import Prefixes

MOST_STEPS = 100_000
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
DRAFT_MODEL = DraftModel(kind="draft_model", model="x")
ALL_RULES = [
    "token",
    "block",
    "greedy",
    "token argmax",
    "block argmax",
    "token varying",
    "token argmax varying",
    "greedy varying",
    "token mixed",
    "text",
    "text argmax",
    "text greedy",
    "tree with_replacement",
    "tree without_replacement",
    "tree one_hot",
    "tree one_hot greedy",
]
VARYING = ConstantAcceptance(
    kind="constant",
    overlap=0.6,
    vocabulary=8,
    spread=0.2,
    hard_stretches={"share": 0.4, "mean_length": 3, "drop": 0.5},
    by_context=[{"tokens": 5, "factor": 1.0}, {"tokens": 60, "factor": 0.5}],
)
"""Whatever profile is asked for."""
TEXT = "she sells sea shells by the sea shore; the shells she sells are sea shells, she is sure"
MOST_NODES = 13
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


def make_source(shape, conditional, rule, rng):
    """Of a chain's rule, such as 'token' or 'token argmax', or of 'tree' and its siblings, such as 'tree one_hot'."""
    if rule.startswith("text"):
        models, cold = count_ngrams(tokens_of(TEXT, "byte", 256), 3, 0.1), "greedy" in rule
        how = {"temperature": 0.0 if cold else 0.8, "drafter_temperature": 1.0, "top_p": 0.95}
        return text_models(models, 2, **how, sampled="argmax" not in rule)
    if "varying" in rule:
        return VaryingAcceptance(VARYING, shape.num_levels, rng, sampled="argmax" not in rule, greedy=False)
    if not rule.startswith("tree"):
        return PositionAcceptance(conditional, 8, rng, sampled="argmax" not in rule)
    siblings = rule.split()[1]
    return TreeAcceptance(conditional, shape, siblings=siblings, greedy="greedy" in rule, vocabulary=8, rng=rng)


def make_domains(longest, rng):
    """A domain that varies and decodes at temperature 0, and one whose acceptance is replayed."""
    varying = VaryingAcceptance(VARYING, longest, rng, sampled=True, greedy=True)
    starts, emitted = np.array([0, 3, 4]), np.array([1, 5, 2, 4])
    return varying, ReplayedAcceptance(starts, emitted, longest, 8, rng, sampled=True)


def make_config(
    *,
    conditional=(0.7, 0.7, 0.7),
    policy=None,
    max_num_seqs=8,
    drafter=EAGLE3,
    at_least=None,
    rule="token",
    children=CHILDREN,
    seed=1,
    cost=None,
    **stated,
) -> ReplicaConfig:
    """How a replica serves; drafts are as long as the profile unless a policy says otherwise.

    With at_least they are looked up, and that is the share of lookups that yield at least 1, 2, .. of them.
    """
    longest = len(conditional)
    shape = tree(children[:longest]) if rule.startswith("tree") else chain(longest)
    limits = {"max_num_batched_tokens": 256, "kv_tokens": 1_000_000, "decode_only": False, "replication": 0}
    return ReplicaConfig(
        max_num_seqs=max_num_seqs,
        cost=cost or PlainCost(),
        drafter=drafter if longest and at_least is None else None,
        share_at_least=None if at_least is None else np.array(at_least),
        policy=policy or StaticPolicy(num_draft_tokens=longest),
        shape=shape,
        source=make_source(shape, conditional, rule, stream(seed, "distributions")),
        domains=make_domains(longest, stream(seed, "distributions", 1)) if "mixed" in rule else (),
        rule=Rule[rule.split()[0].upper()],
        seed=seed,
        **limits | stated,
    )


@pytest.fixture(scope="session")
def config() -> Callable[..., ReplicaConfig]:
    return make_config


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


def ragged(longest: int):
    """A policy under which request i of the batch drafts (i + step) mod (longest + 1) tokens."""

    def policy(observation, step):
        step = step or 0
        return (np.arange(observation.num_decodes) + step) % (longest + 1), step + 1

    return policy


@pytest.fixture(scope="session")
def ragged_policy() -> Callable[..., object]:
    return ragged


@pytest.fixture
def plain(monkeypatch) -> None:
    """Servers run ``advance`` as it stands, even where it could be compiled."""
    monkeypatch.setattr(run, "advance_function", lambda: advance)


class Watched(Server):
    """A server that notes, before each step runs, who is where and holds what; needs a cost that prices outside.

    Attributes:
        blocks: held by each request, step by step.
        in_use, unused: as the replica counts them.
        on_host: blocks of each request that are swapped out.
        running: who is in service, in order.
        left: of each request.
        emitted, preempted: of each request.
        decodes, chunks: of the step; chunks are pairs of a request and tokens.
    """

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.blocks, self.in_use, self.running, self.left = [], [], [], []
        self.unused, self.on_host = [], []
        self.emitted, self.preempted, self.decodes, self.chunks = [], [], [], []

    def _price(self):
        assert len(self.in_use) < MOST_STEPS, "no end in sight"
        count, batch, requests = self.replica.counters, self.replica.batch, self.requests
        self.blocks.append(requests.blocks.copy())
        self.in_use.append(int(count.blocks_in_use[0]))
        self.unused.append(int(count.blocks_unused[0]))
        self.on_host.append(requests.on_host.copy())
        self.running.append(batch.running[: count.running[0]].tolist())
        self.left.append(requests.left.copy())
        self.emitted.append(requests.emitted.copy())
        self.preempted.append(requests.preempted.copy())
        self.decodes.append(batch.decodes[: count.decodes[0]].tolist())
        chunks = batch.chunks[: count.chunks[0]].tolist(), batch.chunk_tokens[: count.chunks[0]].tolist()
        self.chunks.append(list(zip(*chunks, strict=True)))
        super()._price()


class Case(NamedTuple):
    """A run: of which requests, how, and how they come."""

    lengths: Lengths
    config: ReplicaConfig
    arrivals: np.ndarray
    concurrency: int = 0
    think: np.ndarray = np.zeros(0)
    priority: np.ndarray | None = None

    @property
    def requests(self) -> Lengths:
        """The requests with all that is said of them."""
        lengths = dataclasses.replace(self.lengths, priority=self.priority)
        if not self.config.domains:
            return lengths
        number = np.arange(len(lengths.prompt))  # all domains in turn, with one of two recordings
        return dataclasses.replace(lengths, domain=number % 3, recording=number // 3 % 2)

    def server(self, kind=Server):
        """A server that knows who comes."""
        server = kind(self.config, self.requests, self.think)
        server.send(np.zeros(min(self.concurrency, len(self.lengths.prompt))) if self.concurrency else self.arrivals)
        return server


def policies(longest, rule, make_cost):
    """Any policy for drafts of up to so many positions; which needs more than a count of them is left out."""
    if longest == 0:
        return st.none()
    lengths, batches = st.integers(0, longest), st.integers(1, 8)
    off = st.tuples(batches, batches).map(lambda pair: {"batch": max(pair), "resume_at": min(pair)})
    found = [
        st.sampled_from([None, ragged(longest)]),
        off.map(lambda limits: OffAbovePolicy(kind="off_above", num_draft_tokens=longest, **limits)),
        st.tuples(batches, lengths, st.integers(1, 80), lengths).map(lambda choice: schedule(longest, *choice)),
        st.integers(1, longest).map(
            lambda start: PerRequestPolicy(kind="per_request", num_draft_tokens=longest, start=start)
        ),
    ]
    if make_cost is not PlainCost:  # steps are priced where the policy can ask
        found.append(st.just(GoodputPolicy(kind="goodput", num_draft_tokens=longest, half_life=20)))
    if not rule.startswith(("tree", "text")):
        found.append(st.just(OraclePolicy(kind="oracle", num_draft_tokens=longest)))
    if not rule.startswith(("tree", "text")) and "argmax" not in rule:
        found.append(st.just(ConfidencePolicy(kind="confidence", num_draft_tokens=longest, threshold=0.2)))
    return st.one_of(found)


def schedule(longest, batch, beyond, context, at_length):
    """So long up to a batch, and another length beyond it or where contexts are long."""
    rows = [((1, batch), longest, (0, context)), ((batch + 1, None), beyond, (0, context))]
    rows.append(((1, None), at_length, (context, None)))
    table = tuple({"batch": batch, "num_draft_tokens": drafts, "context": where} for batch, drafts, where in rows)
    return SchedulePolicy(kind="schedule", table=table)


def kept(pool):
    """What becomes of the cache of those who lose their place, or are done."""
    on_host = st.integers(1, 2 * pool).map(lambda tokens: {"host_tokens": tokens, "seconds_per_token": 1 / 64})
    return st.just({}) | on_host | st.just({"prefix_caching": True})


@st.composite
def prefixes(draw, prompt):
    """Prompts that begin with one of three texts, in segments of some length, or share nothing."""
    if draw(st.booleans()):
        return None
    each, text = draw(st.integers(1, 20)), np.array(draw(st.lists(st.integers(0, 2), min_size=40, max_size=40)))
    shared = np.minimum(prompt, draw(st.integers(1, 40)))
    counts = -(-shared // each)
    ends = [np.minimum(each * np.arange(1, count + 1), most) for count, most in zip(counts, shared, strict=True)]
    return Prefixes(np.append(0, np.cumsum(counts)), np.repeat(text[: len(prompt)], counts), np.concatenate(ends))


@st.composite
def any_case(draw, make_cost=PlainCost, max_priority=0, keeps=True):
    """Limits are tight, but every request can be served. Unless it keeps any cache, what is lost is computed anew."""
    pairs = np.array(draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 30)), min_size=1, max_size=12)))
    number, longest, block_size = len(pairs), int(pairs.sum(axis=1).max()), draw(st.sampled_from([1, 4, 16]))
    rule, conditional = draw(st.sampled_from(ALL_RULES)), draw(st.lists(st.floats(0, 1), max_size=4))
    blocks = -(-(longest + MOST_NODES) // block_size) + draw(st.integers(0, 3) | st.integers(0, 100))
    chunked, looks_up = draw(st.booleans()), rule.endswith(("argmax", "one_hot", "greedy")) and draw(st.booleans())
    shares = st.lists(st.floats(0, 1), min_size=len(conditional), max_size=len(conditional))
    config = make_config(
        conditional=conditional,
        policy=draw(policies(len(conditional), rule, make_cost)),
        max_num_seqs=draw(st.integers(1, 8)),
        # whoever lost their place computes again what was put out, in one chunk unless chunks are allowed
        max_num_batched_tokens=draw(st.integers(1, 64)) + (0 if chunked else longest),
        kv_tokens=blocks * block_size + draw(st.integers(0, block_size - 1)),
        block_size=block_size,
        chunked_prefill=chunked,
        prefill_first=draw(st.booleans()),
        decode_only=chunked and draw(st.booleans()),
        drafter=draw(st.sampled_from([EAGLE3, DRAFT_MODEL])),
        at_least=sorted(draw(shares), reverse=True) if looks_up else None,
        rule=rule,
        seed=draw(st.integers(0, 1000)),
        cost=make_cost(),
        admission=draw(st.sampled_from(["first_chunk", "context", "whole_request"])),
        **(draw(kept(blocks * block_size)) if keeps else {}),
    )
    times = st.lists(st.floats(0, 20), min_size=number, max_size=number)
    priority = np.array(draw(st.lists(st.integers(0, max_priority), min_size=number, max_size=number)))
    prompt, output = pairs.T
    lengths = Lengths(prompt, output, prefixes=draw(prefixes(prompt)))
    if draw(st.booleans()):
        return Case(lengths, config, np.cumsum(draw(times)), priority=priority)
    think = np.array(draw(times)) if draw(st.booleans()) else np.zeros(number)
    return Case(lengths, config, np.zeros(0), draw(st.integers(1, 10)), think, priority)


@pytest.fixture(scope="session")
def make_case() -> type[Case]:
    return Case


@pytest.fixture(scope="session")
def cases() -> Callable[..., st.SearchStrategy[Case]]:
    return any_case


@pytest.fixture(scope="session")
def watched() -> Callable[[Case], tuple[RunRecords, Watched]]:
    """Serves a case to its end; returns records and the server that saw it."""

    def run(case):
        server = case.server(Watched)
        return server.finish(), server

    return run


class Rounds:
    """Rounds at places of one's choice: which request, at which output position, with how many drafts.

    Args:
        num_slots: most requests admitted at once.
        source, shape, rule: what drafts and judges.
        num_positions: of which uniforms are drawn.
        replication: of the uniforms.
    """

    def __init__(self, num_slots, source, shape, rule, num_positions, replication=0):
        columns = max(shape.width, 1), shape.num_levels if rule == "block" else 0
        many, zeros = 64, np.zeros(64, np.int64)
        self._replica = new_replica(
            many, num_slots, 1, 1, num_positions, columns, shape.num_levels, np.zeros(1), new_cache(0)
        )
        self._requests = new_requests(zeros, zeros, zeros, zeros)
        self._key, self._free = uniforms_key(1, replication), list(range(num_slots))
        self._how = source, shape, rule

    def admit(self, request):
        self._requests.slot[request], self._requests.emitted[request] = self._free.pop(0), 0
        look_ahead(self._replica, self._requests, self._key, request)

    def release(self, request):
        self._free.append(int(self._requests.slot[request]))

    def verify(self, requests, positions, num_draft):
        """Tokens per round, and whether a draft was accepted that the drafter has not computed."""
        number, (source, shape, rule), batch = len(requests), self._how, self._replica.batch
        self._requests.emitted[requests] = positions
        self._replica.counters.decodes[0] = number
        batch.decodes[:number], batch.num_draft_tokens[:number] = requests, num_draft
        if rule == "tree":
            verify_trees(self._replica, self._requests, source, shape)
        else:
            verify_chains(self._replica, self._requests, source.rows, Rule[rule.upper()])
        return batch.num_out[:number].copy(), batch.last_is_new[:number].copy()


@pytest.fixture(scope="session")
def rounds_at() -> type[Rounds]:
    return Rounds
