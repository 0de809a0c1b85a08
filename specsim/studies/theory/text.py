"""The closed form as a sentence and a table over α × γ."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.table import Table

from specsim.analysis.closed_form import (
    best_gamma,
    break_even_batch,
    expected_tokens,
    free_verify_batch,
    ridge_tokens,
    speedup,
)
from specsim.errors import InputError, Problem
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.lists import read_list
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
    if problems:
        raise InputError(problems)
    return found_alphas, found_gammas


def _ridge(device: Device) -> float:
    return ridge_tokens(device.peak.bf16, device.memory.bandwidth)


def theory_answer(alphas: Sequence[float], gammas: Sequence[int], draft_cost: float, device: Device) -> str:
    """What holds for the highest acceptance asked for."""
    alpha = max(alphas)
    best = best_gamma(alpha, draft_cost, LARGEST_GAMMA)
    ridge = f"{device.name} turns compute-bound at {_ridge(device):.0f} tokens in BF16"
    if best == 0:
        return f"With acceptance {alpha:g} and draft cost {draft_cost:g} speculation never pays; {ridge}."
    if best == LARGEST_GAMMA:
        return (
            f"With acceptance {alpha:g} and draft cost {draft_cost:g} every further draft token gains, while verifying "
            f"is free; {ridge}."
        )
    gain = float(speedup(expected_tokens(alpha, best), best, draft_cost))
    return (
        f"With acceptance {alpha:g} and draft cost {draft_cost:g} speculation gains up to {gain:.2f}×, with "
        f"{draft_tokens(best)} and while verifying is free; {ridge}."
    )


def theory_table(alphas: Sequence[float], gammas: Sequence[int], draft_cost: float, device: Device) -> Table:
    """One row per acceptance and draft length."""
    headers = ("acceptance α", "draft tokens γ", "tokens per verify", "speedup", "free up to batch", "pays up to batch")
    table = Table(*headers, "best γ", caption="constant α, decode only, weight traffic only, hard maximum, full peaks")
    for column in table.columns:
        column.justify = "right"
    for alpha in alphas:
        best = best_gamma(alpha, draft_cost, LARGEST_GAMMA)
        for gamma in gammas:
            tokens = float(expected_tokens(alpha, gamma))
            gain = float(speedup(tokens, gamma, draft_cost))
            free = free_verify_batch(_ridge(device), gamma)
            pays = break_even_batch(_ridge(device), alpha, gamma, draft_cost)
            cells = (f"{alpha:g}", str(gamma), f"{tokens:.2f}", f"{gain:.2f}", str(free), _batch(pays), str(best))
            table.add_row(*cells, style="bold" if gamma == best else None)
        table.add_section()
    return table


def _batch(batch: float | None) -> str:
    """A break-even batch: the crossing lies between whole batches, so the nearest is named."""
    return "never" if batch is None else f"{batch:.0f}"
