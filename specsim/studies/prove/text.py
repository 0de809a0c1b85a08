"""What a person reads of the proof."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from specsim.verification.proof.checks import Check


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


def proof_table(checks: Sequence[Check]) -> Table:
    """Each check: statistic, limit, what must and what did come out."""
    table = Table("verifier", "test", "statistic", "limit", "must", "did", "")
    for column in (2, 3):
        table.columns[column].justify = "right"
    for check in checks:
        mark = "[green]ok[/]" if check.passed else "[red]WRONG[/]"
        statistic, limit = f"{check.statistic:,.5g}", f"{check.limit:,.5g}"
        table.add_row(check.verifier, check.test, statistic, limit, check.expected, check.observed, mark)
    return table
