"""Ops: the operations a family is written against, and Inputs: one batch in an engine's own layout.

The mlx engine pads a batch to (sequences, length); the numpy engine packs it end to end as (tokens,) and pays
for no padding at all. Only what mixes tokens – attention, convolution – has to know which, so a family never sees the
layout: every other operation works on the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..safetensors import Array, StoredTensor
from ..weights import Linear, Matrix, Norm

ACTIVATIONS = (
    "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu", "swish", "tanh",
)  # fmt: skip
"""The values of `hidden_act` both engines know, as transformers' `activations.py` names them."""

Op = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Inputs:
    """One batch, in the tensors of the engine that made it.

    ids, positions: integers, (tokens,) packed or (sequences, length) padded.
    layout: what attention and convolution need to keep sequences apart; opaque to everyone else.
    lengths: tokens of each sequence, in order.
    """

    ids: Any
    positions: Any
    layout: Any
    lengths: tuple[int, ...]


class Ops(Protocol):
    """An engine. Layers are made once from stored weights, then called on the engine's tensors.

    A tensor an operation returns is the caller's to overwrite; an operation may overwrite its argument where its
    docstring says so. Arithmetic is float32 in numpy, `dtype` in mlx.
    """

    name: str
    device: str
    dtype: str
    workers: int
    """How many batches may be computed at once, each in a thread of its own."""

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        """One batch from the int32 id and position arrays of its sequences."""

    def host(self, logits: Any, inputs: Inputs) -> Array:
        """The logits of all real tokens as float32 (tokens, labels), sequence by sequence; computation is forced."""

    def embedding(self, matrix: Matrix) -> Op:
        """ids → rows, (…, width)."""

    def row(self, matrix: Matrix, index: int) -> Any:
        """One row of a table, (width,)."""

    def table(self, matrix: Matrix) -> Any:
        """All rows of a table, (rows, width)."""

    def linear(self, linear: Linear) -> Op:
        """x (…, inputs) → (…, outputs of all its matrices side by side)."""

    def norm(self, norm: Norm, epsilon: float) -> Callable[[Any, Any], Any]:
        """(x, residual) → layer norm of their sum over the last axis; x is overwritten."""

    def activation(self, name: str) -> Op:
        """x → activation(x), by transformers' name for it; x is overwritten. Raises ModelError for an unknown name."""

    def attention(self, qkv: Any, heads: int, inputs: Inputs) -> Any:
        """softmax(q·kᵀ/√d)·v within each sequence: (…, 3·width) → (…, width); qkv is overwritten."""

    # What pre-norm layers with rotary positions need; heads stand on an axis of their own, (…, heads, width).

    def layer_norm(self, norm: Norm, epsilon: float) -> Op:
        """x → its layer norm over the last axis, a new tensor."""

    def rms_norm(self, norm: Norm, epsilon: float) -> Op:
        """x → weight · x / √(mean(x²) + epsilon) over the last axis, a new tensor."""

    def gated(self, activation: str) -> Op:
        """x (…, 2·width) → activation(first half) · second half, a new tensor. Raises ModelError for an unknown name."""

    def rotary(self, base: float, width: int) -> Callable[[Any, Inputs], Any]:
        """(x, inputs) → x with each head turned by its token's position; x (…, heads, width) is overwritten.

        Halves are paired, (x[i], x[i + width/2]), at frequencies base^(-2i/width) (Su et al. 2021, arXiv:2104.09864).
        Positions must count from 0 in each sequence.
        """

    def band(self, inputs: Inputs, before: int | None = None, after: int | None = None, everywhere: Any = None) -> Any:
        """What `banded_attention` needs to let each token see `before` tokens before it and `after` behind it.

        None: all there are. everywhere: from `global_tokens`; those are seen by all tokens of their sequence. Made once a
        batch, for all layers that see alike.
        """

    def banded_attention(self, q: Any, k: Any, v: Any, band: Any) -> Any:
        """softmax(q·kᵀ/√d)·v over the tokens in `band`, itself always one of them: → (…, heads·d); q is overwritten.

        q: (…, heads, d). k, v: (…, key heads, d); key heads divide heads, and each serves heads/key heads
        neighbouring ones.
        """

    # What tokens that see and are seen everywhere need.

    def global_tokens(self, inputs: Inputs, ids: Sequence[int]) -> Any:
        """Where the tokens with one of these ids stand; None where the batch has none."""

    def global_rows(self, x: Any, tokens: Any) -> Any:
        """Those tokens' rows of x (…, width), a new tensor of as many rows as there are, or more."""

    def global_attention(self, q: Any, k: Any, v: Any, context: Any, inputs: Inputs, tokens: Any) -> Any:
        """context, but softmax(q·kᵀ/√d)·v over the whole sequence in those tokens' rows; q and context are overwritten.

        q: `global_rows` with heads, (…, heads, d). k, v: (…, heads, d) of all tokens. context: (…, heads·d).
        """

    # What disentangled attention needs.

    def distances(self, inputs: Inputs, rows: Callable[[int], Array]) -> Any:
        """What `disentangled_attention` must know of a batch: made once, used by every layer.

        rows: length → integers (2·length - 1,), the row that tables of relative positions have for each distance
        query - key, from 1 - length up.
        """

    def disentangled_attention(self, key: Any, query: Any, heads: int, scale: float) -> Callable[[Any, Inputs, Any], Any]:
        """(qkv, inputs, distances) → softmax(scale·(qᵢ·kⱼ + qᵢ·key[r] + kⱼ·query[r]))·v, r the row of the distance i - j.

        He et al. 2021 (arXiv:2006.03654), equation 4. key, query: the tables of relative positions, projected as keys
        and as queries, (rows, width), or None where a model lacks that term. Shapes and overwriting as in `attention`.
        """

    def convolution(self, kernel: StoredTensor, bias: StoredTensor) -> Callable[[Any, Inputs], Any]:
        """(x, inputs) → each sequence convolved by itself, zeros around it; kernel: (outputs, inputs, an odd number of taps)."""

    # What recurrent networks need.

    def lstm(self, directions: Sequence[tuple[Linear, Linear]]) -> Callable[[Any, Inputs], Any]:
        """(x, inputs) → each sequence read from its start and from its own end: (…, width) → (…, 2·hidden), a new tensor.

        Hochreiter and Schmidhuber 1997 with forget gates, as torch.nn.LSTM has it. directions: forwards, then
        backwards, the layers of the input (4·hidden, width) and of the state (4·hidden, hidden), each with one bias;
        rows are the gates i, f, g, o.
        """
