"""The law of what requests receive, with each policy in the loop: tokens drawn one by one from the target.

All rows of the acceptance source are made the same, so that under every rule the target is one distribution, and
outputs are independent draws from it whatever is drafted. Pairs of neighbours, across ends of rounds too, are held
against that by chi-square, at the significance of 4 standard errors. Policies that peek fail.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from specsim.drafting.acceptance import PositionAcceptance
from specsim.engine import advance as stepping
from specsim.engine import draft_length as choosing
from specsim.inputs.models.policy import ConfidencePolicy, GoodputPolicy, OffAbovePolicy, OraclePolicy, PerRequestPolicy
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.streams import stream
from specsim.workload.lengths import Lengths

V, K, OUTPUT, REQUESTS = 4, 3, 8, 800
GAP = 0.008  # s, so that 1 to 8 requests are in service: policies that look at the batch switch
REFUSED = ("oracle", "block")  # tests/schema/invalid/oracle_of_blocks.yaml
FOUR_STANDARD_ERRORS = 2 * norm.sf(4)
POLICIES = {
    "static": None,
    "off_above": OffAbovePolicy(kind="off_above", num_draft_tokens=K, batch=5, resume_at=3),
    "schedule": SchedulePolicy(kind="schedule", draft_len_schedule={2: 1, 4: K, 7: 2}),
    "goodput": GoodputPolicy(kind="goodput", num_draft_tokens=K, half_life=20),
    "per_request": PerRequestPolicy(kind="per_request", num_draft_tokens=K, start=1),
    "confidence": ConfidencePolicy(kind="confidence", num_draft_tokens=K, threshold=0.3),
    "oracle": OraclePolicy(kind="oracle", num_draft_tokens=K),
}


class OneLaw(PositionAcceptance):
    """The same drafter and target at every position."""

    def __init__(self, overlap, *, sampled):
        super().__init__([overlap] * K, V, stream(7, "distributions"), sampled=sampled)
        for table in (self._p, self._q, self._choice, self._draft_cdf):
            table[:] = table[0]


@pytest.fixture
def outputs(config, make_case, plain, monkeypatch):
    """What requests received [requests, OUTPUT], and the target's distribution."""
    tokens = {}
    verify = stepping.verify_chains

    def noting(replica, requests, rows, rule):
        verify(replica, requests, rows, rule)
        for b in range(replica.counters.decodes[0]):
            request = int(replica.batch.decodes[b])
            num_out = replica.batch.num_out[b]
            tokens.setdefault(request, []).extend(replica.scratch.out[b, :num_out].tolist())

    monkeypatch.setattr(stepping, "verify_chains", noting)

    def run(policy, rule="token", *, sampled=True):
        tokens.clear()
        source = OneLaw(0.6, sampled=sampled)
        cost = Simulation(load_scenario("llama3.1-8b-h100-eagle3")).step_cost(True)
        how = config(conditional=[0.6] * K, policy=policy, rule=rule, cost=cost, decode_only=True, seed=3)
        lengths = Lengths(np.full(REQUESTS, 5), np.full(REQUESTS, OUTPUT))
        arrivals = np.cumsum(stream(5, "arrivals").exponential(GAP, REQUESTS))
        make_case(lengths, replace(how, source=source), arrivals).server().finish()
        return np.array([tokens[request][:OUTPUT] for request in range(REQUESTS)]), source.rows.p[0]

    return run


def p_value(received, target):
    """Of chi-square, for independent draws from the target in pairs of neighbours that do not overlap."""
    pairs = V * received[:, 0::2] + received[:, 1::2]
    seen = np.bincount(pairs.ravel(), minlength=V * V)
    expected = pairs.size * np.outer(target, target).ravel()
    assert expected.min() > 5, "enough in each cell"
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), V * V - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rule"), [(name, rule) for name in POLICIES for rule in ("token", "block") if (name, rule) != REFUSED]
)
def test_outputs_are_drawn_from_the_target_whoever_decides_what_is_drafted(outputs, name, rule):
    assert p_value(*outputs(POLICIES[name], rule)) > FOUR_STANDARD_ERRORS


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"confidence"}))
def test_likewise_where_drafts_are_the_drafters_first_choice(outputs, name):
    assert p_value(*outputs(POLICIES[name], sampled=False)) > FOUR_STANDARD_ERRORS


@pytest.mark.slow
def test_an_oracle_of_blocks_is_refused_for_a_reason(outputs):
    """The block rule judges a draft by all of it, and one that ends earlier otherwise."""
    assert p_value(*outputs(POLICIES["oracle"], "block")) < FOUR_STANDARD_ERRORS


def drop_what_is_unlikely(choose):
    """Leaves out the token that stopped the draft, for what it is."""

    def choosing_less(replica, requests, rows, rule, policy):
        choose(replica, requests, rows, rule, policy)
        wanted = replica.batch.wanted
        np.maximum(wanted - 1, 0, out=wanted)

    return choosing_less


@pytest.mark.slow
def test_leaving_out_an_unlikely_token_is_seen(outputs, monkeypatch):
    monkeypatch.setattr(choosing, "_draft_while_confident", drop_what_is_unlikely(choosing._draft_while_confident))
    assert p_value(*outputs(POLICIES["confidence"])) < FOUR_STANDARD_ERRORS


def stop_before_the_rejection(verify):
    """An oracle that wastes nothing: it drafts what will be accepted and not the token past it."""

    def one_less(replica, requests, rows, rule):
        verify(replica, requests, rows, rule)
        replica.batch.num_out[:] -= 1

    return one_less


@pytest.mark.slow
def test_an_oracle_that_wastes_nothing_is_seen(outputs, monkeypatch):
    monkeypatch.setattr(choosing, "verify_chains", stop_before_the_rejection(choosing.verify_chains))
    assert p_value(*outputs(POLICIES["oracle"])) < FOUR_STANDARD_ERRORS
