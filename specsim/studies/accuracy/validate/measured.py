"""What a measured row says, laid over a base scenario: the inputs of its two arms. Simulates nothing."""

from __future__ import annotations

import dataclasses
import json
from typing import NamedTuple

from specsim.errors import SpecsimError, invalid
from specsim.inputs.measured.measurements import Measurement, Setting
from specsim.inputs.models.engine import Engine
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import Inputs, load_scenario

BASE = str(catalogue.ROOT / "hardware" / "measured" / "scenario.yaml")
SHAPE = "geometric"  # of the acceptance behind a bare mean length: one acceptance for all positions


class Arm(NamedTuple):
    """One run of a benchmark; equal arms are simulated once.

    Attributes:
        overrides: what is laid over the base scenario.
        num_draft_tokens: draft tokens per verify; 0 for the arm without speculation.
        max_num_batched_tokens, max_num_seqs, memory_fraction: the engine's limits in this arm; None for its profile's.
        running: requests that the benchmark kept in the engine, which held them whatever its profile says; None where
            clients kept theirs in flight.
    """

    overrides: tuple[str, ...]
    num_draft_tokens: int
    max_num_batched_tokens: int | None
    max_num_seqs: int | None
    memory_fraction: float | None
    running: int | None = None


def arm(row: Measurement, *, speculating: bool) -> Arm:
    """One of the two runs that a row compares."""
    # nothing of how the other arm speculates, so that arms without speculation that are the same compare equal
    speculation = _speculation(row) if speculating else drafter_overrides(row, speculating=False)
    overrides = (*deployment_overrides(row), *speculation, *_workload(row))
    if speculating:
        limits = row.speculation_max_num_batched_tokens, row.speculation_max_num_seqs
    else:
        limits = row.baseline_max_num_batched_tokens, row.baseline_max_num_seqs
    running = int(row.load) if row.load_kind == "batch" and limits[1] is None else None
    return Arm(overrides, row.num_draft_tokens if speculating else 0, *limits, row.memory_fraction, running)


def left_out(row: Measurement, *, speculating: bool) -> str:
    """What a row has to say before it can be simulated without a scenario of the user's; empty where nothing lacks."""
    given: dict[str, object] = {
        "device profile (use_device)": row.use_device,
        "engine profile (use_engine)": row.use_engine,
        "model file (use_model)": row.use_model,
        "lengths": row.lengths or row.prompt_tokens,
        "number of requests": row.num_requests,
    }
    if speculating:
        given |= {f"{row.drafter} drafter (use_drafter)".lstrip(): row.use_drafter}
        given |= {"acceptance": row.acceptance or row.acceptance_length}
    missing = [f"no {name}" for name, value in given.items() if not value]
    return ", ".join(missing)


def arm_inputs(base: str, chosen: Arm, *, general: bool = False) -> Inputs:
    """The inputs of an arm.

    Args:
        base: name or path of the scenario that the arm is laid over.
        chosen: what to lay over it.
        general: in place of a calibrated profile take the one that it was fitted from.

    Raises:
        InputError: when the result contradicts itself or names what is not there.
    """
    inputs = load_scenario(base, chosen.overrides)
    if general and inputs.engine.general:
        inputs = load_scenario(base, (*chosen.overrides, f"deployment.engine={inputs.engine.general}"))
    if inputs.scenario.fleet is not None:
        raise invalid(base, "fleet", inputs.scenario.fleet.num_replicas, "measurements are of one server; leave it out")
    return dataclasses.replace(inputs, engine=_limited(inputs.engine, chosen))


def _limited(engine: Engine, chosen: Arm) -> Engine:
    """The profile with an arm's limits, which win over those that it has for speculation."""
    arm = "speculation_" if chosen.num_draft_tokens else ""
    limits = {f"{arm}{name}": getattr(chosen, name) for name in ("max_num_batched_tokens", "max_num_seqs")}
    own = (chosen.num_draft_tokens and engine.speculation_max_num_seqs) or engine.max_num_seqs
    if chosen.running is not None and chosen.running > own:
        limits[f"{arm}max_num_seqs"] = chosen.running
    stated = {name: value for name, value in limits.items() if value is not None}
    if chosen.memory_fraction is not None:
        stated["memory_fraction"] = chosen.memory_fraction
    return engine.model_copy(update=stated)


def why_not(error: SpecsimError) -> str:
    """The problems of an arm in a line; where they stand in the scenario is of no use to the reader of a table."""
    return "; ".join(f"{problem.path}: {problem.remedy}".removeprefix(": ") for problem in error.problems)


def deployment_overrides(row: Setting) -> tuple[str, ...]:
    """Device, engine and target as far as the row names them."""
    names = {"device": row.use_device, "engine": row.use_engine, "target": row.use_model}
    devices = {"num_devices": row.num_devices, "tensor_parallel": row.num_devices}
    formats = {"weight_format": row.weight_format, "kv_format": row.kv_format}
    stated = {**names, **devices, "expert_parallel": row.expert_parallel, **formats}
    return tuple(f"deployment.{key}={json.dumps(value)}" for key, value in stated.items() if value)


def drafter_overrides(row: Setting, *, speculating: bool) -> tuple[str, ...]:
    """The row's drafter; without speculation one that fits any target, since a scenario has to name one."""
    if speculating:
        return (f"speculation.drafter={row.use_drafter}",) if row.use_drafter else ()
    itself = json.dumps({"kind": "draft_model", "model": row.use_model})
    return (f"speculation.drafter={itself}",) if row.use_model else ()


def _speculation(row: Measurement) -> tuple[str, ...]:
    stated = [
        *drafter_overrides(row, speculating=True),
        f"speculation.policy={{kind: static, num_draft_tokens: {row.num_draft_tokens}}}",
    ]
    acceptance: dict[str, object] = {}
    if row.acceptance:
        acceptance = {"kind": "profile", "basis": "marginal", "values": row.acceptance}
    elif row.acceptance_length is not None:
        length, drafts = row.acceptance_length, row.num_draft_tokens
        acceptance = {"kind": "mean_length", "mean_acceptance_length": length, "num_draft_tokens": drafts}
        acceptance["shape"] = SHAPE
    if acceptance:
        stated.append(f"speculation.acceptance={json.dumps({**acceptance, 'source': row.citation})}")
    if row.temperature is not None:
        stated.append(f"speculation.temperature={float(row.temperature)}")
    return tuple(stated)


def _workload(row: Measurement) -> tuple[str, ...]:
    load: dict[str, object] = {"kind": "closed_loop", "concurrency": int(row.load)}
    if row.load_kind == "rate":
        load = {"kind": "poisson", "rate": f"{row.load!r} requests/s"}
    stated = [f"workload.load={json.dumps(load)}", "workload.mixture=[]"]
    if row.num_requests is not None:
        stated.append(f"workload.num_requests={row.num_requests}")
    if row.lengths:
        stated.append(f"workload.lengths={json.dumps({'kind': 'quantiles', 'table': row.lengths})}")
    elif row.prompt_tokens is not None:
        fixed = {"kind": "fixed", "prompt_tokens": row.prompt_tokens, "output_tokens": row.output_tokens}
        stated.append(f"workload.lengths={json.dumps(fixed)}")
    return tuple(stated)
