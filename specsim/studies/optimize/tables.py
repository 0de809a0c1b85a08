"""The tables of a search: all that was tried, the finalists, and what each value of a setting costs at best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from specsim.inputs.models.optimize import WITHOUT_LENGTH
from specsim.reporting.columns import Column, Table, shown
from specsim.reporting.intervals import over_one, percent, plain
from specsim.studies.optimize.optimum import At, Finalist, Optimum
from specsim.studies.optimize.space import Settings
from specsim.studies.optimize.text import NAMES, short_arm_words
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.result import ArmResult
from specsim.studies.plan.text import binds, short_of


class Tried(NamedTuple):
    """A finalist, a trial, or a combination that can never run.

    Attributes:
        fidelity: ``final``, ``short`` or ``none``.
        at: its settings.
        policy, num_draft_tokens: how it drafts.
        arm: how it drafts; None where that was not asked.
        reason: why it was left out; empty otherwise.
        result: what was measured; None for nothing.
        rate: that its cost is at, the bound of finalists and the mean of short runs [requests/s].
        gpu_seconds: of a million output tokens; infinite where no rate meets the limits.
        as_it_stands: whether these are the scenario's own settings.
    """

    fidelity: str
    at: At
    policy: str
    num_draft_tokens: int
    arm: Arm | None = None
    reason: str = ""
    result: ArmResult | None = None
    rate: float = 0.0
    gpu_seconds: float = math.inf
    as_it_stands: bool = False

    @property
    def state(self) -> str:
        """Whether it was measured."""
        return "left out" if self.reason else "measured" if self.rate else "meets the limits at no rate"


def tried_table(found: Optimum) -> Table[Tried]:
    """Finalists, trials, and combinations that can never run."""
    columns: list[Column[Tried]] = [
        Column("fidelity", lambda row: row.fidelity, "", "final, as by specsim plan; short runs; or none"),
        Column("tensor_parallel", lambda row: row.at[0], "", "devices that share each matrix of the target"),
        Column("max_num_seqs", lambda row: row.at[1], "requests", "most requests in a step"),
        Column("token_budget", lambda row: row.at[2], "tokens", "most tokens in a step"),
        Column("policy", lambda row: row.policy, "", "kind of policy that sets draft lengths"),
        Column("num_draft_tokens", lambda row: row.num_draft_tokens, "tokens", "longest draft; 0 for none"),
        Column("drafts", lambda row: short_arm_words(row.arm) if row.arm else None, "", "short name of the policy"),
        Column("state", lambda row: row.state, "", "measured, left out, or meets the limits at no rate"),
        Column("reason", lambda row: row.reason, "", "why it was left out"),
        Column(
            "requests_per_s", lambda row: row.rate if row.arm else None, "requests/s",
            "rate within the limits: lower bound of finalists, mean of short runs",
        ),
        Column(
            "gpu_seconds_per_million_tokens", lambda row: _finite(row.gpu_seconds) if row.arm else None, "s",
            "GPU-seconds per million output tokens at that rate",
        ),
        Column(
            "dollars_per_million_tokens", lambda row: _dollars(found, row) if row.arm else None, "$",
            "price of a million output tokens at that rate",
        ),
        Column(
            "binds", lambda row: _stops(found, row.result) if row.result else None, "",
            "binding limit, or saturation",
        ),
        Column(
            "short_of", lambda row: _resource(row.result) if row.result else None, "",
            "bottleneck of the server there",
        ),
        Column(
            "mean_requests_per_s", lambda row: row.result.capacity.mean if row.result else None, "requests/s",
            "geometric mean over seeds of the largest rate within the limits",
        ),
        Column(
            "seeds", lambda row: len(row.result.capacity.rates) if row.result else None, "", "number of seeds"
        ),
        Column(
            "num_requests", lambda row: row.result.capacity.num_requests if row.result else None, "requests",
            "requests per run",
        ),
        Column(
            "as_it_stands", lambda row: row.as_it_stands if row.result else None, "",
            "whether these are the scenario's own settings",
        ),
    ]  # fmt: skip
    return Table(list(_tried(found)), columns, file="optimize.csv")


def _tried(found: Optimum) -> Iterator[Tried]:
    for one in found.finalists:
        arm, result = one.arm, one.result
        drafts = arm.kind, arm.num_draft_tokens, arm
        yield Tried("final", one.at, *drafts, "", result, result.capacity.bound, one.gpu_seconds, one.as_it_stands)
    for trial in found.trials:
        arm, rate = trial.arm, trial.result.capacity.mean if trial.result else 0.0
        drafts = arm.kind, arm.num_draft_tokens, arm
        yield Tried("short", trial.settings[:3], *drafts, trial.reason, trial.result, rate, trial.gpu_seconds)
    for settings, reason in found.barred.items():
        yield Tried("none", settings[:3], settings.policy, settings.num_draft_tokens, reason=reason)


def _finite(gpu_seconds: float) -> float:
    return gpu_seconds if math.isfinite(gpu_seconds) else math.nan


def _dollars(found: Optimum, row: Tried) -> float:
    return math.nan if found.price is None or not row.rate else found.cost(row.gpu_seconds)


def _stops(found: Optimum, result: ArmResult) -> str:
    return binds(found.limits, result.capacity).lower() if result.bottleneck else ""


def _resource(result: ArmResult) -> str:
    return result.bottleneck.resource if result.bottleneck else ""


def finalists_table(found: Optimum) -> Table[Finalist]:
    """A row for each finalist, the cheapest first."""
    unit = "GPU-s/Mtoken" if found.price is None else "$/Mtoken"
    columns: list[Column[Finalist]] = [
        shown("TP", lambda one: str(one.at[0])),
        shown("drafts", _drafts, left=True, no_wrap=True),
        shown("seqs", lambda one: str(one.at[1]), no_wrap=True),
        shown("budget", lambda one: str(one.at[2]), no_wrap=True),
        shown("requests/s", lambda one: plain(one.result.capacity.bound, 3), no_wrap=True),
        shown(unit, lambda one: _cost(found, one), no_wrap=True),
        shown("vs cheapest", lambda one: _over(found, one), no_wrap=True),
        shown("binds", lambda one: _binds(found, one), left=True),
        shown("bottleneck", lambda one: short_of(one.result), left=True),
    ]
    return Table(found.finalists, columns)


def _drafts(one: Finalist) -> str:
    return short_arm_words(one.arm) + (" (as it stands)" if one.as_it_stands else "")


def _cost(found: Optimum, one: Finalist) -> str:
    return plain(found.cost(one.gpu_seconds), 3) if one.result.capacity.bound else ""


def _over(found: Optimum, one: Finalist) -> str:
    ratio = one.cost_over(found.best)
    return over_one(ratio) if ratio and one is not found.best else ""


def _binds(found: Optimum, one: Finalist) -> str:
    return binds(found.limits, one.result.capacity) if one.result.bottleneck else "no rate"


class Worth(NamedTuple):
    """A value of a setting, and the costs of the trials that had it [GPU-seconds]."""

    setting: str
    value: str
    costs: list[float]


def worth_table(found: Optimum) -> Table[Worth]:
    """What each value costs at best, all else free: over the cheapest of the short runs; empty without any."""
    least = found.ranked[0].gpu_seconds if found.ranked else math.nan
    tried = (
        Worth(name, value, [one.gpu_seconds for one in found.trials if value_of(one.settings, name) == value])
        for name, values in setting_values(found)
        for value in values
    )
    return Table(
        [row for row in tried if row.costs] if found.ranked else [],
        [
            shown("setting", lambda row: row.setting, left=True),
            shown("value", lambda row: row.value),
            shown("tried", lambda row: str(len(row.costs))),
            shown("best vs cheapest", lambda row: _at_best(row, least)),
        ],
    )


def _at_best(row: Worth, least: float) -> str:
    best = min(row.costs)
    return "no rate" if math.isinf(best) else f"{percent(best / least - 1, '+')} %"


def setting_values(found: Optimum) -> list[tuple[str, list[str]]]:
    """Name of each setting → its values in order, of those that have more than one."""
    numbers = [(words, [str(value) for value in getattr(found.space, name)]) for name, words in NAMES.items()]
    kinds = dict.fromkeys(_policy_of(one) for one in found.space.combinations())
    return [(name, values) for name, values in (*numbers, ("drafts", list(kinds))) if len(values) > 1]


def value_of(settings: Settings, name: str) -> str:
    """The value of one of ``setting_values``."""
    if name == "drafts":
        return _policy_of(settings)
    return str(next(getattr(settings, field) for field, words in NAMES.items() if words == name))


def _policy_of(settings: Settings) -> str:
    if settings.policy in WITHOUT_LENGTH:
        return settings.policy
    return (
        str(settings.num_draft_tokens)
        if settings.policy == "static"
        else f"{settings.policy} {settings.num_draft_tokens}"
    )
