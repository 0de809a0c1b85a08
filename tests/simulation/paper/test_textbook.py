"""The textbook's numbers, at the other end of the same cost path: an H100 turns compute-bound at 295 tokens; with
acceptance 0.8, 4 drafts and a drafter of a twentieth of the target, verifying is free to batch 59, speculation gains
2.80 times there, and it pays up to batch 187.

Nothing here calls the closed form: the ideal device and engine price the passes of real models, and the simulator runs
them.
"""

import json

import numpy as np
import pytest

from specsim.forward import Pass
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import read_model
from specsim.simulation.expected import decode_step, free_verify_batch
from specsim.simulation.replica import Simulation
from specsim.studies.cost.run import step_costs

ALPHA, K = 0.8, 4
HIDDEN, NUM_STEPS = 2048, 60
PAST_FREE = 3.3616 / (0.2 + 187 * 5 / (989 / 3.35))  # 0.998: verifying computes, drafting streams


def matrices(model):
    """Numbers that one token's pass streams: the layers' matrices and the LM head."""
    return model.matrix_parameters + model.vocab_size * model.hidden_size


@pytest.fixture(scope="module")
def twentieth(tmp_path_factory):
    """A one-layer Llama whose pass streams a twentieth of what Llama-3.1-8B's does, to a few parts in a million."""
    target = read_model("llama-3.1-8b")
    attention = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * HIDDEN // 4
    rest = matrices(target) / 20 - target.vocab_size * HIDDEN - attention
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": round(rest / (3 * HIDDEN)),
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "num_hidden_layers": 1,
        "vocab_size": target.vocab_size,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    path = tmp_path_factory.mktemp("drafter") / "config.json"
    path.write_text(json.dumps(config))
    assert matrices(read_model(str(path))) / matrices(target) == pytest.approx(0.05, rel=1e-5)
    return path


@pytest.fixture(scope="module")
def textbook(inputs, twentieth):
    """Scenario inputs by acceptance and output length."""

    def make(output=64):
        return inputs(
            "deployment.ideal=true",
            "deployment.engine=ideal",
            "workload.decode_only=true",
            f"speculation.drafter={{kind: draft_model, model: {twentieth}}}",
            prompt=10,
            output=output,
            overlap=ALPHA,
        )

    return make


def speedup(simulation, batch):
    drafted, plain = (decode_step(simulation, batch, k, 100) for k in (K, 0))
    return drafted.tokens_per_s / plain.tokens_per_s


def test_295_tokens(textbook):
    """The largest pass that takes no longer than one token's."""
    cost = Simulation(textbook()).step_cost(False)
    seconds = {tokens: sum(cost.price(Pass(tokens, tokens, tokens, 0, 0))) for tokens in (1, 295, 296)}
    assert seconds[295] == seconds[1]
    assert seconds[296] > 1.002 * seconds[1]


def test_free_to_batch_59(textbook):
    simulation = Simulation(textbook())
    assert free_verify_batch(simulation, K) == 59
    within, beyond = step_costs(textbook(), [59, 60], [K]).steps
    assert within.time.compute == 0
    assert (within.limit, within.bandwidth_share) == ("weights", pytest.approx(1, rel=1e-12))
    assert beyond.time.compute > 0
    assert beyond.limit == "compute"


def test_2_80_times_while_verifying_is_free(textbook):
    simulation = Simulation(textbook())
    for batch in (1, 8, 59):
        assert speedup(simulation, batch) == pytest.approx(3.3616 / 1.2, rel=1e-5)
    assert f"{speedup(simulation, 59):.2f}" == "2.80"
    assert speedup(simulation, 64) < 2.75


def test_paying_to_batch_187(textbook):
    simulation = Simulation(textbook())
    before, after = (speedup(simulation, batch) for batch in (186, 187))
    assert before > 1 > after
    crossing = 186 + (before - 1) / (before - after)
    assert f"{crossing:.0f}" == "187"


@pytest.mark.parametrize(("batch", "expected"), [(1, 3.3616 / 1.2), (59, 3.3616 / 1.2), (187, PAST_FREE)])
def test_the_simulator_runs_into_the_same_numbers(textbook, batch, expected):
    """Over the steps in which every request still decodes, ; the tokens' standard error is the distribution's.

    Times are not random: the drafter's first pass takes in 1.41 tokens of a request, at 187 of them 32 tokens (4.7
    standard deviations) short of 295.
    """
    rates = []
    for k in (K, 0):
        records = Simulation(textbook(NUM_STEPS * (K + 1) + K)).run(
            ClosedLoop(kind="closed_loop", concurrency=batch), num_draft_tokens=k, num_requests=batch, replication=0
        )
        assert (records.steps.num_decodes[:NUM_STEPS] == batch).all()
        chosen = records.rounds.step < NUM_STEPS
        assert chosen.sum() == batch * NUM_STEPS
        seconds = records.steps.end[NUM_STEPS - 1] - records.steps.start[0]
        rates.append(records.rounds.num_emitted[chosen].sum() / seconds)
    survival = ALPHA ** np.arange(1, K + 1)
    variance = ((2 * np.arange(1, K + 1) - 1) * survival).sum() - survival.sum() ** 2
    standard_error = np.sqrt(variance / (batch * NUM_STEPS)) / 3.3616
    # and the drafter is a twentieth to a few parts in a million
    assert abs(rates[0] / rates[1] / expected - 1) <= 4 * standard_error + 1e-5
