"""A schedule of draft lengths as engines take it: what to paste into vLLM, TensorRT-LLM and SGLang.

Forms as in vLLM's SpeculativeConfig (num_speculative_tokens_per_batch_size of pull request 32374), TensorRT-LLM's
llm_args.py (draft_len_schedule since pull request 10860) and SGLang's server arguments. SGLang counts the token that is
verified anyway among its draft tokens, so its number is one more. Knows no simulation and no engine's other settings.
"""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath
from typing import Any, NamedTuple

import yaml

from specsim.inputs.models.drafters import Drafter, NgramLookup
from specsim.inputs.models.schedule import SchedulePolicy

UNKNOWN_CHECKPOINT = "path/to/heads"


class Setting(NamedTuple):
    """What one engine is told.

    Attributes:
        text: to paste; empty where the engine has no such setting.
        instead: why not, and what it does have; empty otherwise.
    """

    text: str
    instead: str = ""


def checkpoint_of(drafter: Drafter) -> str | None:
    """What the scenario calls the drafter's checkpoint, the folder of a config.json; None where engines need none."""
    if drafter.facts.looks_up or drafter.facts.in_target_checkpoint:
        return None
    if drafter.facts.config is None:
        return UNKNOWN_CHECKPOINT
    path = PurePath(drafter.facts.config)
    return str(path.parent) if path.name == "config.json" else drafter.facts.config


def vllm_setting(drafter: Drafter, schedule: SchedulePolicy, checkpoint: str | None, largest_batch: int) -> Setting:
    """``--speculative-config`` and its JSON.

    Args:
        drafter: what drafts.
        schedule: by batch alone; some range of it drafts.
        checkpoint: of the drafter, as the engine is to load it.
        largest_batch: where the last range is written to end; vLLM keeps its length beyond.
    """
    config: dict[str, Any] = {"method": drafter.facts.engines.vllm}
    if checkpoint is not None:
        config["model"] = checkpoint
    config["num_speculative_tokens"] = schedule.num_draft_tokens
    if not isinstance(drafter, NgramLookup) and drafter.tensor_parallel is not None:
        config["draft_tensor_parallel_size"] = drafter.tensor_parallel
    if len(schedule.rows) > 1:
        config["num_speculative_tokens_per_batch_size"] = {
            f"{row.batch[0]}-{row.batch[1] or max(largest_batch, row.batch[0])}": row.num_draft_tokens
            for row in schedule.rows
        }
    return Setting(f"--speculative-config {shlex.quote(json.dumps(config))}")


def tensorrt_setting(drafter: Drafter, schedule: SchedulePolicy, checkpoint: str | None, largest_batch: int) -> Setting:
    """``speculative_config`` of its YAML file; arguments as of ``vllm_setting``, but nothing is drafted beyond."""
    kind = drafter.facts.engines.tensorrt
    if kind is None:
        return Setting("", "TensorRT-LLM has no schedule for this kind of drafter.")
    rows = schedule.rows
    if rows[0].num_draft_tokens < schedule.num_draft_tokens:
        return Setting(
            "",
            f"TensorRT-LLM requires the longest draft in the first range; here it is {rows[0].num_draft_tokens} there "
            f"and {schedule.num_draft_tokens} later.",
        )
    config: dict[str, Any] = {"decoding_type": kind, "max_draft_len": schedule.num_draft_tokens}
    if checkpoint is not None:
        config["speculative_model"] = checkpoint
    if len(rows) > 1:
        drafting = rows if rows[-1].num_draft_tokens else rows[:-1]
        config["draft_len_schedule"] = {
            row.batch[1] or max(largest_batch, row.batch[0]): row.num_draft_tokens for row in drafting
        }
    return Setting(yaml.safe_dump({"speculative_config": config}, sort_keys=False).rstrip())


def sglang_setting(drafter: Drafter, num_draft_tokens: int, checkpoint: str | None) -> Setting:
    """Flags for one draft length.

    Args:
        drafter: what drafts.
        num_draft_tokens: at least 1; drafts alone, as everywhere here.
        checkpoint: of the drafter, as the engine is to load it.
    """
    algorithm = drafter.facts.engines.sglang
    if algorithm is None:
        return Setting("", "SGLang does not support this drafter.")
    flags = {"--speculative-algorithm": algorithm}
    if checkpoint is not None:
        flags["--speculative-draft-model-path"] = shlex.quote(checkpoint)
    if drafter.facts.looks_up:
        flags["--speculative-ngram-max-bfs-breadth"] = "1"  # one continuation: a chain
    elif drafter.facts.token_a_pass:
        flags |= {"--speculative-num-steps": str(num_draft_tokens), "--speculative-eagle-topk": "1"}
    flags["--speculative-num-draft-tokens"] = str(num_draft_tokens + 1)
    return Setting(" ".join(f"{flag} {value}" for flag, value in flags.items()))
