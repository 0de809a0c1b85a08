"""What to paste into vLLM, and the engine profile that says the same to specsim."""

from __future__ import annotations

from dataclasses import replace

import yaml

from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.schedule import SchedulePolicy, ScheduleRow
from specsim.inputs.read.scenario import Inputs
from specsim.interop.engines_config import checkpoint_of, vllm_setting
from specsim.reporting.inputs import resolved_scenario
from specsim.studies.optimize.optimum import Finalist

ENGINE_FILE = "engine.yaml"


def vllm_flags(one: Finalist, checkpoint: str | None = None) -> str:
    """The settings as vLLM's flags; what the search leaves alone is not among them, but for pipeline stages.

    Args:
        one: what to set.
        checkpoint: the drafter's, as the engine is to load it; by default as the scenario calls it.
    """
    deployment, (places, budget) = one.inputs.scenario.deployment, one.limits
    flags = [f"--tensor-parallel-size {deployment.tensor_parallel}"]
    if deployment.pipeline_parallel > 1:
        flags.append(f"--pipeline-parallel-size {deployment.pipeline_parallel}")
    flags += [f"--max-num-seqs {places}", f"--max-num-batched-tokens {budget}"]
    table, drafter = _as_table(one), one.inputs.scenario.speculation.drafter
    if table is not None:
        own = checkpoint_of(drafter)
        flags.append(vllm_setting(drafter, table, own and (checkpoint or own), places).text)
    return " ".join(flags)


def vllm_text(one: Finalist, checkpoint: str | None = None) -> str:
    """The flags under a heading, which says what they cannot."""
    policy, own = one.arm.policy, checkpoint_of(one.inputs.scenario.speculation.drafter)
    heading = "# vLLM"
    if policy and _as_table(one) is None:
        heading += f" (it has no setting for draft lengths by {policy.kind}; speculation is left out)"
    elif policy and own and checkpoint is None:
        heading += f" ({own} stands for the drafter's checkpoint; name the one that you serve with --checkpoint)"
    return f"{heading}\n{vllm_flags(one, checkpoint)}"


def _as_table(one: Finalist) -> SchedulePolicy | None:
    """The policy as a table of draft lengths by batch, where it is one that drafts."""
    match one.arm.policy:
        case StaticPolicy(num_draft_tokens=length):
            return SchedulePolicy(kind="schedule", table=(ScheduleRow(batch=(1, None), num_draft_tokens=length),))
        case SchedulePolicy() as schedule if all(row.context == (0, None) for row in schedule.rows):
            return schedule
        case _:
            return None


def scenario_text(one: Finalist, asked: Inputs) -> str:
    """The scenario with these settings; its engine profile is the one asked for, or lies beside it."""
    if one.inputs.engine == asked.engine:
        return resolved_scenario(one.inputs)
    deployment = one.inputs.scenario.deployment.model_copy(update={"engine": ENGINE_FILE})
    scenario = one.inputs.scenario.model_copy(update={"deployment": deployment})
    files = {name: file for name, file in one.inputs.files.items() if name != "engine"}
    return resolved_scenario(replace(one.inputs, scenario=scenario, files=files))


def engine_text(one: Finalist) -> str:
    """The engine profile with these limits, as YAML."""
    data = one.inputs.engine.model_dump(mode="json", exclude_none=True)
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text
