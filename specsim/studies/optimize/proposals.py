"""Which settings to measure next: all of a small space, and of a large one what optuna's sampler proposes.

The sampler is a tree-structured Parzen estimator (Bergstra et al., "Algorithms for Hyper-Parameter Optimization",
2011). It is asked for several settings at a time and told their costs in the order in which it was asked, so that what
it proposes depends on its seed and on nothing else. Knows nothing of what settings mean or how costs are measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from specsim.errors import InputError, Problem
from specsim.inputs.models.optimize import WITHOUT_LENGTH
from specsim.studies.optimize.space import Settings, Space

if TYPE_CHECKING:
    import optuna

TOGETHER = 8  # settings that are asked for at a time, whatever the number of processes
NUMBERS = ("tensor_parallel", "max_num_seqs", "token_budget")
BLIND = 5  # proposals by chance before the sampler learns; with 40 in all it finds better than after 10, its default
PATIENCE = 100  # proposals in a row that were made before, after which there is nothing new to expect

Proposals = Generator[list[Settings], Mapping[Settings, float], None]
"""Gives settings to measure, and is sent what they cost: infinite where they meet the limits at no rate."""


def proposals(
    space: Space, possible: Sequence[Settings], first: Sequence[Settings], trials: int, seed: int
) -> Proposals:
    """Settings that are possible, each once, at most ``trials``.

    Args:
        space: what there is.
        possible: what of it can run at all.
        first: to begin with.
        trials: how many to measure.
        seed: of the sampler.

    Raises:
        InputError: when optuna is needed and not installed.
    """
    if len(possible) <= trials:
        yield list(possible)
        return
    if find_spec("optuna") is None:
        remedy = (
            f"choosing among {len(possible)} combinations needs optuna, which is not installed; install "
            f"specsim-llm[optimize], allow {len(possible)}, or name fewer values"
        )
        raise InputError([Problem("--trials", "", str(trials), remedy)])
    yield from _sampled(space, frozenset(possible), first, trials, seed)


def _sampled(
    space: Space, possible: frozenset[Settings], first: Sequence[Settings], trials: int, seed: int
) -> Proposals:
    study = _study(seed)
    for settings in first:
        if settings in possible:
            study.enqueue_trial(_parameters(space, settings))
    known: dict[Settings, float] = {}
    while len(known) < trials:
        asked: dict[Settings, list[optuna.trial.Trial]] = {}
        repeats = 0
        while len(asked) < min(TOGETHER, trials - len(known)) and repeats < PATIENCE:
            trial = study.ask()
            settings = _suggested(space, trial)
            if settings in possible and settings not in known:
                repeats = repeats + 1 if settings in asked else 0
                asked.setdefault(settings, []).append(trial)
            else:
                study.tell(trial, known.get(settings, math.inf))
                repeats += 1
        if not asked:
            return
        costs = yield list(asked)
        known |= costs
        for settings, trials_of in asked.items():
            for trial in trials_of:
                study.tell(trial, costs[settings])


def _study(seed: int) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=seed % 2**32,
            n_startup_trials=BLIND,
            constant_liar=True,  # those asked for together differ, since the ones that are out are taken for bad
            multivariate=True,
            group=True,  # draft lengths are of some policies alone
        )
    return optuna.create_study(sampler=sampler)


def _parameters(space: Space, settings: Settings) -> dict[str, int | str]:
    """Settings as the sampler knows them: numbers by their place among the values, so that neighbours are near."""
    found: dict[str, int | str] = {name: getattr(space, name).index(getattr(settings, name)) for name in NUMBERS}
    found["policy"] = settings.policy
    if settings.policy not in WITHOUT_LENGTH:
        found["num_draft_tokens"] = space.num_draft_tokens.index(settings.num_draft_tokens)
    return found


def _suggested(space: Space, trial: optuna.trial.Trial) -> Settings:
    def one_of(name: str) -> int:
        values: tuple[int, ...] = getattr(space, name)
        return values[trial.suggest_int(name, 0, len(values) - 1)]

    group, places, budget = (one_of(name) for name in NUMBERS)
    chosen = trial.suggest_categorical("policy", space.policies)
    kind = next(known for known in space.policies if known == chosen)  # of the kind's own type
    return Settings(group, places, budget, kind, 0 if kind in WITHOUT_LENGTH else one_of("num_draft_tokens"))
