"""The draft length of each request in the next step, and what the policy learns from the verifies."""

from __future__ import annotations

from specsim.costs.forms import StepForm
from specsim.costs.lowered import AS_CAPTURED, most_rows, price_step, step_seconds
from specsim.drafting.chain_rows import ChainRows
from specsim.drafting.passes import DrafterForm
from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.state import Replica, Requests
from specsim.engine.step_passes import fill_step_passes
from specsim.engine.verify_chains import draft_chains, verify_chains
from specsim.kernels import kernel
from specsim.policies.choice import choose_by_goodput, choose_by_table, next_length, remember
from specsim.policies.form import CONFIDENCE, GOODPUT, ORACLE, PER_REQUEST, PolicyForm


@kernel
def choose(
    replica: Replica,
    requests: Requests,
    limits: SchedulerLimits,
    policy: PolicyForm,
    drafter: DrafterForm,
    rows: ChainRows,
    rule: int,
    costs: StepForm,
) -> bool:
    """Fill ``wanted`` for the decodes; False if steps had to be priced and the cost tables are too short."""
    context_tokens = _list_decodes(replica, requests, policy.longest)
    decoding, wanted, slots = replica.counters.decodes[0], replica.batch.wanted, requests.slot
    decodes, num_out = replica.batch.decodes, replica.batch.num_out
    if policy.kind == PER_REQUEST:
        for b in range(decoding):
            wanted[slots[decodes[b]]] = requests.num_draft_tokens[decodes[b]]
    elif policy.kind == CONFIDENCE:
        _draft_while_confident(replica, requests, rows, rule, policy)
    elif policy.kind == ORACLE:
        verify_chains(replica, requests, rows, rule)
        for b in range(decoding):
            wanted[slots[decodes[b]]] = min(num_out[b], policy.longest)
    elif policy.kind == GOODPUT:
        seconds = replica.scratch.seconds
        for num_draft_tokens in range(policy.longest + 1):
            seconds[num_draft_tokens] = _step_seconds(replica, requests, limits, drafter, costs, num_draft_tokens)
            if seconds[num_draft_tokens] < 0.0:
                return False
        wanted[:] = choose_by_goodput(policy, replica.memory, seconds, limits.share_at_least)
    else:
        wanted[:] = choose_by_table(policy, replica.memory, decoding, context_tokens)
    return True


@kernel
def _list_decodes(replica: Replica, requests: Requests, num_draft_tokens: int) -> int:
    """List the requests that decode, each with this draft length; returns the sum of their contexts [tokens]."""
    count, running, left = replica.counters, replica.batch.running, requests.left
    decodes, lengths = replica.batch.decodes, replica.batch.num_draft_tokens
    prompt_tokens, emitted, context_tokens = requests.prompt_tokens, requests.emitted, 0
    count.decodes[0], count.chunks[0], count.lookups[0] = 0, 0, 0
    for place in range(count.running[0]):
        request = running[place]
        if left[request] == 0:
            decodes[count.decodes[0]], lengths[count.decodes[0]] = request, num_draft_tokens
            count.decodes[0] += 1
            context_tokens += prompt_tokens[request] + emitted[request]
    return context_tokens


@kernel
def _draft_while_confident(
    replica: Replica, requests: Requests, rows: ChainRows, rule: int, policy: PolicyForm
) -> None:
    """Stop behind the first draft token that the drafter finds unlikely."""
    draft_chains(replica, requests, rows, rule)
    scratch, decodes = replica.scratch, replica.batch.decodes
    for b in range(replica.counters.decodes[0]):
        last = 0
        while (
            last < policy.longest - 1 and rows.drafter[scratch.row[b, last], scratch.draft[b, last]] >= policy.threshold
        ):
            last += 1
        replica.batch.wanted[requests.slot[decodes[b]]] = min(last + 1, policy.longest)


@kernel
def _step_seconds(
    replica: Replica,
    requests: Requests,
    limits: SchedulerLimits,
    drafter: DrafterForm,
    costs: StepForm,
    num_draft_tokens: int,
) -> float:
    """Seconds of a step in which all decodes have this draft length; -1 if the tables are short.

    Where drafts are looked up, the shares of ``share_at_least`` say how many find each length.
    """
    decoding = replica.counters.decodes[0]
    for b in range(decoding):
        found = num_draft_tokens
        while found > 0 and not b + 0.5 < limits.share_at_least[found - 1] * decoding:
            found -= 1
        replica.batch.num_draft_tokens[b] = found
    fill_step_passes(replica, requests, limits, drafter)
    passes, number = replica.passes, replica.counters.passes[0]
    if most_rows(passes, number) > costs.rows:
        return -1.0
    lookups = decoding if limits.looks_up and num_draft_tokens > 0 else 0
    return step_seconds(price_step(costs, passes, number, lookups, AS_CAPTURED))


@kernel
def learn(replica: Replica, requests: Requests, policy: PolicyForm) -> None:
    """What the policy takes from the verifies of a step."""
    decodes, lengths, num_out = replica.batch.decodes, replica.batch.num_draft_tokens, replica.batch.num_out
    if policy.kind != GOODPUT and policy.kind != PER_REQUEST:
        return
    for b in range(replica.counters.decodes[0]):
        if policy.kind == GOODPUT:  # rounds without drafts count too, so that what was given up is tried again
            remember(policy, replica.memory, lengths[b], num_out[b] - 1)
        elif lengths[b] > 0:
            requests.num_draft_tokens[decodes[b]] = next_length(lengths[b], num_out[b] - 1, policy.longest)
