"""From the workload of a scenario to arrays of requests. Knows no server and no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.errors import invalid
from specsim.inputs.models import lengths as schema
from specsim.inputs.models.workload import (
    LONGEST_RUN,
    ClosedLoop,
    Constant,
    Gamma,
    Load,
    Poisson,
    RateProfile,
    Replay,
    Workload,
)
from specsim.streams import stream
from specsim.workload.arrivals import constant_arrivals, gamma_arrivals, poisson_arrivals, profile_arrivals, think_times
from specsim.workload.distributions import Spread, spread_lengths, uniform_lengths
from specsim.workload.lengths import (
    Lengths,
    chosen_classes,
    fixed_lengths,
    mixed_lengths,
    replayed_lengths,
    resampled_lengths,
    table_lengths,
)
from specsim.workload.prefixes import SharedTexts, shared_prefixes
from specsim.workload.quantiles import read_table
from specsim.workload.recordings import Recording
from specsim.workload.trace import Trace, with_domains
from specsim.workload.traces import read_trace

Sampler = Callable[[int, np.random.Generator], Lengths]


class Traffic:
    """What the clients of a workload send, by replication. Draws for more requests begin with those for fewer.

    Args:
        workload: of the scenario.
        files: path in the scenario of lengths that are in a file → the file; each is read once.
        seed: of the scenario.
        where: the scenario, for messages.
        recordings: of the domains whose acceptance is replayed.

    Attributes:
        traces: the request traces among the files.

    Raises:
        InputError: a file is malformed or does not fit the workload.
    """

    def __init__(
        self,
        workload: Workload,
        files: Mapping[str, Path],
        seed: int,
        where: str,
        recordings: Mapping[int, Recording] | None = None,
    ) -> None:
        self._workload, self._seed, self._where = workload, seed, where
        self._files, self._recordings = files, recordings or {}
        self.traces: dict[Path, Trace] = {}
        self._sampler = self._sampler_of(workload.lengths, files.get("workload.lengths"))
        if workload.domains:
            of_classes = sum(part.is_domain for part in workload.mixture)
            file = files["workload.lengths"]
            self.traces[file] = with_domains(file, self.traces[file], sorted(workload.domains), 1 + of_classes)
        own = ((i, part.lengths) for i, part in enumerate(workload.mixture) if part.lengths)
        self._of_class = {i: self._sampler_of(stated, files.get(f"workload.mixture[{i}].lengths")) for i, stated in own}
        self._replayed = self.traces[files["workload.lengths"]] if isinstance(workload.load, Replay) else None
        if self._replayed and isinstance(workload.load, Replay):
            _refuse_centuries(files["workload.lengths"], self._replayed, workload.load.speed)
        if self._replayed and self._replayed.lengths.prefixes is not None and workload.shared_prefix is not None:
            remedy = (
                "the trace that is replayed says itself what prompts begin with (hash_ids); leave shared_prefix out"
            )
            raise invalid(where, "workload.shared_prefix", workload.shared_prefix.tokens, remedy)

    @property
    def num_replayed(self) -> int | None:
        """Requests of the trace to replay; None without one."""
        return None if self._replayed is None else self._replayed.arrival.size

    def lengths(self, num_requests: int, replication: int, load: Load | None = None) -> Lengths:
        """The lengths of the first requests of a replication; for a replay those of the trace, in all replications."""
        if isinstance(load, Replay):
            lengths = replayed_lengths(num_requests, self._replay(num_requests).lengths)
            return self._with_texts(self._with_recordings(lengths, replication), replication)
        classes = self._workload.mixture
        if not classes:
            lengths = self._sampler(num_requests, stream(self._seed, "lengths", replication))
            return self._with_texts(self._with_recordings(lengths, replication), replication)
        drawn, domain = [], 0
        for i, part in enumerate(classes):
            domain += part.is_domain
            sampler = self._of_class.get(i, self._sampler)
            found = sampler(num_requests, stream(self._seed, "lengths", replication, i))
            traced = self._workload.domains and i not in self._of_class and not part.is_domain
            own = found.domain if traced else np.full(num_requests, domain if part.is_domain else 0)
            same = self._of_recording(f"workload.mixture[{i}].lengths", domain if part.is_domain else 0)
            recording = found.recording if same else None
            priority = np.full(num_requests, part.priority)
            drawn.append(Lengths(found.prompt, found.output, priority, own, recording=recording))
        uniforms = stream(self._seed, "classes", replication).random(num_requests)
        shares = [part.share for part in classes]
        mixed = self._with_recordings(mixed_lengths(shares, drawn, uniforms), replication)
        return self._with_texts(mixed, replication, chosen_classes(shares, uniforms))

    def _of_recording(self, path: str, domain: int) -> bool:
        """Whether lengths, by their path in the scenario, come from the recording of a domain's acceptance."""
        file = self._files.get(path, self._files.get("workload.lengths"))
        return domain in self._recordings and self._recordings[domain].path == file

    @property
    def stated_domains(self) -> Ints:
        """The scenario's or its trace's number of each of the run's domains, int64 [domains]."""
        of_classes = sum(part.is_domain for part in self._workload.mixture)
        return np.array([*range(1 + of_classes), *sorted(self._workload.domains)])

    def _with_recordings(self, lengths: Lengths, replication: int) -> Lengths:
        """Requests with the recording that each replays: that of its lengths, or a random one."""
        number = lengths.prompt.size
        uniforms = stream(self._seed, "recordings", replication).random(number)
        domain = np.zeros(number, np.int64) if lengths.domain is None else lengths.domain
        recording = np.full(number, -1)
        if lengths.recording is not None and (self._workload.mixture or self._of_recording("workload.lengths", 0)):
            recording = lengths.recording
        for c, recorded in self._recordings.items():
            drawn = (uniforms * recorded.output_tokens.size).astype(np.int64)
            recording = np.where((domain == c) & (recording < 0), drawn, recording)
        return replace(lengths, recording=recording if self._recordings else None)

    def _with_texts(self, lengths: Lengths, replication: int, classes: Ints | None = None) -> Lengths:
        """Requests with the shared texts that their prompts begin with, by class where there are any."""
        number, workload = lengths.prompt.size, self._workload
        texts = [part.shared_prefix for part in workload.mixture] + [None]
        own = [text is not None for text in texts]
        kind = np.full(number, -1) if classes is None else np.where(np.array(own)[classes], classes, -1)
        uniforms = stream(self._seed, "prefixes", replication).random(number)
        kinds = [SharedTexts(t.tokens, t.number) if t else None for t in (*texts[:-1], workload.shared_prefix)]
        prefixes = shared_prefixes(lengths.prompt, kinds, kind, uniforms)
        return lengths if prefixes is None else replace(lengths, prefixes=prefixes)

    def arrivals(self, load: Load, num_requests: int, replication: int) -> Floats:
        """When the requests of an open loop are sent, ascending float64 [num_requests] [s].

        Raises:
            InputError: the replayed trace has no times, or fewer requests.
            ValueError: the load is a closed loop.
        """
        rng = stream(self._seed, "arrivals", replication)
        match load:
            case Poisson():
                return poisson_arrivals(num_requests, load.rate, rng)
            case Gamma():
                return gamma_arrivals(num_requests, load.rate, load.cv, rng)
            case Constant():
                return constant_arrivals(num_requests, load.rate)
            case RateProfile(periods=periods):
                durations, rates = zip(*((period.duration, period.rate) for period in periods), strict=True)
                return profile_arrivals(num_requests, durations, rates, rng)
            case Replay():
                return self._replay(num_requests).arrival[:num_requests] / load.speed
            case ClosedLoop():
                raise ValueError("in a closed loop the server decides when requests arrive")

    def think_times(self, load: ClosedLoop, num_requests: int, replication: int) -> Floats:
        """How long a client waits before it sends each request of a closed loop [num_requests] [s]."""
        return think_times(num_requests, load.think_time, load.think_cv, stream(self._seed, "think", replication))

    def _replay(self, num_requests: int) -> Trace:
        """The trace to replay, which has enough requests."""
        trace = self._replayed
        if trace is None:
            raise ValueError("the workload's own load has to be a replay")
        if np.isnan(trace.arrival).any():
            raise invalid(self._where, "workload.load.kind", "replay", "a recording has no times; write another load")
        if num_requests > (held := trace.arrival.size):
            remedy = f"the trace to be replayed has {held} requests; write at most that number"
            raise invalid(self._where, "workload.num_requests", num_requests, remedy)
        return trace

    def _sampler_of(self, stated: schema.Lengths, file: Path | None) -> Sampler:
        """(number of requests, generator) → their lengths."""
        match stated:
            case schema.FixedLengths():
                return lambda number, rng: fixed_lengths(number, stated.prompt_tokens, stated.output_tokens)
            case schema.UniformLengths():
                return lambda number, rng: uniform_lengths(number, stated.prompt, stated.output, rng)
            case schema.NormalLengths() | schema.LognormalLengths():
                prompt, output = spreads(stated)
                return lambda number, rng: spread_lengths(number, prompt, output, rng)
        if file is None:
            raise ValueError("lengths from a table or trace come with its file")
        if isinstance(stated, schema.QuantileLengths):
            table = read_table(file)
            return lambda number, rng: table_lengths(number, table, rng)
        if file not in self.traces:
            self.traces[file] = read_trace(file, stated.format)
        return lambda number, rng: resampled_lengths(number, self.traces[file].lengths, rng)


def _refuse_centuries(file: Path, trace: Trace, speed: float) -> None:
    """A trace may not last longer than a float64 clock resolves microseconds."""
    late = np.flatnonzero(trace.arrival / speed > LONGEST_RUN)
    if late.size:
        at, line = trace.arrival[late[0]], trace.lines[late[0]]
        remedy = (
            f"comes longer after the run begins than {LONGEST_RUN:g} s (three years) at this speed; count times from "
            "the first request, or write a higher workload.load.speed"
        )
        raise invalid(str(file), f"line {line}, arrival", f"{at:.4g} s", remedy)


def spreads(stated: schema.NormalLengths | schema.LognormalLengths) -> tuple[Spread, Spread]:
    """The distributions of prompts and outputs."""
    prompt, output = (
        Spread(part.mean, part.sd, part.min, part.max, isinstance(stated, schema.LognormalLengths))
        for part in (stated.prompt, stated.output)
    )
    return prompt, output
