"""What no measurement can be: figures that would need a step to read the weights faster than memory delivers them.

The bound is the bytes that a pass of one token reads, every matrix once and of experts the few that one token chooses,
over the device's full bandwidth. Caches, arithmetic, drafting, launches and the host only add to it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import NamedTuple

from specsim.costs.usage import pass_usage
from specsim.errors import Problem
from specsim.forward import Pass
from specsim.inputs.measured.measurements import Measurement
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation

FAR = 20  # a figure so many times off is taken for one in another unit
CACHED = 256e6  # B of weights that a device may hold in a cache from step to step: the largest, of an MI300X, 256 MB


class Fastest(NamedTuple):
    """The fastest step there can be.

    Attributes:
        seconds: that it takes.
        why: in words.
    """

    seconds: float
    why: str


def fastest_step(inputs: Inputs, *, logits: bool = True) -> Fastest:
    """How fast a step, or a forward pass without logits, can be at all."""
    scenario = inputs.scenario
    # experts cut into even slices: how unevenly whole ones are chosen is chance
    even = scenario.deployment.model_copy(update={"expert_parallel": 1, "costs": "roofline"})
    simulation = Simulation(dataclasses.replace(inputs, scenario=scenario.model_copy(update={"deployment": even})))
    one_token = Pass(1, int(logits), 1, 1, 1)
    weights = pass_usage(simulation.target, inputs.device, one_token, ideal=True).bytes
    bandwidth = inputs.device.memory.bandwidth
    seconds = max(0.0, weights - CACHED) / bandwidth
    why = (
        f"a step reads {weights / 1e9:.3g} GB of weights at {bandwidth / 1e12:.3g} TB/s at most, which takes "
        f"{1e3 * seconds:.3g} ms"
    )
    return Fastest(seconds, why)


def impossible_step(where: str, line: int, ms: float, fastest: Fastest) -> Iterator[Problem]:
    """The problem with a step that is faster than the weights can be read."""
    if ms < 1e3 * fastest.seconds:
        yield Problem(where, f"line {line}, ms", f"{ms:g}", f"{fastest.why}; check the unit, and what was run")


def impossible_figure(
    where: str, line: int, row: Measurement, inputs: Inputs, fastest: Fastest, *, speculating: bool
) -> Iterator[Problem]:
    """The problem with a figure of an arm that takes faster steps than there can be."""
    column = "with_speculation" if speculating else "baseline"
    figure: float | None = getattr(row, column)
    if figure is None:
        return
    per_step = 1 + (row.num_draft_tokens if speculating else 0)
    least, most = _limits(row, inputs, fastest.seconds, per_step)
    if least <= figure <= most:
        return
    limit = f"{most:.4g} at most" if figure > most else f"{least:.4g} at least"
    yields = f" and yields {per_step} tokens at most" if per_step > 1 else ""
    remedy = f"{fastest.why}{yields}, so {row.metric} is {limit}; check the unit, and what was run"
    yield Problem(where, f"line {line}, {column}", f"{figure:g}", remedy)


def _limits(row: Measurement, inputs: Inputs, step: float, per_step: int) -> tuple[float, float]:
    """(least, most) that the row's metric can be, if a step takes so many seconds."""
    lengths = inputs.scenario.workload.lengths
    prompt, output = (lengths.prompt_tokens, lengths.output_tokens) if isinstance(lengths, FixedLengths) else (None, 1)
    in_flight = math.inf if row.load_kind == "rate" else row.load
    match row.metric:
        case "tpot_ms" | "itl_p50_ms":
            return 1e3 * step / per_step, math.inf
        case "ttft_ms":
            return 1e3 * step, math.inf
        case "e2e_ms":  # the first token comes with the prompt
            return 1e3 * step * (1 + (output - 1) / per_step), math.inf
        case "tokens_per_s_per_user":
            return 0.0, _rate(per_step, step)
        case "output_tokens_per_s":
            return 0.0, in_flight * _rate(per_step, step)
        case "total_tokens_per_s" if prompt is not None:
            return 0.0, in_flight * _rate(per_step, step) * (prompt + output) / output
        case _:
            return 0.0, math.inf


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if seconds else math.inf
