"""The proof that the verifiers are lossless, and tests for any verifier; needs scipy."""

from specsim.verification.proof.chain_checks import prove
from specsim.verification.proof.checks import Check
from specsim.verification.proof.conformance import assert_lossless, detectable_total_variation

__all__ = ["Check", "assert_lossless", "detectable_total_variation", "prove"]
