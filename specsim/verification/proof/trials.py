"""The trials of a verifier: one number each, which a right verifier keeps at or below a limit.

Knows nothing of which verifiers are right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from specsim.verification.arrays import Bools, ChainVerifier, Emitted, Floats, Ints, RuleName
from specsim.verification.proof.cells import block_cells, token_cells
from specsim.verification.proof.context_acceptance import context_acceptance_error, context_acceptance_limit
from specsim.verification.proof.edges import edge_errors
from specsim.verification.proof.exact import exact_law_errors, exact_one_hot_errors
from specsim.verification.proof.loops import block_by_loops, chain_by_loops
from specsim.verification.proof.losslessness import (
    COUNT_STANDARD_ERRORS,
    MarkovPair,
    decode,
    joint_chi_square,
    joint_chi_square_limit,
    one_hot_drafter,
    token_count_error,
)
from specsim.verification.row_form import verify_rows

EXACT = "exact law, wrong probabilities"
EXACT_STALE = "exact law over stale padding, wrong probabilities"
EXACT_ONE_HOT = "exact law of one-hot drafts, wrong probabilities"
EDGES = "edges, wrong results"
BY_LOOPS = "rows mixed with greedy ones, differing from scalar loops"
JOINT = "joint law, chi-square (63 df)"
JOINT_ONE_HOT = "joint law of one-hot drafts, chi-square (63 df)"
TOKENS = "tokens per round, standard errors"
TOKENS_ONE_HOT = "tokens per round of one-hot drafts, standard errors"
ACCEPTANCE = "acceptance by context, standard errors (5 contexts)"
ACCEPTANCE_ONE_HOT = "acceptance of one-hot drafts by context, standard errors (5 contexts)"

NUM_ROWS_BY_LOOPS = 2_000
_CELLS = {"token": token_cells, "block": block_cells}
_LOOPS: dict[RuleName, Any] = {"token": chain_by_loops, "block": block_by_loops}


class Setting(NamedTuple):
    """What trials that sample share.

    Attributes:
        pair: a random target and drafter.
        num_sequences: number to decode.
        rng: draws everything.
    """

    pair: MarkovPair
    num_sequences: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Trial:
    """One trial.

    Attributes:
        statistic: of a verifier that claims to follow a rule; larger is worse.
        limit: the largest number that passes.
        rules: the rules that it holds for.
    """

    statistic: Callable[[ChainVerifier, RuleName, Setting], float]
    limit: Callable[[], float] = float  # which is 0.0
    rules: tuple[RuleName, ...] = ("token", "block")


def unsampled(verify: ChainVerifier) -> ChainVerifier:
    """The verifier without q, for drafts that were not sampled."""

    def verify_unsampled(draft: Ints, q: Floats | None, p: Floats, num_draft: Ints, **given: Any) -> Emitted:
        return verify(draft, None, p, num_draft, **given)

    return verify_unsampled


def dense_as_rows(rule: RuleName) -> ChainVerifier:
    """verify_rows behind the signature of verify_chain: all positions become rows of tables, in reverse order."""

    def verify(draft: Ints, q: Floats | None, p: Floats, num_draft: Ints, **given: Any) -> Emitted:
        B, K = draft.shape
        V = p.shape[2]
        parents = np.broadcast_to(np.arange(K) - 1, (B, K))
        q_row = np.full((B, K), -1) if q is None else np.arange(B * K)[::-1].reshape(B, K)
        p_row = np.arange(B * (K + 1))[::-1].reshape(B, K + 1)
        q_table = None if q is None else q.reshape(-1, V)[::-1]
        return verify_rows(parents, draft, num_draft, q_table, q_row, p.reshape(-1, V)[::-1], p_row, rule=rule, **given)

    return verify


def law_and_tokens(verify: ChainVerifier, rule: RuleName, setting: Setting) -> tuple[float, float]:
    """Chi-square of the joint distribution, and standard errors of tokens per round, of one sample of sequences."""
    decoded = decode(verify, setting.pair, setting.num_sequences, setting.rng, rule)
    return joint_chi_square(decoded.tokens, setting.pair.target), token_count_error(decoded.surplus)


def acceptance_by_context(verify: ChainVerifier, _: RuleName, setting: Setting) -> float:
    """Standard errors of the acceptance of drafts, in the context where it is farthest from the overlap."""
    return context_acceptance_error(verify, setting.pair, setting.num_sequences, setting.rng)


def one_hot_drafts(verify: ChainVerifier, rule: RuleName, setting: Setting) -> tuple[ChainVerifier, RuleName, Setting]:
    """What a trial that samples takes, for drafts that were not sampled."""
    return unsampled(verify), rule, setting._replace(pair=one_hot_drafter(setting.pair))


def loop_differences(verify: ChainVerifier, rule: RuleName, rng: np.random.Generator) -> int:
    """Rows on which a verifier and the scalar loop disagree on the same uniforms, some of them greedy, ties among them.

    Once with q and once without; the uniforms of greedy rows are poisoned.
    """
    inputs, greedy = _random_rows(rng, NUM_ROWS_BY_LOOPS)
    differing = 0
    for q in (inputs["q"], None):
        given = {**inputs, "q": q, "greedy": greedy}
        found, _ = verify(**given, validate=False)
        due, _ = _LOOPS[rule](**given)
        differing += int((found != due).any(axis=1).sum())
    return differing


def _random_rows(rng: np.random.Generator, B: int, K: int = 4, V: int = 4) -> tuple[dict[str, Any], Bools]:
    """Ragged rows of small whole weights in single precision, and which rows are greedy."""
    q, p = (_rows_with_ties(rng, (B, positions, V)) for positions in (K, K + 1))
    draft = np.where(q > 0, rng.random(q.shape), -1.0).argmax(axis=2)
    accept, final, greedy = rng.random((B, K)), rng.random(B), rng.random(B) < 0.5
    accept[greedy] = np.nan
    names = ("draft", "q", "p", "num_draft", "accept_uniforms", "final_uniforms")
    return dict(zip(names, (draft, q, p, rng.integers(0, K + 1, B), accept, final), strict=True)), greedy


def _rows_with_ties(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    weights = rng.integers(0, 4, shape).astype(np.float32)
    weights[..., 0] += 1
    rows: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return rows


TRIALS = {
    EXACT: Trial(lambda verify, rule, _: exact_law_errors(verify, _CELLS[rule])),
    EXACT_STALE: Trial(lambda verify, rule, _: exact_law_errors(verify, _CELLS[rule], stale=True)),
    EXACT_ONE_HOT: Trial(lambda verify, rule, _: exact_one_hot_errors(verify, _CELLS[rule])),
    EDGES: Trial(lambda verify, _, __: edge_errors(verify)),
    BY_LOOPS: Trial(lambda verify, rule, setting: loop_differences(verify, rule, setting.rng)),
    JOINT: Trial(lambda *given: law_and_tokens(*given)[0], joint_chi_square_limit),
    JOINT_ONE_HOT: Trial(lambda *given: law_and_tokens(*one_hot_drafts(*given))[0], joint_chi_square_limit),
    TOKENS: Trial(lambda *given: law_and_tokens(*given)[1], lambda: COUNT_STANDARD_ERRORS),
    TOKENS_ONE_HOT: Trial(lambda *given: law_and_tokens(*one_hot_drafts(*given))[1], lambda: COUNT_STANDARD_ERRORS),
    # a block passes as a whole, so its drafts have no acceptance of their own
    ACCEPTANCE: Trial(acceptance_by_context, context_acceptance_limit, rules=("token",)),
    ACCEPTANCE_ONE_HOT: Trial(
        lambda *given: acceptance_by_context(*one_hot_drafts(*given)), context_acceptance_limit, rules=("token",)
    ),
}
