"""Uniforms are a function of whom they belong to: Threefry's published answers, a slow reference, and independence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from specsim.uniforms import (
    BY_POSITION,
    BY_ROUND,
    LANE_ACCEPT,
    LANE_DRAFT,
    LANE_FINAL,
    LANE_FOUND,
    NUM_LANES,
    draw_uniforms,
    draw_uniforms_one_by_one,
    threefry,
    uniforms_key,
)

N = 40_000
WORD = 2**64 - 1
ROTATIONS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]
words = st.lists(st.integers(0, WORD), min_size=4, max_size=4)


def by_definition(key, counter):
    """Threefry-4x64 with 20 rounds in whole numbers, after Salmon et al. (2011), section 3 and Skein 1.3."""
    keys = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(word + k) & WORD for word, k in zip(counter, keys, strict=False)]
    for i in range(20):
        for a, b, rotation in zip((0, 2), (1, 3) if i % 2 == 0 else (3, 1), ROTATIONS[i % 8], strict=True):
            x[a] = (x[a] + x[b]) & WORD
            x[b] = ((x[b] << rotation | x[b] >> (64 - rotation)) & WORD) ^ x[a]
        if i % 4 == 3:
            inject = i // 4 + 1
            x = [(word + keys[(inject + j) % 5]) & WORD for j, word in enumerate(x)]
            x[3] = (x[3] + inject) & WORD
    return x


def mapped(key, *counters):
    mapped_words = threefry(np.array(key, np.uint64), *np.array(counters, np.uint64).T)
    return np.transpose(mapped_words).tolist()


def drawn(request, num_positions, columns=1, *, first=0, purpose=BY_POSITION, seed=3, replication=0):
    """[lanes, positions, columns]; the two ways of drawing must not differ."""
    table = np.full((NUM_LANES, columns, num_positions), np.nan)
    draw_uniforms(table, uniforms_key(seed, replication), request, first, purpose)
    if num_positions <= 40:
        again = np.full_like(table, np.nan)
        with np.errstate(over="ignore"):  # words wrap, of which NumPy warns where they are no arrays
            draw_uniforms_one_by_one(again, uniforms_key(seed, replication), request, first, purpose)
        np.testing.assert_array_equal(table, again)
    return table.transpose(0, 2, 1)


# of Random123 1.14.0, tests/kat_vectors, threefry4x64 with 20 rounds
@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (0, (0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B)),
        (WORD, (0x29C24097942BBA1B, 0x0371BBFB0F6F4E11, 0x3C231FFA33F83A1C, 0xCD29113FDE32D168)),
    ],
    ids=["zeros", "ones"],
)
def test_threefry_gives_the_published_answers(word, answer):
    assert mapped([word] * 4, [word] * 4) == [list(answer)]
    assert by_definition([word] * 4, [word] * 4) == list(answer)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_threefry_is_that_of_its_definition(key, counters):
    assert mapped(key, *counters) == [by_definition(key, counter) for counter in counters]


@given(st.integers(0, 2**31), st.integers(0, 2**20), st.integers(0, 7), st.integers(0, 3), st.sampled_from([0, 1]))
def test_a_uniform_is_that_of_its_position_column_request_and_purpose(request_number, first, i, column, purpose):
    """The upper 53 bits of its lane's word."""
    table = drawn(request_number, 8, 4, first=first, purpose=purpose)
    key = uniforms_key(3, 0).tolist()
    expected = [(word >> 11) * 2.0**-53 for word in by_definition(key, [first + i, column, request_number, purpose])]
    assert table[:, i, column].tolist() == expected


def test_keys_tell_seeds_and_replications_apart():
    keys = [uniforms_key(seed, replication).tobytes() for seed in range(20) for replication in range(20)]
    assert len(set(keys)) == len(keys)
    assert uniforms_key(1, 2).tobytes() == uniforms_key(1, 2).tobytes()


@pytest.mark.slow
@given(
    st.integers(0, 2**31),
    st.integers(0, 1000),
    st.tuples(st.integers(0, 20), st.integers(0, 3)),
    st.tuples(st.integers(0, 20), st.integers(0, 3)),
    st.integers(0, 20),
)
def test_a_larger_table_holds_the_smaller_one(request_number, first, small, more, later):
    positions, columns = small
    large = drawn(request_number, positions + later + more[0], columns + more[1], first=first)
    part = large[:, later : later + positions, :columns]
    np.testing.assert_array_equal(drawn(request_number, positions, columns, first=first + later), part)


def uncorrelated(lanes):
    """Uniform on [0, 1) each: mean 1/2 and variance 1/12, and no two of them correlated.

    There are over a hundred pairs. All of them together may fail by chance as rarely as one comparison with a limit of
    4 standard errors does.
    """
    assert lanes.min() >= 0
    assert lanes.max() < 1
    many, samples = lanes.shape
    assert np.abs(lanes.mean(axis=1) - 0.5).max() < 4 * np.sqrt(1 / 12 / samples)
    limit = norm.isf(norm.sf(4) / (many * (many - 1) / 2))
    assert np.abs(np.corrcoef(lanes) - np.eye(many)).max() < limit / np.sqrt(samples)


def test_a_request_has_four_lanes_of_uniforms_of_its_own():
    assert tuple(range(NUM_LANES)) == (LANE_DRAFT, LANE_ACCEPT, LANE_FINAL, LANE_FOUND)
    tables = [drawn(request, N, replication=replication)[:, :, 0] for replication in (0, 1) for request in (0, 1)]
    uncorrelated(np.concatenate(tables))


def test_uniforms_of_columns_and_rounds_are_independent_of_each_other_and_of_those_of_positions():
    by_position, by_round = drawn(1, N, 3), drawn(1, N, 3, purpose=BY_ROUND)
    by_lane = [table.transpose(0, 2, 1).reshape(-1, N)[:9] for table in (by_position, by_round)]
    uncorrelated(np.concatenate([*by_lane, drawn(2, N, purpose=BY_ROUND)[:, :, 0]]))


def test_neighbouring_positions_are_uncorrelated():
    for lane in drawn(0, N)[:, :, 0]:
        assert abs(np.corrcoef(lane[:-1], lane[1:])[0, 1]) < 4 / np.sqrt(N - 1)


def test_uniforms_spread_evenly():
    """χ² of 100 cells per lane: mean 99, standard deviation √(2 · 99)."""
    for lane in drawn(7, N)[:, :, 0]:
        counts = np.bincount((lane * 100).astype(int), minlength=100)
        assert abs(((counts - N / 100) ** 2 / (N / 100)).sum() - 99) < 4 * np.sqrt(2 * 99)
