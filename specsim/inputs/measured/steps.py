"""Measured single steps of an engine, or forward passes of a model: one row per step.

The form in which GPU traces are recorded. Knows nothing of how a step is priced.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from specsim.forward import Mode
from specsim.inputs.measured.measurements import Positive, Setting, Whole, listed
from specsim.inputs.models.base import MOST_IN_FLIGHT
from specsim.inputs.read.tables import Contradiction, Rule, read_rows

MOST_STEP_TOKENS = 2**20  # the largest token budgets of engines are below a tenth of it
PerRequest = Annotated[tuple[Whole, ...], BeforeValidator(listed), Field(min_length=1)]


class Step(Setting):
    """One step."""

    split: Literal["calibration", "validation"] = "validation"
    """Whether calibration may see the step."""
    measured: Literal["step", "forward"]
    """step: the engine's whole step, drafting and host included; forward: the target's pass on the device."""
    mode: Mode
    """graph: replayed as one CUDA graph; piecewise: all but attention replayed; eager: launched kernel by kernel."""
    requests: Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT)]
    """Requests in the step."""
    query_tokens: PerRequest
    """New tokens per request: one number for all, or one for each by blanks. 1 + K for a verify of K drafts."""
    context: PerRequest
    """Tokens each request attends to, its new ones included: one number for all, or one for each by blanks."""
    logit_rows: Annotated[int, Field(ge=0)] | None = None
    """Tokens whose logits are computed; empty: all new tokens, as in a decode or verify step."""
    num_draft_tokens: Annotated[int, Field(ge=0, le=64)] = 0
    """Draft tokens per request whose drafting the step includes; 0 for none."""
    acceptance_length: Annotated[float, Field(ge=1)] | None = None
    """Mean tokens per verify: how much the drafter catches up with in its first pass."""
    ms: Positive
    """How long the step took."""

    def per_request(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(new tokens, context) of every request."""
        return _each(self.query_tokens, self.requests), _each(self.context, self.requests)


def _each(values: tuple[int, ...], requests: int) -> tuple[int, ...]:
    return values * requests if len(values) == 1 else values


class LocatedStep(NamedTuple):
    """A row and the line of the file that holds it."""

    line: int
    row: Step


def read_steps(path: Path) -> tuple[LocatedStep, ...]:
    """The rows of a table of steps.

    Raises:
        InputError: listing every problem and every contradiction of every row.
    """
    return tuple(LocatedStep(line, row) for line, row in read_rows(path, Step, RULES))


def _numbers_fit(column: Literal["query_tokens", "context"]) -> Rule[Step]:
    def rule(row: Step) -> Iterator[Contradiction]:
        number = len(getattr(row, column))
        if number not in (1, row.requests):
            yield Contradiction(column, f"{number} numbers for {row.requests} requests; give one, or one for each")

    return rule


def _fitting(row: Step, *columns: str) -> bool:
    """Whether columns hold one number, or one for each request; other lengths are reported elsewhere."""
    return all(len(getattr(row, column)) in (1, row.requests) for column in columns)


def _context_counts_new_tokens(row: Step) -> Iterator[Contradiction]:
    if not _fitting(row, "query_tokens", "context"):
        return
    if any(context < query for query, context in zip(*row.per_request(), strict=True)):
        yield Contradiction("context", "counts the new tokens too, so it cannot be below query_tokens")


def _logits_of_new_tokens(row: Step) -> Iterator[Contradiction]:
    if row.logit_rows is None or not _fitting(row, "query_tokens"):
        return
    tokens = sum(_each(row.query_tokens, row.requests))
    if row.logit_rows > tokens:
        yield Contradiction("logit_rows", f"cannot exceed the step's {tokens} new tokens")


def _no_drafting_in_a_forward_pass(row: Step) -> Iterator[Contradiction]:
    if row.num_draft_tokens and row.measured == "forward":
        yield Contradiction("num_draft_tokens", "a forward pass includes no drafting; write 0, or measured: step")


def _reachable_length(row: Step) -> Iterator[Contradiction]:
    if row.acceptance_length is not None and row.acceptance_length > row.num_draft_tokens + 1:
        yield Contradiction("acceptance_length", f"cannot exceed num_draft_tokens + 1 = {row.num_draft_tokens + 1}")


def _step_fits(row: Step) -> Iterator[Contradiction]:
    if _fitting(row, "query_tokens") and sum(_each(row.query_tokens, row.requests)) > MOST_STEP_TOKENS:
        yield Contradiction("query_tokens", f"more than {MOST_STEP_TOKENS} new tokens in a step; no engine runs them")


RULES = (
    _step_fits, _numbers_fit("query_tokens"), _numbers_fit("context"), _context_counts_new_tokens,
    _logits_of_new_tokens, _no_drafting_in_a_forward_pass, _reachable_length,
)  # fmt: skip
