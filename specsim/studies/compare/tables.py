"""The tables of a comparison, on a terminal and as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.table import Table

from specsim.analysis.intervals import mean_interval
from specsim.inputs.read.prices import devices_of
from specsim.reporting.intervals import plain, with_interval
from specsim.reporting.text import add_rows
from specsim.studies.compare.frontier import Cell
from specsim.studies.compare.ranking import Offer, Ranking, extra_cost
from specsim.studies.compare.ranking_text import extra_cell, is_best
from specsim.studies.compare.run import Comparison, Subject
from specsim.studies.compare.text import arm_name, frontier, rivals_of
from specsim.studies.plan.run import ArmResult, PlanResult
from specsim.studies.plan.tables import plan_table


def offers_table(comparison: Comparison, ranked: Ranking) -> Table:
    """A row for each arm within the limits; what each scenario offers is bold."""
    priced = ranked.basis.startswith("dollars")
    columns = ["scenario", "policy", "requests/s", "$/Mtoken" if priced else "tokens/s/GPU"]
    columns += ["GPUs"] if ranked.same_demand else []
    columns += ["$/hour"] if priced and ranked.same_demand else []
    columns += ["extra cost" if priced else "extra GPU time", "binds"]
    table = Table(*columns)
    table.columns[0].overflow = "fold"
    for column in table.columns[2:-1]:
        column.justify = "right"
    for subject in comparison.subjects:
        for result in subject.plan.arms if subject.plan else ():
            assert subject.plan is not None
            row = _offer_row(comparison, ranked, Offer(subject, subject.plan, result), priced=priced)
            add_rows(table, [row])
            table.rows[-1].style = "bold" if is_best(ranked, subject, result) else None
    return table


def _offer_row(comparison: Comparison, ranked: Ranking, offer: Offer, *, priced: bool) -> list[str]:
    result, plan = offer.result, offer.plan
    name = arm_name(offer.subject, result.arm) if result.arm.policy else "none"
    head = [offer.subject.name, name, plain(result.capacity.bound, 3)]
    between = 1 + ranked.same_demand * (1 + priced)
    if result.pressure is None:
        return [*head, *[""] * between, "", "no rate meets them"]
    dollars, hourly, serving = plan.dollars_per_million(result), offer.dollars_per_hour, plan.serving(result)
    cells = [plain(offer.tokens_per_s_per_gpu if dollars is None else dollars, 3)]
    cells += [] if not ranked.same_demand else [f"{serving.gpus:,}" if serving else ""]
    cells += [] if not (priced and ranked.same_demand) else [plain(hourly, 3) if hourly is not None else ""]
    extra = extra_cost(offer, ranked.best)
    against = "" if extra is None or result is ranked.best.result else extra_cell(extra)
    place = result.capacity.binding
    bound_by = None if place is None else comparison.limits[place]
    stops = "saturation" if bound_by is None else f"{bound_by.latency.upper()} p{bound_by.percentile}"
    return [*head, *cells, against, stops]


def frontier_table(cells: Sequence[Cell]) -> Table:
    """The members of the overall frontier, from the fastest for users on."""
    table = Table("tokens/s/user", "tokens/s/GPU", "scenario", "policy", "batch", "not told apart from")
    table.columns[2].overflow = table.columns[5].overflow = "fold"
    for column in (*table.columns[:2], table.columns[4]):
        column.justify = "right"
    rows = [
        (
            with_interval(mean_interval(cell.per_user)),
            with_interval(mean_interval(cell.per_gpu)),
            cell.subject.name,
            arm_name(cell.subject, cell.arm) if cell.arm.policy else "none",
            str(cell.batch),
            "; ".join(f"{rival.subject.name} {rival.arm.name} at {rival.batch}" for rival in rivals_of(cell, cells)),
        )
        for cell in frontier(cells)
    ]
    return add_rows(table, rows)


def cells_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """A row for each scenario, arm and batch."""
    return pd.DataFrame([_cell_columns(cell, cells) for cell in cells])


def _cell_columns(cell: Cell, cells: Sequence[Cell]) -> dict[str, Any]:
    values = {
        "tokens_per_s": cell.runs.tokens_per_s,
        "tokens_per_s_per_user": cell.per_user,
        "tokens_per_s_per_gpu": cell.per_gpu,
    }
    intervals = {name: mean_interval(each) for name, each in values.items()}
    numbers = {
        f"{name}{end}": number
        for name, found in intervals.items()
        for end, number in (("", found.estimate), ("_low", found.low), ("_high", found.high))
    }
    tied = (cells[place] for place in cell.ties)
    return {
        "scenario": cell.subject.name,
        "policy": cell.arm.policy.kind if cell.arm.policy else "none",
        "num_draft_tokens": cell.arm.num_draft_tokens,
        "batch": cell.batch,
        "gpus": cell.subject.num_devices,
        "replications": len(cell.per_gpu),
        **numbers,
        "acceptance_length": float(cell.runs.acceptance_length.mean()),
        "mean_running_batch": float(cell.runs.running_batch.mean()),
        "frontier": cell.frontier,
        "scenario_frontier": cell.own_frontier,
        "not_told_apart_from": "; ".join(f"{other.subject.name} {other.arm.name} at {other.batch}" for other in tied),
    }


def plans_frame(comparison: Comparison, ranked: Ranking | None) -> pd.DataFrame:
    """A row for each scenario and arm: what it costs, then what ``specsim plan`` says of it."""
    frames = [
        pd.concat(
            [_costs(subject, subject.plan, ranked), plan_table(subject.inputs.scenario, subject.plan).frame()], axis=1
        )
        for subject in comparison.subjects
        if subject.plan
    ]
    return pd.concat(frames, ignore_index=True)


def _costs(subject: Subject, plan: PlanResult, ranked: Ranking | None) -> pd.DataFrame:
    return pd.DataFrame([_cost_columns(subject, plan, result, ranked) for result in plan.arms])


def _cost_columns(subject: Subject, plan: PlanResult, result: ArmResult, ranked: Ranking | None) -> dict[str, Any]:
    offer = Offer(subject, plan, result)
    extra = extra_cost(offer, ranked.best) if ranked else None
    return {
        "scenario": subject.name,
        "device": " + ".join(devices_of(subject.inputs)),
        "gpus_per_replica": plan.num_devices,
        "price_per_gpu_hour": math.nan if plan.price is None else plan.price,
        "dollars_per_hour": math.nan if offer.dollars_per_hour is None else offer.dollars_per_hour,
        "tokens_per_s_per_gpu": offer.tokens_per_s_per_gpu,
        "offered": is_best(ranked, subject, result),
        "cost_over_cheapest": extra.estimate if extra else math.nan,
        "cost_over_cheapest_low": extra.low if extra else math.nan,
        "cost_over_cheapest_high": extra.high if extra else math.nan,
    }
