"""A decision's answer whole: sentences, the schedule, single lengths, the curve behind them, and what to paste."""

from __future__ import annotations

from operator import attrgetter

import pandas as pd
from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Column, FrameTable, Table, with_ends
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import text_writer
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.intervals import over_one
from specsim.reporting.publish import Answer
from specsim.reporting.wording import draft_tokens
from specsim.studies.curve.answer import POINT_COLUMNS
from specsim.studies.decide.figure import decision_figure
from specsim.studies.decide.run import Choice, Decision, FixedLength
from specsim.studies.decide.text import decision_sentences, engine_settings, lost, settings_text

SETTING_FILES = {"vLLM": "vllm.txt", "TensorRT-LLM": "tensorrt-llm.yaml", "SGLang": "sglang.txt"}


def decision_answer(inputs: Inputs, decision: Decision, checkpoint: str | None = None) -> Answer:
    """What ``specsim decide`` prints and writes.

    Args:
        inputs: what was simulated.
        decision: what came out.
        checkpoint: the drafter's, as engines are to load it; by default as the scenario calls it.
    """
    warning = extrapolation_sentence([(inputs, decision.extrapolation)])
    settings = engine_settings(inputs, decision, checkpoint)
    written = {SETTING_FILES[name]: text_writer(f"{one.text}\n") for name, one in settings.items() if one.text}
    return Answer(
        sentences=[*decision_sentences(inputs, decision), *source_sentences(inputs)],
        tables=[
            schedule_table(decision),
            fixed_table(decision),
            FrameTable(decision.curve.points, POINT_COLUMNS, "curve.csv"),
        ],
        figures={"decision": _draw(inputs, decision)},
        files={**written, **input_files(inputs, warning)},
        appendix=settings_text(inputs, decision, settings, named=checkpoint is not None),
        warning=warning,
    )


def _draw(inputs: Inputs, decision: Decision) -> Figure:
    rows = [(one.batch, one.over_none.estimate, one.over_none.low, one.over_none.high) for one in decision.choices]
    curve = decision.curve
    waiting = [batch for batch in curve.batches if batch not in curve.running]
    ranges = [(float(row.batch[0]), str(row.num_draft_tokens or "none")) for row in decision.schedule.rows]
    return decision_figure(
        curve.points[curve.points["batch"].isin(curve.batches)],
        pd.DataFrame(rows, columns=["batch", "speedup", "speedup_low", "speedup_high"]),
        ranges,
        title=decision_sentences(inputs, decision)[0],
        subtitle=f"{subtitle(inputs)}; above the panel: draft tokens of the schedule"
        + ("; hatched: not all run at once" if waiting else ""),
        waits_from=float(waiting[0]) if waiting else None,
        draft_name=draft_tokens,
    )


def schedule_table(decision: Decision) -> Table[Choice]:
    """Batch by batch: what is drafted and gained."""
    best = decision.best_fixed.num_draft_tokens
    against = draft_tokens(best) if best else "none"
    return Table(
        decision.choices,
        [
            Column(
                "batch", lambda row: row.batch, "requests", "requests in flight",
                "batch", lambda row: str(row.batch),
            ),
            Column(
                "num_draft_tokens", lambda row: row.num_draft_tokens, "tokens",
                "draft length of the schedule at this batch, or at as many of its requests as run at once",
                "draft tokens", lambda row: str(row.num_draft_tokens),
            ),
            Column(
                "tokens_per_s", lambda row: row.tokens_per_s, "tokens/s", "output tokens per second under the schedule",
                "tokens/s", lambda row: f"{row.tokens_per_s:,.0f}",
            ),
            *with_ends(
                "over_none", attrgetter("over_none"), "throughput over that without speculation, paired",
                head="vs none", cell=lambda row: over_one(row.over_none),
            ),
            *with_ends(
                "over_fixed", attrgetter("over_fixed"), "throughput over that of the best single length, paired",
                head=f"vs always {against}", cell=lambda row: over_one(row.over_fixed),
            ),
        ],
        file="schedule.csv",
    )  # fmt: skip


def fixed_table(decision: Decision) -> Table[FixedLength]:
    """One length for all batches: what it gains, and loses against the schedule."""
    return Table(
        decision.fixed,
        [
            Column(
                "num_draft_tokens", lambda row: row.num_draft_tokens, "tokens",
                "drafted at every batch; 0 for no speculation",
                "fixed length", lambda row: str(row.num_draft_tokens or "none"),
            ),
            *with_ends(
                "over_none", attrgetter("over_none"),
                "throughput over that without speculation, geometric mean over batches that run at once",
                head="vs none", cell=lambda row: over_one(row.over_none),
            ),
            *with_ends(
                "regret", attrgetter("regret"), "share of the schedule's throughput lost, mean over the same batches",
                head="lost vs schedule", cell=lambda row: lost(row.regret),
            ),
            *with_ends(
                "worst_regret", attrgetter("worst"), "largest share lost at any batch",
                head="worst loss", cell=lambda row: lost(row.worst),
            ),
            Column(
                "worst_batch", lambda row: row.worst_batch, "requests", "batch of the largest loss", "at batch",
                lambda row: str(row.worst_batch),
            ),
        ],
        file="fixed_lengths.csv",
    )  # fmt: skip
