"""What a person reads of a decision: the schedule in a sentence, what it is worth, warnings, and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from specsim.analysis.intervals import Interval
from specsim.errors import InputError, Problem, invalid
from specsim.inputs.models.schedule import ScheduleRow
from specsim.inputs.read.scenario import Inputs
from specsim.interop.engines_config import Setting, checkpoint_of, sglang_setting, tensorrt_setting, vllm_setting
from specsim.reporting.intervals import over_one, percents
from specsim.reporting.wording import draft_tokens, from_to, listed
from specsim.studies.curve.run import CurveResult
from specsim.studies.curve.text import limits
from specsim.studies.decide.run import Decision
from specsim.units import plural


def refuse_checkpoint(inputs: Inputs, checkpoint: str) -> None:
    """Say that a checkpoint has no name, or was named for a drafter that has none of its own.

    Raises:
        InputError: where that is so.
    """
    drafter = inputs.scenario.speculation.drafter
    if not checkpoint.strip():
        raise invalid("--checkpoint", "", checkpoint, "is empty; name the checkpoint that you serve, or leave it out")
    if checkpoint_of(drafter) is None:
        remedy = f"engines load no checkpoint for a drafter of kind {drafter.kind}; leave it out"
        raise InputError([Problem("--checkpoint", "", "", remedy)])


def decision_sentences(inputs: Inputs, decision: Decision) -> list[str]:
    """The answer, the most important first."""
    repeats = plural(inputs.scenario.curve.replications, "paired run")
    return [
        _headline(decision),
        *_fixed(decision),
        *_model(decision),
        *limits(inputs.scenario, decision.curve),
        *_beyond(inputs, decision),
        *(f"Warning: {warning}" for warning in decision.warnings),
        f"Means weight {_which(decision.curve)} equally, with 95 % intervals ({repeats}); the schedule was "
        "simulated as written.",
        f"All gains assume the engine profile of the scenario ({inputs.engine.name}); for another engine, set "
        "deployment.engine.",
    ]


def _which(curve: CurveResult) -> str:
    if curve.averaged == curve.batches:
        return "the batches below"
    return f"the batches that run at once ({listed([str(batch) for batch in curve.averaged])})"


def _headline(decision: Decision) -> str:
    batches = from_to(decision.curve.averaged[0], decision.curve.averaged[-1])
    if not decision.schedule.num_draft_tokens:
        return f"Leave speculation off: no draft length clearly pays at any batch simulated, {batches}."
    gain = over_one(decision.over_none)
    if model := decision.curve.model_error:
        gain += model.words_around(decision.over_none.estimate, percent)
    return (
        f"Set {ranges_words(decision.schedule.rows)}: {gain} output tokens/s vs no speculation, averaged over batches "
        f"{batches}."
    )


def percent(ratio: float) -> str:
    """``+12 %``."""
    return f"{100 * (ratio - 1):+.0f} %"


def _model(decision: Decision) -> Iterator[str]:
    """What the model's error is, which lengths it does not tell apart, and where a gain lies within it."""
    model = decision.curve.model_error
    if model is None:
        return
    yield model.sentence
    if decision.schedule.num_draft_tokens:
        error = f"±{100 * math.expm1(decision.step_error):.0f} % for one token, more for several"
        yield f"Lengths that differ by less than the model's error ({error}) count as equal, and the shortest is set."
    within = [
        choice.batch
        for choice in decision.choices
        if choice.num_draft_tokens and model.around(choice.over_none.estimate)[0] < 1
    ]
    if within:
        every = len(within) == len(decision.choices)
        some = "at every batch" if every else f"at batch {listed([str(batch) for batch in within])}"
        yield f"The gain over no speculation lies within the model's error {some}: measure there before you rely on it."


def ranges_words(rows: tuple[ScheduleRow, ...]) -> str:
    """``5 draft tokens up to batch 12, 2 up to 110, none beyond``."""
    if len(rows) == 1:
        return f"{draft_tokens(rows[0].num_draft_tokens)} at every batch"
    parts = []
    for i, row in enumerate(rows):
        length = str(row.num_draft_tokens or "none")
        if i == 0:
            length = draft_tokens(row.num_draft_tokens) if row.num_draft_tokens else "no draft tokens"
        where = "beyond" if row.batch[1] is None else f"up to {'' if i else 'batch '}{row.batch[1]}"
        parts.append(f"{length} {where}")
    return ", ".join(parts)


def _fixed(decision: Decision) -> Iterator[str]:
    if not decision.schedule.num_draft_tokens:
        return
    if len(decision.schedule.rows) == 1:
        yield "One length is enough: no table of lengths by batch gains more than the noise."
        return
    best = decision.best_fixed
    what = draft_tokens(best.num_draft_tokens) if best.num_draft_tokens else "no speculation"
    yield (
        f"The best single setting, {what}, loses {lost(best.regret)} vs the schedule on average, and at most "
        f"{lost(best.worst)} (batch {best.worst_batch})."
    )


def _beyond(inputs: Inputs, decision: Decision) -> Iterator[str]:
    """That the last range goes on where nothing was simulated."""
    simulated, largest = decision.curve.batches[-1], _largest_batch(inputs, decision)
    if decision.schedule.rows[-1].num_draft_tokens and largest > simulated:
        yield (
            f"The last range also covers batches {simulated + 1} to {largest}, which the engine allows and the "
            "simulation did not reach."
        )


def lost(share: Interval) -> str:
    """``3.1 % [2.9, 3.3]``."""
    return percents(share.estimate, share.low, share.high)


def engine_settings(inputs: Inputs, decision: Decision, checkpoint: str | None = None) -> dict[str, Setting]:
    """Engine → what to paste; nothing where speculation is left off.

    Args:
        inputs: the scenario and what it refers to.
        decision: what to set.
        checkpoint: the drafter's, as engines are to load it; by default as the scenario calls it.
    """
    if not decision.schedule.num_draft_tokens:
        return {}
    drafter, largest = inputs.scenario.speculation.drafter, _largest_batch(inputs, decision)
    own = checkpoint_of(drafter)
    loaded = own and (checkpoint or own)
    fixed = decision.best_fixed.num_draft_tokens
    return {
        "vLLM": vllm_setting(drafter, decision.schedule, loaded, largest),
        "TensorRT-LLM": tensorrt_setting(drafter, decision.schedule, loaded, largest),
        "SGLang": sglang_setting(drafter, fixed, loaded)
        if fixed
        else Setting("", "SGLang has no schedule, and its best single setting is no speculation."),
    }


def _largest_batch(inputs: Inputs, decision: Decision) -> int:
    """Where the last range is written to end: at the engine's most requests, or the largest batch simulated."""
    engine = inputs.engine
    return max(decision.curve.batches[-1], engine.speculation_max_num_seqs or engine.max_num_seqs)


def settings_text(inputs: Inputs, decision: Decision, settings: dict[str, Setting], *, named: bool) -> str:
    """What to paste, under each engine's name with the gain predicted for it.

    Args:
        inputs: the scenario and what it refers to.
        decision: what to set.
        settings: of ``engine_settings``.
        named: whether the user named the checkpoint.
    """
    parts = [
        f"# {engine}{_predicted(decision, engine)}\n{setting.text}\n" if setting.text else f"# {setting.instead}\n"
        for engine, setting in settings.items()
    ]
    own = checkpoint_of(inputs.scenario.speculation.drafter)
    if parts and own and not named:
        parts.append(f"# {own} is a placeholder; name your drafter's checkpoint with --checkpoint.\n")
    return "\n".join(parts)


def _predicted(decision: Decision, engine: str) -> str:
    best = decision.best_fixed
    if engine != "SGLang":
        over_none, over_fixed = over_one(decision.over_none), over_one(decision.over_fixed)
        return f": {over_none} vs no speculation, {over_fixed} vs always {best.num_draft_tokens or 'none'}"
    return (
        f" (no schedule; {draft_tokens(best.num_draft_tokens)} plus the bonus token): {over_one(best.over_none)} vs no "
        f"speculation, {lost(best.regret)} lost vs a schedule"
    )
