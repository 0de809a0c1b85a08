"""Transformer dimensions, read from a Hugging Face ``config.json``, and the parameter counts that follow from them.

Knows nothing of devices or time. Architectures whose cost the simulator does not model yet are refused, never
approximated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Size = Annotated[int, Field(ge=1, strict=True)]

GATED_FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "gemma", "gemma2", "gemma3_text", "phi3")
TWO_MATRIX_FAMILIES = ("gpt_neox", "starcoder2", "phi", "nemotron")  # those that use the same keys as Llama

# parts of key names, at any depth, that tell an architecture which the cost model would price wrongly
UNSUPPORTED_KEYS = {
    "expert": "mixture-of-experts models",
    "moe": "mixture-of-experts models",
    "kv_lora_rank": "multi-head latent attention (MLA) models",
    "mamba": "state-space models",
    "ssm": "state-space models",
    "block_types": "models of mixed blocks",
    "conv": "models with convolution layers",
    "num_kv_heads": "models that name their key-value heads 'num_kv_heads'",
    "n_head_kv": "models that name their key-value heads 'n_head_kv'",
    "text_config": "nested 'text_config' models (multimodal, hybrid)",
    "quantization_config": "quantised checkpoints",
}
SUPPORTED_LAYERS = "full_attention"
SUPPORTED_TYPES = ("bfloat16", "float16")


class ModelConfig(BaseModel):
    """The dimensions of one dense transformer. Keys that set no dimension (rope, token ids, …) are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())

    model_type: str
    hidden_size: Size
    num_hidden_layers: Size
    num_attention_heads: Size
    num_key_value_heads: Size
    head_dim: Size
    intermediate_size: Size
    vocab_size: Size
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_matrices: Literal[2, 3]
    max_position_embeddings: Size | None = None
    draft_vocab_size: Size | None = None
    specsim_source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _fill_what_configs_leave_out(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        _refuse_unsupported(raw)
        filled = {key: value for key, value in raw.items() if value is not None}
        heads, hidden = filled.get("num_attention_heads"), filled.get("hidden_size")
        if "num_key_value_heads" not in filled and heads is not None:
            filled["num_key_value_heads"] = heads
        if "head_dim" not in filled and isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
            head_dim, rest = divmod(hidden, heads)
            filled |= {} if rest else {"head_dim": head_dim}
        if "mlp_matrices" not in filled:
            filled["mlp_matrices"] = _mlp_matrices(filled)
        return filled

    @model_validator(mode="after")
    def _heads_fit(self) -> ModelConfig:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads {self.num_attention_heads} must be a multiple of num_key_value_heads "
                f"{self.num_key_value_heads}"
            )
        return self

    @property
    def query_size(self) -> int:
        """Width of all query heads together."""
        return self.num_attention_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Width of all key heads together (and of all value heads)."""
        return self.num_key_value_heads * self.head_dim

    @property
    def logits_size(self) -> int:
        """Rows of the LM head: the draft vocabulary where a head has its own."""
        return self.draft_vocab_size or self.vocab_size

    @property
    def layer_parameters(self) -> int:
        """Matrix parameters of one layer."""
        attention = self.hidden_size * (2 * self.query_size + 2 * self.kv_size)
        return attention + self.mlp_matrices * self.hidden_size * self.intermediate_size

    @property
    def num_parameters(self) -> int:
        """All parameters: matrices, embedding, LM head unless tied, norms, attention biases."""
        biases = (self.query_size + 2 * self.kv_size) if self.attention_bias else 0
        layer = self.layer_parameters + 2 * self.hidden_size + biases
        embedding = self.vocab_size * self.hidden_size
        head = 0 if self.tie_word_embeddings else self.logits_size * self.hidden_size
        return self.num_hidden_layers * layer + embedding + head + self.hidden_size


def _refuse_unsupported(raw: dict[str, Any]) -> None:
    """Raise for architectures that would be priced wrongly; the cost model gains them one by one."""
    for key in _keys_in_use(raw):
        for part, what in UNSUPPORTED_KEYS.items():
            if part in key:
                raise ValueError(f"{what} are not supported yet ({key!r} is set); use a dense BF16 text model")
    layers = raw.get("layer_types") or ()
    other = sorted({str(layer) for layer in layers if layer != SUPPORTED_LAYERS}) if isinstance(layers, list) else []
    if other:
        raise ValueError(f"layers of type {', '.join(other)} are not supported yet; use a model with full attention")
    if raw.get("sliding_window") and raw.get("use_sliding_window", True):
        raise ValueError("sliding-window attention is not supported yet; use a model with full attention")
    number_type = raw.get("torch_dtype") or raw.get("dtype")
    if number_type is not None and number_type not in SUPPORTED_TYPES:
        raise ValueError(f"weights in {number_type} are not supported yet; use one of {', '.join(SUPPORTED_TYPES)}")


def _keys_in_use(raw: Any) -> Iterator[str]:
    """Every key at any depth whose value switches something on; a single expert is no mixture."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            if value not in (None, False, 0, 1, [], {}):
                yield str(key).lower()
            yield from _keys_in_use(value)


def _mlp_matrices(raw: dict[str, Any]) -> int:
    family = str(raw.get("model_type", ""))
    if family in GATED_FAMILIES:
        return 3
    if family in TWO_MATRIX_FAMILIES:
        return 2
    raise ValueError(
        f"model_type {family!r} is not known here; if it is a dense decoder with full attention on every layer, add "
        '"mlp_matrices": 3 (SwiGLU: gate, up, down) or "mlp_matrices": 2 (up, down) to the file'
    )
