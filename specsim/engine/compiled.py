"""``advance`` as machine code where numba is installed, and as it stands where it is not; the results are the same."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from specsim.engine.advance import KernelParams, advance
from specsim.engine.log import Log
from specsim.engine.state import Replica, Requests
from specsim.kernels import KERNELS
from specsim.uniforms import draw_uniforms, draw_uniforms_one_by_one
from specsim.verification.arrays import Bools, Float64s, Floats, Int64s
from specsim.verification.core import reason_for_numpy
from specsim.verification.into import verify_rows_into

Advance = Callable[[Replica, Requests, KernelParams, Log, float, bool], int]


@cache
def advance_function() -> Advance:
    """The function that advances replicas."""
    return advance if reason_for_numpy() else _compiled()


def settled(function: Advance, *arguments: Any) -> Advance:
    """The same function for arguments of these types alone: compiled code that need not ask for them at each call."""
    if function is advance:
        return function
    from numba import typeof

    compiled: Any = function
    form: Advance = compiled.compile(tuple(map(typeof, arguments)))
    return form


def _compiled() -> Advance:
    from numba.extending import overload, register_jitable

    from specsim.verification.compiled import forms, rules

    options: Any = forms.OPTIONS
    # Kernels make no arrays, so none of them has to count references to any; counting would take most of the time.
    for function in KERNELS:
        register_jitable(**options | {"_nrt": False})(function)

    # numba asks for the code that stands for a function with the arguments that it is called with
    overload(verify_rows_into, jit_options=options, strict=False)(_loops)
    overload(draw_uniforms, jit_options=options, strict=False)(
        lambda lanes, key, request, first, purpose: draw_uniforms_one_by_one
    )
    sources = {inspect.getfile(function) for function in (*KERNELS, rules.verify_rows)}
    digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in sorted(sources))).hexdigest()

    def compiled_advance(
        replica: Replica, requests: Requests, params: KernelParams, log: Log, horizon: float, begins: bool
    ) -> int:
        return advance(replica, requests, params, log, horizon, begins)

    # numba keeps what it compiled in files named after the function: other sources, other files
    compiled_advance.__qualname__ = f"advance_{digest[:16]}"
    return forms.kept(compiled_advance)


def _loops(
    rule: int,
    draft: Int64s,
    num_draft: Int64s,
    q: Floats,
    q_row: Int64s,
    p: Floats,
    p_row: Int64s,
    greedy: Bools,
    accept: Float64s,
    final: Float64s,
    out: Int64s,
    num_out: Int64s,
) -> Callable[..., None]:
    from specsim.verification.compiled.rules import verify_rows

    return verify_rows
