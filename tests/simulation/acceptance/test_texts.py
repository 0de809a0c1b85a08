"""Language models draft and judge: the law of what is put out, and acceptance as it follows from the two models."""

import numpy as np
import pytest

import specsim.verification
from specsim.drafting.expected_text_tokens import mean_text_tokens
from specsim.errors import InputError
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation

DEMO, K = "llama3.1-8b-h100-eagle3", 3


def simulation(*overrides, output=120, **given):
    stated = {
        "kind": "ngram_models",
        "text": "declaration-of-independence",
        "target_order": 3,
        "drafter_order": 2,
    } | given
    acceptance = ", ".join(f"{key}: {value}" for key, value in stated.items())
    lengths = f"workload.lengths={{kind: fixed, prompt_tokens: 20, output_tokens: {output}}}"
    return Simulation(load_scenario(DEMO, [f"speculation.acceptance={{{acceptance}}}", lengths, *overrides]))


def served(subject, *, number=200, concurrency=64, drafts=K):
    load = ClosedLoop(kind="closed_loop", concurrency=concurrency)
    return subject.run(load, num_draft_tokens=drafts, num_requests=number, replication=0)


def accepted_of(records):
    """The requests that verified and how many drafts were accepted, request by request in order of time."""
    rounds = records.rounds
    order = np.argsort(rounds.request, kind="stable")
    order = order[~rounds.from_prompt[order]]
    return rounds.request[order], rounds.num_accepted[order]


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [(), ("speculation.drafts=argmax",), ("speculation.temperature=0.6",), ("speculation.temperature=1.5",)]
)
def test_in_a_context_the_first_token_is_distributed_as_the_target(monkeypatch, how):
    """Of every verify call in a run; in the ten contexts met most often, token by token."""
    seen, genuine = [], specsim.verification.verify_rows

    def verify(*args, **kwargs):
        out, num_out = genuine(*args, **kwargs)
        seen.append((args[6][:, 0], out[:, 0]))
        return out, num_out

    monkeypatch.setattr(specsim.verification, "verify_rows", verify)
    subject = simulation(*how, top_p=0.9, drafter_temperature=0.8) if "argmax" not in str(how) else simulation(*how)
    served(subject, number=400)
    context, token = (np.concatenate(column) for column in zip(*seen, strict=True))
    p = subject.sources.text_models(0).p
    for row in np.argsort(-np.bincount(context))[:10]:
        count = np.bincount(token[context == row], minlength=p.shape[1])
        due = p[row] * count.sum()
        assert count[p[row] == 0].sum() == 0
        tested = (due > 5) & (p[row] < 1)  # enough for a normal law
        error = np.sqrt(due * (1 - p[row]))[tested]
        # 4 standard errors each; of some 100 tests at most one beyond in 160 runs
        assert (np.abs(count - due)[tested] < 4 * error).all()


@pytest.mark.parametrize("temperature", [0, 0.7, 1])
def test_a_drafter_of_the_targets_order_is_always_accepted(temperature):
    subject = simulation(f"speculation.temperature={temperature}", drafter_order=3, top_p=0.95)
    rounds = served(subject, number=30).rounds
    verify = ~rounds.from_prompt
    np.testing.assert_array_equal(rounds.num_accepted[verify], rounds.num_draft[verify])
    assert tokens_per_verify(subject, K) == pytest.approx(K + 1, rel=1e-12)


@pytest.mark.slow
def test_temperature_changes_acceptance_as_the_tables_say():
    """By itself, and in the direction and to the extent of the closed form, with requests as the independent units."""
    expected = []
    for temperature in (0.3, 1, 2.5):
        subject = simulation(f"speculation.temperature={temperature}", output=400)
        request, accepted = accepted_of(served(subject, number=200))
        count, total = np.bincount(request), np.bincount(request, accepted + 1.0)
        mean = total.sum() / count.sum()
        error = np.sqrt(((total - mean * count) ** 2).sum()) / count.sum()
        expected.append(tokens_per_verify(subject, K))
        # outputs begin in a place of the text and not in the models' own law: some ten tokens in 400 are affected,
        # by less than the standard deviation of a round
        assert abs(mean - expected[-1]) < 4 * error + 10 / 400 * accepted.std()
    assert expected[2] > expected[1] + 0.2  # hot models differ less
    assert abs(expected[0] - expected[1]) > 0.02


def test_a_drafter_at_temperature_0_is_one_that_takes_the_most_likely_token():
    cold = served(simulation(drafter_temperature=0), number=40)
    argmax = served(simulation("speculation.drafts=argmax"), number=40)
    for one, other in zip(accepted_of(cold), accepted_of(argmax), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_text_does_not_depend_on_the_batch():
    subject = simulation()
    alone, together = (accepted_of(served(subject, number=20, concurrency=n)) for n in (1, 20))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_classes_have_temperatures_and_texts_of_their_own(tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("the cat sat on the mat and the rat sat on the cat; " * 20 + "the end")
    own = f"{{kind: ngram_models, text: '{other}', unit: word, target_order: 2, drafter_order: 1}}"
    mixture = f"workload.mixture=[{{share: 0.4}}, {{share: 0.3, temperature: 0}}, {{share: 0.3, acceptance: {own}}}]"
    subject = simulation(mixture, output=300)
    request, accepted = accepted_of(served(subject, number=150))
    domain = subject.lengths(150, 0).domain[request]
    for c in range(3):
        mine = domain == c
        count, total = np.bincount(request[mine]), np.bincount(request[mine], accepted[mine] + 1.0)
        mean = total.sum() / count.sum()
        error = np.sqrt(((total - mean * count) ** 2).sum()) / count.sum()
        # as above; at temperature 0 outputs run into a loop, after up to some 30 tokens here
        due = mean_text_tokens(subject.sources.text_models(c), K)
        assert abs(mean - due) < 4 * error + (30 / 300 * 3 if c == 1 else 10 / 300 * accepted[mine].std())


@pytest.mark.parametrize(("text", "why"), [("aaaa", "too few"), ("", "too few")])
def test_texts_that_make_no_model_are_named(tmp_path, text, why):
    path = tmp_path / "text.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=f"text.txt.*{why}"):
        simulation(text=f"'{path}'")


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        simulation(text=f"'{path}'")
