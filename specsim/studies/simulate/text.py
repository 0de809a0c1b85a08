"""What a person reads of one load: the answer, what it must be read with, and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from specsim.analysis.intervals import Interval
from specsim.analysis.run_metrics import CLASS_METRICS, METRICS, THROUGHPUT, Metric
from specsim.analysis.stability import Balance, Verdict, verdict
from specsim.inputs.models.plan import request_limits
from specsim.inputs.models.policy import ConfidencePolicy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop
from specsim.reporting.columns import Table, shown
from specsim.reporting.intervals import plain, with_interval
from specsim.reporting.traffic import left_out_sentence, load_words, traffic_sentences
from specsim.reporting.wording import from_to, policy_words
from specsim.studies.simulate.fleet_text import fleet_sentences
from specsim.studies.simulate.run import LoadResult
from specsim.units import plural

TAILS = ("TTFT", "TPOT", "E2E")
KEEPING_UP: Mapping[Verdict, str] = {
    "keeps up": "the server keeps up",
    "falls behind": "the server does not keep up",
    "unknown": "too few requests to tell whether the server keeps up",
}


def load_sentences(scenario: Scenario, result: LoadResult) -> list[str]:
    """The answer, and what it must be read with."""
    sent = len(result.records[0].requests.arrival)
    of_traffic = traffic_sentences(scenario.workload, sent, result.in_trace)
    model = [result.model_error.sentence] if result.model_error and result.num_draft_tokens else []
    read_with = [*model, _counted(result), *of_traffic, *left_out_sentence(result.left_out)]
    notes = [*saturation(scenario, result), *preemptions(scenario, result), *reuse(scenario, result)]
    told = [*fleet_sentences(scenario, result), *_missing(scenario, result), *_slo(scenario)]
    return [load_headline(scenario, result), *told, *notes, *confidence(scenario), *read_with, *result.notes]


def load_headline(scenario: Scenario, result: LoadResult) -> str:
    """The answer in a sentence: of a closed loop its throughput, of an open one what its requests wait for."""
    if isinstance(scenario.workload.load, ClosedLoop):
        return _throughput_answer(scenario, result)
    return _latency_answer(scenario, result)


def _throughput_answer(scenario: Scenario, result: LoadResult) -> str:
    k, at = result.num_draft_tokens, load_words(scenario.workload.load)
    if k == 0:
        return f"At {at}: {result.interval(0, THROUGHPUT).estimate:,.0f} output tokens/s without speculation."
    before, after = (result.interval(arm, _metric("TPOT p50")).estimate for arm in (0, k))
    latency = "" if math.isnan(before) else f" and median TPOT from {before:.1f} to {after:.1f} ms"
    return f"At {at}, {_change(scenario)} output throughput by {_speedup(result)}{latency}."


def _latency_answer(scenario: Scenario, result: LoadResult) -> str:
    k, at = result.num_draft_tokens, load_words(scenario.workload.load)
    if k == 0:
        tails = "; ".join(f"{name} {tail} ms" for name in TAILS if (tail := _tail(result, 0, name)))
        return f"At {at}: {tails} (p50 / p99) without speculation; {_keeping_up(result)}."
    changes = "; ".join(
        f"{name} from {tail} to {_tail(result, k, name)} ms" for name in TAILS if (tail := _tail(result, 0, name))
    )
    return (
        f"At {at}, {_change(scenario)} latencies (p50 / p99): {changes}; {_keeping_up(result)}; output throughput is "
        f"{_speedup(result)}."
    )


def _tail(result: LoadResult, num_draft_tokens: int, name: str) -> str:
    """``12.4 / 66.0``; empty where no request has such a latency."""
    p50, p99 = (result.interval(num_draft_tokens, _metric(f"{name} {part}")).estimate for part in ("p50", "p99"))
    return "" if math.isnan(p50) else f"{plain(p50, 3)} / {plain(p99, 3)}"


def _keeping_up(result: LoadResult) -> str:
    """Which arms serve what is offered."""
    found = {k: result.keeps_up(k) for k in result.values}
    if len(set(found.values())) == 1:
        return KEEPING_UP[found[0]]
    if set(found.values()) == {"keeps up", "falls behind"}:
        return f"the server keeps up only {'with' if found[0] == 'falls behind' else 'without'} speculation"
    known, unknown = (
        next("with" if k else "without" for k, said in found.items() if (said == "unknown") == open_)
        for open_ in (False, True)
    )
    said = next(said for said in found.values() if said != "unknown")
    return f"{KEEPING_UP[said]} {known} speculation, and there are too few requests to tell whether it does {unknown}"


def _speedup(result: LoadResult) -> str:
    speedup = result.speedup()
    model = result.model_error.words_around(speedup.estimate, "{:.2f}".format) if result.model_error else ""
    if not math.isfinite(speedup.high):  # one replication
        return f"{speedup.estimate:.2f}×{model}"
    return f"{speedup.estimate:.2f}× [{speedup.low:.2f}, {speedup.high:.2f}]{model}"


def _change(scenario: Scenario) -> str:
    policy = scenario.speculation.policy
    one = policy.num_draft_tokens == 1 and policy.kind == "static"
    return f"{policy_words(scenario)} {'changes' if one else 'change'}"


def _metric(name: str) -> Metric:
    return next(metric for metric in METRICS if metric.name == name)


def saturation(scenario: Scenario, result: LoadResult) -> list[str]:
    """A warning for each arm that cannot serve the rate offered: its latencies then grow as long as requests arrive."""
    if isinstance(scenario.workload.load, ClosedLoop):
        return []
    return [_behind(_with(scenario, k), runs) for k, runs in result.balance.items() if verdict(runs) == "falls behind"]


def _behind(arm: str, runs: Sequence[Balance]) -> str:
    share, growth = np.mean([run.sending_share for run in runs]), np.median([run.growth for run in runs])
    took = f"{1 / share:.2f}× as long as sending" if share else "a while, and all were sent at once"
    return (
        f"{arm} the server does not keep up: serving took {took}, and a token of the last quarter of requests "
        f"{growth:.1f}× as long as one of the first. Queue and latencies grow as long as requests arrive."
    )


def _with(scenario: Scenario, num_draft_tokens: int) -> str:
    return f"With {policy_words(scenario)}" if num_draft_tokens else "Without speculation"


def _slo(scenario: Scenario) -> Iterator[str]:
    """Which limits the table's goodput and share within the SLO are of."""
    if limits := request_limits(scenario.plan, scenario.slo):
        found = ", ".join(f"{name.upper()} of {plain(1e3 * limit)} ms" for name, limit in limits.items())
        yield f"Goodput counts requests within {found}."


def _missing(scenario: Scenario, result: LoadResult) -> Iterator[str]:
    if result.missing:
        wanted = scenario.run.replications
        left = wanted - result.missing
        consequence = "intervals are wider for it" if left > 1 else "there are no intervals"
        yield f"Interrupted: {result.missing} of {wanted} replications missing; {consequence}."


def _counted(result: LoadResult) -> str:
    """What of the runs the figures are of."""
    if result.steady_share is None:
        return "No steady window (a run is too short, or overloaded): figures include ramp and tail."
    shares = sorted(result.steady_share.values())
    of = from_to(f"{100 * shares[0]:.0f}", f"{100 * shares[-1]:.0f}")
    return f"Figures cover the {of} % of requests sent in the steady window; ramp and tail are excluded."


def preemptions(scenario: Scenario, result: LoadResult) -> list[str]:
    """A note for each arm in which KV blocks ran out."""
    notes = []
    for k, run in result.records.items():
        lost = int(run.requests.preemptions.sum())
        if lost:
            requests = run.requests
            again = int(run.steps.num_prompt_tokens.sum() - (requests.prompt_tokens - requests.cached_tokens).sum())
            tokens = f", {plural(again, 'token')} recomputed" if again > 0 else ""
            notes.append(f"{_with(scenario, k)} KV blocks ran out: {plural(lost, 'preemption')}{tokens}.")
    return notes


def reuse(scenario: Scenario, result: LoadResult) -> list[str]:
    """How much of the prompts was found in the cache, by arm."""
    workload = scenario.workload
    if not scenario.deployment.prefix_caching:
        alike = workload.shared_prefix or any(part.shared_prefix for part in workload.mixture)
        return (
            ["Prompts share prefixes, but deployment.prefix_caching is off: each is computed in full."] if alike else []
        )
    shares = [
        f"{run.requests.cached_tokens.sum() / run.requests.prompt_tokens.sum():.1%} {_with(scenario, k).lower()}"
        for k, run in result.records.items()
    ]
    return [f"Prompt tokens found in the KV cache: {' and '.join(shares)}."]


def confidence(scenario: Scenario) -> list[str]:
    """What the confidence policy knows here, and what it does not."""
    if not isinstance(scenario.speculation.policy, ConfidencePolicy):
        return []
    return [
        "Confidence here is a probability in synthetic rows and does not predict acceptance; a real drafter's does, "
        "and gains more."
    ]


def load_tables(scenario: Scenario, result: LoadResult) -> list[Table[tuple[str, ...]]]:
    """Of all requests, and where there are several classes of those of each."""
    several = result.classes and len(scenario.workload.mixture) > 1
    return [load_table(scenario, result), *(class_table(scenario, result, k) for k in result.classes if several)]


def load_table(scenario: Scenario, result: LoadResult) -> Table[tuple[str, ...]]:
    """Every metric of both arms with its 95 % interval; metrics that no run has are left out."""
    heads = {k: policy_words(scenario) if k else "without" for k in result.values}
    return _table(METRICS, [(head, partial(result.interval, k)) for k, head in heads.items()])


def class_table(scenario: Scenario, result: LoadResult, num_draft_tokens: int) -> Table[tuple[str, ...]]:
    """The metrics of each class of requests in one arm, with 95 % intervals."""
    classes = [
        (f"class {number} ({plain(100 * part.share, 3)} %)", partial(result.class_interval, num_draft_tokens, number))
        for number, part in enumerate(scenario.workload.mixture)
    ]
    of = policy_words(scenario) if num_draft_tokens else "without speculation"
    return _table(CLASS_METRICS, classes, title=f"by class, {of}")


def _table(
    metrics: Sequence[Metric], columns: Sequence[tuple[str, Callable[[Metric], Interval]]], title: str = ""
) -> Table[tuple[str, ...]]:
    """A row for each metric: its interval in each column; metrics that no column has are left out."""
    cells = [(metric.label, *(with_interval(interval(metric)) for _, interval in columns)) for metric in metrics]
    heads = ["metric", *(head for head, _ in columns)]
    return Table(
        rows=[row for row in cells if any(row[1:])],
        columns=[shown(head, itemgetter(i), left=i == 0) for i, head in enumerate(heads)],
        title=title,
    )
