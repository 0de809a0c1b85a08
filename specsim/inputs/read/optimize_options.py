"""What an optimiser searches as it is stated on the command line, laid over that of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from specsim.errors import Gathered, Problem
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.models.optimize import Optimize
from specsim.inputs.models.plan import Plan, limits_of
from specsim.inputs.read.plan_options import OPTIONS as PLAN_OPTIONS
from specsim.inputs.read.plan_options import kinds_of, parse_lengths, parse_slo, stated_block
from specsim.inputs.read.scenario import Inputs

LISTS = {
    "tensor_parallel": "--tensor-parallel",
    "max_num_seqs": "--max-num-seqs",
    "token_budget": "--token-budget",
    "num_draft_tokens": "--num-draft-tokens",
}
OPTIONS = LISTS | {"policies": "--policies", "trials": "--trials"}


def with_search(
    inputs: Inputs,
    *,
    slo: Sequence[str] | None,
    price: float | None,
    policies: str | None,
    trials: int | None,
    lists: Mapping[str, str | None],
) -> Inputs:
    """The inputs with what options say of plan and search, in place of what the scenario says.

    Args:
        inputs: the scenario and what it refers to.
        slo: limits as `specsim plan` takes them.
        price: of a GPU for an hour.
        policies: kinds, by commas.
        trials: as of ``Optimize``.
        lists: field of LISTS → its values, by commas; None where the option was not given.

    Raises:
        InputError: listing everything that cannot be so, or that there is no limit at all.
    """
    gathered = Gathered()
    attempt, wrong = gathered.attempt, gathered.problems
    scenario, where = inputs.scenario, str(inputs.files["scenario"])
    of_plan = {"slo": attempt(parse_slo, slo) if slo else None, "price_per_gpu_hour": price}
    stated: dict[str, Any] = {
        name: attempt(parse_lengths, text, LISTS[name]) for name, text in lists.items() if text is not None
    }
    stated |= {"policies": None if policies is None else kinds_of(policies), "trials": trials}
    plan = attempt(stated_block, Plan, scenario.plan, of_plan, PLAN_OPTIONS)
    search = attempt(stated_block, Optimize, scenario.optimize, stated, OPTIONS)
    searched = scenario.model_copy(update={"plan": plan, "optimize": search})
    if search:
        wrong += [replace(problem, where=where) for problem in checks.plans(searched)]
    if plan and not slo and not limits_of(plan, scenario.slo):
        remedy = "has no limit; add --slo 'ttft:200 tpot:20' (ms), or plan.slo to the scenario"
        wrong.append(Problem(where, "plan.slo", "", remedy))
    gathered.settle()
    return replace(inputs, scenario=searched)
