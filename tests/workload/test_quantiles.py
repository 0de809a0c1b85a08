"""Joint quantile tables: exact on small cases, close to the trace they were made from, refused when malformed."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from specsim.errors import InputError
from specsim.workload.quantiles import JointQuantiles, build_table, lengths_at, read_table, write_table

COMMITTED = Path(__file__).parents[2] / "scenarios" / "lengths" / "azure-2023-conversation.csv"
SMALL = JointQuantiles(
    levels=np.array([0.0, 0.5, 1.0]),
    prompt=np.array([[10, 20, 40], [40, 60, 100]]),
    output=np.array([[1, 2, 9], [100, 200, 400]]),
)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("levels", "prompt", "output"))


def test_lengths_are_interpolated_within_the_bin_that_the_first_uniform_chooses():
    prompt, output = lengths_at(SMALL, [[0.0, 0.0], [0.25, 0.5], [0.375, 0.25], [0.5, 0.75], [1 - 1e-16, 1 - 1e-16]])
    np.testing.assert_array_equal(prompt, [10, 20, 30, 40, 100])
    # Halfway between 1 and 2 rounds up.
    np.testing.assert_array_equal(output, [1, 2, 2, 300, 400])


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_one_by_one_equals_all_at_once(u, v):
    pairs = [[u, v], [v, u], [0.5, 0.5]]
    together = lengths_at(SMALL, pairs)
    alone = [lengths_at(SMALL, [pair]) for pair in pairs]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))


def test_a_table_of_one_bin_is_the_quantiles():
    prompt, output = np.arange(101) + 1, np.arange(101)[::-1] * 10 + 1
    table = build_table(prompt, output, num_bins=1, levels=(0.0, 0.25, 0.5, 1.0))
    np.testing.assert_array_equal(table.prompt, [[1, 26, 51, 101]])
    np.testing.assert_array_equal(table.output, [[1, 251, 501, 1001]])


def test_equal_prompts_keep_their_order_so_the_table_is_a_function_of_the_trace():
    table = build_table([5, 5, 5, 5], [1, 2, 30, 40], num_bins=2, levels=(0.0, 1.0))
    np.testing.assert_array_equal(table.output, [[1, 2], [30, 40]])


def test_more_bins_than_requests_are_refused():
    with pytest.raises(InputError, match="num_bins is 20"):
        build_table([1, 2, 3], [1, 2, 3])


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, SMALL, ["source: a test", ""])
    assert same(read_table(path), SMALL)
    assert path.read_text().startswith("# source: a test\n#\nbin,level,prompt_tokens,output_tokens\n0,0,10,1\n")


HEADER = "bin,level,prompt_tokens,output_tokens\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,0,1,1\n0,1,2,0.5\n1,0,2,x\n", "line 3, output_tokens is '0.5'"),
        ("0,0,1,1\n0,0.9,2,2\n", "ascending from 0 to 1"),
        ("0,0,1,1\n0,1,2,2\n1,0,2,2\n", "the same levels"),
        ("0,0,1,1\n0,1,2,2\n2,0,2,2\n2,1,3,3\n", "the same levels"),
        ("1,0,1,1\n0,1,2,2\n", "do not go back"),
        ("999999999,0,1,1\n999999999,1,2,2\n", "the same levels"),
        ("0,nan,1,1\n0,1,2,2\n", "ascending from 0 to 1"),
        ("0,0,5,9\n0,1,2,2\n", "prompt_tokens: lengths must not fall"),
        ("0,0,1,1\n0,1,9,2\n1,0,5,2\n1,1,6,3\n", "prompt_tokens: lengths must not fall"),
    ],
)
def test_a_malformed_table_says_where_and_what_instead(tmp_path, rows, message):
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_committed_table_names_its_source_and_is_small():
    text = COMMITTED.read_text(encoding="utf-8")
    for due in ("Azure Public Dataset", "AzureLLMInferenceTrace_conv", "Splitwise", "CC-BY-4.0", "derived summary"):
        assert due in text
    assert "/work" not in text
    assert len(text) < 15_000


def test_the_committed_table_is_made_from_the_trace(azure_trace):
    lengths = azure_trace.lengths
    assert same(build_table(lengths.prompt, lengths.output), read_table(COMMITTED))


@pytest.fixture(scope="module")
def drawn():
    table = read_table(COMMITTED)
    return table, *lengths_at(table, np.random.default_rng(7).random((400_000, 2)))


def cell_bound(table, quantiles):
    """How far interpolating can move a mean: half of each cell's width times its share; rounding adds half a token."""
    return float((np.diff(quantiles, axis=1) / 2 * np.diff(table.levels)).sum(axis=1).mean()) + 0.5


def test_draws_have_the_means_of_the_trace(azure_trace, drawn):
    table, prompt, output = drawn
    lengths = azure_trace.lengths
    for draws, observed, quantiles in (
        (prompt, lengths.prompt, table.prompt),
        (output, lengths.output, table.output),
    ):
        error = abs(draws.mean() - observed.mean())
        assert error <= cell_bound(table, quantiles) + 4 * draws.std() / math.sqrt(draws.size)
        # The bound holds for any trace; for this one the spacing of the levels does better.
        assert error <= 0.005 * observed.mean()


def test_draws_have_the_quantiles_of_the_trace(azure_trace, drawn):
    _, prompt, output = drawn
    for draws, observed in ((prompt, azure_trace.lengths.prompt), (output, azure_trace.lengths.output)):
        for level in np.linspace(0.05, 0.95, 19):
            below, above = np.quantile(observed, [level - 0.05, level + 0.05])
            assert below <= np.quantile(draws, level) <= above


def test_draws_depend_on_each_other_as_in_the_trace(azure_trace, drawn):
    _, prompt, output = drawn
    observed = spearmanr(azure_trace.lengths.prompt, azure_trace.lengths.output).statistic
    # Independence within a bin can lose at most sd(rank of prompt within its bin)/sd(rank) = 1/20 of correlation.
    assert abs(spearmanr(prompt, output).statistic - observed) <= 1 / 20 + 4 / math.sqrt(prompt.size)
