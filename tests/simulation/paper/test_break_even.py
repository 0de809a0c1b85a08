"""Which way a longer context moves the batch up to which speculation pays.

Per request and token of context, a plain step reads KV for k seconds and multiplies for a; a verify of K drafts reads
the same KV once, k, but multiplies for each of its K + 1 queries, (K + 1)·a; and it yields E tokens where plain
decoding yields one. With everything else of a plain step of B requests written p(B), of a verify and its drafting v(B),
and d for what the drafter's passes read and multiply per token of context, speculation pays while

    E·(p(B) + B·C·(k + a)) > v(B) + B·C·(k + (K + 1)·a + d),

so each token of context adds B·((E − 1)·k − (K + 1 − E)·a − d) to its side of the balance. Where reading binds (k over
a is 53 for grouped-query attention with 4 queries a head on an H100) that is a gain: KV is read once for more tokens,
and the break-even moves up. Where arithmetic binds (MLA, whose 128 heads share one latent: k and a are about the same)
it is a loss, since rejected drafts were multiplied for nothing: the break-even moves down.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step, tokens_per_verify
from specsim.simulation.replica import Simulation

K = 3
BATCHES = np.unique(np.geomspace(1, 4000, 500).round().astype(int))
# a free drafter, so that d = 0: what is looked up runs no passes
FREE = "speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}"
# no host time beside the device's, so that v(B) and p(B) are the device's too
DEVICE = (FREE, "deployment.engine=ideal", "speculation.acceptance={kind: constant, overlap: 0.6}")


def affine(inputs, **memory):
    """The same on a device whose attention is affine in the context: reading neither overlaps nor ramps up."""
    attention = inputs.device.attention.model_copy(update={"sharpness": 1.0, "ramp": 0.0})
    changed = {"attention": attention, "memory": inputs.device.memory.model_copy(update=memory)}
    return Simulation(replace(inputs, device=inputs.device.model_copy(update=changed)))


def simulation(*overrides):
    return affine(load_scenario("llama3.1-8b-h100-eagle3", [*DEVICE, *overrides]))


def per_context_token(sim):
    """(k, a): seconds per request and token of context, from the device's figures and the model's caches."""
    attentions = sim.target.operators.attentions
    k = sum(a.bytes_per_token for a in attentions) / sim.rates.attention_bandwidth
    return k, sum(a.pair_flops for a in attentions) / sim.rates.attention_flops


def speedup(sim, batch, context):
    drafted, plain = (decode_step(sim, int(batch), k, context) for k in (K, 0))
    return drafted.tokens_per_s / plain.tokens_per_s


def break_even(sim, context):
    """The last batch at which it pays; None where it pays at the largest."""
    pays = np.array([speedup(sim, batch, context) > 1 for batch in BATCHES])
    last = int(np.flatnonzero(pays)[-1])
    return None if last + 1 == len(BATCHES) else int(BATCHES[last])


def balance(sim, batch, context):
    """E times a plain step, less a speculative one [s]: above zero where it pays."""
    drafted, plain = (decode_step(sim, batch, k, context) for k in (K, 0))
    return tokens_per_verify(sim, K) * plain.seconds - drafted.seconds


@pytest.fixture(scope="module")
def reading():
    return simulation()


@pytest.fixture(scope="module")
def multiplying():
    """MLA on one device that is large enough, so that all of the heads share the one latent."""
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [*DEVICE, "deployment.target=deepseek-v3"])
    return affine(inputs, capacity=4e12)


def test_the_two_regimes(reading, multiplying):
    tokens = tokens_per_verify(reading, K)
    assert tokens == pytest.approx(1 + 0.6 + 0.36 + 0.216)
    for sim, sign in ((reading, 1), (multiplying, -1)):
        k, a = per_context_token(sim)
        assert sign * ((tokens - 1) * k - (K + 1 - tokens) * a) > 0
    k, a = per_context_token(reading)
    assert k / a == pytest.approx(53, abs=0.5)
    k, a = per_context_token(multiplying)
    assert k / a == pytest.approx(0.87, abs=0.05)


@pytest.mark.parametrize("name", ["reading", "multiplying"])
@pytest.mark.parametrize("batch", [1, 50, 400])
def test_a_token_of_context_adds_what_the_closed_form_says(name, batch, request):
    """Exactly so: attention is affine in the context."""
    sim = request.getfixturevalue(name)
    (k, a), tokens = per_context_token(sim), tokens_per_verify(sim, K)
    each = batch * ((tokens - 1) * k - (K + 1 - tokens) * a)
    gained = balance(sim, batch, 5000) - balance(sim, batch, 1000)
    # differences of steps of up to a second, each a sum of a few hundred rounded terms
    assert gained == pytest.approx(4000 * each, rel=1e-6)


@pytest.mark.slow
def test_where_reading_binds_a_longer_context_moves_the_break_even_up(reading):
    found = [break_even(reading, context) for context in (1, 200, 500)]
    assert all(later > 1.1 * earlier for earlier, later in pairwise(found))
    # longer still, and it pays at every batch: what is gained in attention outweighs all that verifying costs
    assert break_even(reading, 2000) is None


@pytest.mark.slow
def test_where_arithmetic_binds_a_longer_context_moves_the_break_even_down(multiplying):
    """At small batches it does not pay here: verifying reads more experts. Where it stops, all are read anyway."""
    found = [break_even(multiplying, context) for context in (1, 2000, 4000, 10_000)]
    assert all(later < earlier / 1.1 for earlier, later in pairwise(found))
