"""What a model, or a drafter, multiplies on each of its passes, and what it keeps in memory.

An EAGLE head reads the target's embedding and fuses hidden states with one more matrix. EAGLE (Li et al., arXiv
2401.15077) fuses the last state with the embedding on every pass (2h → h) and scores with the target's LM head. EAGLE-3
(arXiv 2503.01840) fuses three of the target's states (3h → h), so only for tokens that the target has computed; its
attention reads state and embedding side by side, and its LM head is its own. An MTP layer is an EAGLE head of the
target's own kind of layer (DeepSeek-V3, arXiv 2412.19437). Medusa (arXiv 2401.10774) has a residual block and an LM
head for each position ahead. A block-parallel head (DFlash, arXiv 2602.06036) turns the target's states into keys and
values for its own layers, and scores with the target's LM head; DSpark (deepseek-ai/DeepSpec) then shifts the logits of
each position for the token drawn before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from specsim.costs.layers import Operators, Parallelism, layer_operators
from specsim.costs.linear import BYTES_PER_ELEMENT, Linear
from specsim.inputs.checkpoints.architecture import Attention
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.checkpoints.quantisation import Format
from specsim.inputs.models.drafters import (
    BlockParallelHead,
    DraftModel,
    EagleHead,
    MedusaHeads,
    ModelDrafter,
    MTPLayers,
    SequentialCorrection,
)

Exchange = Literal["all_reduce", "all_to_all"]


@dataclass(frozen=True)
class ForwardShape:
    """What a forward pass multiplies.

    Attributes:
        model: dimensions.
        parallelism: over which devices and in which formats.
        operators: what its layers run, one device's share.
        extra: products that every token passes through beside the layers.
        head: the product that yields logits, one device's share.
        fusion: products for tokens whose hidden states a drafter takes from the target.
        correction: products that shift a row of logits for the token drawn before it; whole on every device.
        resident_parameters: numbers kept in memory for it, over all devices, each once.
        resident_bytes: of them on one device, with what every device of a group holds.
        exchange: how experts on other devices are reached.
        stages: pipeline stages.
    """

    model: ModelConfig
    parallelism: Parallelism
    operators: Operators
    extra: tuple[Linear, ...]
    head: Linear
    fusion: tuple[Linear, ...]
    resident_parameters: int
    resident_bytes: float
    exchange: Exchange = "all_reduce"
    stages: int = 1
    correction: tuple[Linear, ...] = ()

    @property
    def tensor_parallel(self) -> int:
        """Devices that share each matrix."""
        return self.parallelism.tensor

    @property
    def linears(self) -> tuple[Linear, ...]:
        """Every product that all tokens pass through."""
        return (*self.extra, *self.operators.linears)

    @property
    def kv_bytes_per_token(self) -> float:
        """Keys and values per token on one device, while the token is in every layer's cache [B]."""
        return sum(attention.bytes_per_token for attention in self.operators.attentions) / self.stages

    def cached_bytes(self, tokens: int, states: int = 1) -> float:
        """Size of what a sequence keeps on one device [B].

        Args:
            tokens: of the sequence.
            states: copies of each linear layer's state; verifying K tokens keeps K + 1, to roll back to the last kept.
        """
        caches = sum(attention.cached_bytes(tokens) for attention in self.operators.attentions)
        return (caches + states * sum(state.state_bytes for state in self.operators.states)) / self.stages


def target_shape(
    model: ModelConfig,
    tensor_parallel: int = 1,
    *,
    parallelism: Parallelism | None = None,
    exchange: Exchange = "all_reduce",
    stages: int = 1,
) -> ForwardShape:
    """A whole model, as the target or as a separate draft model.

    Args:
        model: its dimensions.
        tensor_parallel: devices that share each matrix, in BF16; for anything else give a ``parallelism``.
        parallelism: over which devices and in which formats.
        exchange: how experts on other devices are reached.
        stages: pipeline stages.
    """
    parallelism = parallelism or Parallelism(tensor_parallel)
    own = layer_operators(model.layers, model.hidden_size, parallelism)
    whole = layer_operators(model.layers, model.hidden_size, parallelism._replace(tensor=1, expert=1))
    saved = BYTES_PER_ELEMENT * whole.weights - whole.bytes
    repeated = own.bytes - whole.bytes / parallelism.tensor
    # layers are whole, so the fullest stage can have one more than the mean
    fullest = -(-model.num_hidden_layers // stages) / model.num_hidden_layers
    resident = ((BYTES_PER_ELEMENT * model.num_parameters - saved) / parallelism.tensor + repeated) * fullest
    head = _head(model, parallelism.tensor)
    return ForwardShape(model, parallelism, own, (), head, (), model.num_parameters, resident, exchange, stages)


def drafter_shape(
    drafter: ModelDrafter,
    model: ModelConfig,
    tensor_parallel: int = 1,
    *,
    parallelism: Parallelism | None = None,
    exchange: Exchange = "all_reduce",
) -> ForwardShape:
    """What a drafter multiplies on each of its passes.

    Args:
        drafter: its kind.
        model: its own dimensions; for MTP layers ``mtp_model`` of the target, for Medusa heads the target's.
        tensor_parallel, parallelism, exchange: as for ``target_shape``.
    """
    parallelism = parallelism or Parallelism(tensor_parallel)
    hidden, share, form = model.hidden_size, parallelism.tensor, parallelism.quantisation.attention
    match drafter:
        case DraftModel():
            return target_shape(model, parallelism=parallelism, exchange=exchange)
        case EagleHead(generation="eagle"):
            return _borrowing(model, parallelism, exchange, extra=(Linear(2 * hidden, hidden // share, format=form),))
        case EagleHead():
            return _eagle3(model, parallelism)
        case MTPLayers():
            return _borrowing(model, parallelism, exchange, extra=(Linear(2 * hidden, hidden // share, format=form),))
        case MedusaHeads():
            return _medusa(drafter, model, parallelism)
        case BlockParallelHead():
            fusion = (
                Linear(drafter.fused_layers * hidden, hidden // share, format=form),
                *_injection(model, parallelism, form),
            )
            return _corrected(_borrowing(model, parallelism, exchange, fusion=fusion), drafter.sequential_correction)
        case _:
            assert_never(drafter)


def _borrowing(
    model: ModelConfig,
    parallelism: Parallelism,
    exchange: Exchange,
    extra: tuple[Linear, ...] = (),
    fusion: tuple[Linear, ...] = (),
) -> ForwardShape:
    """Layers that use the target's embedding and LM head; the first of ``fusion`` is a matrix of their own."""
    own = layer_operators(model.layers, model.hidden_size, parallelism)
    products = (*extra, *fusion[:1])
    weights = parallelism.tensor * (own.weights + sum(linear.weights for linear in products))
    resident = own.bytes + sum(linear.bytes for linear in products)
    return ForwardShape(
        model, parallelism, own, extra, _head(model, parallelism.tensor), fusion, weights, resident, exchange
    )


def _corrected(shape: ForwardShape, stated: SequentialCorrection | None) -> ForwardShape:
    """With an embedding of the token before, and the product that makes its share of the logits.

    vLLM keeps both whole on every device, since sharing them would take an exchange for every position
    (vllm/model_executor/models/qwen3_dspark.py, DSparkMarkovHead).
    """
    if stated is None:
        return shape
    product = Linear(stated.rank, shape.model.logits_size)
    numbers = product.weights + stated.rank * shape.model.vocab_size
    return replace(
        shape,
        correction=(product,),
        resident_parameters=shape.resident_parameters + numbers,
        resident_bytes=shape.resident_bytes + BYTES_PER_ELEMENT * numbers,
    )


def _eagle3(model: ModelConfig, parallelism: Parallelism) -> ForwardShape:
    hidden, form = model.hidden_size, parallelism.quantisation.attention
    own = layer_operators(model.layers, hidden, parallelism, attention_inputs=2 * hidden)
    head, fusion = _head(model, parallelism.tensor), Linear(3 * hidden, hidden // parallelism.tensor, format=form)
    weights = parallelism.tensor * (own.weights + fusion.weights + head.weights)
    resident = own.bytes + fusion.bytes + head.bytes
    return ForwardShape(model, parallelism, own, (), head, (fusion,), weights, resident)


def _medusa(drafter: MedusaHeads, model: ModelConfig, parallelism: Parallelism) -> ForwardShape:
    """Every head on the last state of a request: residual blocks, then an LM head of its own."""
    hidden, heads = model.hidden_size, drafter.num_heads
    blocks = Linear(
        hidden, hidden // parallelism.tensor, heads * drafter.num_layers, format=parallelism.quantisation.attention
    )
    head = _head(model, parallelism.tensor)._replace(repeats=heads)
    weights = parallelism.tensor * (blocks.weights + head.weights)
    return ForwardShape(model, parallelism, Operators(), (blocks,), head, (), weights, blocks.bytes + head.bytes)


def _injection(model: ModelConfig, parallelism: Parallelism, form: Format) -> tuple[Linear, ...]:
    """Keys and values of the fused states, layer by layer: products with matrices that the layers have anyway."""
    kinds = [(layer.mixer, count) for layer, count in model.layers]
    attentions = [(mixer, count) for mixer, count in kinds if isinstance(mixer, Attention)]
    return tuple(
        Linear(model.hidden_size, 2 * mixer.kv_size // min(parallelism.tensor, mixer.kv_heads), count, format=form)
        for mixer, count in attentions
    )


def _head(model: ModelConfig, tensor_parallel: int) -> Linear:
    return Linear(model.hidden_size, -(-model.logits_size // tensor_parallel))
