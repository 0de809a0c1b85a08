"""What a prediction may be off beside luck, by the kind of case: residuals against published measurements.

``hardware/measured/residuals.csv`` has them, made by ``make published``; ``analysis.model_error`` turns those of a
class into an interval. A case with a feature that was never measured takes the widest of all classes, and says so.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

from specsim.analysis.model_error import CONFIDENCE, Residuals, Scale, scale_of, steps_between, widest
from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.read import catalogue
from specsim.inputs.read.case import Case, case_of
from specsim.inputs.read.scenario import Inputs
from specsim.units import plural

FILE = catalogue.ROOT / "hardware" / "measured" / "residuals.csv"
COMPARED = {
    "speedup": "Speedup",
    "rate": "Rate, with speculation or without (throughput, or one over a latency)",
    "lengths": "Speedup with one draft token more over that without it",
}
"""What is compared → what readers call it."""
NOUNS = {
    "speedup": "speedups",
    "rate": "rates",
    "lengths": "ratios between lengths",
}
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors of a normal quantity that a 90 % interval reaches."""
FEATURES = ("target", "numbers", "drafter_kind", "devices", "figures", "software")
"""Of a case, which have to have been measured in some sweep."""


class ModelError(NamedTuple):
    """The model's error in one kind of case.

    Attributes:
        compared: a key of COMPARED.
        scale: of log(measured / predicted).
        path: the class that it is of.
        unmeasured: features of the case that no sweep has, in words; the scale is then the widest.
        acceptance: relative standard error of the mean acceptance length that was given as counts; 0 for none.
    """

    compared: str
    scale: Scale
    path: tuple[str, ...]
    unmeasured: tuple[str, ...] = ()
    acceptance: float = 0.0

    @property
    def half_width(self) -> float:
        """Of the 90 % interval of log(measured / predicted); errors of model and acceptance are independent."""
        return math.hypot(self.scale.half_width, NORMAL * self.acceptance)

    def around(self, predicted: float) -> tuple[float, float]:
        """The 90 % interval of what would be measured."""
        return predicted * math.exp(-self.half_width), predicted * math.exp(self.half_width)

    @property
    def sentence(self) -> str:
        """What the model's error is, and what it rests on."""
        below, above = (100 * abs(math.expm1(end)) for end in (-self.half_width, self.half_width))
        ends = f"between {below:.0f} % below and {above:.0f} % above those predicted"
        return f"Model: nine in ten measured {NOUNS[self.compared]} lie {ends} ({self.words})."

    def words_around(self, predicted: float, shown: Callable[[float], str]) -> str:
        """`` (90 % model 1.67 to 2.03)``."""
        low, high = self.around(predicted)
        return f" (90 % model {shown(low)} to {shown(high)})"

    @property
    def words(self) -> str:
        """What it rests on, or what was never measured."""
        if self.unmeasured:
            return f"not validated: no measurement with {', '.join(self.unmeasured)}, so the widest of any class"
        profile, target, numbers = self.path
        number = plural(self.scale.sweeps, "sweep") if self.scale.sweeps else "no sweep of its own"
        counted = f"; with the acceptance's ±{100 * NORMAL * self.acceptance:.1f} %" if self.acceptance else ""
        return f"{number} of {target} targets, {numbers}, {profile} profile{counted}"


def luck_and_model(luck: str, low: str, high: str) -> str:
    """``(95 % luck 218–222, 90 % model 150 to 310)``."""
    return f"(95 % luck {luck}, 90 % model {low} to {high})"


@cache
def rows() -> tuple[Mapping[str, str], ...]:
    """The shipped table."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def residuals_of(table: Iterable[Mapping[str, str]], compared: str) -> tuple[Residuals, ...]:
    """The residuals of one of COMPARED, by sweep and class."""
    grouped: dict[tuple[str, tuple[str, ...]], list[Mapping[str, str]]] = {}
    for row in table:
        case = Case(**{name: row[name] for name in Case._fields})
        grouped.setdefault((row["sweep"], case.path), []).append(row)
    found = []
    for (sweep, path), group in grouped.items():
        if compared == "lengths":
            known = [row for row in group if row["speedup"]]
            columns = ([float(row[name]) for row in known] for name in ("load", "num_draft_tokens", "speedup"))
            logs = steps_between(*columns)
        else:
            names = ("with", "without") if compared == "rate" else ("speedup",)
            logs = tuple(float(row[name]) for row in group for name in names if row[name])
        if logs:
            found.append(Residuals(sweep, path, logs))
    return tuple(found)


@cache
def model_error(case: Case, compared: str) -> ModelError:
    """The model's error of what is compared in a kind of case."""
    residuals = residuals_of(rows(), compared)
    unmeasured = tuple(_unmeasured(case))
    scale = widest(residuals) if unmeasured else scale_of(residuals, case.path)
    return ModelError(compared, scale, case.path, unmeasured)


def error_of(inputs: Inputs, compared: str) -> ModelError | None:
    """The same of a scenario; None of the textbook device, which nobody can measure."""
    if inputs.scenario.deployment.ideal:
        return None
    found, acceptance = model_error(case_of(inputs), compared), inputs.scenario.speculation.acceptance
    counted = acceptance.length_error if isinstance(acceptance, StatedAcceptance) and compared != "lengths" else 0.0
    return found._replace(acceptance=counted)


def _unmeasured(case: Case) -> Iterable[str]:
    words = {"drafter_kind": "a {} drafter", "figures": "figures of kernels {}", "software": "{}"}
    for name in FEATURES:
        value = getattr(case, name)
        if all(row[name] != value for row in rows()):
            yield words.get(name, "{}").format(value.replace("_", " "))
