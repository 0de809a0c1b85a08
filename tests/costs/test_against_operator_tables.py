"""Validation: what the profiles say of their own error, checked against the measured operator tables.

The tables are thinned copies of those that the profiles were fitted to: the fits' errors come out nearly the same.
"""

import numpy as np
import pandas as pd
import pytest

from specsim.costs.collectives import all_reduce_seconds
from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import device_rates
from specsim.inputs.read.scenario import read_device

LARGE_WEIGHTS, MOST_ROWS = 32 * 2**20, 1025


@pytest.fixture(scope="module")
def kernels(shared):
    folder = shared / "measured" / "kernels"
    if not folder.is_dir():
        pytest.skip("needs ../shared/measured/kernels, which is not beside this checkout")
    return folder


def median_and_p90(modelled, measured):
    errors = np.abs(np.asarray(modelled) / np.asarray(measured) - 1)
    return np.median(errors), np.quantile(errors, 0.9)


@pytest.mark.parametrize(
    ("hardware", "device", "group", "median", "p90"),
    [
        ("h100", "h100-sxm", 2, 0.06, 0.18),
        ("h100", "h100-sxm", 4, 0.02, 0.09),
        ("h100", "h100-sxm", 8, 0.03, 0.12),
        ("a100", "a100-sxm-80gb", 2, 0.04, 0.14),
        ("a100", "a100-sxm-80gb", 4, 0.03, 0.11),
        ("a100", "a100-sxm-80gb", 8, 0.07, 0.30),
    ],
)
def test_all_reduce_is_as_wrong_as_its_profile_states(kernels, hardware, device, group, median, p90):
    table = pd.read_csv(kernels / "derived_allreduce_vllm_graph_us.csv")
    rows = table[(table.hw == hardware) & (table.num_gpus == group)]
    modelled = all_reduce_seconds(rows.bytes.to_numpy(), group, read_device(device))
    # the statements are rounded to whole percents
    found = median_and_p90(modelled, rows.us * 1e-6)
    np.testing.assert_allclose(found, (median, p90), atol=0.006)


@pytest.mark.parametrize(
    ("file", "device", "median", "p90"),
    [
        ("thin_gemm_h100_vllm_bfloat16.csv", "h100-sxm", 0.054, 0.127),
        ("thin_gemm_a100_sglang_bfloat16.csv", "a100-sxm-80gb", 0.058, 0.184),
    ],
)
def test_matrix_products_are_as_wrong_as_their_profile_states(kernels, file, device, median, p90):
    table = pd.read_csv(kernels / file)
    table = table[(2 * table.n * table.k >= LARGE_WEIGHTS) & (table.m <= MOST_ROWS)]
    rates = device_rates(read_device(device), ideal=False)
    modelled = pd.Series(0.0, index=table.index)
    for (outputs, inputs), rows in table.groupby(["n", "k"]):
        modelled[rows.index] = sum(linear_time([Linear(inputs, outputs)], rows.m.to_numpy(), rates))
    # the statements are rounded to a tenth of a percent
    np.testing.assert_allclose(median_and_p90(modelled, table.latency_ms * 1e-3), (median, p90), atol=0.0006)
