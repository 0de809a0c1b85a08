"""The tables of a search: finalists, and what each value of a setting costs at best."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table

from specsim.reporting.intervals import plain
from specsim.reporting.text import add_rows
from specsim.studies.optimize.optimum import Finalist, Optimum
from specsim.studies.optimize.wording import setting_values, short_arm_words, signed, value_of


def finalists_table(found: Optimum) -> Table:
    """A row for each finalist, the cheapest first."""
    unit = "GPU-s/Mtoken" if found.price is None else "$/Mtoken"
    table = Table("TP", "drafts", "seqs", "budget", "requests/s", unit, "over the cheapest", "binds", "short of")
    for column in (*table.columns[:1], *table.columns[2:7]):
        column.justify = "right"
    for column in table.columns[1:7]:
        column.no_wrap = True
    return add_rows(table, (_row(found, one) for one in found.finalists))


def _row(found: Optimum, one: Finalist) -> list[str]:
    places, budget = one.limits
    short, capacity = one.result.pressure, one.result.capacity
    binds = "no rate" if short is None else "saturation"
    if short and capacity.binding is not None:
        limit = found.limits[capacity.binding]
        binds = f"{limit.latency.upper()} p{limit.percentile}"
    ratio = one.cost_over(found.best)
    over = ""
    if ratio and one is not found.best:
        over = f"{signed(ratio.estimate)} % [{signed(ratio.low)}, {signed(ratio.high)}]"
    return [
        str(one.inputs.scenario.deployment.tensor_parallel),
        short_arm_words(one.arm) + (" (as it stands)" if one.as_it_stands else ""),
        str(places),
        str(budget),
        plain(capacity.bound, 3),
        plain(found.cost(one.gpu_seconds), 3) if capacity.bound else "",
        over,
        binds,
        f"{short.resource} {short.utilisation:.0%}" if short else "",
    ]


def worth_table(found: Optimum) -> Table:
    """What each value costs at best, all else free: over the cheapest of the short runs."""
    table = Table("setting", "value", "tried", "at best over the cheapest")
    for column in table.columns[1:]:
        column.justify = "right"
    return add_rows(table, _worth_rows(found))


def _worth_rows(found: Optimum) -> Iterator[list[str]]:
    least = found.ranked[0].gpu_seconds
    for name, values in setting_values(found):
        for value in values:
            costs = [one.gpu_seconds for one in found.trials if value_of(one.settings, name) == value]
            if not costs:
                continue
            best = min(costs)
            over = "no rate" if math.isinf(best) else f"{signed(best / least)} %"
            yield [name, value, str(len(costs)), over]
