"""One replica of the engine: schedule → draft → verify → commit, step after step, on simpy's clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from specsim.costs.step import Pricing
from specsim.drafting.drafters import PromptWork, catch_up_tokens, draft_passes
from specsim.drafting.shape import DraftShape
from specsim.engine.kv_cache import KVPool
from specsim.engine.lookups import Lookups
from specsim.engine.recorder import Recorder
from specsim.engine.requests import RequestTable
from specsim.engine.scheduler import Decodes, fit_chunks, fit_decodes
from specsim.engine.speculator import Speculator
from specsim.engine.tree_speculator import TreeSpeculator
from specsim.engine.work import Chunks, prompt_work, target_pass
from specsim.forward import Pass
from specsim.policies.observation import Observation
from specsim.schema.speculation import ModelDrafter

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Serving:
    """How a replica serves.

    Attributes:
        max_num_seqs: most requests admitted at once.
        max_num_batched_tokens: most tokens in a step.
        kv_tokens: size of the KV pool.
        decode_only: prompts are already in the KV cache.
        cost: prices steps.
        drafter: runs passes before each verify; None where no model drafts.
        lookups: finds drafts on the host, or none; None where drafts are not looked up.
        hands_on_all: the drafter takes in all tokens of a verify, and not the accepted ones alone.
        policy: (observation, state) → (draft lengths, state).
        shape: the largest draft that the policy can ask for.
        speculator: drafts and verifies.
        pool_tokens: tokens of a request, drafts included → what it takes from the KV pool.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    decode_only: bool
    cost: Pricing
    drafter: ModelDrafter | None
    lookups: Lookups | None
    policy: Callable[[Observation, Any], tuple[Ints, Any]]
    shape: DraftShape
    speculator: Speculator | TreeSpeculator
    pool_tokens: Callable[[int], int] = int  # every token is kept whole
    hands_on_all: bool = False


class Replica:
    """Serves requests of a table in order of arrival.

    Args:
        env: the clock.
        table: all requests of the run.
        serving: how.
        recorder: receives the facts.
    """

    def __init__(self, env: simpy.Environment, table: RequestTable, serving: Serving, recorder: Recorder) -> None:
        self._env, self._table, self._serving, self._recorder = env, table, serving, recorder
        self._drafter, self._lookups = serving.drafter, serving.lookups
        self._speculator, self._policy_state = serving.speculator, None
        self._pool = KVPool(serving.kv_tokens)
        self._waiting: deque[int] = deque()
        self._prefilling: list[int] = []
        self._decoding = np.zeros(0, dtype=np.int64)
        self._done: dict[int, simpy.Event] = {}
        self._work = env.event()
        env.process(self._serve())

    def send(self, request: int) -> simpy.Event:
        """Queue a request now; the event succeeds when its last token is ready."""
        self._table.arrival[request] = self._env.now
        self._waiting.append(request)
        self._done[request] = self._env.event()
        if not self._work.triggered:
            self._work.succeed()
        return self._done[request]

    def _serve(self) -> Generator[simpy.Event, None, None]:
        while True:
            if not (self._waiting or self._prefilling or len(self._decoding)):
                self._work = self._env.event()
                yield self._work
            finished = yield from self._step()
            for request in finished:
                self._done.pop(request).succeed()
            if finished:
                yield self._env.timeout(0)  # clients answer a completion before the next step is scheduled

    def _step(self) -> Generator[simpy.Event, None, list[int]]:
        start = self._env.now
        decodes, chunks = self._schedule()
        if not (len(decodes.requests) or chunks.tokens):
            raise RuntimeError(
                f"request {self._waiting[0]} can never be admitted; the caller has to check that it fits"
            )
        counts = (
            len(decodes.requests),
            sum(chunks.tokens),
            int(decodes.num_nodes.sum()),
            len(self._decoding) + len(self._prefilling),
            len(self._waiting),
            self._pool.reserved,
        )
        prompts, finishing = prompt_work(self._table, chunks)
        verify = target_pass(self._table, self._serving.shape, decodes, prompts, finishing)
        parts = self._price(verify, decodes, prompts)
        yield self._env.timeout(sum(parts))
        self._recorder.step((start, self._env.now), parts, (*counts, verify.context_tokens))
        return [*self._commit_decodes(decodes), *self._commit_chunks(chunks)]

    def _schedule(self) -> tuple[Decodes, Chunks]:
        """The step's decodes, and its prompt tokens."""
        budget = self._serving.max_num_batched_tokens
        if self._serving.decode_only:
            self._decoding = np.append(self._decoding, self._admit(budget))
            return self._schedule_decodes(), Chunks([], [])
        decodes = self._schedule_decodes()
        budget -= decodes.num_tokens
        unfinished = [self._remaining_prompt(request) for request in self._prefilling]
        admitted = self._admit(budget - sum(unfinished))
        self._prefilling += admitted.tolist()
        tokens = fit_chunks([*unfinished, *self._table.prompt_tokens[admitted].tolist()], budget)
        return decodes, Chunks(self._prefilling[: len(tokens)], tokens)

    def _remaining_prompt(self, request: int) -> int:
        return int(self._table.prompt_tokens[request] - self._table.computed_prompt[request])

    def _schedule_decodes(self) -> Decodes:
        table, requests = self._table, self._decoding
        context = int((table.prompt_tokens[requests] + table.emitted[requests]).sum())
        observation = Observation(len(self._decoding), len(self._waiting), context)
        wanted, self._policy_state = self._serving.policy(observation, self._policy_state)
        budget, num_nodes = self._serving.max_num_batched_tokens, self._serving.shape.num_nodes
        if self._lookups is None:
            return fit_decodes(requests, wanted, budget, num_nodes)
        found = self._lookups.found(requests, table.emitted[requests], wanted)
        decodes = fit_decodes(requests, found, budget, num_nodes)
        return decodes._replace(num_lookups=int(np.count_nonzero(wanted[: len(decodes.requests)])))

    def _admit(self, budget: int) -> Ints:
        """Move requests out of the queue while sequences, token budget and KV pool allow; returns them."""
        table, admitted = self._table, list[int]()
        running = len(self._decoding) + len(self._prefilling)
        while self._waiting and budget > 0 and running + len(admitted) < self._serving.max_num_seqs:
            request = self._waiting[0]
            if not self._pool.reserve(self._pool_tokens(request)):
                break
            self._waiting.popleft()
            self._speculator.admit(request)
            if self._lookups is not None:
                self._lookups.admit(request)
            table.admitted[request] = self._env.now
            admitted.append(request)
            budget -= 1 if self._serving.decode_only else int(table.prompt_tokens[request])
        return np.array(admitted, dtype=np.int64)

    def _pool_tokens(self, request: int) -> int:
        """What a request can come to need of the KV pool."""
        table, serving = self._table, self._serving
        tokens = int(table.prompt_tokens[request] + table.output_tokens[request]) + serving.shape.max_nodes
        return serving.pool_tokens(tokens)

    def _price(self, verify: Pass, decodes: Decodes, prompts: PromptWork) -> tuple[float, ...]:
        table, shape, requests = self._table, self._serving.shape, decodes.requests
        if self._drafter is None:
            return self._serving.cost.price(verify, num_lookups=decodes.num_lookups)
        context = table.prompt_tokens[requests] + table.emitted[requests]
        passes = draft_passes(self._drafter, shape, decodes.num_draft, table.catch_up[requests], context, prompts)
        return self._serving.cost.price(verify, passes)

    def _commit_decodes(self, decodes: Decodes) -> list[int]:
        requests, num_draft, num_nodes, _ = decodes
        if not len(requests):
            return []
        table = self._table
        positions = table.emitted[requests]
        num_out, last_is_new = self._speculator.verify(requests, positions, num_draft)
        emitted = np.minimum(num_out, table.output_tokens[requests] - positions)
        if self._drafter is not None:
            # a drafter that sat out this round still lacks what it lacked before
            missed = np.where(num_draft > 0, 0, table.catch_up[requests])
            verified = num_nodes + 1 if self._serving.hands_on_all else None
            table.catch_up[requests] = missed + catch_up_tokens(self._drafter, num_out - 1, last_is_new, verified)
        self._recorder.rounds(requests, num_draft, num_nodes, num_out - 1, emitted, from_prompt=False)
        return self._finish(table.emit(requests, emitted, self._env.now))

    def _commit_chunks(self, chunks: Chunks) -> list[int]:
        if not chunks.tokens:
            return []
        table, requests = self._table, np.array(chunks.requests, dtype=np.int64)
        table.computed_prompt[requests] += chunks.tokens
        complete = requests[table.computed_prompt[requests] == table.prompt_tokens[requests]]
        if not len(complete):
            return []
        self._prefilling = [r for r in self._prefilling if self._remaining_prompt(r)]
        self._decoding = np.append(self._decoding, complete)
        ones, zeros = np.ones_like(complete), np.zeros_like(complete)
        self._recorder.rounds(complete, zeros, zeros, zeros, ones, from_prompt=True)
        return self._finish(table.emit(complete, ones, self._env.now))

    def _finish(self, done: Ints) -> list[int]:
        if not len(done):
            return []
        self._decoding = self._decoding[~np.isin(self._decoding, done)]
        finished: list[int] = done.tolist()
        for request in finished:
            self._pool.release(self._pool_tokens(request))
            self._speculator.release(request)
            if self._lookups is not None:
                self._lookups.release(request)
        return finished
