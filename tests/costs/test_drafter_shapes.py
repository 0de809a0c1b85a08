"""What a drafter multiplies and keeps in memory, counted by hand from the papers' architectures."""

import pytest

from specsim.costs.linear import Linear
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.schema.load import read_model
from specsim.schema.speculation import DraftModel, EagleHead

H, KV, MLP, V, DRAFT_V = 4096, 1024, 14336, 128256, 32000
EAGLE = EagleHead(kind="eagle", model="x", generation="eagle")
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")


def test_a_draft_model_is_a_whole_model():
    model = read_model("llama-3.2-1b")
    assert drafter_shape(DraftModel(kind="draft_model", model="x"), model, 2) == target_shape(model, 2)


def test_an_eagle_head_fuses_on_every_pass_and_borrows_the_lm_head():
    shape = drafter_shape(EAGLE, read_model("eagle-llama-3.1-8b"), 1)
    layer = H * (H + 2 * KV) + H * H + 3 * H * MLP
    assert shape.linears[0] == Linear(2 * H, H)
    assert sum(linear.weights for linear in shape.linears) == layer + 2 * H * H
    assert shape.head == Linear(H, V)
    assert shape.fusion == ()
    assert shape.resident_parameters == layer + 2 * H * H


def test_an_eagle3_head_fuses_three_states_apart_and_has_its_own_small_lm_head():
    shape = drafter_shape(EAGLE3, read_model("eagle3-llama-3.1-8b"), 1)
    layer = 2 * H * (H + 2 * KV) + H * H + 3 * H * MLP
    assert sum(linear.weights for linear in shape.linears) == layer
    assert shape.head == Linear(H, DRAFT_V)
    assert shape.fusion == (Linear(3 * H, H),)
    assert shape.resident_parameters == layer + 3 * H * H + H * DRAFT_V


@pytest.mark.parametrize("drafter", [EAGLE, EAGLE3])
def test_a_group_of_devices_holds_the_head_once(drafter):
    model = read_model(f"{drafter.generation}-llama-3.1-8b")
    one, four = (drafter_shape(drafter, model, group) for group in (1, 4))
    assert four.resident_parameters == one.resident_parameters
    assert four.head.weights == one.head.weights / 4
