"""Checks within ``speculation``: verifier, drafter, tree, temperature, draft length and policy."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.errors import Problem, in_scenario
from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.policy import ConfidencePolicy, OraclePolicy
from specsim.inputs.models.speculation import Speculation


def contradictions(speculation: Speculation) -> Iterator[Problem]:
    """Contradictions within ``speculation``, with paths inside the scenario; the caller fills in ``where``."""
    yield from _greedy(speculation)
    yield from _drafts(speculation)
    yield from _trees(speculation)
    yield from _draft_lengths(speculation)
    yield from _policies(speculation)


def _greedy(speculation: Speculation) -> Iterator[Problem]:
    if speculation.verifier == "greedy" and speculation.temperature > 0:
        remedy = (
            f"the greedy verifier is lossless only at temperature 0, not at {speculation.temperature}; write "
            "'temperature: 0', or 'verifier: token' to keep sampling"
        )
        yield in_scenario("speculation.verifier", speculation.verifier, remedy)


def _drafts(speculation: Speculation) -> Iterator[Problem]:
    tree, looked_up = speculation.tree, speculation.drafter.facts.looks_up
    if looked_up and speculation.drafts == "sampled":
        yield in_scenario(
            "speculation.drafts", speculation.drafts, "n-gram drafts are looked up, not sampled; leave 'drafts' out"
        )
    elif tree and speculation.drafts:
        remedy = "'siblings' says how the nodes of a tree are made; leave 'drafts' out"
        yield in_scenario("speculation.drafts", speculation.drafts, remedy)
    if tree is None or tree.siblings == "one_hot":
        return
    if looked_up:
        yield in_scenario(
            "speculation.tree.siblings",
            tree.siblings,
            "drafts are looked up, not sampled; write 'siblings: one_hot'",
        )
    elif speculation.temperature == 0:
        remedy = (
            "at temperature 0 nothing is drawn, so the siblings of a tree are the most likely tokens; write "
            "'siblings: one_hot'"
        )
        yield in_scenario("speculation.tree.siblings", tree.siblings, remedy)


def _trees(speculation: Speculation) -> Iterator[Problem]:
    """A tree needs the tree verifier, a drafter of trees, and a vocabulary large enough for its siblings."""
    tree, verifier = speculation.tree, speculation.verifier
    if verifier == "tree" and tree is None:
        remedy = (
            "the tree verifier needs the tree's shape; add for example 'tree: {branching: [4, 2, 1], siblings: "
            "without_replacement}'"
        )
        yield in_scenario("speculation.verifier", verifier, remedy)
    if tree is None:
        return
    if verifier != "tree":
        remedy = (
            f"the {verifier} verifier takes chains; write 'verifier: tree', or take the tree out ('tree: null' where "
            "an extended scenario has it)"
        )
        yield in_scenario("speculation.verifier", verifier, remedy)
    if speculation.drafter.facts.no_trees:
        yield Problem("", "speculation.tree", "", speculation.drafter.facts.no_trees)
    if not isinstance(speculation.acceptance, StatedAcceptance):
        return  # which has no trees, as domain_checks say
    vocabulary = speculation.acceptance.vocabulary
    if 2 * tree.width > vocabulary:
        remedy = (
            f"too few for siblings that differ: the tree has up to {tree.width} of them, and half of the vocabulary "
            f"may not be drafted at all; write at least {2 * tree.width}"
        )
        yield in_scenario("speculation.acceptance.vocabulary", vocabulary, remedy)


def _draft_lengths(speculation: Speculation) -> Iterator[Problem]:
    drafts = speculation.policy.num_draft_tokens
    for most, why, instead in speculation.draft_limits:
        if drafts > most:
            yield in_scenario("speculation.policy.num_draft_tokens", drafts, f"{why}; write at most {most}{instead}")


def _policies(speculation: Speculation) -> Iterator[Problem]:
    policy, verifier = speculation.policy, speculation.verifier
    if isinstance(policy, OraclePolicy) and verifier not in ("token", "greedy"):
        remedy = (
            "an oracle knows what the token rule accepts of a draft, not what another rule accepts of a shorter one; "
            "write 'verifier: token', or another policy"
        )
        yield in_scenario("speculation.policy.kind", policy.kind, remedy)
    if isinstance(policy, ConfidencePolicy) and verifier == "tree":
        remedy = "levels of a tree have no confidence of a single token; write another policy, or a chain's verifier"
        yield in_scenario("speculation.policy.kind", policy.kind, remedy)
    if isinstance(policy, ConfidencePolicy) and speculation.drafter.facts.looks_up:
        remedy = "drafts that are looked up have no confidence; write another policy"
        yield in_scenario("speculation.policy.kind", policy.kind, remedy)
