"""The tables of a comparison: every cell, the frontier, and what each arm costs within the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from specsim.analysis.intervals import Interval, mean_interval
from specsim.arrays import Floats
from specsim.inputs.read.prices import devices_of
from specsim.reporting.columns import Column, Table, filed, shown, with_ends
from specsim.reporting.intervals import plain, with_interval
from specsim.studies.compare.frontier import Cell, frontier, rivals_of
from specsim.studies.compare.ranking import Offer, Ranking, extra_cost, offers_of
from specsim.studies.compare.run import Comparison
from specsim.studies.compare.text import extra_words
from specsim.studies.plan.tables import arm_columns
from specsim.studies.plan.text import binds, drafting


def cells_table(cells: Sequence[Cell]) -> Table[Cell]:
    """A row for each scenario, arm and batch."""
    columns: list[Column[Cell]] = [
        Column("scenario", lambda cell: cell.subject.name, "", "name of the scenario"),
        Column("policy", lambda cell: cell.arm.kind, "", "kind of policy that sets draft lengths"),
        Column("num_draft_tokens", lambda cell: cell.arm.num_draft_tokens, "tokens", "longest draft; 0 for none"),
        Column("batch", lambda cell: cell.batch, "requests", "requests in flight, over all replicas of a fleet"),
        Column("gpus", lambda cell: cell.subject.num_devices, "", "devices of a replica, or of the fleet"),
        Column("replications", lambda cell: len(cell.per_gpu), "", "number of replications"),
        *with_ends(
            "tokens_per_s", _mean(lambda cell: cell.runs.tokens_per_s), "output tokens per second", "tokens/s"
        ),
        *with_ends(
            "tokens_per_s_per_user", _mean(lambda cell: cell.per_user),
            "a request's rate after its first token", "tokens/s",
        ),
        *with_ends(
            "tokens_per_s_per_gpu", _mean(lambda cell: cell.per_gpu), "output tokens per second and device",
            "tokens/s",
        ),
        Column(
            "acceptance_length", lambda cell: float(cell.runs.acceptance_length.mean()), "tokens",
            "tokens per verify, including the recovered or bonus token",
        ),
        Column(
            "mean_running_batch", lambda cell: float(cell.runs.running_batch.mean()), "requests",
            "mean requests in a step",
        ),
        Column("frontier", lambda cell: cell.frontier, "", "whether no cell is better in both per user and per GPU"),
        Column("scenario_frontier", lambda cell: cell.own_frontier, "", "the same among the cells of its scenario"),
        Column(
            "not_told_apart_from", lambda cell: _names(cells[place] for place in cell.ties), "",
            "cells from which a member of the frontier does not differ significantly",
        ),
    ]  # fmt: skip
    return Table(cells, columns, file="compare.csv")


def _mean(values: Callable[[Cell], Floats]) -> Callable[[Cell], Interval]:
    return lambda cell: mean_interval(values(cell))


def frontier_table(cells: Sequence[Cell]) -> Table[Cell]:
    """The members of the overall frontier, from the fastest for users on."""
    return Table(
        frontier(cells),
        [
            shown("tokens/s/user", lambda cell: with_interval(mean_interval(cell.per_user))),
            shown("tokens/s/GPU", lambda cell: with_interval(mean_interval(cell.per_gpu))),
            shown("scenario", lambda cell: cell.subject.name, left=True, fold=True),
            shown("policy", lambda cell: drafting(cell.subject.inputs.scenario, cell.arm), left=True),
            shown("batch", lambda cell: str(cell.batch)),
            shown("ties with", lambda cell: _names(rivals_of(cell, cells)), left=True, fold=True),
        ],
    )


def _names(cells: Iterable[Cell]) -> str:
    return "; ".join(f"{cell.subject.name} {cell.arm.name} at {cell.batch}" for cell in cells)


def plans_table(comparison: Comparison, ranked: Ranking | None) -> Table[Offer] | None:
    """A row for each scenario and arm: what it costs, then what ``specsim plan`` says of it; None without plans.

    The terminal shows it where scenarios are ranked, with what each offers in bold.
    """
    offers = [offer for subject in comparison.subjects for offer in offers_of(subject)]
    if not offers:
        return None
    columns: list[Column[Offer]] = [
        Column(
            "scenario", lambda offer: offer.subject.name, "", "name of the scenario",
            "scenario", (lambda offer: offer.subject.name) if ranked else None, left=True, fold=True,
        ),
        *_cost_columns(ranked),
        *filed(arm_columns(offers[0].plan)),
        *(_shown_columns(ranked) if ranked else []),
    ]  # fmt: skip
    bold = ranked.offers_this if ranked else lambda offer: False
    return Table(offers, columns, file="plans.csv", bold=bold)


def _cost_columns(ranked: Ranking | None) -> list[Column[Offer]]:
    def extra(offer: Offer) -> Interval | None:
        return extra_cost(offer, ranked.best) if ranked else None

    return [
        Column("device", lambda offer: " + ".join(devices_of(offer.subject.inputs)), "", "name of the device"),
        Column("gpus_per_replica", lambda offer: offer.plan.num_devices, "", "devices of a replica, or of the fleet"),
        Column("price_per_gpu_hour", lambda offer: offer.plan.price, "$", "price of a device for an hour"),
        Column(
            "dollars_per_hour", lambda offer: offer.dollars_per_hour, "$",
            "price per hour of all replicas for the demand, mean over time",
        ),
        Column(
            "tokens_per_s_per_gpu", lambda offer: offer.tokens_per_s_per_gpu, "tokens/s",
            "output tokens per second and device at the bound",
        ),
        Column(
            "offered", lambda offer: ranked is not None and ranked.offers_this(offer), "",
            "whether it is the best arm of its scenario",
        ),
        *with_ends(
            "cost_over_cheapest", extra,
            "cost at mean rates divided by that of the cheapest scenario; in GPU-hours without prices",
        ),
    ]  # fmt: skip


def _shown_columns(ranked: Ranking) -> list[Column[Offer]]:
    """What the terminal says of costs; of an arm that meets the limits at no rate next to nothing."""
    priced = ranked.basis.startswith("dollars")
    columns: list[Column[Offer]] = [
        shown("policy", lambda offer: drafting(offer.scenario, offer.result.arm), left=True),
        shown("requests/s", lambda offer: plain(offer.result.capacity.bound, 3)),
        shown("$/Mtoken" if priced else "tokens/s/GPU", _rate_of_cost),
    ]
    if ranked.same_demand:
        columns.append(shown("GPUs", lambda offer: f"{offer.serving.gpus:,}" if offer.serving else ""))
        if priced:
            columns.append(shown("$/hour", _hourly))
    return [
        *columns,
        shown("extra cost" if priced else "extra GPU time", lambda offer: _extra(ranked, offer)),
        shown("binds", _binds, left=True),
    ]


def _rate_of_cost(offer: Offer) -> str:
    dollars = offer.plan.dollars_per_million(offer.result)
    value = offer.tokens_per_s_per_gpu if dollars is None else dollars
    return plain(value, 3) if offer.result.bottleneck else ""


def _hourly(offer: Offer) -> str:
    return "" if offer.dollars_per_hour is None else plain(offer.dollars_per_hour, 3)


def _extra(ranked: Ranking, offer: Offer) -> str:
    extra = extra_cost(offer, ranked.best)
    return "" if extra is None or offer.result is ranked.best.result else extra_words(extra)


def _binds(offer: Offer) -> str:
    return binds(offer.plan.limits, offer.result.capacity) if offer.result.bottleneck else "no rate"
