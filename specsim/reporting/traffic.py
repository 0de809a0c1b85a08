"""A workload in words."""

from __future__ import annotations

from pathlib import Path

from specsim.inputs.models.lengths import (
    FixedLengths,
    Lengths,
    LognormalLengths,
    NormalLengths,
    QuantileLengths,
    TraceLengths,
    UniformLengths,
)
from specsim.inputs.models.workload import ClosedLoop, Constant, Gamma, Load, Poisson, RateProfile, Replay, Workload
from specsim.reporting.intervals import plain
from specsim.units import plural
from specsim.workload.distributions import clipped_mean
from specsim.workload.stated import spreads

MOVED = 0.01  # of a mean: less is not worth a sentence


def load_words(load: Load) -> str:
    """What stands after "at"."""
    match load:
        case ClosedLoop(think_time=0.0):
            return plural(load.concurrency, "concurrent request")
        case ClosedLoop():
            spread = f" on average (cv {load.think_cv:g})" if load.think_cv else ""
            return f"{plural(load.concurrency, 'client')} with a think time of {plain(load.think_time)} s{spread}"
        case Poisson():
            return f"{_rate(load.rate)} offered"
        case Gamma():
            return f"{_rate(load.rate)} offered (gamma gaps, cv {load.cv:g})"
        case Constant():
            return f"{_rate(load.rate)} offered at equal intervals"
        case RateProfile():
            rates = [period.rate for period in load.periods]
            low, high = (plain(rate, 3) for rate in (min(rates), max(rates)))
            return f"{_rate(load.rate)} offered on average ({low} to {high} over a cycle of {plain(load.cycle)} s)"
        case Replay():
            speed = "as recorded" if load.speed == 1 else f"at {plain(load.speed, 3)}× the recorded speed"
            return f"the load of a trace, replayed {speed}"


def _rate(rate: float) -> str:
    return f"{plain(rate, 3)} requests/s"


def lengths_words(workload: Workload) -> str:
    """Prompts and outputs of a workload, in a few words."""
    classes = _of_classes(workload)
    return f"a mixture of {len(classes)} classes" if workload.mixture else _lengths(workload.lengths)


def _of_classes(workload: Workload) -> list[Lengths]:
    return [part.lengths or workload.lengths for part in workload.mixture] or [workload.lengths]


def _lengths(lengths: Lengths) -> str:
    match lengths:
        case FixedLengths():
            return f"{lengths.prompt_tokens} tokens in, {lengths.output_tokens} out"
        case UniformLengths(prompt=prompt, output=output):
            return f"{prompt[0]} to {prompt[1]} tokens in, {output[0]} to {output[1]} out"
        case NormalLengths() | LognormalLengths():
            return f"{lengths.kind} lengths, {lengths.prompt.mean:g} tokens in, {lengths.output.mean:g} out on average"
        case QuantileLengths():
            return f"lengths of {Path(lengths.table).stem}"
        case TraceLengths():
            return f"lengths of {Path(lengths.file).stem}"


def traffic_sentences(workload: Workload, sent: int, in_trace: int | None = None) -> list[str]:
    """What a reader may not expect of a workload.

    Args:
        workload: of the scenario.
        sent: how many requests were sent.
        in_trace: how many the trace has that is replayed; None where none is.
    """
    sentences = [
        sentence
        for lengths in dict.fromkeys(_of_classes(workload))
        if isinstance(lengths, NormalLengths | LognormalLengths)
        for sentence in _moved_means(lengths)
    ]
    if isinstance(workload.load, Replay):
        sentences.append(
            "Every replication sends the same requests at the same times; intervals cover only the sampling error of "
            "drafts."
        )
    if sent < workload.num_requests:
        sentences.append(
            f"The trace has {plural(sent, 'request')}, fewer than num_requests ({workload.num_requests:,})."
        )
    if in_trace is not None and sent < in_trace:
        sentences.append(f"The first {sent:,} of the trace's {in_trace:,} requests are sent (workload.num_requests).")
    if _in_step(workload):
        sentences.append(
            "Equal requests that start together stay in lockstep without drafts: their prompts share a step and wait "
            "for each other. Varying lengths or a think time spread them out."
        )
    return sentences


def _in_step(workload: Workload) -> bool:
    load = workload.load
    together = isinstance(load, ClosedLoop) and load.concurrency > 1 and load.think_time == 0
    return together and isinstance(workload.lengths, FixedLengths) and not (workload.mixture or workload.decode_only)


def _moved_means(lengths: NormalLengths | LognormalLengths) -> list[str]:
    """Where keeping lengths within bounds moves their mean."""
    named = zip(("prompt", "output"), (lengths.prompt, lengths.output), spreads(lengths), strict=True)
    return [
        f"Clipping {lengths.kind} {name} lengths to {given.min} to {given.max} tokens moves their mean from "
        f"{given.mean:g} to {clipped_mean(spread):.4g}."
        for name, given, spread in named
        if abs(clipped_mean(spread) / given.mean - 1) > MOVED
    ]


def left_out_sentence(left_out: int) -> list[str]:
    """That a trace had requests that failed."""
    if not left_out:
        return []
    return [f"{plural(left_out, 'failed request')} of the trace left out (no response tokens)."]
