"""The proof kept in the docs names every verifier and every mutant there is; refresh it with `specsim prove`."""

from pathlib import Path

from specsim.verification.proof.chain_checks import NUM_CHECKS
from specsim.verification.proof.mutants import MUTANTS
from specsim.verification.proof.mutants.tree import TREE_LAW_BREAKERS, TREE_SLOW, TREE_SUBTLE

KEPT = Path(__file__).parents[3] / "docs" / "proof.txt"


def test_it_names_them_all_and_none_is_wrong():
    text = " ".join(KEPT.read_text().replace("│", " ").split())
    names = [mutant.name for mutant in MUTANTS]
    names += [name for name, *_ in (*TREE_LAW_BREAKERS, *TREE_SUBTLE, *TREE_SLOW)]
    missing = [name for name in names if name[:25] not in text]
    assert not missing
    assert len(names) >= 25
    assert text.count(" ok ") == NUM_CHECKS
    assert "WRONG" not in text
