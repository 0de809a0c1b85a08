"""Tree verifiers that are wrong in one way each: the negative controls of the proof that `verify_tree` is lossless.

Each repeats the steps of `verify_tree` but for one mistake that has been made, or is easily made, in an engine or a
paper's listing. Knows nothing of how it is found out.
"""

from __future__ import annotations

from specsim.verification.proof.mutants.tree_rules import (
    all_of_the_drafter_subtracted,
    drafted_as_if_certain,
    only_the_token_struck_out,
    rejected_token_kept,
    residual_not_normalised,
    residual_without_a_clamp,
    rule_of_independent_draws,
    sampled_judged_as_chosen,
)
from specsim.verification.proof.mutants.tree_walks import (
    bonus_from_the_parents_row,
    children_of_a_rejected_node,
    final_draw_reuses_an_accept_uniform,
    one_uniform_for_all_siblings,
    only_the_first_child,
    rows_of_the_node_before,
    siblings_against_the_target,
    target_after_all_rejected,
)
from specsim.verification.trees.forest import Siblings, TreeVerifier

# Each with the scheme under which it is wrong.
TREE_LAW_BREAKERS: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("siblings against the target", "with_replacement", siblings_against_the_target),
    ("target after all are rejected", "with_replacement", target_after_all_rejected),
    ("drafted as if certain", "with_replacement", drafted_as_if_certain),
    ("only the token struck out", "without_replacement", only_the_token_struck_out),
    ("rejected token kept", "one_hot", rejected_token_kept),
    ("residual without a clamp", "with_replacement", residual_without_a_clamp),
    ("bonus from the parent's row", "with_replacement", bonus_from_the_parents_row),
    ("rows of the node before", "one_hot", rows_of_the_node_before),
    ("children of a rejected node", "without_replacement", children_of_a_rejected_node),
    ("one uniform for all siblings", "one_hot", one_uniform_for_all_siblings),
    ("final draw reuses a uniform", "one_hot", final_draw_reuses_an_accept_uniform),
)
# Wrong by so little on most models that only the exact test is sure to see it.
TREE_SUBTLE: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("rule of independent draws", "without_replacement", rule_of_independent_draws),
    ("all of the drafter subtracted", "without_replacement", all_of_the_drafter_subtracted),
    ("residual not normalised", "without_replacement", residual_not_normalised),
)
TREE_SLOW: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("only the first child", "with_replacement", only_the_first_child),
    ("sampled judged as chosen", "without_replacement", sampled_judged_as_chosen),
)
