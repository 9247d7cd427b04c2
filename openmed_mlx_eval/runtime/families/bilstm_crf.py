"""BiLSTM-CRF: word embeddings, LSTMs that read a sentence from both its ends, and a chain of tags scored as a whole.

Huang, Xu and Yu 2015 (arXiv:1508.01991), Lample et al. 2016 (arXiv:1603.01360). There is no common checkpoint of it, so
tensors are called what torch.nn.LSTM and pytorch-crf call them, in a safetensors file beside config.json:

    embedding.weight                             (vocab_size, embedding_dim)
    lstm.weight_ih_l0, lstm.bias_ih_l0           (4 · hidden_size, embedding_dim), (4 · hidden_size,); _l1 … for more layers,
    lstm.weight_hh_l0, lstm.bias_hh_l0           (4 · hidden_size, hidden_size), … _reverse for the other direction
    classifier.weight, .bias, or hidden2tag…     (labels, 2 · hidden_size), (labels,)
    crf.transitions                              (labels, labels): [i, j] is the score of going from label i to label j
    crf.start_transitions, crf.end_transitions   (labels,): of the first and of the last token's label

config.json: model_type `bilstm-crf`, vocab_size, embedding_dim, hidden_size (of one direction), num_layers (1),
id2label; max_sequence_length, where documents shall be cut into windows: without it a document is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engines.base import Inputs, Ops
from ..weights import Checkpoint
from ..windows import UNBOUNDED
from .base import Config, Family, Network, natural
from .bert import positions_from_zero

MOST_LAYERS = 16
DIRECTIONS = {"forward": "", "backward": "_reverse"}
PARTS = {"input": "ih", "state": "hh"}


@dataclass(frozen=True, slots=True)
class BilstmCrfConfig:
    """The keys of config.json that matter here. hidden: units of one direction. window: tokens."""

    vocabulary: int
    embedding: int
    hidden: int
    layers: int
    labels: int
    window: int

    @classmethod
    def of(cls, config: Config) -> BilstmCrfConfig:
        return cls(
            vocabulary=natural(config, "vocab_size"),
            embedding=natural(config, "embedding_dim"),
            hidden=natural(config, "hidden_size"),
            layers=natural(config, "num_layers", default=1, most=MOST_LAYERS),
            labels=natural(config, "num_labels"),
            window=natural(config, "max_sequence_length", default=UNBOUNDED),
        )


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = BilstmCrfConfig.of(config)
    expected: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (c.vocabulary, c.embedding),
        "classifier.weight": (c.labels, 2 * c.hidden),
        "classifier.bias": (c.labels,),
        "crf.transitions": (c.labels, c.labels),
        "crf.start_transitions": (c.labels,),
        "crf.end_transitions": (c.labels,),
    }
    for i in range(c.layers):
        widths = {"input": 2 * c.hidden if i else c.embedding, "state": c.hidden}
        for direction in DIRECTIONS:
            for part, width in widths.items():
                name = f"lstm.layers.{i}.{direction}.{part}"
                expected |= {f"{name}.weight": (4 * c.hidden, width), f"{name}.bias": (4 * c.hidden,)}
    return expected


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → emissions (…, labels), which the chain has not seen yet."""
    c = BilstmCrfConfig.of(config)
    words = ops.embedding(weights.matrix("embeddings.word_embeddings"))
    layers = []
    for i in range(c.layers):
        pairs = [[weights.linear(f"lstm.layers.{i}.{direction}.{part}") for part in PARTS] for direction in DIRECTIONS]
        layers.append(ops.lstm([(inputs, states) for inputs, states in pairs]))
    classifier = ops.linear(weights.linear("classifier"))

    def forward(inputs: Inputs) -> Any:
        x = words(inputs.ids)
        for layer in layers:
            x = layer(x, inputs)
        return classifier(x)

    return forward


def _lstm_names() -> dict[str, str]:
    """torch.nn.LSTM's names have no dots to tell layers and parameters by, so each is listed whole."""
    return {
        f"lstm.{parameter}_{short}_l{i}{suffix}": f"lstm.layers.{i}.{direction}.{part}.{parameter}"
        for i in range(MOST_LAYERS)
        for direction, suffix in DIRECTIONS.items()
        for part, short in PARTS.items()
        for parameter in ("weight", "bias")
    }


BILSTM_CRF = Family(
    name="bilstm-crf",
    model_types=("bilstm-crf",),
    prefixes=("bilstm_crf",),
    names={
        **_lstm_names(),
        "embedding": "embeddings.word_embeddings",
        "hidden2tag": "classifier",
        "classifier": "classifier",
    },
    ignored=(),
    shapes=shapes,
    window=lambda config: BilstmCrfConfig.of(config).window,
    positions=positions_from_zero,
    network=network,
    # An error of theirs comes back at every step, and they are a small part of a model with a vocabulary.
    whole=tuple(f"lstm.layers.{{i}}.{direction}.state" for direction in DIRECTIONS),
    chain="crf",
    sight=lambda config: (),
    compiles=lambda config: False,  # a graph of as many steps as a document has tokens
)
