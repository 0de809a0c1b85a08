"""Every kind of layer as the operators of one device: matrix products, grouped products, attention and launches.

Tensor parallelism is Megatron's: outputs of the first matrix and inputs of the second are sharded, with one all-reduce
after each pair. Key-value heads fewer than devices are replicated; the latent of MLA is on every device.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from specsim.costs.attention import KVAttention, StateAttention
from specsim.costs.experts import ExpertProduct
from specsim.costs.linear import BYTES_PER_ELEMENT, Linear
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
from specsim.inputs.checkpoints.quantisation import UNQUANTISED, Format, Quantisation

# elementwise kernels beyond the four of a dense layer: choosing experts, ordering the rows by expert, adding up what
# comes back (vLLM's fused_moe); norms of MLA's two compressed states; convolution and gated norm of linear attention
EXPERT_KERNELS, LATENT_KERNELS, LINEAR_ATTENTION_KERNELS = 3, 2, 2
FP8_OVER_BF16 = 2  # rates of tensor cores
SCALE = 4  # bytes of a float32
NORM = 4  # of the hidden size: a sublayer's output and the residual are read, their sum and its norm are written


class Parallelism(NamedTuple):
    """How a model's matrices are sharded over devices, and in which formats.

    Attributes:
        tensor: devices that share each matrix.
        expert: groups of them over which whole experts are spread.
        quantisation: of the matrices.
        kv_bytes: per number of the KV cache [B].
    """

    tensor: int = 1
    expert: int = 1
    quantisation: Quantisation = UNQUANTISED
    kv_bytes: float = BYTES_PER_ELEMENT


class Operators(NamedTuple):
    """What layers run on one device.

    Attributes:
        linears: products that every token passes through.
        experts: grouped products.
        attentions, states: KV caches and states.
        attention_layers: layers with an attention kernel of either kind.
        expert_layers: layers that exchange tokens among experts.
        kernels: elementwise kernels beyond those of a dense layer.
        moved_numbers: read and written for each token by norms, rotary embedding, cache writes and activations; the
            work between the two grouped products of experts is in the figures of these.
    """

    linears: tuple[Linear, ...] = ()
    experts: tuple[ExpertProduct, ...] = ()
    attentions: tuple[KVAttention, ...] = ()
    states: tuple[StateAttention, ...] = ()
    attention_layers: int = 0
    expert_layers: int = 0
    kernels: int = 0
    moved_numbers: float = 0.0

    @property
    def bytes(self) -> float:
        """Weights on the device [B]."""
        return sum(linear.bytes for linear in self.linears) + sum(product.bytes for product in self.experts)

    @property
    def weights(self) -> int:
        """Numbers in the matrices on the device."""
        return sum(linear.weights for linear in self.linears) + sum(product.weights for product in self.experts)


def layer_operators(
    layers: tuple[tuple[Layer, int], ...], hidden: int, parallelism: Parallelism, *, attention_inputs: int | None = None
) -> Operators:
    """The operators of all layers, one device's share.

    Args:
        layers: kinds of layers and the number of each.
        hidden: the model's width.
        parallelism: over which devices and in which formats.
        attention_inputs: width that attention's projections read, where it is not the hidden size.
    """
    parts = [
        part
        for layer, count in layers
        for part in (
            _mixer(layer.mixer, count, hidden, parallelism, attention_inputs or hidden),
            _feed_forward(layer.feed_forward, count, hidden, parallelism),
        )
    ]
    return Operators(
        linears=tuple(linear for part in parts for linear in part.linears),
        experts=tuple(product for part in parts for product in part.experts),
        attentions=tuple(attention for part in parts for attention in part.attentions),
        states=tuple(state for part in parts for state in part.states),
        attention_layers=sum(part.attention_layers for part in parts),
        expert_layers=sum(part.expert_layers for part in parts),
        kernels=sum(part.kernels for part in parts),
        moved_numbers=sum(part.moved_numbers for part in parts),
    )


def _mixer(mixer: Mixer, count: int, hidden: int, parallelism: Parallelism, inputs: int) -> Operators:
    match mixer:
        case Attention():
            return _attention(mixer, count, hidden, parallelism, inputs)
        case LatentAttention():
            return _latent_attention(mixer, count, hidden, parallelism)
        case LinearAttention():
            return _linear_attention(mixer, count, hidden, parallelism)
        case _:
            assert_never(mixer)


def _attention(mixer: Attention, count: int, hidden: int, parallelism: Parallelism, inputs: int) -> Operators:
    share, form = parallelism.tensor, parallelism.quantisation.attention
    holders = min(share, mixer.kv_heads)  # more devices than KV heads hold copies of them
    projected = (2 if mixer.gated else 1) * mixer.query_size // share + mixer.projected_kv_size // holders
    pair_flops = 4 * count * mixer.query_size / share
    return Operators(
        linears=(
            Linear(inputs, projected, count, format=form),
            Linear(mixer.query_size // share, hidden, count, format=form),
        ),
        attentions=(
            KVAttention(
                layers=count,
                bytes_per_token=2 * count * mixer.kv_size * parallelism.kv_bytes / holders,
                pair_flops=pair_flops,
                prompt_pair_flops=pair_flops,
                kv_heads=mixer.kv_heads / holders,
                window=mixer.window,
            ),
        ),
        attention_layers=count,
        moved_numbers=count * (NORM * hidden + 2 * mixer.query_size / share + 6 * mixer.kv_size / holders),
    )


def _latent_attention(mixer: LatentAttention, count: int, hidden: int, parallelism: Parallelism) -> Operators:
    """MLA, absorbed: queries are taken into the latent's space head by head, and values out of it.

    So a pair of query and token takes heads · (2·kv_rank + rope) multiplications, while prompts, whose keys and values
    are computed from the latent, take heads · (nope + rope + value). The latent is on every device.

    With an indexer, which every device has whole, queries score all tokens first: index_heads · index_dim
    multiplications a pair, in FP8 and so at twice the rate; its cached keys are FP8 with a float32 scale.
    """
    share, form = parallelism.tensor, parallelism.quantisation.attention
    heads = mixer.heads // share
    down = (mixer.query_rank or mixer.query_size // share) + mixer.cache_size
    up = (Linear(mixer.query_rank, mixer.query_size // share, count, format=form),) if mixer.query_rank else ()
    absorbed = 2 * count * heads * (2 * mixer.kv_rank + mixer.rope_dim)
    expanded = 2 * count * heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
    scores = 2 * count * mixer.index_heads * mixer.index_dim / FP8_OVER_BF16
    index: tuple[Linear, ...] = ()
    if mixer.selected is not None:
        index = (
            Linear(mixer.query_rank, mixer.index_heads * mixer.index_dim, count, format=form),
            Linear(hidden, mixer.index_dim + mixer.index_heads, count),
        )
    return Operators(
        linears=(
            Linear(hidden, down, count, format=form),
            *up,
            *index,
            Linear(mixer.nope_dim, mixer.kv_rank, count, heads, form),
            Linear(mixer.kv_rank, mixer.value_dim, count, heads, form),
            Linear(heads * mixer.value_dim, hidden, count, format=form),
        ),
        attentions=(
            KVAttention(
                layers=count,
                bytes_per_token=count * mixer.cache_size * parallelism.kv_bytes,
                pair_flops=absorbed,
                prompt_pair_flops=expanded,
                kv_heads=1,
                selected=mixer.selected,
            ),
            *((KVAttention(count, count * (mixer.index_dim + SCALE), scores, scores, 1),) if index else ()),
        ),
        attention_layers=count,
        kernels=LATENT_KERNELS * count,
        moved_numbers=count * (NORM * hidden + 2 * (mixer.query_rank or 0) + 4 * mixer.cache_size),
    )


def _linear_attention(mixer: LinearAttention, count: int, hidden: int, parallelism: Parallelism) -> Operators:
    """A state instead of a cache. Each token multiplies it three times: its prediction, its correction, the readout."""
    share, form = parallelism.tensor, parallelism.quantisation.attention
    convolution = mixer.conv_channels * (mixer.conv_width - 1) * BYTES_PER_ELEMENT
    # each device computes the bottlenecks whole
    narrow = 2 * mixer.gate_rank
    gates = (Linear(mixer.gate_rank, mixer.gates_size // share, count, format=form),) if mixer.gate_rank else ()
    return Operators(
        linears=(
            Linear(hidden, (mixer.input_size - narrow) // share + narrow, count, format=form),
            *gates,
            Linear(mixer.value_size // share, hidden, count, format=form),
        ),
        states=(
            StateAttention(
                layers=count,
                state_bytes=count * (mixer.state_size * mixer.state_bytes + convolution) / share,
                token_flops=2 * 3 * count * mixer.state_size / share,
            ),
        ),
        attention_layers=count,
        kernels=LINEAR_ATTENTION_KERNELS * count,
        moved_numbers=count * (NORM * hidden + (2 * mixer.conv_channels + 3 * mixer.value_size) / share),
    )


def _feed_forward(part: FeedForward, count: int, hidden: int, parallelism: Parallelism) -> Operators:
    form = parallelism.quantisation.mlp
    match part:
        case MLP():
            return Operators(
                linears=_mlp(part.width, part.matrices, count, hidden, parallelism.tensor, form),
                moved_numbers=count * (NORM * hidden + part.matrices * part.width / parallelism.tensor),
            )
        case Experts():
            shared = _mlp(part.shared_width, part.matrices, count, hidden, parallelism.tensor, form)
            return Operators(
                linears=(Linear(hidden, part.number, count), *(shared if part.shared_width else ())),
                experts=_experts(part, count, hidden, parallelism, form),
                expert_layers=count,
                kernels=EXPERT_KERNELS * count,
                moved_numbers=count * (NORM * hidden + part.matrices * part.shared_width / parallelism.tensor),
            )
        case _:
            assert_never(part)


def _mlp(width: int, matrices: int, count: int, hidden: int, share: int, form: Format) -> tuple[Linear, ...]:
    return (
        Linear(hidden, (matrices - 1) * width // share, count, format=form),
        Linear(width // share, hidden, count, format=form),
    )


def _experts(
    part: Experts, count: int, hidden: int, parallelism: Parallelism, form: Format
) -> tuple[ExpertProduct, ...]:
    width = part.width * parallelism.expert // parallelism.tensor
    spread = (part.number, part.per_token, parallelism.expert, count, form)
    return (
        ExpertProduct(hidden, (part.matrices - 1) * width, *spread),
        ExpertProduct(width, hidden, *spread),
    )
