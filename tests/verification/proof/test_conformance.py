"""assert_lossless passes what is lossless and finds what is not, with the power that it claims."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import ncx2

from specsim.errors import InputError
from specsim.verification import verify_chain
from specsim.verification.draws import draw
from specsim.verification.proof.conformance import assert_lossless, detectable_total_variation
from specsim.verification.proof.losslessness import START, joint_chi_square_limit, random_markov_pair
from specsim.verification.proof.mutants import MUTANTS
from specsim.verification.proof.mutants.drawing import missing_bonus
from specsim.verification.proof.trials import JOINT

QUICK = 20_000
# of the mutants that a sample of the joint law finds, those whose statistic leaves this small one no room for doubt
LAW_BREAKERS = [(m.name, m.verify) for m in MUTANTS if m.rule == "token" and JOINT in m.killed_by]


@pytest.mark.parametrize("seed", range(5))
def test_passes_the_verifier(seed):
    assert_lossless(verify_chain, seed=seed, num_sequences=QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mutant"), LAW_BREAKERS)
def test_finds_the_mutants(name, mutant):
    with pytest.raises(
        AssertionError, match=r"chi-square of \d+.*, and a lossless verifier exceeds 103.4 once in 1,000"
    ):
        assert_lossless(mutant, num_sequences=60_000)


def test_counts_tokens_unless_told_not_to():
    assert_lossless(missing_bonus, num_sequences=QUICK, count_tokens=False)
    with pytest.raises(AssertionError, match=r"not the token rule: .* standard errors .* count_tokens=False"):
        assert_lossless(missing_bonus, num_sequences=QUICK)


def test_the_total_variation_it_claims_to_find():
    assert detectable_total_variation(300_000) == pytest.approx(0.0085, abs=5e-5)
    for n in (QUICK, 300_000):
        noncentrality = 4 * n * detectable_total_variation(n) ** 2
        assert ncx2.sf(joint_chi_square_limit(), 63, noncentrality) == pytest.approx(0.99, abs=1e-9)
    assert detectable_total_variation(300_000, power=0.5) < detectable_total_variation(300_000)


def test_its_default_size_does_find_that_total_variation_in_the_direction_that_is_hardest_to_see():
    """δ in proportion to p, up on half of the mass: there 4·n·TV² is all the noncentrality there is."""
    rng, n, cells = np.random.default_rng(3), 300_000, 64
    tv = detectable_total_variation(n)
    law = np.repeat(rng.dirichlet(np.full(cells // 2, 5.0)) / 2, 2)
    biased = law * (1 + 2 * tv * np.tile([1, -1], cells // 2))
    assert np.abs(biased - law).sum() / 2 == pytest.approx(tv)
    observed = rng.multinomial(n, biased, size=4000)
    found = ((observed - n * law) ** 2 / (n * law)).sum(axis=1) > joint_chi_square_limit()
    assert abs(found.mean() - 0.99) < 4 * np.sqrt(0.99 * 0.01 / 4000)


def joint_law(rows):
    return rows[START][:, None, None] * rows[:START, :, None] * rows[None, :START, :]


def leaning(rows, epsilon):
    """Rows of the target with some of the mass moved to token 0."""
    return (1 - epsilon) * rows + epsilon * np.eye(rows.shape[-1])[0]


def verifier_biased_by(total_variation, pair):
    """One token per verify, and the joint law this far from the target's."""

    def excess(epsilon):
        law, wrong = joint_law(pair.target), joint_law(leaning(pair.target, epsilon))
        return np.abs(law - wrong).sum() / 2 - total_variation

    epsilon = brentq(excess, 0, 0.5)

    def verify(draft, q, p, num_draft, *, rng, validate):
        out = np.full((len(draft), draft.shape[1] + 1), -1)
        out[:, 0] = draw(leaning(p[:, 0], epsilon), rng.random(len(draft)))
        return out, np.ones(len(draft), dtype=np.int64)

    return verify


def times_found(share_of_the_detectable, seeds):
    found = 0
    for seed in seeds:
        pair = random_markov_pair(np.random.default_rng(seed))
        verify = verifier_biased_by(share_of_the_detectable * detectable_total_variation(QUICK), pair)
        try:
            assert_lossless(verify, seed=seed, num_sequences=QUICK, count_tokens=False)
        except AssertionError:
            found += 1
    return found


@pytest.mark.slow
def test_a_verifier_biased_by_the_detectable_total_variation_is_found():
    n = 60
    assert times_found(1.0, range(n)) >= n * 0.99 - 4 * np.sqrt(n * 0.99 * 0.01)
    assert times_found(0.0, range(n)) <= 1


@pytest.mark.slow
def test_at_its_default_size_too():
    pair = random_markov_pair(np.random.default_rng(1))
    with pytest.raises(AssertionError, match=r"With 300,000 sequences a total variation of 0.0085 is found 99% of"):
        assert_lossless(verifier_biased_by(detectable_total_variation(300_000), pair), seed=1, count_tokens=False)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda out, num_out: (out, num_out - 1), "num_out is not from 1 to num_draft"),
        (lambda out, num_out: (out + 1, num_out), "a token emitted is not in the vocabulary"),
        (lambda out, num_out: (np.where(out < 0, 0, out), num_out), "out is not -1 behind what is emitted: row"),
        (lambda out, num_out: (out[:, :-1], num_out), "returns shapes"),
        (lambda out, num_out: (out, num_out.astype(float)), "returns dtypes int64 and float64, where integers are due"),
        (lambda out, num_out: out, "returns ndarray, where a pair"),
        (lambda out, num_out: None, "returns NoneType, where a pair"),
    ],
)
def test_what_no_verifier_can_return_is_named(spoil, message):
    def verify(*arrays, **keywords):
        return spoil(*verify_chain(*arrays, **keywords))

    with pytest.raises(AssertionError, match=message):
        assert_lossless(verify, num_sequences=QUICK)


def test_a_sample_too_small_for_chi_square_is_refused():
    with pytest.raises(InputError, match="num_sequences is 100: must be a whole number, 20000 or more"):
        assert_lossless(verify_chain, num_sequences=100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"verify": "token"}, "verify: type is str: must be a function"),
        ({"verify": lambda draft, q, p: None}, r"verify: signature is \(draft, q, p\): cannot be called as verify"),
        ({"verify": lambda draft, q, p, num_draft, rng: None}, "validate=False"),
        ({"seed": -1}, "seed is -1: must be a whole number"),
        ({"seed": "one"}, "seed is 'one': must be a whole number"),
        ({"seed": None}, "seed is None: must be a whole number"),
        ({"num_sequences": "many"}, "num_sequences is 'many'"),
        ({"num_sequences": 3e5}, r"num_sequences is 300000\.0: must be a whole number"),
        ({"num_sequences": True}, "num_sequences is True"),
        ({"count_tokens": "no"}, "count_tokens is 'no': must be True or False"),
    ],
)
def test_arguments_that_are_wrong_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        assert_lossless(**{"verify": verify_chain, "num_sequences": QUICK} | arguments)


def test_all_wrong_arguments_are_named_at_once():
    with pytest.raises(InputError) as caught:
        assert_lossless(None, seed=-1, num_sequences=0, count_tokens=0)
    named = [problem.where for problem in caught.value.problems]
    assert named == ["verify", "seed", "num_sequences", "count_tokens"]


def test_numbers_of_numpy_are_numbers():
    assert_lossless(verify_chain, seed=np.int64(0), num_sequences=np.int32(QUICK))


@pytest.mark.parametrize("arguments", [(0,), (2.5,), ("many",), (300_000, 1.0), (300_000, float("nan"))])
def test_a_total_variation_of_no_sample_is_refused(arguments):
    with pytest.raises(InputError, match=r"num_sequences|power"):
        detectable_total_variation(*arguments)
