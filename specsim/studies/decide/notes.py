"""What a planner has to know before speculation is set as decided: sentences with the numbers, each where it applies.

What a curve says of its inputs (acceptance beyond the positions given, requests longer than the drafter takes) is
among the curve's own notes; where the acceptance comes from is said under every answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from specsim.inputs.models.drafters import DraftModel, EagleHead, pass_kind
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.simulation.expected import mean_context, tokens_per_round
from specsim.simulation.replica import Simulation
from specsim.simulation.step_passes import step_passes
from specsim.units import plural

LARGE_DRAFTER = 0.5  # of a step without speculation that drafting takes: from there on a third of each round and more
LEAST_SHARE = 0.005  # of the KV pool: less would be printed as none


def decision_notes(simulation: Simulation, schedule: SchedulePolicy, largest_batch: int) -> Iterator[str]:
    """The warnings.

    Args:
        simulation: of the scenario, without a tree.
        schedule: what was decided.
        largest_batch: the largest simulated, up to which the last range counts.
    """
    scenario = simulation.inputs.scenario
    yield from _large_drafter(simulation, schedule.num_draft_tokens or min(scenario.compared_draft_lengths))
    yield from _lost_cache(simulation)
    yield from _graphs(simulation, schedule, largest_batch)
    yield from _vocabularies(simulation)
    if scenario.speculation.rule == "block":
        yield (
            "The gains assume block verification, which accepts more than the token rule; turn it on in the "
            "engine, or write 'verifier: token'."
        )


def _large_drafter(simulation: Simulation, num_draft_tokens: int) -> Iterator[str]:
    """Drafting against a step at batch 1, where it counts most: a small target's step is short there too."""
    drafter = simulation.inputs.scenario.speculation.drafter
    if drafter.facts.looks_up:
        return
    context = mean_context(simulation)
    accepted = round(tokens_per_round(simulation, num_draft_tokens) - 1)
    (plain,) = step_passes(simulation, 1, 0, context, accepted=0)
    (drafted,) = step_passes(simulation, 1, num_draft_tokens, context, accepted=accepted)
    drafting, passes = drafted.price(simulation).draft, len(drafted.drafts)
    if not simulation.inputs.scenario.deployment.ideal:
        drafting += passes * simulation.inputs.engine.draft_pass_time(pass_kind(drafter))
    share = drafting / sum(plain.price(simulation))
    if share > LARGE_DRAFTER:
        bound = (1 + num_draft_tokens) / (1 + share)
        yield (
            f"The drafter is large: at batch 1 drafting {num_draft_tokens} takes {share:.2f} of a step without "
            f"speculation ({share / passes:.2f} per pass), so even with every draft accepted the speedup is at most "
            f"{1 + num_draft_tokens} / {1 + share:.2f} = {bound:.2f}."
        )


def _lost_cache(simulation: Simulation) -> Iterator[str]:
    plain, loaded = (simulation.memory(speculating).kv_tokens for speculating in (False, True))
    share = 1 - loaded / plain
    if share > LEAST_SHARE:
        yield (
            f"The drafter takes {_percent(share)} of the KV pool, {loaded:,} tokens instead of {plain:,}; under a "
            "schedule it stays loaded where nothing is drafted, which the gains include."
        )


def _graphs(simulation: Simulation, schedule: SchedulePolicy, largest_batch: int) -> Iterator[str]:
    """Ranges of the schedule whose steps are larger than any CUDA graph."""
    graphs = simulation.inputs.engine.graphs
    if graphs is None or simulation.inputs.scenario.deployment.ideal:
        return
    for row in schedule.rows:
        tokens, last = row.num_draft_tokens + 1, row.batch[1] or max(largest_batch, row.batch[0])
        drafts = plural(row.num_draft_tokens, "draft")
        covered = graphs.sizes[-1] // tokens
        if row.num_draft_tokens and covered < last:
            yield (
                f"CUDA graphs hold up to {graphs.sizes[-1]:,} tokens, {covered} requests of {tokens} tokens each: "
                f"steps of {max(row.batch[0], covered + 1)} to {last} requests with {drafts} "
                f"are launched kernel by kernel. Capture sizes up to {last * tokens:,} tokens."
            )


def _vocabularies(simulation: Simulation) -> Iterator[str]:
    drafter, model = simulation.inputs.scenario.speculation.drafter, simulation.inputs.drafter
    if model is None:
        return
    of_target, smaller = simulation.inputs.target.vocab_size, model.draft_vocab_size
    if isinstance(drafter, EagleHead) and drafter.vocabulary_map == "d2t" and smaller and smaller < of_target:
        yield (
            f"The head drafts {smaller:,} of the target's {of_target:,} tokens ({_percent(smaller / of_target)}); the "
            "others are never drafted, so text rich in them (other languages, code) is accepted less often than given."
        )
    if isinstance(drafter, DraftModel) and model.vocab_size != of_target:
        yield (
            f"The drafter's vocabulary has {model.vocab_size:,} tokens and the target's {of_target:,}; the scenario "
            "treats one as the other padded. Check that the tokenizers are the same: with different ones almost "
            "nothing is accepted."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
