"""``advance`` as machine code where numba is installed, and as it stands where it is not; the results are the same."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path

from specsim.engine.advance import advance
from specsim.engine.log import Log
from specsim.engine.state import Replica, Requests
from specsim.kernels import KERNELS
from specsim.verification.core import reason_for_numpy
from specsim.verification.into import verify_rows_into

Advance = Callable[[Replica, Requests, "advance.Serving", Log, float], int]


@cache
def advance_function() -> Advance:
    """The function that advances replicas."""
    return advance if reason_for_numpy() else _compiled()


def _compiled() -> Advance:
    from numba.extending import overload, register_jitable

    from specsim.verification.compiled import forms, rules

    for function in KERNELS:
        register_jitable(**forms.OPTIONS)(function)

    @overload(verify_rows_into, jit_options=forms.OPTIONS, strict=False)
    def _as_loops(rule, draft, num_draft, q, q_row, p, p_row, greedy, accept, final, out, num_out):  # type: ignore
        return rules.verify_rows

    sources = {inspect.getfile(function) for function in (*KERNELS, rules.verify_rows)}
    digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in sorted(sources))).hexdigest()

    def advance_compiled(replica: Replica, requests: Requests, serving: object, log: Log, horizon: float) -> int:
        # numba keeps what it compiled for as long as this file and this constant stay the same
        if len(digest) == 0:
            return -1
        return advance(replica, requests, serving, log, horizon)

    return forms.kept(advance_compiled)
