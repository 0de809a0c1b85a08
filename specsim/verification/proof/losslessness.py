"""Two statistical tests that a chain verifier is lossless: the joint distribution of its output, and its length.

Sequences are decoded from a Markov target by repeated draft-verify rounds, as an engine would, and compared with the
target's own. The distributions differ from context to context, so that a row taken from the wrong position shows. Knows
nothing of how a verifier works inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.verification.arrays import ChainVerifier, Float64s, Floats, Int64s, Ints, RuleName

NUM_TOKENS = 4
START = NUM_TOKENS  # the context of the first token: a state of its own
SEQUENCE_LENGTH = 3
MAX_DRAFT = 3
LAW_SIGNIFICANCE = 1e-3
COUNT_STANDARD_ERRORS = 4.0


@dataclass(frozen=True)
class MarkovPair:
    """A target and a drafter that see one token back.

    Attributes:
        target: next-token distributions by context, the last row being START [NUM_TOKENS + 1, NUM_TOKENS].
        drafter: the drafter's, in the same shape.
    """

    target: Float64s
    drafter: Float64s


@dataclass(frozen=True)
class Decoded:
    """The sequences that a verifier gave.

    Attributes:
        tokens: the sequences, cut at their length [N, SEQUENCE_LENGTH].
        surplus: tokens emitted minus tokens expected from context and number of drafts, of all rounds of all sequences
            [rounds].
    """

    tokens: Int64s
    surplus: Float64s


def random_markov_pair(rng: np.random.Generator) -> MarkovPair:
    """A random target and drafter whose rows are 4 parts Dirichlet(1, ..., 1) to 1 part uniform.

    The uniform part keeps every probability at 0.05 or more, so the rarest of 64 sequences is expected at least 37
    times among 300,000 and the chi-square approximation holds.
    """
    rows = rng.dirichlet(np.ones(NUM_TOKENS), size=(2, NUM_TOKENS + 1))
    target, drafter = 0.8 * rows + 0.2 / NUM_TOKENS
    return MarkovPair(target, drafter)


def reversed_drafter(pair: MarkovPair) -> MarkovPair:
    """The target with a drafter that has its probabilities in reverse order of tokens: likely and unlikely swapped."""
    return MarkovPair(pair.target, pair.target[:, ::-1].copy())


def one_hot_drafter(pair: MarkovPair) -> MarkovPair:
    """The target with a drafter that always drafts its most likely token: nothing is sampled."""
    return MarkovPair(pair.target, np.eye(NUM_TOKENS)[pair.drafter.argmax(axis=1)])


def decode(
    verify: ChainVerifier,
    pair: MarkovPair,
    num_sequences: int,
    rng: np.random.Generator,
    rule: RuleName = "token",
) -> Decoded:
    """Decode many sequences side by side, each round being one call with 0 to MAX_DRAFT drafts per row.

    Padding is poisoned (NaN rows, draft -1), so that a verifier that reads it is exposed.

    Args:
        verify: the verifier.
        pair: the models.
        num_sequences: number to decode.
        rng: draws the drafts, and what the verifier draws.
        rule: by which the surplus is counted.
    """
    tokens = np.full((num_sequences, SEQUENCE_LENGTH), -1, dtype=np.int64)
    length = np.zeros(num_sequences, dtype=np.int64)
    context = np.full(num_sequences, START)
    expected, surplus = expected_tokens(pair, rule), []
    for _ in range(SEQUENCE_LENGTH):  # enough rounds, as each emits a token or more
        open_rows = np.flatnonzero(length < SEQUENCE_LENGTH)
        num_draft = rng.integers(0, MAX_DRAFT + 1, size=len(open_rows))
        draft, q, p = propose(pair, context[open_rows], num_draft, rng.random((len(open_rows), MAX_DRAFT)))
        out, num_out = verify(draft, q, p, num_draft, rng=rng, validate=False)
        surplus.append(num_out - expected[context[open_rows], num_draft])
        append(tokens, length, open_rows, out, num_out)
        context[open_rows] = out[np.arange(len(out)), num_out - 1]
    return Decoded(tokens, np.concatenate(surplus))


def propose(pair: MarkovPair, context: Int64s, num_draft: Ints, uniforms: Float64s) -> tuple[Int64s, Floats, Floats]:
    """Drafts sampled from the drafter, with the rows of q and p that belong to them; padding is poisoned.

    Args:
        pair: the models.
        context: the last token of each row, shape [B].
        num_draft: drafts per row, shape [B].
        uniforms: decide the drafts, shape [B, MAX_DRAFT].

    Returns:
        draft [B, MAX_DRAFT], q [B, MAX_DRAFT, V] and p [B, MAX_DRAFT + 1, V].
    """
    contexts = np.empty((len(context), MAX_DRAFT + 1), dtype=np.int64)
    contexts[:, 0] = context
    cumulative = pair.drafter.cumsum(axis=1)[:, :-1]  # without the last, which rounding may leave below 1
    for i in range(MAX_DRAFT):
        contexts[:, i + 1] = (cumulative[contexts[:, i]] <= uniforms[:, i : i + 1]).sum(axis=1)
    draft, q, p = contexts[:, 1:].copy(), pair.drafter[contexts[:, :-1]], pair.target[contexts]
    position = np.arange(MAX_DRAFT + 1)
    padding = position[:MAX_DRAFT] >= num_draft[:, None]
    draft[padding], q[padding], p[position > num_draft[:, None]] = -1, np.nan, np.nan
    return draft, q, p


def append(tokens: Int64s, length: Int64s, rows: Int64s, out: Int64s, num_out: Int64s) -> None:
    """Append what rows [B] emitted, out [B, K+1] and num_out [B], to tokens [N, SEQUENCE_LENGTH] of length [N]."""
    for j in range(out.shape[1]):
        fits = (j < num_out) & (length[rows] + j < SEQUENCE_LENGTH)
        tokens[rows[fits], length[rows[fits]] + j] = out[fits, j]
    length[rows] += num_out


def expected_tokens(pair: MarkovPair, rule: RuleName = "token") -> Float64s:
    """Mean tokens per verify by context and number of drafts [NUM_TOKENS + 1, MAX_DRAFT + 1].

    One plus the sum over i of P(i drafts or more survive) = E[w_i], the mean being over drafts, and w_i being the
    product of min(1, p/q) under the token rule and min(1, w_{i-1}·p/q) under the block rule (see `block_rule`).
    """
    ratio = np.divide(pair.target, pair.drafter, out=np.zeros_like(pair.target), where=pair.drafter > 0)
    expected = np.ones((NUM_TOKENS + 1, MAX_DRAFT + 1))
    last = np.arange(NUM_TOKENS + 1)[:, None]
    w, probability = np.ones((2, NUM_TOKENS + 1, 1))
    for i in range(MAX_DRAFT):  # columns are drafts of i tokens, then of one more
        if rule == "block":
            w = np.minimum(1.0, w[:, :, None] * ratio[last]).reshape(len(w), -1)
        else:
            w = (w[:, :, None] * np.minimum(1.0, ratio[last])).reshape(len(w), -1)
        probability = (probability[:, :, None] * pair.drafter[last]).reshape(len(w), -1)
        last = np.tile(np.arange(NUM_TOKENS), (len(w), w.shape[1] // NUM_TOKENS))
        expected[:, i + 1] = expected[:, i] + (probability * w).sum(axis=1)
    return expected


def joint_chi_square(tokens: Int64s, target: Float64s) -> float:
    """Pearson's chi-square against the target's joint distribution: 64 cells, 63 degrees of freedom.

    Of sequences [N, SEQUENCE_LENGTH]; the target's distributions are by context [NUM_TOKENS + 1, NUM_TOKENS].
    """
    first, second, third = tokens.T
    observed = np.bincount((first * NUM_TOKENS + second) * NUM_TOKENS + third, minlength=NUM_TOKENS**SEQUENCE_LENGTH)
    step = target[:NUM_TOKENS]
    law = target[START][:, None, None] * step[:, :, None] * step[None, :, :]
    expected = len(tokens) * law.ravel()
    return float(((observed - expected) ** 2 / expected).sum())


def joint_chi_square_limit() -> float:
    """The value that a lossless verifier's `joint_chi_square` exceeds once in 100,000 runs: 122.73 at 63 df."""
    from scipy.special import chdtri  # here, as a caller who only verifies should not wait for scipy

    return float(chdtri(NUM_TOKENS**SEQUENCE_LENGTH - 1, LAW_SIGNIFICANCE))


def token_count_error(surplus: Float64s) -> float:
    """Absolute deviation of mean tokens per round from their expectation, in standard errors, by the surplus [rounds].

    Each round's surplus has mean zero given everything before, so the sum over its root sum of squares is standard
    normal for many rounds, also across rounds of one sequence.
    """
    return float(abs(surplus.sum()) / np.sqrt((surplus**2).sum()))
