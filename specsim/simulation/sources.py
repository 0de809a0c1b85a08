"""The acceptance sources of a scenario, by domain: profiles, recordings and language models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from specsim.arrays import Floats
from specsim.drafting.lookups import share_at_least
from specsim.drafting.ngrams import Ngrams, count_ngrams, tokens_of
from specsim.drafting.replayed import ReplayedAcceptance
from specsim.drafting.shape import DraftShape
from specsim.drafting.stated import ChainSource, chain_source, draft_shape, tree_source
from specsim.drafting.text_models import TextModels, joined_texts, text_models
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.drafting.tree_length import mean_tree_length, overlap_of_length
from specsim.errors import InputError, Problem
from specsim.inputs.checks.domains import domains
from specsim.inputs.models.acceptance import ConstantAcceptance, MeanLengthAcceptance, StatedAcceptance
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.token_sources import NgramModels, ReplayAcceptance
from specsim.inputs.read import documents
from specsim.streams import stream
from specsim.units import plural
from specsim.verification.arrays import Rule
from specsim.workload.recordings import read_recording

TREE_SAMPLE = 4096  # drafts; the mean length of a tree is then known to about 1 %


class Sources:
    """Acceptance sources of a scenario, the same in every replication.

    Args:
        scenario: whose.
        files: recordings and texts, by the path in the scenario of the acceptance that refers to one.
        where: the scenario's file, for messages.

    Attributes:
        domains: whose acceptance and temperature requests have, by their number.
        recordings: of domains whose acceptance is replayed, by their number.
        texts: language models, by the path of the acceptance in the scenario.

    Raises:
        InputError: when a file is malformed, or the acceptance of a tree is given as its mean acceptance length.
    """

    def __init__(self, scenario: Scenario, files: Mapping[str, Path], where: str) -> None:
        self._scenario, self.domains = scenario, domains(scenario)
        self.recordings = {
            number: read_recording(files[domain.path], domain.acceptance.field)
            for number, domain in enumerate(self.domains)
            if isinstance(domain.acceptance, ReplayAcceptance)
        }
        self.texts = {
            domain.path: _models_of(files[domain.path], domain.acceptance)
            for domain in self.domains
            if isinstance(domain.acceptance, NgramModels)
        }

        acceptance = scenario.speculation.acceptance
        if scenario.speculation.tree and isinstance(acceptance, MeanLengthAcceptance):
            raise InputError([self._mean_of_a_tree(acceptance, where)])

    @property
    def rule(self) -> Rule:
        """The verifier that runs: the greedy one where nothing is sampled; text where language models draft."""
        if self.texts:
            return Rule.TEXT
        stated = self._scenario.speculation
        name = stated.verifier if any(domain.temperature > 0 for domain in self.domains) else stated.rule
        return Rule[name.upper()]

    def draft_shape(self, num_draft_tokens: int) -> DraftShape:
        """How the draft tokens of a round hang together."""
        return draft_shape(self._scenario.speculation, num_draft_tokens)

    def of(self, num_draft_tokens: int) -> tuple[ChainSource | TreeAcceptance | TextModels, *tuple[ChainSource, ...]]:
        """Sources of drafts of this length: for chains one for each domain, for trees and texts one for all."""
        if self.rule == Rule.TREE:
            return (self.tree_source(num_draft_tokens),)
        if self.rule == Rule.TEXT:
            return (joined_texts([self.text_models(number) for number in range(len(self.domains))]),)
        first, *others = self.acceptance_sources(num_draft_tokens)
        return (first, *others)

    def tree_source(self, num_levels: int) -> TreeAcceptance:
        """What proposes trees and scores them, the same in every replication; only of scenarios that have a tree."""
        return tree_source(self._scenario.speculation, num_levels, self._distributions())

    def acceptance_sources(self, num_draft_tokens: int) -> tuple[ChainSource, ...]:
        """What proposes chains and scores them, by domain, the same in every replication."""
        return tuple(self._acceptance_source(number, num_draft_tokens) for number in range(len(self.domains)))

    def text_models(self, number: int) -> TextModels:
        """What proposes and scores the chains of a domain whose acceptance follows from language models."""
        path, stated, temperature = self.domains[number]
        if not isinstance(stated, NgramModels):
            raise ValueError(f"no language models draft for domain {number}")
        drafter = temperature if stated.drafter_temperature is None else stated.drafter_temperature
        return text_models(
            self.texts[path],
            stated.drafter_order,
            temperature=temperature,
            drafter_temperature=drafter,
            top_p=stated.top_p,
            sampled=self._scenario.speculation.sampled,
        )

    def _mean_of_a_tree(self, acceptance: MeanLengthAcceptance, where: str) -> Problem:
        """A scenario states the acceptance of first candidates; at which of them the tree has this mean."""
        speculation, length = self._scenario.speculation, acceptance.mean_acceptance_length
        shape = self.draft_shape(acceptance.num_draft_tokens)
        levels = shape.num_levels
        uniforms = stream(self._scenario.seed, "expected tokens").random((TREE_SAMPLE, levels, shape.width))
        shared = acceptance.model_dump(include={"vocabulary", "concentration"})

        def length_at(overlap: float) -> float:
            stated = ConstantAcceptance(kind="constant", overlap=overlap, **shared)
            source = tree_source(speculation.model_copy(update={"acceptance": stated}), levels, self._distributions())
            return mean_tree_length(source, shape, levels, uniforms)

        overlap = overlap_of_length(length, length_at)
        remedy = (
            f"a tree of {plural(levels, 'level')} yields at most {levels + 1} tokens per verify; correct it"
            if overlap is None
            else "a tree takes the acceptance of its first candidates, not its mean length; trees of "
            f"{plural(levels, 'level')} have this mean where that is about {overlap:.3f}: write acceptance: {{kind: "
            f"constant, overlap: {overlap:.3f}}}"
        )
        return Problem(where, "speculation.acceptance.mean_acceptance_length", f"{length:g}", remedy)

    def _acceptance_source(self, number: int, num_draft_tokens: int) -> ChainSource:
        seed, domain = self._scenario.seed, self.domains[number]
        rng = stream(seed, "distributions", number) if number else self._distributions()
        speculation, greedy = self._scenario.speculation, domain.temperature == 0
        match domain.acceptance:
            case ReplayAcceptance():
                found, stated = self.recordings[number], (other.acceptance for other in self.domains)
                vocabulary = next((part.vocabulary for part in stated if isinstance(part, StatedAcceptance)), 2)
                sampled = speculation.sampled
                return ReplayedAcceptance(
                    found.starts, found.emitted, num_draft_tokens, vocabulary, rng, sampled=sampled
                )
            case NgramModels():
                raise ValueError(f"language models draft for domain {number}; see text_models")
            case _:
                return chain_source(speculation, domain.acceptance, num_draft_tokens, rng, greedy=greedy)

    def _distributions(self) -> np.random.Generator:
        return stream(self._scenario.seed, "distributions")

    def share_at_least(self, num_draft_tokens: int) -> Floats:
        """Share of look-ups that find at least 1, 2, .. of the tokens asked for [num_draft_tokens]."""
        return share_at_least(self._scenario.speculation.drafter, num_draft_tokens)


def _models_of(file: Path, stated: NgramModels) -> Ngrams:
    tokens = tokens_of(documents.read_text(file), stated.unit, stated.vocabulary)
    try:
        return count_ngrams(tokens, stated.target_order, stated.interpolation)
    except ValueError as error:
        raise InputError([Problem(str(file), "", "", str(error))]) from None
