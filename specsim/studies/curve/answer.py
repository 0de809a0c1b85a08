"""A curve's answer whole: sentences, the table that is read, the tables behind it, and the figure."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import AnyTable, Described, FrameTable, interval_described
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.publish import Answer
from specsim.reporting.wording import levels
from specsim.studies.curve.figure import curve_figure
from specsim.studies.curve.run import CurveResult
from specsim.studies.curve.text import curve_sentences, curve_table, featured_draft_length, headline, missing

POINT_COLUMNS: Described = {
    "batch": ("requests", "requests in flight"),
    "num_draft_tokens": ("tokens", "draft tokens per verify, or levels of the tree; 0 without speculation"),
    **interval_described("tokens_per_s", "tokens/s", "output tokens per second in the steady window"),
    **interval_described("speedup", "", "output tokens/s over that without speculation at the same batch, paired"),
    "speedup_model_low": ("", "lower end of the model's 90 % interval of the speedup"),
    "speedup_model_high": ("", "upper end of the model's 90 % interval of the speedup"),
    "closed_form_speedup": ("", "speedup by the closed form, decode only; empty where it does not apply"),
    "acceptance_length": ("tokens", "tokens per verify, including the recovered or bonus token"),
    "mean_running_batch": ("requests", "mean requests in a step"),
    "limit": ("", "what those that wait wait for: max_num_seqs, max_num_batched_tokens or KV cache; empty if none do"),
    "ttft_p50_s": ("s", "median time to first token"),
    "tpot_p50_s": ("s", "median time per output token after the first"),
}


def curve_answer(inputs: Inputs, result: CurveResult) -> Answer:
    """What ``specsim curve`` prints and writes; no figure of a curve that was interrupted."""
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    tables: list[AnyTable] = [
        curve_table(inputs.scenario, result),
        FrameTable(result.points, POINT_COLUMNS, "curve.csv"),
    ]
    if not result.missing:
        tables.append(FrameTable(result.closed_form, POINT_COLUMNS, "closed_form.csv"))
    return Answer(
        sentences=[*curve_sentences(inputs.scenario, result), *source_sentences(inputs)],
        tables=tables,
        figures={} if result.missing else {"curve": draw(inputs, result)},
        files=input_files(inputs, warning),
        warning=warning,
        partial=missing(inputs.scenario, result) if result.interrupted else "",
    )


def draw(inputs: Inputs, result: CurveResult) -> Figure:
    """The curve, with what of it is on paper."""
    k = featured_draft_length(inputs.scenario, result)
    return curve_figure(
        pd.concat([result.points, result.closed_form]),
        title=headline(inputs.scenario, result, model=False),
        subtitle=subtitle(inputs),
        highlight=k,
        crossings=result.crossings[k],
        free_verify_batch=result.free_batch.get(k),
        running_limit=result.running_limit,
        draft_name=levels if inputs.scenario.speculation.tree else "K = {}".format,
    )
