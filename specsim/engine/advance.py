"""Step after step of a replica: receive → choose → schedule → price → run → verify → commit, up to a horizon.

Stops where something is needed from outside, and goes on from there when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.arrays import Floats, Words
from specsim.costs.forms import StepForm
from specsim.costs.lowered import AS_CAPTURED, most_rows, price_step, use_step
from specsim.drafting.chain_rows import ChainRows
from specsim.drafting.passes import DrafterForm
from specsim.engine.commit import commit
from specsim.engine.draft_length import choose, learn
from specsim.engine.log import Log, has_room, write_step
from specsim.engine.schedule import admit_decodes, look_up, schedule
from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.state import BETWEEN, CHOSEN, IN_FLIGHT, PRICED, SCHEDULED, VERIFIED, Replica, Requests
from specsim.engine.step_passes import fill_step_passes
from specsim.engine.verify_chains import verify_chains
from specsim.engine.wait_queue import join
from specsim.kernels import kernel
from specsim.policies.form import OUTSIDE, PolicyForm
from specsim.records import PARTS
from specsim.verification.arrays import Rule

COMMUNICATION = PARTS.index("communication")
IDLE, AT_HORIZON, LOG_FULL, CHOOSE, PRICE, VERIFY, TABLES_SHORT, STUCK = range(8)
"""Why ``advance`` returned: nothing is left to do; it is not yet time; rows have to be taken away; draft lengths,
seconds or verified tokens are to come from outside; the cost tables have too few rows; a request that fits nowhere."""


class KernelParams(NamedTuple):
    """How a replica serves; nothing in it changes.

    Attributes:
        limits: what the scheduler may do.
        drafter: which passes propose drafts.
        rows, rule: what chains are proposed from and judged by, and the rule; trees are verified outside.
        costs: prices steps.
        key: of the run's uniforms.
        policy: for how many positions requests draft.
        prices_outside: whether seconds come from outside.
        think: of a closed loop, how long after a request's end its client sends the next one [N]; [0] in an open loop.
    """

    limits: SchedulerLimits
    drafter: DrafterForm
    rows: ChainRows
    rule: int
    costs: StepForm
    key: Words
    policy: PolicyForm
    prices_outside: bool
    think: Floats


@kernel
def advance(  # noqa: C901 (one phase after the other, to be read as one)
    replica: Replica, requests: Requests, params: KernelParams, log: Log, horizon: float, begins: bool
) -> int:
    """Run until a moment, or until something is needed; says why it stopped.

    What comes from outside is written to the replica, and ``counters.phase`` set to the phase that it completes.

    Args:
        replica, requests: the state, which changes.
        params: how.
        log: receives rows.
        horizon: steps that end by then are committed, and no step begins after it [s].
        begins: whether a step may begin right then; otherwise requests can still be sent to come at that moment.
    """
    count, clock = replica.counters, replica.clock
    while True:
        phase = count.phase[0]
        if phase == BETWEEN:
            if not has_room(log, replica):
                return LOG_FULL
            receive(replica, requests, params.limits, params.policy.start)
            if count.running[0] + count.waiting[0] == 0:
                if count.received[0] == count.sent[0]:
                    return IDLE
                if replica.sent.at[count.received[0]] > horizon:
                    return AT_HORIZON
                clock.now[0] = replica.sent.at[count.received[0]]
                continue
            if clock.now[0] > horizon or (clock.now[0] == horizon and not begins):
                return AT_HORIZON
            count.blocks_moved[0] = 0
            if params.limits.decode_only:
                admit_decodes(replica, requests, params.limits, params.key)
            if params.policy.kind == OUTSIDE:
                return CHOOSE
            if not choose(
                replica,
                requests,
                params.limits,
                params.policy,
                params.drafter,
                params.rows,
                params.rule,
                params.costs,
            ):
                return TABLES_SHORT
            count.phase[0] = CHOSEN
        elif phase == CHOSEN:
            if params.limits.looks_up:
                look_up(replica, requests, params.limits.share_at_least)
            schedule(replica, requests, params.limits, params.key)
            if count.decodes[0] + count.chunks[0] == 0:
                return STUCK
            fill_step_passes(replica, requests, params.limits, params.drafter)
            count.phase[0] = SCHEDULED
        elif phase == SCHEDULED:
            passes, number = replica.passes, count.passes[0]
            if params.prices_outside:
                return PRICE
            if most_rows(passes, number) > params.costs.rows:
                return TABLES_SHORT
            step_time = price_step(params.costs, passes, number, count.lookups[0], AS_CAPTURED)
            for part in range(len(replica.parts)):
                replica.parts[part] = step_time[part]
            use_step(params.costs, passes, number, replica.used)
            count.phase[0] = PRICED
        elif phase == PRICED:
            replica.parts[COMMUNICATION] += count.blocks_moved[0] * params.limits.seconds_per_block
            seconds = 0.0
            for part in range(len(replica.parts)):
                seconds += replica.parts[part]
            clock.step_end[0] = clock.now[0] + seconds
            write_step(log, replica)
            count.phase[0] = IN_FLIGHT
        elif phase == IN_FLIGHT:
            if clock.step_end[0] > horizon:
                return AT_HORIZON
            if count.decodes[0] > 0:
                if params.rule == Rule.TREE or params.rule == Rule.TEXT:
                    return VERIFY
                verify_chains(replica, requests, params.rows, params.rule)
            count.phase[0] = VERIFIED
        else:
            clock.now[0] = clock.step_end[0]
            learn(replica, requests, params.policy)
            commit(replica, requests, params.limits, params.drafter, params.key, log)
            count.steps[0] += 1
            _answer(replica, params.think)
            count.phase[0] = BETWEEN


@kernel
def receive(replica: Replica, requests: Requests, limits: SchedulerLimits, num_draft_tokens: int) -> None:
    """Those who have arrived by now go to the end of their line; who has output already has its prompt in the cache."""
    count = replica.counters
    while count.received[0] < count.sent[0] and replica.sent.at[count.received[0]] <= replica.clock.now[0]:
        request = replica.sent.request[count.received[0]]
        requests.arrival[request] = replica.sent.at[count.received[0]]
        requests.num_draft_tokens[request] = num_draft_tokens
        whole = limits.decode_only or requests.emitted[request] > 0
        requests.left[request] = 0 if whole else requests.prompt_tokens[request]
        count.received[0] += 1
        join(replica, requests, request)


@kernel
def _answer(replica: Replica, think: Floats) -> None:
    """The clients of those who have finished send again, until all requests are sent."""
    count, sent_at = replica.counters, replica.sent.at
    for _ in range(count.finished[0]):
        if count.sent[0] >= len(think):
            return
        at, place = replica.clock.now[0] + think[count.sent[0]], count.sent[0]
        while place > count.received[0] and sent_at[place - 1] > at:
            sent_at[place] = sent_at[place - 1]
            place -= 1
        sent_at[place] = at
        count.sent[0] += 1
