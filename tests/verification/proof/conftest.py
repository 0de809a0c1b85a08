"""The quick proof, run once for all tests of it: they are one group of one process."""

import pytest

from specsim.verification.proof import prove
from specsim.verification.proof.tree_checks import NUM_TREE_CHECKS


@pytest.fixture(scope="session")
def proof():
    """Its checks, and the calls of its progress callback."""
    seen = []
    checks = prove(seed=2, quick=True, progress=lambda *call: seen.append(call))
    return checks, seen


@pytest.fixture(scope="session")
def tree_proof(proof):
    """Those of its checks that are of trees."""
    return proof[0][-NUM_TREE_CHECKS:]
