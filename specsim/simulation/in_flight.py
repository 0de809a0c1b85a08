"""Requests that a closed loop in steady state finds in service: how long they are, and how far.

A request takes part in every step while it is in service, so its stay is counted in steps: those until its prompt is
computed, and a verify for every few output tokens. Whoever looks in finds a request with a chance in proportion to its
stay, at any moment of it alike (the inspection paradox of renewal theory; Feller, An Introduction to Probability
Theory and Its Applications II, 1971, XI.4). Requests that wait are as they are sent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.drafting.lookups import length_shares
from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.token_sources import ReplayAcceptance
from specsim.simulation.expected import tokens_by_domain
from specsim.simulation.replica import Simulation
from specsim.streams import stream
from specsim.workload.lengths import InFlight, Lengths

POOL = 4096
"""Requests among which those in service are drawn."""


FEW_ROUNDS = 8
"""Of language models: tokens per verify only matter for the share of a stay that the prompt takes."""


class Stays(NamedTuple):
    """Steps in service of requests: until they decode, and from then on; float64, the second [requests]."""

    before: float
    rounds: Floats


def num_drawn(num_requests: int) -> int:
    """Requests whose lengths a run draws."""
    return POOL + num_requests


def is_known(simulation: Simulation) -> bool:
    """Whether the steady state is known but for details.

    It is not where prompts and outputs are served apart, nor where acceptance varies from request to request: those in
    service are then mostly the hard ones, but which those are goes by their numbers.
    """
    fleet = simulation.inputs.scenario.fleet
    if fleet is not None and fleet.disaggregation is not None:
        return False
    stated = (domain.acceptance for domain in simulation.sources.domains)
    return not any(
        isinstance(one, ReplayAcceptance) or (isinstance(one, StatedAcceptance) and one.varies) for one in stated
    )


def drawn_in_flight(
    simulation: Simulation, batch: int, num_draft_tokens: int, num_requests: int, replication: int
) -> InFlight:
    """The requests of a closed loop that begins in its steady state, as far as this is known.

    The same uniforms choose them at every draft length, so that paired runs find nearly the same requests at nearly the
    same output positions.

    Args:
        simulation: whose.
        batch: requests in flight.
        num_draft_tokens: of the run.
        num_requests: of the run, those in flight included.
        replication: of the run.

    Raises:
        InfeasibleError: when a request could never be served.
    """
    drawn = simulation.lengths_checked(num_drawn(num_requests), num_draft_tokens, replication)
    pool, seed = drawn[:POOL], simulation.inputs.scenario.seed
    most = min(batch, num_requests, sum(min(limits) for limits in simulation.step_limits(num_draft_tokens)))
    moments, number = stream(seed, "ages in flight", replication).random(most), most
    for _ in range(2):  # once more where the KV pool holds fewer, who then wait less for each other's prompts
        stays = _stays(simulation, pool, num_draft_tokens, number)
        found = length_biased(stays.before + stays.rounds, most, stream(seed, "requests in flight", replication))
        position = positions(pool.output[found], stays.before, stays.rounds[found], moments)
        number = _number_held(simulation, num_draft_tokens, pool[found], position)
        if number == most:
            break
    oldest_first = np.argsort(-moments[:number], kind="stable")  # as they would have been admitted
    chosen = np.append(found[oldest_first], POOL + np.arange(number, num_requests))
    return InFlight(drawn[chosen], position[oldest_first])


def length_biased(stay: Floats, number: int, rng: np.random.Generator) -> Ints:
    """Places in a pool, each drawn in proportion to its stay [number].

    Candidates come one after the other, all alike, and are taken with the chance that their stay is of the longest. So
    pools whose stays are nearly in proportion yield the same places from the same numbers, but for a few.
    """
    chosen, chance = np.full(number, -1), stay / stay.max()
    while (chosen < 0).any():
        at, uniform = rng.random((2, number))
        candidate = (at * len(stay)).astype(np.int64)
        chosen = np.where((chosen < 0) & (uniform < chance[candidate]), candidate, chosen)
    return chosen


def positions(output: Ints, before: float, rounds: Floats, uniforms: Floats) -> Ints:
    """Output tokens received at a uniform moment of the stay [n]; 0 where the prompt is not computed.

    Args:
        output: tokens asked for [n].
        before: steps until a request decodes; its first token comes with the last of them, unless there are none.
        rounds: steps from then on [n].
        uniforms: each is a moment, as a share of the stay [n].
    """
    age = uniforms * (before + rounds) - before
    share = np.divide(age, rounds, out=np.zeros_like(age), where=rounds > 0)
    first = 0 if before == 0 else 1
    received = first + np.floor(share * (output - first)).astype(np.int64)
    return np.where(age < 0, 0, np.minimum(received, output - 1))


def _stays(simulation: Simulation, pool: Lengths, num_draft_tokens: int, most: int) -> Stays:
    """How long requests of the pool stay at a given number in service.

    Prompts take a step, or as many as they need of the token budget. Where all prompts together need more of it than
    decodes leave, requests wait for each other: with c of them done in a step, c · (prompt tokens + tokens verified in
    all rounds) is the budget, and by Little's law c · (steps of one request) the number in service.
    """
    sources, shares = simulation.sources, length_shares(simulation.sources.share_at_least(num_draft_tokens))
    per_round = sum(
        share * np.array(tokens_by_domain(simulation, k, FEW_ROUNDS)) for k, share in enumerate(shares) if share
    )
    domain = np.zeros(len(pool.output), np.int64) if pool.domain is None or len(per_round) == 1 else pool.domain
    if simulation.inputs.scenario.workload.decode_only:
        return Stays(0.0, pool.output / per_round[domain])
    rounds = (pool.output - 1) / per_round[domain]
    budget = sum(tokens for _, tokens in simulation.step_limits(num_draft_tokens))
    prompt, replicas = float(pool.prompt.mean()), len(simulation.step_limits(num_draft_tokens))
    alone = max(1.0, prompt * replicas / budget)
    if simulation.inputs.engine.scheduling == "prompts_first":
        return Stays(alone, rounds)
    verified = 1 + float(shares @ sources.draft_shape(num_draft_tokens).num_nodes)
    most_done = budget / (prompt + verified * rounds.mean())
    return Stays(max(alone, most / most_done - float(rounds.mean())), rounds)


def _number_held(simulation: Simulation, num_draft_tokens: int, found: Lengths, received: Ints) -> int:
    """How many of those in service, from the first on, the KV pools hold."""
    blocks = sum(simulation.kv_pools(num_draft_tokens)) // simulation.block_size
    shared = np.zeros(len(received), np.int64)
    if simulation.inputs.scenario.deployment.prefix_caching and found.prefixes is not None:
        starts = found.prefixes.starts
        has = starts[1:] > starts[:-1]
        shared[has] = found.prefixes.ends[starts[1:][has] - 1]
    whole = simulation.inputs.engine.admission == "whole_request"
    nodes = simulation.sources.draft_shape(num_draft_tokens).max_nodes
    tokens = found.prompt - shared + (found.output if whole else received) + nodes
    room = simulation.memory(num_draft_tokens > 0).room(nodes)
    held = [room(n) for n in np.where(received > 0, tokens, 0).tolist()]
    needed = np.cumsum(-(-np.array(held) // simulation.block_size))
    return int(np.searchsorted(needed, blocks, "right"))
