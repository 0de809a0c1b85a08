"""Transformer dimensions, read from a Hugging Face ``config.json``, and the layers and parameter counts that follow.

Knows nothing of devices or time. Refuses architectures whose cost is not modelled; none is approximated.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from specsim.inputs.checkpoints.architecture import (
    MLP,
    Attention,
    Experts,
    FeedForward,
    LatentAttention,
    Layer,
    LinearAttention,
    Mixer,
)
from specsim.inputs.checkpoints.config_json import normalised
from specsim.inputs.checkpoints.declared import of_checkpoint
from specsim.inputs.checkpoints.quantisation import Quantisation

Size = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[int, Field(ge=0, strict=True)]

STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


class ModelConfig(BaseModel):
    """The dimensions of one transformer. Keys that set no dimension (rope, token ids, …) are ignored."""

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

    layer_types: tuple[Literal["full_attention", "sliding_attention", "linear_attention"], ...] | None = None
    """None: full attention on every layer."""
    sliding_window: Size | None = None
    query_key_norm: bool = False
    attn_output_gate: bool = False
    global_head_dim: Size | None = None
    """Of full attention beside sliding; None for that of all."""
    num_global_key_value_heads: Size | None = None
    attention_k_eq_v: bool = False
    """Whether the values of full attention are its keys."""
    gpt_oss_vectors: bool = False
    """Sinks, and biases of router and experts."""

    kv_lora_rank: Size | None = None
    q_lora_rank: Number = 0
    qk_rope_head_dim: Number = 0
    qk_nope_head_dim: Number = 0
    v_head_dim: Number = 0
    index_topk: Size | None = None
    index_n_heads: Number = 0
    index_head_dim: Number = 0

    num_experts: Size | None = None
    num_experts_per_tok: Size | None = None
    moe_intermediate_size: Size | None = None
    shared_intermediate_size: Number = 0
    shared_expert_gate: bool = False
    dense_layers: tuple[Number, ...] = ()
    """Layers of a mixture that have a plain MLP."""

    linear_num_key_heads: Size | None = None
    linear_num_value_heads: Size | None = None
    linear_key_head_dim: Size | None = None
    linear_value_head_dim: Size | None = None
    linear_conv_kernel_dim: Size = 4
    linear_gate_rank: Number = 0
    mamba_ssm_dtype: Literal["float32", "bfloat16", "float16"] = "float32"

    num_mtp_layers: Number = 0
    """Layers trained to predict tokens further ahead (DeepSeek's num_nextn_predict_layers)."""
    quantization_config: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, raw: Any) -> Any:
        return normalised(raw) if isinstance(raw, dict) else raw

    @model_validator(mode="after")
    def _parts_fit(self) -> ModelConfig:
        if self.kv_lora_rank is None and self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads {self.num_attention_heads} must be a multiple of num_key_value_heads "
                f"{self.num_key_value_heads}"
            )
        if self.kv_lora_rank is not None:
            self._demand("MLA (kv_lora_rank)", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
        if self.index_topk is not None:
            self._demand("sparse attention", "kv_lora_rank", "q_lora_rank", "index_n_heads", "index_head_dim")
        if self.num_experts is not None and self.num_experts_per_tok is not None:
            self._demand("a mixture of experts", "moe_intermediate_size")
            if self.num_experts_per_tok > self.num_experts:
                raise ValueError(f"num_experts_per_tok {self.num_experts_per_tok} exceeds {self.num_experts} experts")
        kinds = self.layer_types or ()
        if "linear_attention" in kinds:
            heads = ("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim")
            self._demand("linear attention", *heads)
        if "sliding_attention" in kinds:
            self._demand("sliding attention", "sliding_window")
        if self.kv_lora_rank is not None and "sliding_attention" in kinds:
            raise ValueError("layer_types: MLA beside sliding attention is not supported yet")
        if kinds and set(kinds) == {"linear_attention"}:
            raise ValueError("layer_types: models without any attention layer are not supported yet")
        quantisation_of(self)
        return self

    def _demand(self, what: str, *fields: str) -> None:
        missing = [field for field in fields if not getattr(self, field)]
        if missing:
            raise ValueError(f"{what} also needs {', '.join(missing)}; add the values of the published config.json")

    @property
    def layers(self) -> tuple[tuple[Layer, int], ...]:
        """The kinds of layers, and how many there are of each."""
        indices = range(self.num_hidden_layers)
        counted = Counter(Layer(self._mixer(i), self._feed_forward(i)) for i in indices)
        return tuple(counted.items())

    @property
    def logits_size(self) -> int:
        """Rows of the LM head: the draft vocabulary where a head has its own."""
        return self.draft_vocab_size or self.vocab_size

    @property
    def matrix_parameters(self) -> int:
        """Numbers in the matrices of all layers."""
        return sum(count * layer.matrix_parameters(self.hidden_size) for layer, count in self.layers)

    @property
    def num_parameters(self) -> int:
        """All parameters: matrices, embedding, LM head unless tied, norms, biases; MTP layers are not counted."""
        layers = sum(count * layer.parameters(self.hidden_size) for layer, count in self.layers)
        head = 0 if self.tie_word_embeddings else self.logits_size
        return layers + (self.vocab_size + head) * self.hidden_size + self.hidden_size

    @property
    def active_parameters(self) -> int:
        """Numbers in the matrices that each token is multiplied with, the LM head among them; the embedding is not."""
        layers = sum(count * layer.active_parameters(self.hidden_size) for layer, count in self.layers)
        return layers + self.logits_size * self.hidden_size

    @property
    def mtp_model(self) -> ModelConfig:
        """The MTP layers as a model of their own: like the model's last layers, with full attention.

        Raises:
            ValueError: where there are none.
        """
        if not self.num_mtp_layers:
            raise ValueError("the model has no MTP layer")
        own = {"num_hidden_layers": self.num_mtp_layers, "layer_types": None, "dense_layers": (), "num_mtp_layers": 0}
        return self.model_copy(update=own)

    def _mixer(self, layer: int) -> Mixer:
        kind = self.layer_types[layer] if self.layer_types else "full_attention"
        if kind == "linear_attention":
            return self._linear_attention()
        if self.kv_lora_rank is not None:
            return LatentAttention(
                heads=self.num_attention_heads,
                query_rank=self.q_lora_rank,
                kv_rank=self.kv_lora_rank,
                rope_dim=self.qk_rope_head_dim,
                nope_dim=self.qk_nope_head_dim,
                value_dim=self.v_head_dim,
                selected=self.index_topk,
                index_heads=self.index_n_heads,
                index_dim=self.index_head_dim,
            )
        everything = kind == "full_attention"
        head_dim = (self.global_head_dim if everything else None) or self.head_dim
        kv_heads = (self.num_global_key_value_heads if everything else None) or self.num_key_value_heads
        biases = (self.num_attention_heads + 2 * kv_heads) * head_dim + self.hidden_size if self.attention_bias else 0
        norms = 2 * head_dim if self.query_key_norm else 0
        sinks = self.num_attention_heads if self.gpt_oss_vectors else 0
        window = None if everything else self.sliding_window
        vectors, one = biases + norms + sinks, everything and self.attention_k_eq_v
        return Attention(self.num_attention_heads, kv_heads, head_dim, window, self.attn_output_gate, vectors, one)

    def _linear_attention(self) -> LinearAttention:
        return LinearAttention(
            key_heads=self.linear_num_key_heads or 0,
            value_heads=self.linear_num_value_heads or 0,
            key_dim=self.linear_key_head_dim or 0,
            value_dim=self.linear_value_head_dim or 0,
            conv_width=self.linear_conv_kernel_dim,
            state_bytes=STATE_BYTES[self.mamba_ssm_dtype],
            gate_rank=self.linear_gate_rank,
        )

    def _feed_forward(self, layer: int) -> FeedForward:
        if self.num_experts is None or layer in self.dense_layers:
            return MLP(self.intermediate_size, self.mlp_matrices)
        width, hidden = self.moe_intermediate_size or 0, self.hidden_size
        vectors = hidden if self.shared_expert_gate else 0
        if self.gpt_oss_vectors:
            vectors += self.num_experts * (1 + (self.mlp_matrices - 1) * width + hidden)
        elif self.kv_lora_rank is not None:
            vectors += self.num_experts  # the correction of the routing scores (DeepSeek-V3)
        per_token = self.num_experts_per_tok or 1
        return Experts(self.num_experts, per_token, width, self.mlp_matrices, self.shared_intermediate_size, vectors)


def quantisation_of(model: ModelConfig) -> Quantisation | None:
    """The number formats that a checkpoint declares; None where it declares none.

    Raises:
        ValueError: for a quantisation that is not modelled.
    """
    return of_checkpoint(model.quantization_config) if model.quantization_config else None
