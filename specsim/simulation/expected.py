"""What paper says of a deployment: decode only, every round at its mean, the cost model's own step times.

The simulator is compared with this where it applies; it knows nothing of prompts, queues or outputs that end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from specsim.analysis.closed_form import expected_tokens_of
from specsim.costs.linear import product_rates
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.expected_text_tokens import MOST_ROUNDS, mean_text_tokens
from specsim.drafting.expected_varied_tokens import mean_tokens_varied
from specsim.drafting.lookups import length_shares
from specsim.drafting.replayed import mean_recorded_tokens
from specsim.drafting.tree_length import mean_tree_length
from specsim.inputs.models.token_sources import NgramModels, ReplayAcceptance
from specsim.simulation.replica import Simulation
from specsim.simulation.step_passes import step_passes
from specsim.streams import stream
from specsim.verification import mean_tokens
from specsim.verification.arrays import Rule

DRAFT_SAMPLE = 16384  # drafts; tokens per verify are then known to better than 0.5 %
LENGTH_SAMPLE = 4096  # requests; the mean context of Azure conversations is then known to about 2 %


@dataclass(frozen=True)
class DecodeStep:
    """A decode-only step of a batch in which every request has the same context.

    Attributes:
        seconds: how long it takes.
        tokens: output tokens that it yields on average.
    """

    seconds: float
    tokens: float

    @property
    def tokens_per_s(self) -> float:
        """Output tokens per second."""
        return self.tokens / self.seconds


def decode_step(simulation: Simulation, batch: int, num_draft_tokens: int, context: int) -> DecodeStep:
    """The closed form of a decode-only step.

    Args:
        simulation: whose costs and acceptance.
        batch: requests in the step.
        num_draft_tokens: draft tokens per verify, or levels of the tree.
        context: tokens of prompt and output so far per request.
    """
    tokens = tokens_per_round(simulation, num_draft_tokens)
    steps = step_passes(simulation, batch, num_draft_tokens, context, accepted=round(tokens - 1))
    return DecodeStep(float(np.mean([sum(step.price(simulation)) for step in steps])), batch * tokens)


def tokens_per_round(simulation: Simulation, num_draft_tokens: int) -> float:
    """Mean tokens that a request receives in a step, with whatever drafts were found for it."""
    shares = length_shares(simulation.sources.share_at_least(num_draft_tokens))
    return math.fsum(share * tokens_per_verify(simulation, k) for k, share in enumerate(shares.tolist()) if share)


def tokens_per_verify(simulation: Simulation, num_draft_tokens: int) -> float:
    """Mean tokens per verify at this draft length, over the verifies of all domains."""
    return _over_domains(simulation, tokens_by_domain(simulation, num_draft_tokens))


@lru_cache(maxsize=64)  # a curve asks for the same few at every batch
def tokens_by_domain(
    simulation: Simulation, num_draft_tokens: int, most_rounds: int = MOST_ROUNDS
) -> tuple[float, ...]:
    """Mean tokens per verify of each domain: in closed form for chains, as a sample mean for blocks and trees.

    Args:
        simulation: whose.
        num_draft_tokens: at which draft length, or levels of the tree.
        most_rounds: after which language models count as settled, see ``mean_text_tokens``.
    """
    if simulation.sources.rule == Rule.TREE and num_draft_tokens:
        return (_tokens_per_tree(simulation, num_draft_tokens),)
    tokens = []
    sources = simulation.sources.acceptance_sources(num_draft_tokens) if simulation.sources.rule == Rule.BLOCK else ()
    for number, domain in enumerate(simulation.sources.domains):
        source = sources[number] if sources and domain.temperature and num_draft_tokens else None
        if isinstance(source, PositionAcceptance):
            tokens.append(_tokens_per_block(simulation, source, num_draft_tokens))
        else:
            tokens.append(_tokens_per_chain(simulation, number, num_draft_tokens, most_rounds))
    return tuple(tokens)


def _tokens_per_chain(simulation: Simulation, number: int, num_draft_tokens: int, most_rounds: int) -> float:
    """Of a domain: at the mean context, over the lengths of a recording, over long outputs of language models."""
    acceptance = simulation.sources.domains[number].acceptance
    if isinstance(acceptance, ReplayAcceptance):
        found = simulation.sources.recordings[number]
        return mean_recorded_tokens(found.starts, found.emitted, found.output_tokens, num_draft_tokens)
    if isinstance(acceptance, NgramModels):
        return mean_text_tokens(simulation.sources.text_models(number), num_draft_tokens, most_rounds)
    if acceptance.varies:
        return mean_tokens_varied(acceptance, num_draft_tokens, mean_context(simulation))
    return float(expected_tokens_of(acceptance.conditional(num_draft_tokens)))


def _over_domains(simulation: Simulation, tokens: tuple[float, ...]) -> float:
    """The mean over verifies: a domain has as many of them as its output tokens take."""
    if len(tokens) == 1:
        return tokens[0]
    lengths = simulation.lengths(LENGTH_SAMPLE, replication=0)
    if lengths.domain is None:
        return tokens[0]
    output = np.bincount(lengths.domain, lengths.output, len(tokens))
    return float(output.sum() / (output / np.array(tokens)).sum())


def _tokens_per_block(simulation: Simulation, source: PositionAcceptance, num_draft_tokens: int) -> float:
    uniforms = stream(simulation.inputs.scenario.seed, "expected tokens").random((DRAFT_SAMPLE, num_draft_tokens))
    draft = source.propose(uniforms)
    return mean_tokens(draft, *source.score(draft), np.full(DRAFT_SAMPLE, num_draft_tokens), "block")[0]


def _tokens_per_tree(simulation: Simulation, num_levels: int) -> float:
    source, width = simulation.sources.tree_source(num_levels), simulation.sources.draft_shape(num_levels).width
    shape = simulation.sources.draft_shape(num_levels)
    rng = stream(simulation.inputs.scenario.seed, "expected tokens")
    return mean_tree_length(source, shape, num_levels, rng.random((DRAFT_SAMPLE, num_levels, width)))


def mean_context(simulation: Simulation) -> int:
    """The mean context of a request in mid-decode: requests with long outputs are met more often [tokens]."""
    lengths = simulation.lengths(LENGTH_SAMPLE, replication=0)
    prompt, output = lengths.prompt.astype(np.float64), lengths.output.astype(np.float64)
    return round(float((output * (prompt + output / 2)).sum() / output.sum()))


def free_verify_batch(simulation: Simulation, num_draft_tokens: int) -> int | None:
    """The largest batch whose verify keeps the matrix products streaming weights rather than computing.

    There arithmetic takes as long as reading the weights: batch · (K+1) = achieved FLOP/s ÷ achieved B/s for BF16, and
    in another format times its bytes per weight over two. K are the draft tokens of a request: all nodes of a tree, and
    the mean where drafts are looked up.
    None for a mixture of experts, where more tokens read more.
    """
    rates, operators = simulation.rates, simulation.target.operators
    if operators.experts:
        return None
    form = simulation.target.parallelism.quantisation.mlp
    achieved = product_rates(form, rates)
    ridge = achieved.flops / achieved.bandwidth * (form.bytes_per_weight / 2)
    shares = length_shares(simulation.sources.share_at_least(num_draft_tokens))
    return math.floor(ridge / (float(shares @ simulation.sources.draft_shape(num_draft_tokens).num_nodes) + 1))
