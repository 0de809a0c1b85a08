"""One finding of the proof, as plain data, and how much the proof samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NUM_SEQUENCES = 300_000
NUM_SEQUENCES_QUICK = 60_000

Outcome = Literal["pass", "fail"]


@dataclass(frozen=True)
class Check:
    """One verifier put to one test.

    Attributes:
        verifier: what was tested, a verifier's name or the mistake of a mutant.
        test: what it was put to.
        statistic: the number that came out; larger is worse.
        limit: the largest number that the test lets pass.
        expected: what the test should find.
    """

    verifier: str
    test: str
    statistic: float
    limit: float
    expected: Outcome

    @property
    def observed(self) -> Outcome:
        """What the test did find."""
        return "pass" if self.statistic <= self.limit else "fail"

    @property
    def passed(self) -> bool:
        """Whether it found what it should."""
        return self.observed == self.expected
