"""The Azure trace, where a checkout has the shared data beside it."""

from pathlib import Path

import pytest

from specsim.workload.csv_traces import read_azure_trace
from specsim.workload.trace import Trace

SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.fixture(scope="session")
def azure_trace() -> Trace:
    path = SHARED / "traces" / "AzureLLMInferenceTrace_conv.csv"
    if not path.exists():
        pytest.skip("needs ../shared/traces/AzureLLMInferenceTrace_conv.csv, which is not beside this checkout")
    return read_azure_trace(path)
