"""The tables of a plan: a row for each arm, and one for each period of the demand."""

from __future__ import annotations

import numpy as np

from specsim.inputs.models.scenario import Scenario
from specsim.reporting.columns import Column, Table, with_ends
from specsim.reporting.intervals import plain
from specsim.studies.plan.result import PlannedArm, PlanResult
from specsim.studies.plan.text import binds, drafting, grid_step, short_of


def plan_table(scenario: Scenario, result: PlanResult) -> Table[PlannedArm]:
    """A row for each arm."""
    rows = [PlannedArm(scenario, result, found) for found in result.arms]
    return Table(rows, arm_columns(result), file="plan.csv")


def arm_columns(plan: PlanResult) -> list[Column[PlannedArm]]:
    """What is said of an arm; of demand, price and power on the terminal only where the plan has them."""
    demanded, priced, powered = plan.demand is not None, plan.price is not None, plan.power is not None
    return [
        Column(
            "policy", lambda row: row.result.arm.kind, "", "kind of policy that sets draft lengths",
            "policy", lambda row: drafting(row.scenario, row.result.arm), left=True,
        ),
        Column("num_draft_tokens", lambda row: row.result.arm.num_draft_tokens, "tokens", "longest draft; 0 for none"),
        Column(
            "requests_per_s", lambda row: row.result.capacity.bound, "requests/s",
            "rate within the limits: lower bound that 95 % of fresh runs meet",
            "requests/s", lambda row: plain(row.result.capacity.bound, 3),
        ),
        Column(
            "mean_requests_per_s", lambda row: row.result.capacity.mean, "requests/s",
            "geometric mean over seeds of the largest rate within the limits", "mean ± 95 %", _mean,
        ),
        Column(
            "half_width", lambda row: row.result.capacity.half_width, "",
            "half-width of the mean's 95 % interval, as a share of the mean",
        ),
        Column("seeds", lambda row: len(row.result.capacity.rates), "", "number of seeds"),
        Column("num_requests", lambda row: row.result.capacity.num_requests, "requests", "requests per run"),
        Column(
            "saturated_requests_per_s", lambda row: row.result.capacity.saturated, "requests/s",
            "rate served when a request is always waiting",
        ),
        *with_ends(
            "gain", lambda row: row.plan.gain(row.result), "mean rate over that without speculation, paired by seed",
            "", "gain", _gain,
        ),
        Column(
            "binds", lambda row: _binds(row).lower() if row.result.bottleneck else "empty system", "",
            "binding limit, saturation, or an empty system that misses a limit", "binds", _binds, left=True,
        ),
        Column(
            "short_of", lambda row: row.result.bottleneck.resource if row.result.bottleneck else "", "",
            "bottleneck of the server at the bound", "bottleneck", lambda row: short_of(row.result), left=True,
        ),
        Column(
            "utilisation", lambda row: row.result.bottleneck.utilisation if row.result.bottleneck else None, "",
            "share of the bottleneck that is used",
        ),
        Column("tokens_per_s", lambda row: row.result.tokens_per_s, "tokens/s", "output tokens/s at the bound"),
        Column(
            "dollars_per_million_tokens", lambda row: row.plan.dollars_per_million(row.result), "$",
            "price of a million output tokens with every replica at its bound",
        ),
        Column(
            "joules_per_token", lambda row: row.plan.joules_per_token(row.result), "J",
            "energy per output token at the bound, at full board power",
        ),
        Column(
            "replicas_peak", lambda row: int(row.serving.replicas.max()) if row.serving else None, "",
            "replicas, or fleets, for the demand's peak",
            "replicas", (lambda row: str(int(row.serving.replicas.max())) if row.serving else "") if demanded else None,
        ),
        Column(
            "replicas_mean", lambda row: row.serving.mean_replicas if row.serving else None, "",
            "replicas for the demand, mean over time",
        ),
        Column(
            "gpus", lambda row: row.serving.gpus if row.serving else None, "", "devices for the demand's peak",
            "GPUs", (lambda row: str(row.serving.gpus) if row.serving else "") if demanded else None,
        ),
        Column(head="$/Mtoken", cell=_dollars if priced else None),
        Column(head="J/token", cell=_joules if powered else None),
    ]  # fmt: skip


def _mean(row: PlannedArm) -> str:
    capacity = row.result.capacity
    half = max(100 * capacity.half_width, grid_step(row.scenario))
    return f"{plain(capacity.mean, 3)} ± {half:.1f}%" if row.result.bottleneck else ""


def _gain(row: PlannedArm) -> str:
    gain = row.plan.gain(row.result)
    return f"{gain.estimate:.2f}×" if gain and row.result.arm.policy and row.result.bottleneck else ""


def _binds(row: PlannedArm) -> str:
    if row.result.bottleneck:
        return binds(row.plan.limits, row.result.capacity)
    return "empty system" if any(latency.missed for latency in row.result.unloaded) else ""


def _dollars(row: PlannedArm) -> str:
    dollars = row.plan.dollars_per_million(row.result)
    return "" if dollars is None else plain(dollars, 3)


def _joules(row: PlannedArm) -> str:
    joules = row.plan.joules_per_token(row.result)
    return "" if joules is None else plain(joules, 3)


def replicas_table(result: PlanResult) -> Table[tuple[float, float, float, int]] | None:
    """Replicas over time with the best arm; None where the demand does not change."""
    serving, demand = result.serving(result.best), result.demand
    if serving is None or demand is None or len(demand.rates) == 1:
        return None
    starts = np.cumsum(demand.seconds) - demand.seconds
    columns = (starts, demand.seconds, demand.rates, serving.replicas)
    return Table(
        rows=list(zip(*(values.tolist() for values in columns), strict=True)),
        columns=[
            Column("start_s", lambda row: row[0], "s", "when the period begins"),
            Column("seconds", lambda row: row[1], "s", "how long it lasts"),
            Column("requests_per_s", lambda row: row[2], "requests/s", "mean rate to serve"),
            Column("replicas", lambda row: row[3], "", "replicas, or fleets, for this rate"),
        ],
        file="replicas.csv",
    )
