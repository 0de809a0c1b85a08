"""Tree verifiers that are wrong in one way each: the negative controls of the proof that `verify_tree` is lossless.

Each repeats the steps of `verify_tree` but for one mistake that has been made, or is easily made, in an engine or a
paper's listing. Knows nothing of how it is found out.
"""

from __future__ import annotations

from specsim.verification.proof.mutants import tree_rules, tree_walks
from specsim.verification.trees.forest import Siblings, TreeVerifier

# Each with the scheme under which it is wrong.
TREE_LAW_BREAKERS: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("siblings against the target", "with_replacement", tree_walks.siblings_against_the_target),
    ("target after all are rejected", "with_replacement", tree_walks.target_after_all_rejected),
    ("drafted as if certain", "with_replacement", tree_rules.drafted_as_if_certain),
    ("only the token struck out", "without_replacement", tree_rules.only_the_token_struck_out),
    ("rejected token kept", "one_hot", tree_rules.rejected_token_kept),
    ("residual without a clamp", "with_replacement", tree_rules.residual_without_a_clamp),
    ("bonus from the parent's row", "with_replacement", tree_walks.bonus_from_the_parents_row),
    ("rows of the node before", "one_hot", tree_walks.rows_of_the_node_before),
    ("children of a rejected node", "without_replacement", tree_walks.children_of_a_rejected_node),
    ("one uniform for all siblings", "one_hot", tree_walks.one_uniform_for_all_siblings),
    ("final draw reuses a uniform", "one_hot", tree_walks.final_draw_reuses_an_accept_uniform),
)
# Wrong by so little on most models that only the exact test is sure to see it.
TREE_SUBTLE: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("rule of independent draws", "without_replacement", tree_rules.rule_of_independent_draws),
    ("all of the drafter subtracted", "without_replacement", tree_rules.all_of_the_drafter_subtracted),
    ("residual not normalised", "without_replacement", tree_rules.residual_not_normalised),
)
TREE_SLOW: tuple[tuple[str, Siblings, TreeVerifier], ...] = (
    ("only the first child", "with_replacement", tree_walks.only_the_first_child),
    ("sampled judged as chosen", "without_replacement", tree_rules.sampled_judged_as_chosen),
)
