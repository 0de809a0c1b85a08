"""Which core verifies, and what importing costs: nothing is imported or compiled before a verifier is called."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from specsim.verification import core

CALL = """
import numpy as np
from specsim.verification import verify_chain
out, _ = verify_chain(np.zeros((1, 0), int), None, np.ones((1, 1, 1)), np.zeros(1, int), rng=np.random.default_rng(0))
assert out.tolist() == [[0]]
"""


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)


def test_importing_the_library_imports_neither_numba_nor_scipy():
    run("import sys, specsim.verification; assert not {'numba', 'scipy', 'pandas', 'pydantic'} & set(sys.modules)")


def test_numpy_verifies_where_it_is_asked_for():
    run(CALL + "import sys; assert 'numba' not in sys.modules", SPECSIM_CORE="numpy")


def test_numpy_verifies_where_numba_is_missing_or_broken():
    code = "import sys; sys.modules['numba'] = None\n" + CALL
    reason = "from specsim.verification.core import reason_for_numpy; print(reason_for_numpy())"
    assert "install specsim-llm[fast]" in run(code + reason).stdout


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
def test_where_numba_is_installed_compiled_code_verifies():
    """Otherwise a numba that does not fit this NumPy would quietly skip every test of compiled code."""
    assert run("from specsim.verification.core import reason_for_numpy; print(reason_for_numpy())").stdout == "None\n"


@pytest.mark.slow
def test_a_table_that_does_not_have_the_row_is_refused_and_not_read(monkeypatch):
    compiled = core.compiled_core()
    if compiled is None:
        pytest.skip("needs numba")
    p, ids, counts = np.ones((1, 1)), np.zeros((1, 1), int), np.ones(1, int)
    out, num_out = np.empty((1, 2), int), np.empty(1, int)
    uniforms = np.zeros((1, 1)), np.zeros(1)
    for p_row, q_row, num_draft in (([0, 9], 0, 1), ([0, -1], 0, 1), ([0, 0], 9, 1), ([0, 0], 0, 2), ([0, 0], 0, -1)):
        rows = np.full((1, 1), q_row), p, np.array([p_row])
        with pytest.raises(IndexError):
            compiled.verify_rows_into(0, ids, counts * num_draft, p, *rows, np.zeros(0, bool), *uniforms, out, num_out)
