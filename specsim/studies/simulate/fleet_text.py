"""A fleet's load: what each device yields, and how evenly the router used the replicas."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.analysis.run_metrics import THROUGHPUT
from specsim.arrays import Ints
from specsim.inputs.models.scenario import Scenario
from specsim.reporting.fleet import devices_words, fleet_words, num_devices
from specsim.reporting.wording import from_to
from specsim.studies.simulate.run import LoadResult


def fleet_sentences(scenario: Scenario, result: LoadResult) -> list[str]:
    """What the fleet is, what each device of it yields, and the share of the requests that each replica had."""
    fleet = scenario.fleet
    if fleet is None:
        return []
    devices = num_devices(scenario)
    yields = [
        f"{result.interval(k, THROUGHPUT).estimate / devices:,.0f} {'with' if k else 'without'} drafts"
        for k in result.values
    ]
    found = [f"Output tokens/s per device: {', '.join(yields)}; {fleet_words(fleet)}, on {devices_words(devices)}."]
    requests = result.records[result.num_draft_tokens].requests
    assert requests.replica is not None
    if fleet.disaggregation is None:
        return [*found, f"{_shares(requests.replica, fleet.num_replicas)} (replication 0)."]
    assert requests.prefill_replica is not None
    assert requests.transferred is not None
    number = sum(group.count for group in fleet.disaggregation.prefill)
    moved = np.isfinite(requests.transferred)
    found.append(f"Prefill: {_lower(_shares(requests.prefill_replica, number))} (replication 0).")
    if moved.any():
        decoding = fleet.num_replicas - number
        waits = 1e3 * (requests.transferred - requests.first_token)[moved]
        found.append(
            f"Decode: {_lower(_shares(requests.replica[moved] - number, decoding))}; KV caches arrived "
            f"{np.median(waits):.3g} ms after the first token (median; p99 {np.percentile(waits, 99):.3g} ms). "
            "TTFT excludes this time; the first inter-token latency includes it."
        )
    return found


def fleet_summary(scenario: Scenario, result: LoadResult) -> dict[str, Any]:
    """The same as data, by draft length."""
    if scenario.fleet is None:
        return {}
    shares = {}
    for k, run in result.records.items():
        replicas = [run.requests.replica, run.requests.prefill_replica]
        names = ("decoded" if run.requests.prefill_replica is not None else "served", "prefilled")
        shares[str(k)] = {
            name: (np.bincount(which, minlength=scenario.fleet.num_replicas) / len(which)).round(6).tolist()
            for name, which in zip(names, replicas, strict=True)
            if which is not None
        }
    return {
        "fleet": {
            "replicas": scenario.fleet.num_replicas,
            "devices": num_devices(scenario),
            "share_of_requests": shares,
        }
    }


def _shares(replica: Ints, number: int) -> str:
    shares = 100 * np.bincount(replica, minlength=number) / len(replica)
    if number == 1:
        return "The one replica served all requests"
    return f"Each replica served {from_to(f'{shares.min():.1f}', f'{shares.max():.1f}')} % of the requests"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
