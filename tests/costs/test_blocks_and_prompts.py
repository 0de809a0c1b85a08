"""What a block's corrections and a prompt's tokens take, worked out by hand."""

import pytest

from specsim.costs.passes import PassCost
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.costs.step import StepCost
from specsim.forward import Pass, attended
from specsim.inputs.models.drafters import BlockParallelHead
from specsim.inputs.read.scenario import load_scenario, read_model

RANK, VOCABULARY = 256, 131072
HEAD = BlockParallelHead(
    kind="block_parallel", model="x", block_size=7, fused_layers=5, sequential_correction={"rank": RANK}
)
ONE_POSITION = Pass(0, 0, 8, 0, 0, corrected_rows=8)


@pytest.fixture
def head(h100):
    shape = drafter_shape(HEAD, read_model("dspark-apertus-v1.5-8b"))
    return lambda ideal=False: PassCost(shape, h100, ideal=ideal)


def test_correcting_one_position_reads_its_matrix_and_four_rows_of_logits(head, h100):
    """The product's own row of logits, then its sum with the drafter's: two read, one written, one read to draw."""
    time = head().price(ONE_POSITION)
    product = RANK * VOCABULARY + 8 * (RANK + VOCABULARY)
    bandwidth = 0.893 * 3.35e12
    assert time.weights == pytest.approx(2 * (product + 8 * 4 * VOCABULARY) / bandwidth, rel=1e-12)
    assert time.launch == pytest.approx(4.25e-6 + 3 * 2.5e-6)
    assert time.kv == time.communication == 0
    assert 0 <= time.compute < time.weights


def test_an_ideal_device_reads_the_matrix_alone(head):
    time = head(ideal=True).price(ONE_POSITION)
    assert sum(time) == pytest.approx(2 * RANK * VOCABULARY / 3.35e12, rel=1e-12)


def test_corrections_are_no_draft_passes_of_their_own(head, h100, llama_8b):
    target = PassCost(target_shape(llama_8b), h100, ideal=False)
    cost = StepCost(target, head(), load_scenario("llama3.1-8b-h100-eagle3").engine)
    verify, block = Pass(32, 32, 8, 8000, 32000), Pass(24, 24, 8, 8000, 24000, 16)
    with_corrections, alone = (cost.price(verify, [block, *more]) for more in ([ONE_POSITION] * 3, []))
    assert with_corrections.host == alone.host
    assert with_corrections.draft - alone.draft == pytest.approx(3 * sum(head().price(ONE_POSITION)), rel=1e-9)


def test_a_prompt_token_takes_as_long_as_attending_to_so_many_more(h100, llama_8b):
    cost = PassCost(target_shape(llama_8b), h100, ideal=False)
    pairs = attended(1000, 1000)
    prompt, queries = (cost.price(Pass(1000, 1, 1, 1000, pairs, 0, *more)) for more in ((pairs, 0, 1000), ()))
    seconds = 1000 * 625 * 4 * 32 * 4096 / (0.69 * 989e12)
    assert prompt.compute - queries.compute == pytest.approx(seconds, rel=1e-9)
    assert prompt._replace(compute=0) == queries._replace(compute=0)


def test_an_ideal_device_has_no_such_overhead(h100, llama_8b):
    cost = PassCost(target_shape(llama_8b), h100, ideal=True)
    work = Pass(1000, 1, 1, 1000, attended(1000, 1000), 0, attended(1000, 1000))
    assert cost.price(work) == cost.price(work._replace(prompt_tokens=1000))
