"""Settings of a map: contexts, batches and draft lengths."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from specsim.inputs.models.base import AscendingBatches, AscendingDraftLengths, AscendingTokens, Input


class Map(Input):
    """Which cells `specsim map` simulates; requests at each as `curve` has them."""

    contexts: AscendingTokens | None = None
    """Mean tokens of prompt and output so far of a request in mid-decode. Left out: powers of two from 256 on, as far
    as target, drafter and KV pool go, eight at most; with the steps between them where they are few."""
    batches: AscendingBatches | None = None
    """Concurrent requests. Left out: of those of the curve, for each power of two the nearest."""
    num_draft_tokens: AscendingDraftLengths | None = None
    """Draft lengths compared with no speculation, besides the policy's own; by default those of the curve."""
    replications: Annotated[int, Field(ge=2, strict=True)] = 4
    """Independent repetitions; each pairs all draft lengths on the same random numbers."""
