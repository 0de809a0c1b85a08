"""The files of a decision: what ``specsim decide`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from specsim.analysis.intervals import Interval
from specsim.inputs.read.scenario import Inputs
from specsim.interop.engines_config import Setting
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.text import as_text
from specsim.studies.decide.run import Decision
from specsim.studies.decide.text import fixed_table, schedule_table

SETTING_FILES = {"vLLM": "vllm.txt", "TensorRT-LLM": "tensorrt-llm.yaml", "SGLang": "sglang.txt"}


def decision_files(
    inputs: Inputs, decision: Decision, sentences: Sequence[str], settings: Mapping[str, Setting], text: str
) -> dict[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was simulated.
        decision: what came out.
        sentences: the answer, as printed.
        settings: by engine; those that there are have a file each.
        text: the settings as printed.
    """
    warning = extrapolation_sentence([(inputs, decision.extrapolation)])
    answer = as_text(sentences, schedule_table(decision), fixed_table(decision))
    written = {
        SETTING_FILES[engine]: text_writer(f"{setting.text}\n") for engine, setting in settings.items() if setting.text
    }
    return written | {
        "schedule.csv": table_writer(_schedule_frame(decision)),
        "fixed_lengths.csv": table_writer(_fixed_frame(decision)),
        "curve.csv": table_writer(decision.curve.points),
        "answer.txt": text_writer(f"{answer}\n{text}"),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(provenance_json(inputs, warning)),
    }


def _schedule_frame(decision: Decision) -> pd.DataFrame:
    """A row for each batch simulated; gains as ratios."""
    return pd.DataFrame(
        {
            "batch": choice.batch,
            "num_draft_tokens": choice.num_draft_tokens,
            "tokens_per_s": choice.tokens_per_s,
            **_columns("over_none", choice.over_none),
            **_columns("over_fixed", choice.over_fixed),
        }
        for choice in decision.choices
    )


def _fixed_frame(decision: Decision) -> pd.DataFrame:
    """A row for each draft length, none with 0; regrets as shares."""
    return pd.DataFrame(
        {
            "num_draft_tokens": one.num_draft_tokens,
            **_columns("over_none", one.over_none),
            **_columns("regret", one.regret),
            **_columns("worst_regret", one.worst),
            "worst_batch": one.worst_batch,
        }
        for one in decision.fixed
    )


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
