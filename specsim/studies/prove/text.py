"""What a person reads of the proof."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from specsim.reporting.columns import Table, shown
from specsim.reporting.publish import Answer
from specsim.verification.proof.checks import Check


def proof_answer(checks: Sequence[Check]) -> Answer:
    """What ``specsim prove`` prints; failed when a check comes out otherwise than it must."""
    return Answer([verdict(checks)], [proof_table(checks)], failed=not all(check.passed for check in checks))


def verdict(checks: Sequence[Check]) -> str:
    """The answer in a sentence."""
    wrong = [check for check in checks if not check.passed]
    right = sum(check.verifier.startswith("verify_") and check.expected == "pass" for check in checks)
    caught = sum(check.expected == "fail" for check in checks)
    if wrong:
        return f"NOT proved: {len(wrong)} of {len(checks)} checks came out otherwise than they must."
    return (
        f"The verifiers pass all {right} checks of losslessness, and all {caught} checks of deliberately wrong "
        "verifiers caught them."
    )


def proof_table(checks: Sequence[Check]) -> Table[Check]:
    """Each check: statistic, limit, what must and what did come out."""
    return Table(
        rows=checks,
        columns=[
            shown("verifier", lambda check: check.verifier, left=True),
            shown("test", lambda check: check.test, left=True),
            shown("statistic", lambda check: f"{check.statistic:,.5g}"),
            shown("limit", lambda check: f"{check.limit:,.5g}"),
            shown("must", lambda check: check.expected, left=True),
            shown("did", lambda check: check.observed, left=True),
            shown("", lambda check: Text("ok", "green") if check.passed else Text("WRONG", "red"), left=True),
        ],
    )
