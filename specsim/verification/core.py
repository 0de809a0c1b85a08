"""Which core verifies: compiled loops where numba is installed, else NumPy. Results are the same to the bit.

Numba is imported, and what was compiled before is loaded from its cache, when a verifier is first called. The
environment variable SPECSIM_CORE=numpy keeps to NumPy.
"""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType

from specsim.errors import invalid

VARIABLE = "SPECSIM_CORE"


@cache
def compiled_core() -> ModuleType | None:
    """The module `compiled`, or None where NumPy is asked for or numba cannot be imported."""
    return None if reason_for_numpy() else _import()


def reason_for_numpy() -> str | None:
    """Why NumPy verifies, in words; None if compiled code does.

    Raises:
        InputError: SPECSIM_CORE is set to neither numpy nor compiled.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "numpy", "compiled"):
        raise invalid(VARIABLE, "", wanted, "must be numpy or compiled, or left out for compiled where it is installed")
    if wanted == "numpy":
        return f"{VARIABLE}=numpy"
    try:
        _import()
    except ImportError as error:
        return f"numba cannot be imported ({error}); install specsim-llm[fast]"
    return None


def _import() -> ModuleType:
    from specsim.verification import compiled

    return compiled
