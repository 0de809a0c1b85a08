"""The closed form as a sentence and a table over α × γ."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specsim.analysis import closed_form as law
from specsim.errors import Problem, raise_if_any
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.lists import read_list
from specsim.reporting.columns import Table, shown
from specsim.reporting.wording import draft_tokens

LARGEST_GAMMA = 64  # searched for the best one


def read_numbers(alphas: str, gammas: str, draft_cost: float) -> tuple[list[float], list[int]]:
    """The lists given on the command line, checked together with the draft cost.

    Raises:
        InputError: naming every entry that is not an acceptance, a draft length or a cost.
    """
    problems: list[Problem] = []
    found_alphas = read_list(alphas, float, lambda a: 0 <= a <= 1, "--alpha", "write numbers from 0 to 1", problems)
    found_gammas = read_list(gammas, int, lambda g: g >= 1, "--gamma", "write whole numbers from 1", problems)
    if not math.isfinite(draft_cost):
        problems.append(Problem("--draft-cost", "", repr(draft_cost), "must be finite; write for example 0.05"))
    raise_if_any(problems)
    return found_alphas, found_gammas


def _ridge(device: Device) -> float:
    return law.ridge_tokens(device.peak.bf16, device.memory.bandwidth)


def theory_answer(alphas: Sequence[float], gammas: Sequence[int], draft_cost: float, device: Device) -> str:
    """What holds for the highest acceptance asked for."""
    alpha = max(alphas)
    best = law.best_gamma(alpha, draft_cost, LARGEST_GAMMA)
    ridge = f"{device.name} turns compute-bound at {_ridge(device):.0f} tokens in BF16"
    if best == 0:
        return f"With acceptance {alpha:g} and draft cost {draft_cost:g} speculation never pays; {ridge}."
    if best == LARGEST_GAMMA:
        return (
            f"With acceptance {alpha:g} and draft cost {draft_cost:g} every further draft token gains, while verifying "
            f"is free; {ridge}."
        )
    gain = float(law.speedup(law.expected_tokens(alpha, best), best, draft_cost))
    return (
        f"With acceptance {alpha:g} and draft cost {draft_cost:g} speculation gains up to {gain:.2f}×, with "
        f"{draft_tokens(best)} and while verifying is free; {ridge}."
    )


def theory_table(
    alphas: Sequence[float], gammas: Sequence[int], draft_cost: float, device: Device
) -> Table[tuple[float, int]]:
    """One row per acceptance and draft length."""
    ridge = _ridge(device)
    best = {alpha: law.best_gamma(alpha, draft_cost, LARGEST_GAMMA) for alpha in alphas}
    return Table(
        rows=[(alpha, gamma) for alpha in alphas for gamma in gammas],
        columns=[
            shown("acceptance α", lambda row: f"{row[0]:g}"),
            shown("draft tokens γ", lambda row: str(row[1])),
            shown("tokens per verify", lambda row: f"{float(law.expected_tokens(*row)):.2f}"),
            shown("speedup", lambda row: f"{float(law.speedup(law.expected_tokens(*row), row[1], draft_cost)):.2f}"),
            shown("free up to batch", lambda row: str(law.free_verify_batch(ridge, row[1]))),
            shown("pays up to batch", lambda row: _batch(law.break_even_batch(ridge, *row, draft_cost))),
            shown("best γ", lambda row: str(best[row[0]])),
        ],
        bold=lambda row: row[1] == best[row[0]],
        sections=range(0, len(alphas) * len(gammas), len(gammas)),
        caption="constant α, decode only, weight traffic only, hard maximum, full peaks",
    )


def _batch(batch: float | None) -> str:
    """A break-even batch: the crossing lies between whole batches, so the nearest is named."""
    return "never" if batch is None else f"{batch:.0f}"
