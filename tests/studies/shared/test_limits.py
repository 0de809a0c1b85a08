"""Which limit keeps requests waiting, in runs whose limit is known beforehand."""

import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.shared.limits import limit_of
from specsim.studies.shared.points import Point, run_point

FEW = "curve={batches: [64], num_draft_tokens: [3], replications: 2, requests_per_slot: 3, min_requests: 12}"
DECODING = "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 200}"
PROMPTS = "workload.lengths={kind: fixed, prompt_tokens: 16000, output_tokens: 32}"
LONG = "workload.lengths={kind: fixed, prompt_tokens: 6000, output_tokens: 2000}"


@pytest.mark.parametrize(
    ("settings", "point", "limit"),
    [
        ([DECODING], Point(64, 3), ""),
        (["deployment.engine=sglang-0.5", DECODING], Point(64, 0), ""),
        (["deployment.engine=sglang-0.5", DECODING], Point(64, 3), "max_num_seqs"),  # it lets 48 draft
        ([PROMPTS], Point(26, 0), "max_num_batched_tokens"),  # 26 prompts take 51 steps, an output 32
        ([LONG], Point(96, 0), "KV cache"),  # 96 · 8,000 tokens, for 440,000
    ],
)
def test_the_limit_of_a_point(settings, point, limit):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [FEW, *settings])
    assert limit_of(point, run_point(inputs, point)) == limit
