"""Both cores: tests that ask for `core` are run with the compiled one and with NumPy alone."""

import pytest

from specsim.verification import core as cores
from specsim.verification import mixed, rows


@pytest.fixture(scope="module", params=["compiled", "numpy"])
def core(request):
    """Runs the tests of a module once per core."""
    if request.param == "compiled" and cores.compiled_core() is None:
        pytest.skip(f"NumPy verifies here: {cores.reason_for_numpy()}")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            for module in (mixed, rows):
                patch.setattr(module, "compiled_core", lambda: None)
        yield request.param
