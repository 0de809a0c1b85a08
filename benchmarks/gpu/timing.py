"""Times steps as replayed CUDA graphs, and writes what was found as it comes."""

from __future__ import annotations

import csv
import datetime
import itertools
import statistics
import time
from pathlib import Path

import torch
from dimensions import DEVICE, triton

SETTING = ["device", "software", "date"]
COLUMNS = [*SETTING, "quantity", "batch", "query_tokens", "context", "median_ms", "min_ms", "repeats"]


def capture(step):
    """A callable that replays the step's CUDA graph (the step itself, on a CPU)."""
    if DEVICE == "cpu":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def replays_ms(replay, repeats, pause=0.0, watch=None):
    """Milliseconds of each replay, back to back or after a pause in which the device is idle."""
    if DEVICE == "cpu":
        marks = [time.perf_counter()]
        for _ in range(repeats):
            replay()
            marks.append(time.perf_counter())
        return [1e3 * (b - a) for a, b in itertools.pairwise(marks)]
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, stop in events:
        if pause:
            torch.cuda.synchronize()
            time.sleep(pause)
        start.record()
        replay()
        stop.record()
    if watch:
        watch()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) for start, stop in events]


def times_ms(step, repeats):
    """Back to back, for a fraction of a second: between the figures after idling and those under lasting load."""
    replay = capture(step)
    replays_ms(replay, 3)
    return replays_ms(replay, repeats)


def after_idle_ms(step, repeats):
    """One replay at a time, a fifth of a second apart: full clocks."""
    return replays_ms(capture(step), repeats, 0.2)


def lasting_ms(step, repeats, seconds=2.5):
    """The last replays of some seconds without a pause: the clocks that the power limit allows."""
    replay, end = capture(step), time.monotonic() + (seconds if DEVICE == "cuda" else 0.0)
    seen, ms = [], replays_ms(replay, repeats)
    while time.monotonic() < end:
        ms = replays_ms(replay, repeats, watch=lambda: seen.append(clocks()))
    print("under load:", *seen[-1:], flush=True)
    return ms


def clocks() -> str:
    """SM clock and power just now, where the NVML bindings are installed."""
    try:
        return f"{torch.cuda.clock_rate()} MHz {torch.cuda.power_draw() / 1000:.0f} W"
    except Exception:
        return ""


class Table:
    """Rows written and flushed as they come, so that a stopped run keeps what it has."""

    def __init__(self, path: Path | None, repeats: int, deadline: float) -> None:
        name = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
        software = f"PyTorch {torch.__version__}, Triton {triton.__version__}"
        self.fixed = [name, software, datetime.date.today().isoformat()]
        self.repeats, self.deadline = repeats, deadline
        self.file = path.open("w", newline="") if path else None
        self.writer = csv.writer(self.file) if self.file else None
        self._write(list(COLUMNS))

    def _write(self, row: list) -> None:
        if self.writer and self.file:
            self.writer.writerow(row)
            self.file.flush()

    def measure(self, quantity, batch, n, context, step, divide=1, timer=times_ms):
        """Time one step; a failure is printed and does not end the run."""
        if time.monotonic() > self.deadline:
            return
        try:
            ms = [value / divide for value in timer(step, self.repeats)]
        except (RuntimeError, AssertionError) as error:
            print(f"{quantity} batch {batch} n {n} context {context}: {str(error)[:200]}", flush=True)
            return
        median, least = statistics.median(ms), min(ms)
        self._write([*self.fixed, quantity, batch, n, context, f"{median:.5f}", f"{least:.5f}", len(ms)])
        print(f"{quantity} {batch} {n} {context} {median:.4f} {least:.4f}", flush=True)
