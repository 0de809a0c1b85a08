"""What drafters and routers say of themselves."""

from typing import Literal, get_args

import pytest

from specsim.inputs.models.drafters import (
    BlockParallelHead,
    DraftModel,
    EagleHead,
    MedusaHeads,
    ModelDrafter,
    MTPLayers,
    NgramLookup,
    PassKind,
    pass_kind,
)
from specsim.inputs.models.fleet import RouterInput

DRAFTERS = [
    DraftModel(kind="draft_model", model="llama-3.2-1b"),
    EagleHead(kind="eagle", model="my/head/config.json", generation="eagle"),
    EagleHead(kind="eagle", model="my/head/config.json"),
    MTPLayers(kind="mtp"),
    MedusaHeads(kind="medusa", num_heads=4),
    BlockParallelHead(kind="block_parallel", model="dflash", block_size=8, fused_layers=5),
    NgramLookup(kind="ngram", host_time_per_step="0 us", host_time_per_sequence="0 us"),
]


def those(fact):
    return [drafter.kind for drafter in DRAFTERS if fact(drafter.facts)]


def test_each_kind_of_pass_is_that_of_a_drafter():
    kinds = {get_args(drafter.model_fields["kind"].annotation)[0] for drafter in get_args(ModelDrafter)}
    generations = get_args(EagleHead.model_fields["generation"].annotation)
    assert {*get_args(PassKind)} == kinds | {*generations}
    assert [pass_kind(drafter) for drafter in DRAFTERS] == [
        *("draft_model", "eagle", "eagle3", "mtp", "medusa", "block_parallel", None),
    ]


def test_what_drafters_are_made_of():
    assert those(lambda facts: facts.reads_hidden_states) == ["eagle", "eagle", "mtp", "block_parallel"]
    assert those(lambda facts: facts.config) == ["draft_model", "eagle", "eagle", "block_parallel"]
    assert those(lambda facts: facts.in_target_checkpoint) == ["mtp"]
    assert those(lambda facts: facts.looks_up) == ["ngram"]
    assert [drafter.facts.draft_limit[0] for drafter in DRAFTERS if drafter.facts.draft_limit] == [4, 8]


def test_titles_name_what_people_call_a_model():
    assert [drafter.facts.title for drafter in DRAFTERS] == [
        "llama-3.2-1b",
        "head",
        "head",
        "its MTP layer",
        "4 Medusa heads",
        "dflash",
        "n-gram lookup",
    ]


def test_a_router_without_words_is_refused_before_anything_runs():
    class Silent(RouterInput):
        kind: Literal["silent"]

    with pytest.raises(TypeError, match="words"):
        Silent(kind="silent")
