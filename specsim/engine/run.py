"""One run of one replica and its clients, until every request is finished."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from specsim.arrays import Floats, Int32s, Ints
from specsim.costs.row_table import FIRST_BLOCK
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.passes import most_passes
from specsim.drafting.shape import chain
from specsim.drafting.text_models import TextModels
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.engine.advance import CHOOSE, IDLE, LOG_FULL, PRICE, STUCK, TABLES_SHORT, VERIFY, advance
from specsim.engine.compiled import advance_function, settled
from specsim.engine.config import ReplicaConfig, cost_form, kernel_params
from specsim.engine.kv_cache import new_cache
from specsim.engine.log import new_log
from specsim.engine.record import Recorder, request_records, with_received
from specsim.engine.state import (
    CHOSEN,
    IN_FLIGHT,
    PRICED,
    VERIFIED,
    Requests,
    new_replica,
    new_requests,
    plain_views,
    put_in_flight,
)
from specsim.engine.verify_texts import new_texts, verify_texts
from specsim.engine.verify_trees import verify_trees
from specsim.engine.wait_queue import next_waiting
from specsim.forward import Pass
from specsim.inputs.models.policy import StaticPolicy
from specsim.policies.form import first_memory
from specsim.policies.observation import Observation
from specsim.records import RequestRecords, RunRecords, StepTime
from specsim.verification.arrays import Rule
from specsim.workload.lengths import Lengths

POSITIONS_AHEAD = 256
"""Output positions whose uniforms are drawn at once: the most for which those of a batch stay in the CPU's cache."""
LOG_STEPS, LOG_ROUNDS = 4096, 2**18


def serve_closed_loop(
    config: ReplicaConfig,
    lengths: Lengths,
    concurrency: int,
    think: Floats | None = None,
    received: Ints | None = None,
) -> RunRecords:
    """Serve the requests with ``concurrency`` of them in flight until all are sent.

    Args:
        config: of the replica.
        lengths: of the requests.
        concurrency: how many clients there are.
        think: how long a client waits before it sends each request [N], the first ones excepted; not at all by default.
        received: of the first requests, the output tokens that they have when the run begins, see ``put_in_flight``.
    """
    number = len(lengths.prompt)
    server = Server(config, lengths, np.zeros(number) if think is None else think)
    server.send(np.zeros(min(concurrency, number)))
    if received is None:
        return server.finish()
    put_in_flight(server.requests, received)
    return with_received(server.finish(), received)


def serve_open_loop(config: ReplicaConfig, lengths: Lengths, arrivals: Floats) -> RunRecords:
    """Serve the requests, the i-th sent at ``arrivals[i]`` [s], ascending, whatever became of the others."""
    server = Server(config, lengths, np.zeros(0))
    server.send(arrivals)
    return server.finish()


def warm_up() -> None:
    """Compile what advances replicas, or load it: before many processes are started that would each compile it."""
    shape = chain(0)
    source = PositionAcceptance([], 2, np.random.default_rng(0))
    config = ReplicaConfig(
        max_num_seqs=1,
        max_num_batched_tokens=1,
        kv_tokens=32,
        decode_only=False,
        cost=_Second(),
        drafter=None,
        policy=StaticPolicy(num_draft_tokens=0),
        shape=shape,
        source=source,
        rule=Rule.TOKEN,
        seed=0,
        replication=0,
    )
    one = np.ones(1, np.int64)
    serve_closed_loop(config, Lengths(one, one), 1)


class _Second:
    """Every step takes a second."""

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = (), num_lookups: int = 0) -> StepTime:
        return StepTime(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def requests_of(config: ReplicaConfig, lengths: Lengths) -> Requests:
    """The requests of a run, not sent yet."""
    zeros = np.zeros(len(lengths.prompt), np.int64)
    priority = zeros if lengths.priority is None else lengths.priority
    many = bool(config.domains) or isinstance(config.source, TextModels)
    domain = lengths.domain if many and lengths.domain is not None else zeros
    return new_requests(lengths.prompt, lengths.output, priority, domain)


class Server:
    """A replica, with what runs outside of compiled code.

    Args:
        config: of the replica.
        lengths: of the requests.
        think: as in ``KernelParams``.
        requests: those of the run where several replicas serve them; each is at one of them at a time.
    """

    def __init__(
        self, config: ReplicaConfig, lengths: Lengths, think: Floats, requests: Requests | None = None
    ) -> None:
        number, shape = len(lengths.prompt), config.shape
        num_slots = min(config.max_num_seqs, number)
        self.requests = requests_of(config, lengths) if requests is None else requests
        rows = min(config.max_num_batched_tokens, FIRST_BLOCK - 1)  # tables are made longer where steps ask for it
        self._config, self._params = config, kernel_params(config, lengths, think, rows)
        self._number_recordings(lengths)
        positions = min(int(lengths.output.max()), POSITIONS_AHEAD) + shape.num_levels
        by_round = shape.num_levels if config.rule == Rule.BLOCK else 0
        self.replica = new_replica(
            number,
            num_slots,
            num_priorities=1 + int(self.requests.priority.max()),
            num_passes=1 + most_passes(self._params.drafter, shape.num_levels),
            num_positions=positions,
            columns=(max(shape.width, 1), by_round),
            longest=shape.num_levels,
            memory=np.zeros(1) if callable(config.policy) else first_memory(config.policy),
            cache=new_cache(self._params.limits.segments.num_nodes + number if config.prefix_caching else 0),
            traits=bool(self._params.rows.variation.varies.any()),
        )
        rounds = max(LOG_ROUNDS, num_slots)
        self._log = new_log(LOG_STEPS, rounds, shape.num_levels, number, keep_rounds=config.keep_rounds)
        self._recorder = Recorder(
            self._log, config.block_size, counts_use=not self._params.prices_outside, folder=config.spill
        )
        self._policy_state = None
        self._texts = new_texts(number)
        changes = self.replica, self.requests, self._params, self._log
        function = advance_function()
        self._state = plain_views(*changes[:2]) if function is advance else changes[:2]
        self._advance = settled(function, *changes, math.inf, True)

    def _number_recordings(self, lengths: Lengths) -> None:
        """From the place in a domain's own recording to that among those of all domains."""
        number = self._params.rows.variation.num_recorded
        if not number.any() or lengths.recording is None:
            self.requests.recording[:] = -1
            return
        first, domain = np.cumsum(number) - number, self.requests.domain
        replayed = number[domain] > 0
        self.requests.recording[:] = np.where(replayed, lengths.recording + first[domain], -1)

    def send(self, arrivals: Floats) -> None:
        """Add requests to those that are known to come, at these times [s], ascending."""
        sent = self.replica.counters.sent[0]
        self.replica.sent.at[sent : sent + len(arrivals)] = arrivals
        self.replica.counters.sent[0] += len(arrivals)

    def accept(self, request: int, at: float) -> None:
        """Let one of the requests come at a moment [s], not before those that are known to come."""
        place = self.replica.counters.sent[0]
        self.replica.sent[place] = at, request
        self.replica.counters.sent[0] += 1

    @property
    def next_moment(self) -> float:
        """When something happens next: a step ends, or one begins [s]; infinite if no request is known to arrive."""
        count, clock = self.replica.counters, self.replica.clock
        if count.phase[0] == IN_FLIGHT:
            return float(clock.step_end[0])
        if count.running[0] + count.waiting[0] > 0:
            return float(clock.now[0])
        if count.received[0] == count.sent[0]:
            return math.inf
        return max(float(self.replica.sent.at[count.received[0]]), float(clock.now[0]))

    @property
    def in_flight(self) -> bool:
        """Whether a step runs."""
        return bool(self.replica.counters.phase[0] == IN_FLIGHT)

    @property
    def finished(self) -> list[int]:
        """Requests that the last step finished."""
        finished: list[int] = self.replica.batch.finished[: self.replica.counters.finished[0]].tolist()
        return finished

    @property
    def num_requests(self) -> int:
        """Requests in service, waiting or known to come."""
        count = self.replica.counters
        return int(count.running[0] + count.waiting[0] + count.sent[0] - count.received[0])

    @property
    def kv_share(self) -> float:
        """KV tokens held, and those of requests that wait or are known to come, over the size of the pool."""
        count, requests = self.replica.counters, self.requests
        coming = self.replica.sent.request[count.received[0] : count.sent[0]]
        needed = count.waiting_tokens[0] + (requests.prompt_tokens[coming] + requests.emitted[coming]).sum()
        return float((count.blocks_in_use[0] * self._config.block_size + needed) / self._config.kv_tokens)

    def finish(self) -> RunRecords:
        """Run until nothing is left to do."""
        self.drain()
        return self.records(request_records(self.requests, self._log.accepted))

    def drain(self) -> None:
        """Run until nothing is left to do."""
        while self.run(math.inf) != IDLE:
            pass

    @property
    def accepted(self) -> Int32s:
        """Verifies of drafts here, by request and tokens accepted [N, longest draft + 1]."""
        return self._log.accepted

    def records(self, served: RequestRecords) -> RunRecords:
        """What it did, beside what became of the requests."""
        self._recorder.take(self.replica)
        return self._recorder.records(served, self._config.shape.num_nodes)

    def run(self, horizon: float, *, begins: bool = True) -> int:
        """Run until a moment, or until a log is full; says why it stopped.

        Args:
            horizon: the moment [s].
            begins: whether a step may begin at that very moment.
        """
        while True:
            why = self._advance(*self._state, self._params, self._log, horizon, begins)
            if why == CHOOSE:
                self._choose()
            elif why == PRICE:
                self._price()
            elif why == VERIFY:
                self._verify()
            elif why == TABLES_SHORT:
                self._lengthen()
            elif why == LOG_FULL:
                self._recorder.take(self.replica)
            elif why == STUCK:
                raise RuntimeError(
                    f"request {next_waiting(self.replica)} can never be admitted; the caller has to check that it fits"
                )
            else:
                return why

    def _choose(self) -> None:
        replica, requests, policy = self.replica, self.requests, self._config.policy
        running = replica.batch.running[: replica.counters.running[0]]
        decoding = running[requests.left[running] == 0]
        context = int((requests.prompt_tokens[decoding] + requests.emitted[decoding]).sum())
        observation = Observation(len(decoding), int(replica.counters.waiting[0]), context)
        assert callable(policy)
        wanted, self._policy_state = policy(observation, self._policy_state)
        replica.batch.wanted[requests.slot[decoding]] = wanted
        replica.counters.phase[0] = CHOSEN

    def _price(self) -> None:
        target, *drafts = (Pass(*row) for row in self.replica.passes[: self.replica.counters.passes[0]].tolist())
        self.replica.parts[:] = self._config.cost.price(target, drafts, int(self.replica.counters.lookups[0]))
        self.replica.counters.phase[0] = PRICED

    def _verify(self) -> None:
        source = self._config.source
        if isinstance(source, TextModels):
            verify_texts(self.replica, self.requests, source, self._texts, self._params.key)
        else:
            assert isinstance(source, TreeAcceptance)
            verify_trees(self.replica, self.requests, source, self._config.shape)
        self.replica.counters.phase[0] = VERIFIED

    def _lengthen(self) -> None:
        costs = cost_form(self._config.cost, 2 * self._params.costs.rows)
        self._params = self._params._replace(costs=costs)
