"""Ops: the operations a family is written against, and Inputs: one batch in an engine's own layout.

Both engines lay a batch's sequences end to end as (tokens, width): mlx after padding them to one length, numpy as they
are, so that it pays for no padding at all. Only what mixes tokens – attention, convolution – has to know which, so a
family never sees the layout: every other operation works on the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..safetensors import Array, StoredTensor
from ..weights import Experts, Linear, Matrix, Norm

ACTIVATIONS = (
    "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu", "swish", "tanh",
)  # fmt: skip
"""The values of `hidden_act` both engines know, as transformers' `activations.py` names them."""

Op = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Inputs:
    """One batch, in the tensors of the engine that made it.

    ids, positions: integers (tokens,), those of the padding too where an engine pads.
    layout: what attention and convolution need to keep sequences apart; opaque to everyone else.
    lengths: tokens of each sequence, in order, without padding.
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
    compiles: bool
    """Whether `started` compiles a network."""
    workers: int
    """How many batches may be computed at once, each in a thread of its own."""
    batch_tokens: int
    """Tokens of a batch, about, unless the caller says otherwise."""
    least_share: float
    """A sequence shorter than this share of its batch's longest belongs into another batch; 0 where nothing is padded."""

    def size(self, sequences: int, longest: int, tokens: int) -> int:
        """The tokens that are computed for a batch of so many sequences and tokens, padding included."""

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        """One batch from the int32 id and position arrays of its sequences."""

    def started(self, network: Callable[[Inputs], Any]) -> Callable[[Inputs], Any]:
        """The network as this engine runs it best. Where the engine computes beside the host, it has begun on return."""

    def host(self, logits: Any, inputs: Inputs) -> Array:
        """The logits of all real tokens as float32 (tokens, labels), sequence by sequence. The host waits for the device here
        and nowhere else."""

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
        """softmax(q·kᵀ/√d)·v within each sequence: (tokens, 3·width) → (tokens, width); qkv is overwritten."""

    # What pre-norm layers with rotary positions need. Heads stand on an axis of their own; where, is the engine's affair.

    def heads(self, x: Any, counts: Sequence[int], inputs: Inputs) -> list[Any]:
        """(tokens, sum of counts · width) → tensors of `count` heads each, width the last axis of all."""

    def layer_norm(self, norm: Norm, epsilon: float) -> Op:
        """x → its layer norm over the last axis, a new tensor."""

    def rms_norm(self, norm: Norm, epsilon: float) -> Op:
        """x → weight · x / √(mean(x²) + epsilon) over the last axis, a new tensor."""

    def gated(self, activation: str) -> Op:
        """x (…, 2·width) → activation(first half) · second half, a new tensor. Raises ModelError for an unknown name."""

    def rotary(self, frequencies: Array, *, neighbours: bool = False) -> Callable[[Any, Inputs], Any]:
        """(x, inputs) → x, of `heads`, with each head turned by its token's position; x is overwritten.

        frequencies: float32 (width/2,), radians a position. Halves are paired, (x[i], x[i + width/2]), or with `neighbours`
        (x[2i], x[2i + 1]) (Su et al. 2021, arXiv:2104.09864). Positions must count from 0 in each sequence.
        """

    def band(self, inputs: Inputs, before: int | None = None, after: int | None = None, everywhere: Any = None) -> Any:
        """What `banded_attention` needs to let each token see `before` tokens before it and `after` behind it.

        None: all there are. everywhere: from `global_tokens`; those are seen by all tokens of their sequence. Made once a
        batch, for all layers that see alike.
        """

    def banded_attention(self, q: Any, k: Any, v: Any, band: Any, *, scale: float | None = None, sinks: Any = None) -> Any:
        """softmax(scale·q·kᵀ)·v over the tokens in `band`, itself always one of them: → (tokens, heads·d); q is overwritten.

        q, k, v: of `heads`. k and v have as many heads as each other; their number divides q's, and each serves
        that many neighbouring ones. scale: 1/√d if not given. sinks: from `sinks`; a logit for each head that takes its
        share of the softmax and adds nothing to the sum (Xiao et al. 2023, arXiv:2309.17453).
        """

    def sinks(self, stored: StoredTensor) -> Any:
        """What `banded_attention` takes as sinks, of (heads,) logits of base 2."""

    def mixture(self, router: Linear, gate_up: Experts, down: Experts, chosen: int, alpha: float, limit: float) -> Op:
        """x → Σ softmax(r)ₑ·downₑ((u + 1)·g·σ(alpha·g)) over the `chosen` experts e of the highest router logits r, a new tensor.

        g, u: the halves of gate_upₑ(x), g at most `limit` and u within ±limit. As in gpt-oss (OpenAI 2025, arXiv:2508.10925).
        """

    # What tokens that see and are seen everywhere need.

    def global_tokens(self, inputs: Inputs, ids: Sequence[int]) -> Any:
        """Where the tokens with one of these ids stand; None where the batch has none."""

    def global_rows(self, x: Any, tokens: Any) -> Any:
        """Those tokens' rows of x (tokens, width), a new tensor of as many rows as there are, or more."""

    def global_attention(self, q: Any, k: Any, v: Any, context: Any, inputs: Inputs, tokens: Any) -> Any:
        """context, but softmax(q·kᵀ/√d)·v over the whole sequence in those tokens' rows; q and context are overwritten.

        q: of `global_rows`, (rows, heads·d). k, v: of `heads`, all tokens'. context: (tokens, heads·d).
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
        backwards, the layers of the input (4·hidden, width) and of the state (4·hidden, hidden), with one bias each, or
        one for both; rows are the gates i, f, g, o.
        """

    # What models that score spans need.

    def chosen(self, inputs: Inputs, places: Sequence[Array]) -> Inputs:
        """Some tokens of each sequence as sequences of their own: a batch whose ids are the rows of x that they have in `inputs`.

        So x[chosen.ids] are those tokens' rows. places: int32, one array for each sequence, none empty.
        """

    def span_scorer(self, output: Linear, width: int) -> Callable[[Any, Any, Any, Inputs], Any]:
        """(starts, ends, labels, inputs) → labels·output(relu(startᵢ + endⱼ)) for i ≤ j < i + width, (tokens, width · labels).

        starts, ends: (tokens, d). labels: (sequences · labels, outputs), each sequence's own. Column k · labels + c has the
        score of label c for the span of k + 1 tokens from a row on; beyond its sequence's end it is of no meaning. The
        product with the labels is made before that with the spans, of which there are many more.
        """
