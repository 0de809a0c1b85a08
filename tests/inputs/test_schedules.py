"""Schedules as engines write them become the same table."""

import pytest
from pydantic import ValidationError

from specsim.inputs.models.schedule import SchedulePolicy


def lengths(**stated):
    """Draft lengths by batch from 1 to 300."""
    rows = SchedulePolicy(kind="schedule", **stated).rows
    found = {}
    for row in rows:
        first, last = row.batch
        found |= dict.fromkeys(range(first, (last or 300) + 1), row.num_draft_tokens)
    return [found[batch] for batch in range(1, 301)]


def test_between_and_beyond_vllms_ranges_the_length_before_holds():
    """The example of vllm-project/vllm#32374."""
    expected = [3] * 63 + [2] * 192 + [0] * 45
    assert lengths(num_speculative_tokens_per_batch_size={"1-16": 3, "64-128": 2, "256-4096": 0}) == expected
    ranges = ((64, 128, 2), (1, 16, 3), (256, 4096, 0))
    assert lengths(num_speculative_tokens_per_batch_size=ranges) == expected


def test_beyond_tensorrt_llms_largest_batch_nothing_is_drafted():
    assert lengths(draft_len_schedule={32: 1, 4: 4, 8: 2}) == [4] * 4 + [2] * 4 + [1] * 24 + [0] * 268


def test_a_single_batch_is_a_range():
    assert lengths(num_speculative_tokens_per_batch_size={"1": 5, "2-300": 1}) == [5] + [1] * 299


@pytest.mark.parametrize("stated", [{}, {"draft_len_schedule": {}}, {"draft_len_schedule": {0: 3}}, {"table": ()}])
def test_nothing_is_no_schedule(stated):
    with pytest.raises(ValidationError):
        SchedulePolicy(kind="schedule", **stated)
