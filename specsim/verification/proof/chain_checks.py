"""The proof that the verifiers are lossless, as a list of checks: the right ones must pass and the mutants must fail.

Knows nothing of how the result is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from specsim.verification.arrays import ChainVerifier, RuleName
from specsim.verification.block import verify_block
from specsim.verification.chain import verify_chain
from specsim.verification.greedy import verify_greedy
from specsim.verification.proof.checks import NUM_SEQUENCES, NUM_SEQUENCES_QUICK, Check, Outcome
from specsim.verification.proof.keyed import KEYINGS, decode_keyed, neighbour_chi_square, neighbour_chi_square_limit
from specsim.verification.proof.loops import greedy_by_loops
from specsim.verification.proof.losslessness import (
    START,
    MarkovPair,
    joint_chi_square,
    joint_chi_square_limit,
    propose,
    random_markov_pair,
    reversed_drafter,
)
from specsim.verification.proof.mutants import MUTANTS, Mutant
from specsim.verification.proof.tree_checks import NUM_TREE_CHECKS, tree_checks
from specsim.verification.proof.trials import (
    ACCEPTANCE,
    BY_LOOPS,
    EXACT,
    EXACT_ONE_HOT,
    JOINT,
    NUM_ROWS_BY_LOOPS,
    TOKENS,
    TRIALS,
    Setting,
    dense_as_rows,
)


class Models(NamedTuple):
    """What the checks that sample share.

    Attributes:
        pairs: random targets and drafters, the last one with a drafter that reverses its target.
        num_sequences: number to decode for a right verifier; mutants get NUM_SEQUENCES_QUICK.
        rng: draws everything.
    """

    pairs: tuple[MarkovPair, ...]
    num_sequences: int
    rng: np.random.Generator


_RIGHT: tuple[tuple[str, ChainVerifier, RuleName], ...] = (
    ("verify_chain", verify_chain, "token"),
    ("verify_block", verify_block, "block"),
)
Job = Callable[[Models], Check]
Progress = Callable[[Check, int, int], None]


def prove(seed: int, quick: bool = False, progress: Progress | None = None) -> tuple[Check, ...]:
    """Put the verifiers and their mutants to every test.

    By chance about one seed in 50 fails: each of 18 right distributions exceeds its limit once in 1,000 runs, and each
    of 14 token counts and of 4 acceptances by context once in 16,000. The other tests are deterministic.

    Args:
        seed: decides the random models, the drafts and the uniforms.
        quick: decode 60,000 sequences per verifier and not 300,000.
        progress: called after each check with it, the number done and the total.

    Returns:
        NUM_CHECKS checks. The verifiers are lossless as far as these tests see if each one has passed.
    """
    rng = np.random.default_rng(seed)
    first, second, third = (random_markov_pair(rng) for _ in range(3))
    models = Models((first, second, reversed_drafter(third)), NUM_SEQUENCES_QUICK if quick else NUM_SEQUENCES, rng)
    done: list[Check] = []
    for check in chain((job(models) for job in JOBS), tree_checks(seed, quick)):
        done.append(check)
        if progress is not None:
            progress(check, len(done), NUM_CHECKS)
    return tuple(done)


def _jobs() -> Iterator[Job]:
    for name, verify, rule in _RIGHT:
        yield from (
            trial_job(name, verify, rule, test, "pass") for test, trial in TRIALS.items() if rule in trial.rules
        )
        for pair, which in ((1, "second pair"), (2, "reversed drafter")):
            for test in (JOINT, TOKENS, ACCEPTANCE):
                if rule in TRIALS[test].rules:
                    yield trial_job(name, verify, rule, test, "pass", pair, which)
    for _, _, rule in _RIGHT:
        for test in (EXACT, EXACT_ONE_HOT, BY_LOOPS):
            yield trial_job(f"verify_rows, {rule} rule", dense_as_rows(rule), rule, test, "pass")
    yield _greedy
    yield from (_keyed(*keying) for keying in KEYINGS)
    for mutant in MUTANTS:
        yield from (_killed(mutant, test) for test in mutant.killed_by)


def trial_job(
    name: str,
    verify: ChainVerifier,
    rule: RuleName,
    test: str,
    expected: Outcome,
    pair: int = 0,
    which: str = "",
    most_sequences: int = NUM_SEQUENCES,
) -> Job:
    """The job of putting a verifier that claims to follow a rule to a trial.

    Args:
        name, verify, rule: the verifier.
        test: one of TRIALS.
        expected: what it should find.
        pair: index of the pair of models to sample from.
        which: what that pair is called.
        most_sequences: decode no more than these.
    """
    trial = TRIALS[test]

    def job(models: Models) -> Check:
        setting = Setting(models.pairs[pair], min(models.num_sequences, most_sequences), models.rng)
        label = f"{test}, {which}" if which else test
        return Check(name, label, trial.statistic(verify, rule, setting), trial.limit(), expected)

    return job


def _killed(mutant: Mutant, test: str) -> Job:
    return trial_job(mutant.name, mutant.verify, mutant.rule, test, "fail", most_sequences=NUM_SEQUENCES_QUICK)


def _keyed(name: str, verify: ChainVerifier, keys: Any, law: Outcome, neighbours: bool) -> Job:
    def job(models: Models) -> Check:
        target = models.pairs[0].target
        tokens = decode_keyed(verify, keys, models.pairs[0], models.num_sequences, models.rng)
        if neighbours:
            statistic, limit = neighbour_chi_square(tokens, target), neighbour_chi_square_limit()
            return Check(name, "independence of neighbouring rows, chi-square (15 df)", statistic, limit, law)
        return Check(name, JOINT, joint_chi_square(tokens, target), joint_chi_square_limit(), law)

    return job


def _greedy(models: Models) -> Check:
    """Rows on which the greedy verifier, its scalar loop and the chain rule with one-hot targets do not all agree."""
    rng, B = models.rng, NUM_ROWS_BY_LOOPS
    num_draft = rng.integers(0, 4, size=B)
    draft, q, p = propose(models.pairs[0], rng.integers(0, START + 1, size=B), num_draft, rng.random((B, 3)))
    best = p.argmax(axis=2)
    greedy, _ = verify_greedy(draft, best, num_draft)
    slow, _ = greedy_by_loops(draft, best, num_draft)
    one_hot, _ = verify_chain(draft, q, np.eye(p.shape[2])[best], num_draft, rng=rng)
    differing = int(((greedy != slow) | (greedy != one_hot)).any(axis=1).sum())
    return Check("verify_greedy", "against loops and one-hot targets, rows that differ", differing, 0, "pass")


JOBS = tuple(_jobs())
NUM_CHECKS = len(JOBS) + NUM_TREE_CHECKS
