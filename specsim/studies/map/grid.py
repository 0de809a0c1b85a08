"""The grid of a map: which contexts and batches there can be, and the requests that decode at a stated context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from specsim.errors import InfeasibleError, Problem, SpecsimError, raise_if_any
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.models.map import Map
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop, Workload
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation

OUTPUT = 128
"""Tokens of an output, where the context is long enough: its last verify, which the end cuts, then weighs little."""
LEAST_VERIFIES = 4
"""Verifies that an output takes at the least, all drafts accepted; fewer would be all beginning and end."""
FIRST = 256
MOST = 8
FEW = 5
"""Powers of two under which the steps between them are taken too."""


def least_context(scenario: Scenario) -> int:
    """The shortest context that a request can be in mid-decode at: an output, and as long a prompt as half of it."""
    return 2 * LEAST_VERIFIES * (longest_draft(scenario) + 1)


def longest_draft(scenario: Scenario) -> int:
    """Of the lengths that the map compares."""
    return max(draft_lengths(scenario))


def draft_lengths(scenario: Scenario) -> tuple[int, ...]:
    """The lengths that the map compares: those it names, or the curve's, and the policy's own."""
    named = (scenario.map or Map()).num_draft_tokens
    if named is None:
        return scenario.compared_draft_lengths
    return tuple(sorted({*named, scenario.speculation.policy.num_draft_tokens} - {0}))


def lengths_at(inputs: Inputs, context: int) -> FixedLengths:
    """Lengths of requests whose mean context in mid-decode is so many tokens.

    Outputs are OUTPUT tokens, but no more than half the context, and where the context comes near to the positions that
    drafter or target take, no more than keep the whole request within them.
    """
    scenario = inputs.scenario
    shortest = least_context(scenario) // 2
    rooms = [2 * (limit - context) for limit in positions(inputs) if limit - context >= shortest // 2]
    output = min(max(OUTPUT, 2 * shortest), context // 2, *rooms) // 2 * 2
    return FixedLengths(kind="fixed", prompt_tokens=context - output // 2, output_tokens=output)


def positions(inputs: Inputs) -> list[int]:
    """Positions that target and drafter take, as far as they say."""
    models = (inputs.target, inputs.drafter)
    stated = (model.max_position_embeddings for model in models if model is not None)
    return [limit for limit in stated if limit is not None]


def at_context(inputs: Inputs, context: int, batches: Sequence[int]) -> Inputs:
    """The scenario with requests that decode at a context, all else as it is.

    Their prompts are in the cache, each request's own; classes keep their acceptance and temperature.
    """
    scenario = inputs.scenario
    settings = scenario.map or Map()
    alike = {"lengths": None, "shared_prefix": None, "priority": 0}
    workload = Workload(
        lengths=lengths_at(inputs, context),
        load=ClosedLoop(kind="closed_loop", concurrency=batches[-1]),
        num_requests=batches[-1],
        mixture=tuple(part.model_copy(update=alike) for part in scenario.workload.mixture),
        decode_only=True,
    )
    curve = {"batches": tuple(batches), "num_draft_tokens": draft_lengths(scenario)}
    changed = {
        "workload": workload,
        "deployment": scenario.deployment.model_copy(update={"prefix_caching": False}),
        "curve": scenario.curve.model_copy(update=curve | {"replications": settings.replications}),
    }
    return replace(inputs, scenario=scenario.model_copy(update=changed), lengths_files={})


def chosen_contexts(inputs: Inputs) -> tuple[int, ...]:
    """The contexts that the map states, or those that the models and memory allow.

    Raises:
        InputError: when a stated one is too short.
        InfeasibleError: when requests at one that is stated, or at the first, could never be served.
    """
    stated = (inputs.scenario.map or Map()).contexts
    if stated is None:
        least = least_context(inputs.scenario)
        first = max(FIRST, 1 << (least - 1).bit_length())
        refuse_unserved(inputs, [first])
        return tuple(_usual(inputs, first))
    raise_if_any(*(_out_of_reach(inputs, context) for context in stated))
    refuse_unserved(inputs, stated)
    return stated


def _out_of_reach(inputs: Inputs, context: int) -> Iterator[Problem]:
    """That a context is shorter than a request can be, or longer than the target takes."""
    where, drafts = str(inputs.files["scenario"]), longest_draft(inputs.scenario)
    least, most = least_context(inputs.scenario), inputs.target.max_position_embeddings
    shortest = least // 2
    if context < least:
        remedy = (
            f"is too short for outputs of {shortest} tokens ({LEAST_VERIFIES} verifies with {drafts} drafts) after a "
            f"prompt; write {least} or more, or compare shorter drafts"
        )
        yield Problem(where, "map.contexts", str(context), remedy)
    if most is not None and context + shortest // 2 > most:
        remedy = (
            f"the target takes {most} positions (max_position_embeddings), and an output goes on beyond the context of "
            f"its middle; write {most - shortest // 2} or less"
        )
        yield Problem(where, "map.contexts", str(context), remedy)


def refuse_unserved(inputs: Inputs, contexts: Sequence[int]) -> None:
    """Say which contexts no request can be served at, even alone.

    Raises:
        InfeasibleError: naming each, with why.
    """
    problems = [problem for context in contexts for problem in _why_never(inputs, context)]
    if problems:
        raise InfeasibleError(dict.fromkeys(problems))


def _why_never(inputs: Inputs, context: int) -> Iterator[Problem]:
    simulation = Simulation(at_context(inputs, context, [1]))
    for num_draft_tokens in (0, longest_draft(inputs.scenario)):
        try:
            simulation.lengths_checked(1, num_draft_tokens, 0)
        except InfeasibleError as error:
            for problem in error.problems:
                named = problem.path == "workload.lengths"
                yield replace(problem, path="map.contexts", value=str(context)) if named else problem


def _usual(inputs: Inputs, first: int) -> Iterator[int]:
    """Contexts from the first on in powers of two, or in those and the steps between, while they can be served."""
    powers = [first << i for i in range(MOST)]
    between = [context for power in powers for context in (power, power * 3 // 2)][:MOST]
    served = [context for context in powers if _is_usual(inputs, context)]
    chosen = served if len(served) >= FEW else [context for context in between if _is_usual(inputs, context)]
    yield from chosen or [first]


def _is_usual(inputs: Inputs, context: int) -> bool:
    """Whether requests at a context can be served, alone at least."""
    try:
        refuse_unserved(inputs, [context])
    except SpecsimError:
        return False
    return True


def chosen_batches(scenario: Scenario) -> tuple[int, ...]:
    """The batches that the map states; or of the curve's, for each power of two the nearest, and the ends."""
    stated, known = (scenario.map or Map()).batches, scenario.curve.batches
    if stated is not None:
        return stated
    powers = 2.0 ** np.arange(known[0].bit_length() - 1, known[-1].bit_length() + 1)
    nearest = (min(known, key=lambda batch: abs(np.log(batch / power))) for power in powers)
    return tuple(sorted({known[0], known[-1], *nearest}))


def worth_running(inputs: Inputs, context: int, batches: Sequence[int]) -> list[int]:
    """The batches up to the first of which not all requests can run at once; larger ones would show the same again.

    So many can as the pool holds prompts of, and the engine takes: with outputs there are no more.
    """
    simulation, prompt = Simulation(inputs), lengths_at(inputs, context).prompt_tokens
    block = simulation.block_size
    most = []
    for k in (0, max(draft_lengths(inputs.scenario))):
        held = -(-simulation.memory(k > 0).pool_tokens(prompt) // block) * block
        most += [simulation.kv_pools(k)[0] // held, simulation.step_limits(k)[0][0]]
    return [batch for i, batch in enumerate(batches) if i == 0 or batches[i - 1] <= min(most)]
