"""Which settings can never run, and why, before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from specsim.errors import InfeasibleError, Problem
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation
from specsim.studies.optimize.space import Settings, Space, changed


def barred(inputs: Inputs, space: Space) -> dict[Settings, str]:
    """Settings → why they can never run, of those that cannot."""
    base = Simulation(inputs)
    longest = max(space.num_draft_tokens)
    load, sent = inputs.scenario.workload.load, base.num_requests

    @cache
    def laid_out(group: int) -> str:
        """What contradicts this number of devices."""
        found = changed(inputs, Settings(group, 1, 1, "none", 0), inputs.scenario.speculation.policy)
        return _reasons(checks.contradictions(found.scenario, found.device, found.target, found.drafter))

    @cache
    def served(group: int, budget: int, num_draft_tokens: int) -> str:
        """Why a request could never be served."""
        policy = StaticPolicy(num_draft_tokens=num_draft_tokens)
        found = changed(inputs, Settings(group, 1, budget, "static", num_draft_tokens), policy)
        try:
            Simulation(found, base.traffic).lengths_checked(sent, num_draft_tokens, 0, load)
        except InfeasibleError as error:
            return _reasons(error.problems)
        return ""

    def why(settings: Settings) -> str:
        group, places, budget, kind, length = settings
        if budget < places:  # SchedulerConfig of vllm/config/scheduler.py raises a ValueError
            return f"token budget {budget} is less than max_num_seqs {places}, which vLLM refuses"
        counts = budget if inputs.engine.whole_prompts else space.token_budget[-1]
        drafts = 0 if kind == "none" else longest if kind == "schedule" else length
        reason = laid_out(group) or served(group, counts, drafts)
        return f"TP {group}: {reason}" if reason else ""

    return {settings: reason for settings in space.combinations() if (reason := why(settings))}


def _reasons(problems: Iterable[Problem]) -> str:
    """Problems as one line, without the file that all are about."""
    return "; ".join(str(replace(problem, where="")) for problem in problems)
