"""The table of Azure's lengths that ships stands in for the trace it was made from."""

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.shared.points import Point, run_point

SCENARIO = "azure-conversation-h100-eagle3"
SETTINGS = ("curve.replications=12", "curve.requests_per_slot=5")


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [0, 3])
def test_throughput_under_the_table_is_that_under_the_trace(shared, num_draft_tokens):
    file = shared / "traces" / "AzureLLMInferenceTrace_conv.csv"
    if not file.is_file():
        pytest.skip("needs ../shared/traces/AzureLLMInferenceTrace_conv.csv, which is not beside this checkout")
    trace = f"workload.lengths={{kind: trace, file: '{file}'}}"
    point = Point(16, num_draft_tokens)
    table, original = (
        run_point(load_scenario(SCENARIO, [*SETTINGS, *more]), point).tokens_per_s for more in ([], [trace])
    )
    # The table's means are within .5 % of the trace's (tests/workload), a fifth of the standard error here.
    standard_error = np.hypot(table.std(ddof=1), original.std(ddof=1)) / np.sqrt(table.size)
    assert standard_error < 0.04 * original.mean()
    assert abs(table.mean() - original.mean()) < 4 * standard_error
