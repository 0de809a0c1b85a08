"""Distributions of any batch shape [..., V] as rows, how to check them, and tokens drawn from them.

Knows nothing of vocabularies.
"""

from __future__ import annotations

import numpy as np

from specsim.errors import InputError, Problem, invalid, raise_if_any
from specsim.verification.arrays import Float64s, Floats, Int64s, Ints
from specsim.verification.draws import draw_rows
from specsim.verification.rows import distribution_problems, located


def draw_tokens(
    rows: Floats, *, rng: np.random.Generator | None = None, uniforms: Floats | None = None, validate: bool = True
) -> Int64s:
    """One token from each distribution: the first whose cumulative mass exceeds u times the total, summed in float64.

    A token of probability 0 is never drawn.

    Args:
        rows: distributions, float32 or float64, shape [..., V].
        rng: draws the uniforms; give either this or them.
        uniforms: one number in [0, 1) for each distribution, shape [...].
        validate: check rows and uniforms; switch off only where the caller vouches for them.

    Returns:
        The tokens, int64, shape [...].

    Raises:
        InputError: neither or both sources of randomness are given, shapes or types do not fit, or (if validating) a
            row is not a distribution or a uniform leaves [0, 1).

    Example:
        >>> import numpy as np
        >>> draw_tokens(np.array([[0.5, 0.5], [0.0, 1.0]]), uniforms=np.array([0.6, 0.1]))
        array([1, 1])
    """
    rows = np.asarray(rows)
    check_form("rows", rows)
    u = uniforms_of(rows.shape[:-1], rng, uniforms)
    if validate:
        check_distributions("rows", rows)
        check_uniforms(u)
    V = rows.shape[-1]
    flat = rows.reshape(-1, V)
    return draw_rows(lambda n: flat[n].astype(np.float64, copy=False), u.ravel(), V).reshape(u.shape)


def uniforms_of(shape: tuple[int, ...], rng: np.random.Generator | None, uniforms: Floats | None) -> Float64s:
    """The uniforms given, or drawn from a generator, as float64 of this shape.

    Raises:
        InputError: neither or both are given, or the shape or type is another.
    """
    if (rng is None) == (uniforms is None):
        found = "nothing" if rng is None else "rng, uniforms"
        raise InputError([Problem("randomness", "", found, "give either rng or uniforms")])
    if rng is not None and not isinstance(rng, np.random.Generator):
        remedy = "must be a numpy.random.Generator; write np.random.default_rng(seed)"
        raise invalid("rng", "type", type(rng).__name__, remedy)
    if rng is not None:
        return rng.random(shape)
    given = np.asarray(uniforms)
    if given.shape != shape or given.dtype.kind != "f":
        found = f"{given.dtype}, shape {given.shape}"
        raise InputError([Problem("uniforms", "", found, f"must be floating-point numbers, shape {shape}")])
    return given.astype(np.float64, copy=False)


def check_form(name: str, rows: Floats) -> None:
    """Check that there is an axis of tokens, in single or double precision.

    Raises:
        InputError: there is not.
    """
    if rows.dtype not in (np.float32, np.float64):
        remedy = "must be float32 or float64; convert it, and normalise its rows again"
        raise invalid(name, "dtype", str(rows.dtype), remedy)
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise invalid(name, "shape", rows.shape, "must be [..., V]: the probabilities of V tokens along the last axis")


def check_distributions(name: str, rows: Floats) -> None:
    """Check that each row of [..., V] is a distribution.

    Raises:
        InputError: names the first that is not, by its indices i0, i1, ..
    """
    flat = rows.reshape(-1, rows.shape[-1])
    every = np.arange(len(flat))
    raise_if_any(distribution_problems(name, flat, (every,), place_of(every, rows.shape[:-1])))


def check_uniforms(uniforms: Float64s) -> None:
    """Check that all uniforms [...] are in [0, 1).

    Raises:
        InputError: names the first that is not.
    """
    bad = np.flatnonzero(~((uniforms >= 0) & (uniforms < 1)))  # NaN is outside
    place = place_of(bad, uniforms.shape)
    raise_if_any(located("uniforms", place, np.arange(len(bad)), uniforms.ravel()[bad], "must be in [0, 1)"))


def place_of(flat: Int64s, shape: tuple[int, ...]) -> dict[str, Ints]:
    """Flat indices [n] as indices i0, i1, .. into this shape, each [n]; "row" where there is but one."""
    return {f"i{axis}": index for axis, index in enumerate(np.unravel_index(flat, shape))} if shape else {"row": flat}
