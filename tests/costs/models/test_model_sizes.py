"""The catalogue's models have the parameters that were published for them, counted from their dimensions."""

import pytest

from specsim.costs.layers import Parallelism, layer_operators
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.inputs.checkpoints.model import quantisation_of
from specsim.inputs.models.drafters import MTPLayers
from specsim.inputs.read import catalogue, documents
from specsim.inputs.read.scenario import read_model


def cited(name):
    return documents.read_mapping(catalogue.find("model", name, [], where="", path="")).get(
        "specsim_published_parameters"
    )


TARGETS = sorted(name for name in catalogue.names("model") if cited(name))


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("llama-3.1-8b", 8.03e9),
        ("llama-3.1-70b", 70.55e9),
        ("qwen3-8b", 8.19e9),
        ("qwen3-32b", 32.76e9),
        ("llama-3.2-1b", 1.236e9),
        ("qwen3-30b-a3b", 30.5e9),  # model card
        ("qwen3-235b-a22b", 235e9),
        ("mixtral-8x7b", 46.7e9),  # Mistral's announcement
        ("mixtral-8x22b", 141e9),
        ("deepseek-v3", 671e9),  # arXiv 2412.19437
        ("gpt-oss-120b", 116.83e9),  # arXiv 2508.10925, Table 1
        ("gpt-oss-20b", 20.91e9),
        ("qwen3.5-27b", 27e9),  # the names of these are all that is published; a vision tower of 0.5 B is left out
        ("qwen3.5-122b-a10b", 122e9),
    ],
)
def test_parameter_counts_are_the_published_ones_within_half_a_percent(name, published):
    assert read_model(name).num_parameters == pytest.approx(published, rel=5e-3)


@pytest.mark.parametrize("name", TARGETS)
def test_the_catalogue_agrees_with_the_count_that_it_cites(name):
    assert read_model(name).num_parameters == cited(name)


@pytest.mark.parametrize(
    ("name", "published", "counts_embedding"),
    [
        ("qwen3-30b-a3b", 3.3e9, True),  # model card
        ("qwen3-235b-a22b", 22e9, True),
        ("mixtral-8x7b", 12.9e9, True),  # arXiv 2401.04088
        ("mixtral-8x22b", 39e9, True),
        ("deepseek-v3", 37e9, False),  # arXiv 2412.19437
        ("kimi-k2", 32e9, False),  # model card
        ("gpt-oss-120b", 5.13e9, False),  # arXiv 2508.10925, Table 1, which counts the unembedding only
        ("gpt-oss-20b", 3.61e9, False),
    ],
)
def test_active_parameters_are_the_published_ones_within_their_rounding(name, published, counts_embedding):
    """The figures are given to two or three digits: 2 % covers their rounding. Vendors differ on the embedding."""
    model = read_model(name)
    embedding = model.vocab_size * model.hidden_size if counts_embedding else 0
    assert model.active_parameters + embedding == pytest.approx(published, rel=2e-2)


def test_the_names_of_rounded_models():
    assert read_model("kimi-k2").num_parameters == pytest.approx(1e12, rel=5e-2)  # "1T"
    assert read_model("qwen3.5-35b-a3b").num_parameters == pytest.approx(35e9, rel=2e-2)
    assert read_model("apertus-v1.5-70b").num_parameters == pytest.approx(70e9, rel=2e-2)


def test_the_mtp_module_of_deepseek_v3():
    """README_WEIGHTS: 11.5 B parameters of its own, beside embedding and head that it shares with the model."""
    target = read_model("deepseek-v3")
    shape = drafter_shape(MTPLayers(kind="mtp"), target.mtp_model)
    assert shape.resident_parameters == pytest.approx(11.5e9, rel=1e-2)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("deepseek-v3", 70_272),  # arXiv 2505.09343, Table 1: 70.272 KB a token in BF16
        ("llama-3.1-405b", 516_096),  # ibid.
    ],
)
def test_kv_bytes_per_token_are_the_published_ones(name, published):
    assert target_shape(read_model(name)).kv_bytes_per_token == published


@pytest.mark.parametrize(
    ("name", "published_gib"),
    [("gpt-oss-120b", 60.8), ("gpt-oss-20b", 12.8)],  # arXiv 2508.10925, Table 1
)
def test_a_checkpoint_in_mxfp4_has_its_published_size(name, published_gib):
    model = read_model(name)
    shape = target_shape(model, parallelism=Parallelism(quantisation=quantisation_of(model)))
    assert shape.resident_bytes / 2**30 == pytest.approx(published_gib, rel=5e-3)


@pytest.mark.parametrize("name", catalogue.names("model"))
def test_operators_hold_the_numbers_of_the_matrices(name):
    model = read_model(name)
    assert layer_operators(model.layers, model.hidden_size, Parallelism()).weights == model.matrix_parameters


def test_llama_8b_is_counted_exactly():
    """Published: 8,030,261,248 numbers in the checkpoint's tensors."""
    assert read_model("llama-3.1-8b").num_parameters == 8_030_261_248


def test_a_tied_embedding_is_counted_once():
    tied = read_model("llama-3.2-1b")
    assert tied.tie_word_embeddings
    untied = tied.model_copy(update={"tie_word_embeddings": False})
    assert untied.num_parameters - tied.num_parameters == tied.vocab_size * tied.hidden_size


def test_heads_of_qwen3_32b_are_wider_than_hidden_over_heads():
    model = read_model("qwen3-32b")
    assert model.hidden_size // model.num_attention_heads == 80
    assert model.head_dim == 128
    mixer = model.layers[0][0].mixer
    assert (mixer.query_size, mixer.kv_size) == (64 * 128, 8 * 128)


def test_an_eagle_head_scores_its_own_vocabulary():
    assert read_model("eagle3-llama-3.1-8b").logits_size == 32000
    assert read_model("eagle-llama-3.1-8b").logits_size == 128256
