"""The base of all input models, which refuse unknown keys and are frozen, and quantities with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from specsim import units


class Input(BaseModel):
    """A part of a user's file: unknown keys are refused and values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


def _quantity(dimension: Mapping[str, float], example: str, *, positive: bool) -> tuple[Any, ...]:
    def read(value: object) -> float:
        number = units.parse(value, dimension)
        if positive and number == 0:
            raise ValueError(f"must be more than zero; write for example '{example}'")
        return number

    def write(value: float) -> str:
        return units.format_exact(value, dimension)

    pattern = r"^\s*[0-9.eE+-]+\s*(" + "|".join(dimension) + r")\s*$"
    return (
        BeforeValidator(read),
        PlainSerializer(write),
        WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]}),
    )


Bytes = Annotated[float, *_quantity(units.BYTES, "80 GiB", positive=True)]
Bandwidth = Annotated[float, *_quantity(units.BANDWIDTH, "3.35 TB/s", positive=True)]
Compute = Annotated[float, *_quantity(units.COMPUTE, "989 TFLOP/s", positive=True)]
Duration = Annotated[float, *_quantity(units.TIME, "20 ms", positive=False)]
PositiveDuration = Annotated[float, *_quantity(units.TIME, "20 ms", positive=True)]
Power = Annotated[float, *_quantity(units.POWER, "700 W", positive=True)]
Rate = Annotated[float, *_quantity(units.RATE, "4 requests/s", positive=True)]
RateOrNone = Annotated[float, *_quantity(units.RATE, "4 requests/s", positive=False)]
Number = Annotated[float, Field(strict=True)]
"""A number written as one: unless told to be strict, pydantic reads yes as 1.0 and '0.8' as 0.8."""
Fraction = Annotated[Number, Field(ge=0, le=1)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]


def ascending(values: tuple[int, ...]) -> tuple[int, ...]:
    """The values, if they ascend; raises ValueError otherwise."""
    if list(values) != sorted(set(values)):
        raise ValueError("must ascend, each value once; write for example [1, 8, 64]")
    return values


MOST_IN_FLIGHT = 65536
MOST_REQUESTS = 1_000_000
"""Of a run: more would take days to simulate and more memory than there is."""
MOST_PRIORITIES = 64
"""Classes of priority; each has a line of its own."""
InFlight = Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT, strict=True)]
AscendingBatches = Annotated[tuple[InFlight, ...], Field(min_length=1), AfterValidator(ascending)]
DraftLength = Annotated[int, Field(ge=1, le=64, strict=True)]
AscendingDraftLengths = Annotated[tuple[DraftLength, ...], Field(min_length=1), AfterValidator(ascending)]
TokenCount = Annotated[int, Field(ge=1, le=10**7, strict=True)]
AscendingTokens = Annotated[tuple[TokenCount, ...], Field(min_length=1), AfterValidator(ascending)]
