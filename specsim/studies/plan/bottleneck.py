"""What a server is short of at a load: places, room for KV, the token budget, or what its steps take their time for.

Records in, shares of time out; knows nothing of latencies and their limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.analysis.resources import bandwidth_share, busy_share, flops_share, kv_share
from specsim.analysis.steady import Window, seconds_within
from specsim.arrays import Floats
from specsim.records import PARTS, RunRecords
from specsim.simulation.replica import Simulation

FULL = 0.95  # of the KV pool: blocks are taken by whole requests, so that it is never quite full
OFTEN = 0.05  # of the time in steps: what is full less often holds up next to nobody
KINDS = {"weights": "bandwidth", "kv": "bandwidth", "compute": "compute", "launch": "host", "host": "host"}
"""What a part of a step's time is spent on; other parts are named as they are."""


class Bottleneck(NamedTuple):
    """What a run made use of.

    Attributes:
        resource: what is short: ``KV``, ``max_num_seqs``, ``token budget``, ``prefill``, ``bandwidth``, ``compute``,
            ``host``, ``draft`` or ``communication``.
        utilisation: of it, as a share: of the pool at its peak, of places and of the budget on average, of the time in
            steps for prefill, host, draft and communication, of the device's peak for bandwidth and compute.
        busy: share of the time in which a step runs, mean over replicas.
        kv_mean, kv_peak: share of the KV pool held.
        places: mean share of max_num_seqs that run.
        budget: mean share of the token budget that steps have.
        prefill: share of the time in steps, each split by its tokens, that goes to prompts.
        bandwidth, flops: shares of the device's peaks while steps run.
        preemptions: how often a request lost its place.
        parts: part of a step → its share of the time in steps.
    """

    resource: str
    utilisation: float
    busy: float
    kv_mean: float
    kv_peak: float
    places: float
    budget: float
    prefill: float
    bandwidth: float
    flops: float
    preemptions: int
    parts: dict[str, float]


def bottleneck_of(simulation: Simulation, num_draft_tokens: int, run: RunRecords, window: Window | None) -> Bottleneck:
    """What a run of an arm made use of, within a window; the whole run where there is none."""
    steps = run.steps
    replica = np.zeros(len(steps.start), np.int64) if steps.replica is None else steps.replica
    most_requests, most_tokens = np.array(simulation.step_limits(num_draft_tokens)).T[:, replica]
    pools, peaks = np.array(simulation.kv_pools(num_draft_tokens)), np.array(simulation.bandwidths)
    seconds = seconds_within(steps, window)
    total = float(seconds.sum())
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens

    def mean(share: Floats) -> float:
        return float((share * seconds).sum() / total)

    lasts = np.maximum(steps.end - steps.start, np.finfo(np.float64).tiny)
    spent = (steps.parts / lasts[:, None] * seconds[:, None]).sum(axis=0) / total
    span = window or (float(run.requests.arrival.min()), float(run.requests.finish.max()))
    found = Bottleneck(
        "",
        0.0,
        busy_share(steps, span) / len(pools),
        *kv_share(steps, pools[replica], window),
        places=mean(steps.num_running / most_requests),
        budget=mean(tokens / most_tokens),
        prefill=mean(steps.num_prompt_tokens / np.maximum(tokens, 1)),
        bandwidth=bandwidth_share(steps, peaks[replica], window),
        flops=flops_share(steps, window),
        preemptions=int(run.requests.preemptions.sum()),
        parts=dict(zip(PARTS, spent.tolist(), strict=True)),
    )
    full = {
        "KV": mean((steps.kv_tokens >= FULL * pools[replica]).astype(np.float64)),
        "max_num_seqs": mean((steps.num_running >= most_requests).astype(np.float64)),
        "token budget": mean((tokens >= most_tokens).astype(np.float64)),
    }
    resource = _shortest(full, found)
    return found._replace(resource=resource, utilisation=_utilisation(resource, found))


def _shortest(full: dict[str, float], found: Bottleneck) -> str:
    """What is full for the most time; where nothing often is, what steps take most of their time for."""
    often = max(full, key=lambda name: full[name])
    if full[often] >= OFTEN:
        return often
    if found.prefill > 0.5:
        return "prefill"
    kinds: dict[str, float] = {}
    for part, share in found.parts.items():
        kinds[KINDS.get(part, part)] = kinds.get(KINDS.get(part, part), 0.0) + share
    return max(kinds, key=lambda kind: kinds[kind])


def _utilisation(resource: str, found: Bottleneck) -> float:
    match resource:
        case "KV":
            return found.kv_peak
        case "max_num_seqs":
            return found.places
        case "token budget":
            return found.budget
        case "prefill":
            return found.prefill
        case "bandwidth":
            return found.bandwidth
        case "compute":
            return found.flops
        case "host":
            return found.parts["host"] + found.parts["launch"]
        case _:
            return found.parts[resource]
