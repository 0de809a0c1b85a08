"""The catalogue's models have the parameters that were published for them, counted from their dimensions."""

import pytest

from specsim.schema import catalogue, documents
from specsim.schema.load import read_model

# heads are no whole models, and of Apertus 1.5 the text part alone has no published count
TARGETS = sorted(name for name in catalogue.names("model") if not name.startswith(("eagle", "apertus")))


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("llama-3.1-8b", 8.03e9),
        ("llama-3.1-70b", 70.55e9),
        ("qwen3-8b", 8.19e9),
        ("qwen3-32b", 32.76e9),
        ("llama-3.2-1b", 1.236e9),
    ],
)
def test_parameter_counts_are_the_published_ones_within_half_a_percent(name, published):
    assert read_model(name).num_parameters == pytest.approx(published, rel=5e-3)


@pytest.mark.parametrize("name", TARGETS)
def test_the_catalogue_agrees_with_the_count_that_it_cites(name):
    model = read_model(name)
    cited = documents.read_mapping(catalogue.find("model", name, [], where="", path=""))["specsim_published_parameters"]
    # Qwen3 normalises queries and keys with one number per head dimension; those alone are not counted
    query_key_norms = 2 * model.head_dim * model.num_hidden_layers if model.model_type == "qwen3" else 0
    assert cited - model.num_parameters == query_key_norms


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
    assert (model.query_size, model.kv_size) == (64 * 128, 8 * 128)


def test_an_eagle_head_scores_its_own_vocabulary():
    assert read_model("eagle3-llama-3.1-8b").logits_size == 32000
    assert read_model("eagle-llama-3.1-8b").logits_size == 128256
