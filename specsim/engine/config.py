"""The configuration of a replica, and its conversion to the parameters of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.costs.forms import StepForm, empty_step
from specsim.costs.step import Pricing, StepCost
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.chain_rows import joined
from specsim.drafting.passes import drafter_form
from specsim.drafting.shape import DraftShape
from specsim.drafting.stated import ChainSource
from specsim.drafting.text_models import TextModels
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.engine.advance import KernelParams
from specsim.engine.scheduler_limits import FOR_ALL, FOR_CHUNK, FOR_CONTEXT, SchedulerLimits, no_segments, segments_of
from specsim.inputs.models.drafters import ModelDrafter
from specsim.inputs.models.engine import DEFAULT_BLOCK_SIZE
from specsim.inputs.models.policy import GoodputPolicy, Policy, StaticPolicy
from specsim.policies.form import OUTSIDE, policy_form
from specsim.policies.observation import Observation
from specsim.uniforms import uniforms_key
from specsim.verification.arrays import Rule
from specsim.workload.lengths import Lengths

PolicyFunction = Callable[[Observation, Any], tuple[Ints, Any]]
ADMISSIONS = {"first_chunk": FOR_CHUNK, "context": FOR_CONTEXT, "whole_request": FOR_ALL}


@dataclass(frozen=True)
class ReplicaConfig:
    """How a replica serves.

    Attributes:
        max_num_seqs: most requests in service at once.
        max_num_batched_tokens: most tokens in a step.
        kv_tokens: size of the KV pool.
        block_size: tokens in a KV block.
        decode_only: prompts are already in the KV cache.
        cost: prices steps.
        drafter: runs passes before each verify; None where no model drafts.
        first_pass_over_verified: the drafter's first pass computes all verified tokens, not only the accepted ones.
        share_at_least: share of look-ups that find at least 1, 2, .. drafts; None where drafts are not looked up.
        policy: of the scenario, or a function of observation and state to (draft lengths of those that decode, state).
        shape: the largest draft that the policy can ask for.
        source: draws drafts and their distributions, of requests of domain 0.
        domains: sources of the requests of domain 1, 2, ..; chains only.
        rule: which verifier runs.
        seed, replication: select the run's uniforms.
        admission: what blocks must be free for to admit a request, see ``scheduler_limits``.
        host_tokens: KV tokens that the host has room for; at 0, preempted requests compute theirs again.
        seconds_per_token: that a token's KV takes between host and device.
        prefix_caching: whether KV blocks are kept and shared; then every token is kept whole.
        pool_tokens: tokens of a request, drafts included → what it takes from the KV pool.
        chunked_prefill, prefill_first: see ``SchedulerLimits``.
        keep_rounds: whether every round is recorded; of a long run only their tally fits.
        spill: folder where rows of steps and rounds are written as they come; None to hold them in memory.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    decode_only: bool
    cost: Pricing
    drafter: ModelDrafter | None
    policy: Policy | PolicyFunction
    shape: DraftShape
    source: ChainSource | TreeAcceptance | TextModels
    rule: Rule
    seed: int
    replication: int
    domains: tuple[ChainSource, ...] = ()
    block_size: int = DEFAULT_BLOCK_SIZE
    first_pass_over_verified: bool = False
    share_at_least: Floats | None = None
    admission: Literal["first_chunk", "context", "whole_request"] = "context"
    host_tokens: int = 0
    seconds_per_token: float = 0.0
    prefix_caching: bool = False
    pool_tokens: Callable[[int], int] = int  # every token is kept whole
    chunked_prefill: bool = True
    prefill_first: bool = False
    keep_rounds: bool = True
    spill: Path | None = None


def kernel_params(config: ReplicaConfig, lengths: Lengths, think: Floats, rows: int) -> KernelParams:
    """What the kernels of a replica take.

    Args:
        config: how the replica serves.
        lengths: of the run's requests.
        think: as in ``KernelParams``.
        rows: for how many rows the cost tables are made.
    """
    if isinstance(config.policy, GoodputPolicy) and not isinstance(config.cost, StepCost):
        raise ValueError("a policy by goodput prices steps itself, which takes a StepCost")
    if callable(config.policy):
        stated = StaticPolicy(num_draft_tokens=config.shape.num_levels)
        policy = policy_form(stated, config.max_num_seqs)._replace(kind=OUTSIDE)
    else:
        policy = policy_form(config.policy, config.max_num_seqs)
    source = NO_CHAINS if isinstance(config.source, TreeAcceptance | TextModels) else config.source
    tables, key = (
        joined([part.rows for part in (source, *config.domains)]),
        uniforms_key(config.seed, config.replication),
    )
    return KernelParams(
        limits=_limits(config, lengths),
        drafter=drafter_form(config.drafter, config.shape, first_pass_over_verified=config.first_pass_over_verified),
        rows=tables._replace(variation=tables.variation._replace(key=key)),
        rule=int(config.rule),
        costs=cost_form(config.cost, rows),
        key=key,
        policy=policy,
        prices_outside=not isinstance(config.cost, StepCost),
        think=think,
    )


NO_CHAINS = PositionAcceptance([], 2, np.random.default_rng(0))


def cost_form(cost: Pricing, rows: int) -> StepForm:
    """The lowered form of a cost; an empty one where steps are priced outside."""
    return cost.form(rows) if isinstance(cost, StepCost) else empty_step()


def _limits(config: ReplicaConfig, lengths: Lengths) -> SchedulerLimits:
    longest = int((lengths.prompt + lengths.output).max())
    tokens = np.arange(longest + config.shape.max_nodes + 1)
    if config.pool_tokens is not int:
        tokens = np.array([config.pool_tokens(n) for n in tokens.tolist()])
    share, segments = config.share_at_least, no_segments(len(lengths.prompt))
    if config.prefix_caching and lengths.prefixes is not None:
        segments = segments_of(lengths.prefixes, config.block_size)
    return SchedulerLimits(
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        num_blocks=config.kv_tokens // config.block_size,
        block_size=config.block_size,
        admission=ADMISSIONS[config.admission],
        host_blocks=config.host_tokens // config.block_size,
        seconds_per_block=config.seconds_per_token * config.block_size,
        caches_prefixes=config.prefix_caching,
        drops_last=config.drafter is not None and config.drafter.facts.reads_hidden_states,
        segments=segments,
        blocks_of=-(-tokens // config.block_size),
        chunked_prefill=config.chunked_prefill,
        prefill_first=config.prefill_first,
        decode_only=config.decode_only,
        num_nodes=config.shape.num_nodes,
        total_depth=config.shape.total_depth,
        looks_up=share is not None,
        share_at_least=np.ones(config.shape.num_levels) if share is None else share,
    )
