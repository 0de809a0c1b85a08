"""Verifiers that are wrong in one way each: the negative controls of the proof that the right ones are lossless.

A test that has never rejected a wrong verifier proves nothing about a right one. Each mutant repeats the steps of the
right one but for one mistake that has been made in a public engine or paper listing, or would be easy to make.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.verification.arrays import ChainVerifier, RuleName
from specsim.verification.proof.mutants import blocks, drawing, greedy_rows, judging, one_hot, residuals
from specsim.verification.proof.trials import (
    ACCEPTANCE,
    BY_LOOPS,
    EDGES,
    EXACT,
    EXACT_ONE_HOT,
    EXACT_STALE,
    JOINT,
    JOINT_ONE_HOT,
    TOKENS,
)


class Mutant(NamedTuple):
    """A wrong verifier and what finds it out.

    Attributes:
        name: its mistake, in words.
        verify: it.
        rule: the rule that it gets wrong.
        killed_by: trials that it must fail, whatever the seed. What is killed by an exact law alone is what a sample of
            60,000 sequences does not show, or not for all models.
    """

    name: str
    verify: ChainVerifier
    rule: RuleName
    killed_by: tuple[str, ...]


MUTANTS = (
    Mutant("resample from the target", residuals.resample_from_target, "token", (EXACT, JOINT)),
    Mutant("residual |p - q|", residuals.absolute_difference, "token", (EXACT, JOINT)),
    Mutant("residual without a clamp", residuals.no_clamp, "token", (EXACT, JOINT)),
    Mutant("residual not normalised", residuals.residual_not_normalised, "token", (EXACT, JOINT)),
    Mutant("residual of the first position", residuals.residual_of_the_first_position, "token", (EXACT, JOINT)),
    Mutant("residual of the position before", residuals.residual_of_the_position_before, "token", (EXACT, JOINT)),
    Mutant("residual with a floor of 1e-9", residuals.residual_floor, "token", (EXACT, EDGES)),
    Mutant("empty residual without a fallback", residuals.nothing_instead_of_an_empty_residual, "token", (EDGES,)),
    Mutant("bonus from the last row", residuals.bonus_from_the_last_row, "token", (EXACT, JOINT)),
    Mutant("bonus from the row before", residuals.bonus_from_the_row_before, "token", (EXACT, JOINT)),
    Mutant("one uniform for all positions", judging.one_uniform_for_all_positions, "token", (EXACT, JOINT)),
    Mutant("counting after a rejection", judging.counting_after_rejection, "token", (EXACT, JOINT)),
    Mutant("swapped ratio", judging.swapped_ratio, "token", (EXACT, JOINT)),
    Mutant("u·q ≤ p", judging.accepts_at_equality, "token", (EXACT, EDGES)),
    Mutant("p/q ≥ u", judging.ratio_at_least_u, "token", (EXACT, EDGES)),
    Mutant("stale drafts past the ragged mask", judging.stale_drafts, "token", (EXACT_STALE,)),
    Mutant("float16", judging.half_precision, "token", (EXACT, EDGES)),
    Mutant("NaN accepts", judging.accepts_what_is_no_number, "token", (EDGES,)),
    Mutant("accepts the target's own draw only", judging.accepts_the_targets_own_draw, "token", (TOKENS, ACCEPTANCE)),
    Mutant("q of temperature 0.7", judging.sharpened_drafter, "token", (EXACT, JOINT)),
    Mutant("q of temperature 0.99", judging.slightly_sharpened_drafter, "token", (EXACT,)),
    Mutant("q one position late", judging.neighbouring_rows, "token", (EXACT, JOINT)),
    Mutant("final draw reuses an accept uniform", drawing.final_draw_reuses_an_accept_uniform, "token", (EXACT, JOINT)),
    Mutant(
        "final draw reuses the rejecting uniform",
        drawing.final_draw_reuses_the_rejecting_uniform,
        "token",
        (EXACT, JOINT),
    ),
    Mutant("cdf ≥ u", drawing.draws_at_equality, "token", (EXACT, EDGES)),
    Mutant("counting entries below u", drawing.counts_entries_below, "token", (EXACT, EDGES)),
    Mutant("float32 sums", drawing.single_precision_sums, "token", (EDGES,)),
    Mutant("missing bonus", drawing.missing_bonus, "token", (TOKENS,)),
    Mutant("missing correction", drawing.missing_correction, "token", (EXACT,)),
    Mutant("block: token residual borrowed", blocks.token_residual_borrowed, "block", (EXACT,)),
    Mutant("block: stops at the first failure", blocks.block_stops_at_the_first_failure, "block", (EXACT, JOINT)),
    Mutant("block: w without a clamp", blocks.block_without_clamp, "block", (EXACT, JOINT)),
    Mutant("block: w without what came before", blocks.block_without_carry, "block", (EXACT, JOINT)),
    Mutant("block: every part passes with w", blocks.block_passes_by_weight_alone, "block", (EXACT, JOINT)),
    Mutant("block: h without its denominator", blocks.block_without_denominator, "block", (EXACT, JOINT)),
    Mutant("block: K for γ in every row", blocks.block_of_the_longest_row, "block", (EXACT_STALE,)),
    Mutant("block: one uniform for all parts", blocks.block_with_one_uniform, "block", (EXACT,)),
    Mutant("block: residual weighed with the whole", blocks.block_residual_of_the_whole, "block", (EXACT, JOINT)),
    Mutant(
        "one-hot: residual keeps the draft",
        one_hot.one_hot_residual_keeps_the_draft,
        "token",
        (EXACT_ONE_HOT, JOINT_ONE_HOT),
    ),
    Mutant("one-hot: always accepts", one_hot.one_hot_always_accepts, "token", (EXACT_ONE_HOT, JOINT_ONE_HOT)),
    Mutant("one-hot: accepts the argmax", one_hot.one_hot_accepts_the_argmax, "token", (EXACT_ONE_HOT,)),
    Mutant("one-hot: taken for uniform", one_hot.one_hot_taken_for_uniform, "token", (EXACT_ONE_HOT, JOINT_ONE_HOT)),
    Mutant("greedy rows sample", greedy_rows.greedy_rows_sample, "token", (BY_LOOPS,)),
    Mutant("greedy rows draw the last token", greedy_rows.greedy_rows_draw_the_last_token, "token", (BY_LOOPS,)),
    Mutant("greedy ties to the highest id", greedy_rows.ties_to_the_highest_id, "token", (BY_LOOPS,)),
    Mutant("all greedy if any row is", greedy_rows.all_greedy_if_any_is, "token", (BY_LOOPS,)),
)

__all__ = ["MUTANTS", "Mutant"]
