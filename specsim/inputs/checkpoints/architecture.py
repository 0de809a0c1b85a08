"""The layers that models are made of, and how many numbers each holds. Knows no files, devices or time.

A layer mixes tokens (attention of some kind) and then works on each token alone (an MLP or experts). Every kind that
the cost model can price is listed here; ``costs.layers`` turns them into operators.
"""

from __future__ import annotations

from typing import NamedTuple


class Attention(NamedTuple):
    """Multi-head or grouped-query attention.

    Attributes:
        heads, kv_heads, head_dim: of queries; of keys and values; width of each.
        window: how many tokens back it sees; None for all.
        gated: the query projection also yields a gate as wide as the queries.
        keys_are_values: one projection yields both; the cache holds both.
        vectors: numbers that are no matrix (biases, query and key norms, sinks).
    """

    heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None
    gated: bool = False
    vectors: int = 0
    keys_are_values: bool = False

    @property
    def query_size(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Width of all key heads together (and of all value heads)."""
        return self.kv_heads * self.head_dim

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices."""
        return hidden * ((3 if self.gated else 2) * self.query_size + self.projected_kv_size)

    @property
    def projected_kv_size(self) -> int:
        """Width of the projections into keys and values."""
        return (1 if self.keys_are_values else 2) * self.kv_size


class LatentAttention(NamedTuple):
    """Multi-head latent attention (MLA; DeepSeek-V2, arXiv 2405.04434): one latent and one rotary key per token.

    Attributes:
        heads: of queries.
        query_rank: the queries' bottleneck; 0 for none.
        kv_rank, rope_dim: widths of the latent and of the shared rotary key; together the KV cache of a token.
        nope_dim, value_dim: per head, of the part of a query without rotation and of a value.
        selected: tokens that each query attends to, chosen by an indexer (DeepSeek sparse attention, DeepSeek-V3.2);
            None for all.
        index_heads, index_dim: of the indexer, which scores every token; its keys are cached in FP8.
    """

    heads: int
    query_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    selected: int | None = None
    index_heads: int = 0
    index_dim: int = 0

    @property
    def cache_size(self) -> int:
        """Numbers cached per token."""
        return self.kv_rank + self.rope_dim

    @property
    def query_size(self) -> int:
        """Width of all queries together."""
        return self.heads * (self.nope_dim + self.rope_dim)

    @property
    def vectors(self) -> int:
        """The norms of the two compressed states, and of the indexer's keys (with a bias)."""
        return self.query_rank + self.kv_rank + 2 * self.index_dim

    def index_parameters(self, hidden: int) -> int:
        """Numbers in the indexer's matrices: queries, key, and weights of the heads."""
        return self.query_rank * self.index_heads * self.index_dim + hidden * (self.index_dim + self.index_heads)

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices."""
        into_queries = (hidden + self.query_size) * self.query_rank if self.query_rank else hidden * self.query_size
        from_latent = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        matrices = into_queries + hidden * self.cache_size + from_latent + self.heads * self.value_dim * hidden
        return matrices + self.index_parameters(hidden)


class LinearAttention(NamedTuple):
    """Gated DeltaNet (arXiv 2412.06464), as in Qwen3-Next and Qwen3.5: a state per sequence instead of a KV cache.

    Kimi delta attention (arXiv 2510.26692) is the same with gates as wide as keys and values, projected through a
    narrow bottleneck.

    Attributes:
        key_heads, value_heads, key_dim, value_dim: heads and their widths.
        conv_width: tokens that the causal convolution spans.
        state_bytes: per number of the recurrent state.
        gate_rank: bottleneck of the decay's and of the output's gate; 0 for DeltaNet's.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_width: int
    state_bytes: int = 4
    gate_rank: int = 0

    @property
    def value_size(self) -> int:
        """Width of all values together."""
        return self.value_heads * self.value_dim

    @property
    def conv_channels(self) -> int:
        """Queries, keys and values go through the convolution."""
        return 2 * self.key_heads * self.key_dim + self.value_size

    @property
    def state_size(self) -> int:
        """Numbers in the recurrent state of a sequence."""
        return self.value_heads * self.key_dim * self.value_dim

    @property
    def input_size(self) -> int:
        """Width projected from the hidden state: queries, keys, values, output gate, and gates of each head."""
        if self.gate_rank:
            return self.conv_channels + 2 * self.gate_rank + self.value_heads
        return self.conv_channels + self.value_size + 2 * self.value_heads

    @property
    def gates_size(self) -> int:
        """Width of the gates that come out of the bottleneck: of the decay and of the output."""
        return self.key_heads * self.key_dim + self.value_size if self.gate_rank else 0

    @property
    def vectors(self) -> int:
        """Convolution, decay and step of each head, norm of a head's output."""
        steps = self.key_heads * self.key_dim if self.gate_rank else self.value_heads
        return self.conv_channels * self.conv_width + self.value_heads + steps + self.value_dim

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices."""
        return hidden * self.input_size + self.gate_rank * self.gates_size + self.value_size * hidden


class MLP(NamedTuple):
    """Two or, gated, three matrices."""

    width: int
    matrices: int

    @property
    def vectors(self) -> int:
        """None."""
        return 0

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices."""
        return self.matrices * hidden * self.width

    def active_parameters(self, hidden: int) -> int:
        """Numbers that each token is multiplied with."""
        return self.matrix_parameters(hidden)


class Experts(NamedTuple):
    """Routed experts, of which each token passes through a few, beside experts that all tokens share.

    Attributes:
        number, per_token: routed experts, and how many a token passes through.
        width, matrices: of each routed expert.
        shared_width: of all shared experts together; 0 for none.
        vectors: numbers that are no matrix (biases, the gate of the shared expert).
    """

    number: int
    per_token: int
    width: int
    matrices: int
    shared_width: int = 0
    vectors: int = 0

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices, the router among them."""
        return self._router_and_shared(hidden) + self.number * self.matrices * hidden * self.width

    def active_parameters(self, hidden: int) -> int:
        """Numbers that each token is multiplied with."""
        return self._router_and_shared(hidden) + self.per_token * self.matrices * hidden * self.width

    def _router_and_shared(self, hidden: int) -> int:
        return hidden * self.number + self.matrices * hidden * self.shared_width


Mixer = Attention | LatentAttention | LinearAttention
FeedForward = MLP | Experts


class Layer(NamedTuple):
    """One layer."""

    mixer: Mixer
    feed_forward: FeedForward

    def matrix_parameters(self, hidden: int) -> int:
        """Numbers in its matrices."""
        return self.mixer.matrix_parameters(hidden) + self.feed_forward.matrix_parameters(hidden)

    def active_parameters(self, hidden: int) -> int:
        """Numbers in the matrices that each token is multiplied with."""
        return self.mixer.matrix_parameters(hidden) + self.feed_forward.active_parameters(hidden)

    def parameters(self, hidden: int) -> int:
        """All numbers, with its two norms."""
        return self.matrix_parameters(hidden) + self.mixer.vectors + self.feed_forward.vectors + 2 * hidden
