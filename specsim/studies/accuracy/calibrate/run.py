"""Fit an engine profile to measurements: single steps, and serving runs in a closed loop.

Least squares on the logarithms of predicted over measured, with priors: a parameter that the data say nothing of keeps
its prior, and is reported. Points are weighed alike. Knows no files.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import least_squares

from specsim.arrays import Floats
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.studies.accuracy.calibrate.parameters import PARAMETERS, Parameter, own_value, prior_value, with_values
from specsim.studies.shared.points import Progress

NOISE = 0.02  # relative standard error of a measured point; repeated runs of one job differ by about this much
KEPT = 0.95  # a parameter whose standard error stays above this share of its prior's is not identified
UNTOUCHED = 0.99  # at this share the points say nothing
DIGITS = 3  # of a fitted value; standard errors are some per cent
ABOVE = math.log(5)
STEP = 1e-3  # relative step of the numerical derivative


@dataclasses.dataclass(frozen=True)
class Observation:
    """A measured figure and how a profile predicts it.

    Attributes:
        name: of the point, for reports.
        measured: what was measured.
        predict: profile → the same figure.
    """

    name: str
    measured: float
    predict: Callable[[Engine], float]


@dataclasses.dataclass(frozen=True)
class Fitted:
    """One parameter after the fit.

    Attributes:
        path: within the profile.
        prior: what was known of it before.
        value: its value now: the profile's own where it is not identified; None where the profile then has none.
        error: relative standard error; of the prior where it is not identified.
        identified: whether the data say more than the prior.
        at_limit: whether it stays at the least or the most that it can be, since the data would have it beyond.
    """

    path: str
    prior: float
    value: float | None
    error: float
    identified: bool
    at_limit: bool = False


@dataclasses.dataclass(frozen=True)
class Calibration:
    """A fitted profile.

    Attributes:
        engine: the profile with the identified parameters in place.
        parameters: all that could have been fitted.
        errors: predicted / measured - 1 of every point, in their order.
        prior_errors: the same before the fit.
    """

    engine: Engine
    parameters: tuple[Fitted, ...]
    errors: Floats
    prior_errors: Floats


def calibrate(
    engine: Engine,
    device: Device,
    points: Sequence[Observation],
    candidates: Sequence[Parameter] = PARAMETERS,
    progress: Progress = lambda share: None,
) -> Calibration:
    """Fit what the points identify.

    While the standard error of some parameter stays near its prior's, the least known of them keeps its prior and the
    others are fitted again without it; likewise where one ends beyond what it can be, which then stays at that limit.

    Args:
        engine: the profile to start from; its values are the priors.
        device: whose kernels' figures are priors where the profile has none.
        points: at least one.
        candidates: what may be fitted.
        progress: told of the share of rounds done, as far as it can be foreseen.
    """
    priors = {p: value for p in candidates if (value := prior_value(p, engine, device)) is not None}
    chosen, start = list(priors), [math.log(prior) for prior in priors.values()]
    limits: dict[Parameter, float] = {}
    while True:
        limited = with_values(engine, {p.path: value for p, value in limits.items()})
        logs, errors = _fit(limited, points, {p: priors[p] for p in chosen}, start)
        progress(0.5 / len(priors))
        beyond = {p: limit for p, log in zip(chosen, logs, strict=True) if (limit := _limit(p, math.exp(log)))}
        if beyond:
            limits |= beyond
            start = [log for p, log in zip(chosen, logs, strict=True) if p not in beyond]
            chosen = [p for p in chosen if p not in beyond]
            continue
        shares = [error / p.spread for p, error in zip(chosen, errors, strict=True)]
        weakest = max(shares, default=0.0)
        if weakest <= KEPT:
            break
        # those that no point depends on go together
        stay = [i for i, share in enumerate(shares) if share < min(weakest, UNTOUCHED)]
        chosen, start = [chosen[i] for i in stay], [logs[i] for i in stay]
    known = dict(zip(chosen, errors, strict=True))
    values = {p: float(f"{math.exp(log):.{DIGITS}g}") for p, log in zip(chosen, logs, strict=True)}
    fitted = with_values(limited, {p.path: value for p, value in values.items()})
    table = [
        Fitted(p.path, prior, own_value(p, fitted, device), known.get(p, p.spread), p in values, p in limits)
        for p, prior in priors.items()
    ]
    return Calibration(fitted, tuple(table), _errors(fitted, points), _errors(engine, points))


def _limit(parameter: Parameter, value: float) -> float | None:
    """The limit that a value lies beyond; None where it lies within."""
    nearest = min(max(value, parameter.least), parameter.most)
    return None if nearest == value else nearest


def _errors(engine: Engine, points: Sequence[Observation]) -> Floats:
    return np.array([point.predict(engine) / point.measured - 1 for point in points])


def _fit(
    engine: Engine, points: Sequence[Observation], priors: dict[Parameter, float], start: Sequence[float]
) -> tuple[list[float], list[float]]:
    """(logarithms of the fitted values, their standard errors), from a start."""
    if not priors:
        return [], []
    centre = np.log(list(priors.values()))
    spread = np.array([parameter.spread for parameter in priors])

    def residuals(logs: Floats) -> Floats:
        profile = with_values(engine, {p.path: math.exp(log) for p, log in zip(priors, logs, strict=True)})
        misfit = [math.log(point.predict(profile) / point.measured) / NOISE for point in points]
        return np.concatenate([misfit, (logs - centre) / spread])

    # A launch time that is shorter than the device's leaves no trace, so it is also sought from above.
    hidden = np.array([parameter.path.startswith("graphs.") for parameter in priors])
    starts = [np.asarray(start) + scale * hidden for scale in (0.0, *((ABOVE,) if hidden.any() else ()))]
    fits = [least_squares(residuals, each, diff_step=np.full(len(centre), STEP)) for each in starts]
    found = min(fits, key=lambda fit: float(fit.cost))
    # points that scatter more than the noise assumed widen the errors
    excess = max(1.0, float((found.fun[: len(points)] ** 2).sum()) / max(len(points) - len(priors), 1))
    slopes = np.asarray(found.jac)[: len(points)]
    information = slopes.T @ slopes / excess + np.diag(1 / spread**2)
    return found.x.tolist(), np.sqrt(np.diag(np.linalg.inv(information))).tolist()
