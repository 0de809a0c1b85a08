"""The compiled core. Needs numba; imported only when a verifier is called (see `core`)."""

from specsim.verification.compiled.extremes import extremes
from specsim.verification.compiled.rules import verify, verify_rows_into

__all__ = ["extremes", "verify", "verify_rows_into"]
