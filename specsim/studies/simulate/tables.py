"""Requests, steps and rounds of single runs as tables, and what their columns are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from specsim.analysis.acceptance import acceptance_length
from specsim.analysis.latencies import decode_rate, e2e, queueing, tpot, ttft
from specsim.records import PARTS, USES, RequestRecords, RoundRecords, RunRecords, StepRecords
from specsim.reporting.columns import Described, RecordTable
from specsim.reporting.record_tables import Columns, Format
from specsim.reporting.wording import draft_tokens
from specsim.studies.simulate.run import LoadResult

REQUESTS: Described = {
    "arrival": ("s", "when the client sent the request"),
    "admitted": ("s", "when it was first scheduled in a step"),
    "first_token": ("s", "when its first output token was ready"),
    "finish": ("s", "when its last output token was ready"),
    "prompt_tokens": ("tokens", "length of the prompt"),
    "output_tokens": ("tokens", "length of the output"),
    "preemptions": ("", "how often it was preempted"),
    "cached_tokens": ("tokens", "prompt tokens found in the KV cache"),
    "of_class": ("", "index of its class in the mixture"),
    "priority": ("", "0 is served first"),
    "domain": ("", "index of the domain whose acceptance it has"),
    "replica": ("", "replica that served it; that decoded it, where disaggregated"),
    "prefill_replica": ("", "replica that computed its prompt"),
    "transferred": ("s", "when its KV cache had arrived at the decode replica"),
    "resumed": ("s", "when the decode replica first scheduled it"),
    "queue_s": ("s", "from arrival to admission"),
    "ttft_s": ("s", "time to first token"),
    "tpot_s": ("s", "time per output token after the first"),
    "e2e_s": ("s", "from arrival to the last token"),
    "tokens_per_s": ("tokens/s", "1 / TPOT"),
    "acceptance_length": ("tokens", "tokens per verify, including the recovered or bonus token"),
}
STEPS: Described = {
    "start": ("s", "when the step began"),
    "end": ("s", "when its tokens were ready"),
    "num_decodes": ("", "requests decoded"),
    "num_prompt_tokens": ("tokens", "prompt tokens computed"),
    "num_draft_tokens": ("tokens", "draft tokens verified"),
    "num_running": ("", "requests admitted but not finished when it began"),
    "num_waiting": ("", "requests sent but not admitted when it began"),
    "kv_tokens": ("tokens", "KV entries held, including the step's own"),
    "context_tokens": ("tokens", "KV entries that its requests attend to, each counted once"),
    "num_emitted": ("tokens", "output tokens emitted at its end"),
    "replica": ("", "replica that ran it"),
    **{f"{part}_s": ("s", f"part of its time: {part}") for part in PARTS},
    "bytes": ("B", "bytes moved on each device"),
    "flops": ("FLOP", "operations on each device"),
    "seconds_at_peak": ("s", "time of its operations at the dense peak"),
}
ROUNDS: Described = {
    "step": ("", "row in the table of steps"),
    "request": ("", "row in the table of requests"),
    "num_draft": ("", "positions drafted: length of the chain, or levels of the tree"),
    "num_nodes": ("tokens", "draft tokens verified"),
    "num_accepted": ("tokens", "draft tokens accepted"),
    "num_emitted": ("tokens", "tokens emitted"),
    "from_prompt": ("", "whether it is the first token, from the last prompt chunk"),
}


def run_tables(result: LoadResult, form: Format, *, rounds: bool) -> Iterator[RecordTable]:
    """The tables of each arm's first run.

    Args:
        result: of the load.
        form: of the files.
        rounds: whether there is one of rounds; they have to have been kept.
    """
    for k, run in result.records.items():
        yield RecordTable(request_columns(run.requests), _requests(run), f"requests-{k}", form)
        yield RecordTable(step_columns(run.steps), STEPS, f"steps-{k}", form)
        if rounds and run.rounds is not None:
            yield RecordTable(round_columns(run.rounds), ROUNDS, f"rounds-{k}", form)


def _requests(run: RunRecords) -> Described:
    most = 0 if run.requests.accepted is None else run.requests.accepted.shape[1]
    return {
        **REQUESTS,
        **{f"accepted_{n}": ("", f"verifies that accepted {draft_tokens(n)}") for n in range(most)},
    }


def request_columns(requests: RequestRecords) -> Columns:
    """What is known of each request, and what follows from it."""
    columns = _fields(requests)
    accepted = columns.pop("accepted", None)
    columns |= {"queue_s": queueing(requests), "ttft_s": ttft(requests)}
    columns |= {"tpot_s": tpot(requests), "e2e_s": e2e(requests), "tokens_per_s": decode_rate(requests)}
    if accepted is not None and accepted.shape[1] > 1:
        columns["acceptance_length"] = acceptance_length(accepted)
        columns |= {f"accepted_{number}": accepted[:, number] for number in range(accepted.shape[1])}
    return columns


def step_columns(steps: StepRecords) -> Columns:
    """What each step held, its seconds by part and what it asked of a device."""
    columns = _fields(steps)
    parts, used = columns.pop("parts"), columns.pop("used", None)
    columns |= {f"{part}_s": parts[:, i] for i, part in enumerate(PARTS)}
    return columns if used is None else columns | {use: used[:, i] for i, use in enumerate(USES)}


def round_columns(rounds: RoundRecords) -> Columns:
    """What each request drafted and received in each step."""
    return _fields(rounds)


def _fields(records: Any) -> dict[str, Any]:
    """The columns that are known."""
    found = {field.name: getattr(records, field.name) for field in fields(records)}
    return {name: column for name, column in found.items() if column is not None}
