"""Primitives of the graph that mlx is given, and how often a batch makes the host wait: ours beside OpenMed's MLX models.

    python benchmarks/graph.py [--layers N]

Same configurations, random weights, counted in `mx.export_to_dot`; no time is measured. mlx's CPU device takes the calls
of `mx.fast` apart into primitives, which a GPU has as one each; so there are two counts, one of them with a stand-in of one
primitive for each such call, in both programs. "A layer" is what three more layers add, divided by three.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import contenders
import mlx.core as mx
import numpy as np
from arguments import at_least

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.runtime.engines import accelerator, open_engine
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.safetensors import StoredTensor
from openmed_mlx_eval.runtime.weights import Checkpoint

LENGTHS = (48, 48, 47, 46, 46, 45, 44, 44)
"""Model tokens of the texts of one batch."""

_SIZES = {"vocab_size": 64, "max_position_embeddings": 512, "num_labels": 5, "pad_token_id": 0}
_WIDTHS = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
_DEBERTA = {
    "relative_attention": True, "position_buckets": 16, "max_relative_positions": -1, "pos_att_type": ["c2p", "p2c"],
    "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False, "type_vocab_size": 0,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {**_SIZES, **_WIDTHS},
    "distilbert": {**_SIZES, "dim": 32, "n_heads": 4, "hidden_dim": 64},
    "electra": {**_SIZES, **_WIDTHS, "embedding_size": 32},
    "roberta": {**_SIZES, **_WIDTHS, "pad_token_id": 1, "type_vocab_size": 1},
    "xlm-roberta": {**_SIZES, **_WIDTHS, "pad_token_id": 1, "type_vocab_size": 1},
    "deberta-v2": {**_SIZES, **_WIDTHS, **_DEBERTA},
    "modernbert": {**_SIZES, **_WIDTHS, "local_attention": 16},
}
"""Of every architecture that both programs have, by its model_type."""

FUSED = ("layer_norm", "rms_norm", "rope", "scaled_dot_product_attention")


def config_of(model_type: str, layers: int) -> dict[str, Any]:
    config = {
        "model_type": model_type,
        **CONFIGS[model_type],
        "n_layers" if model_type == "distilbert" else "num_hidden_layers": layers,
    }
    if model_type == "modernbert":  # OpenMed's reads this key alone
        config["layer_types"] = ["sliding_attention" if i % 3 else "full_attention" for i in range(layers)]
    return config


def primitives(output: Any) -> int:
    graph = io.StringIO()
    mx.export_to_dot(graph, output)
    return len(re.findall(r"shape=rectangle", graph.getvalue()))


@contextmanager
def fused_as_one() -> Iterator[None]:
    """The graph as on a GPU: calls of `mx.fast` leave one primitive each, of the right shape and of no use."""

    def stand_in(x: Any, *inputs: Any, **options: Any) -> Any:
        return mx.depends([x], [one for one in (*inputs, *options.values()) if isinstance(one, mx.array)])[0]

    changes = {(mx.fast, name): lambda _: stand_in for name in FUSED}
    with patched({**changes, (mx, "default_device"): lambda _: lambda: mx.gpu}):
        yield


@contextmanager
def patched(changes: dict[tuple[Any, str], Callable[[Any], Any]]) -> Iterator[None]:
    """changes: (owner, attribute) → what makes the replacement out of the original."""
    originals = {place: getattr(*place) for place in changes}
    for (owner, name), change in changes.items():
        setattr(owner, name, change(originals[owner, name]))
    try:
        yield
    finally:
        for (owner, name), original in originals.items():
            setattr(owner, name, original)


@contextmanager
def counted_waits() -> Iterator[list[str]]:
    """A list that grows by a name wherever the host waits for an array's values."""
    waits: list[str] = []

    def counting(name: str, always: bool) -> Callable[[Any], Any]:
        def change(original: Any) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                if always or isinstance(arguments[0], mx.array):
                    waits.append(name)
                return original(*arguments, **options)

            return call

        return change

    places = {(mx, "eval"): True, (mx.array, "tolist"): True, (mx.array, "item"): True}
    places |= {(np, "array"): False, (np, "asarray"): False}
    with patched({place: counting(place[1], always) for place, always in places.items()}):
        yield waits


class Ours:
    def __init__(self, config: dict[str, Any], *, compile: bool) -> None:
        family = family_of(config)
        rng = np.random.default_rng(0)
        stored = {
            name: StoredTensor(name, "F32", rng.normal(0, 0.1, shape).astype(np.float32))
            for name, shape in family.shapes(config).items()
        }
        self.ops: Any = open_engine("mlx", accelerator() or "cpu", compile=compile)
        self.network = family.network(self.ops, Checkpoint(stored, None), config)
        ids = [np.full(length, 9, dtype=np.int32) for length in LENGTHS]
        self.batch = lambda: self.ops.inputs(ids, [family.positions(config, sequence) for sequence in ids])

    def logits(self) -> Any:
        return self.ops.compiled(self.network)(self.batch())

    def tag_batch(self) -> None:
        batch = self.batch()
        self.ops.host(self.ops.started(self.network)(batch), batch)


class OpenMed:
    def __init__(self, config: dict[str, Any]) -> None:
        from openmed.mlx.inference import MLXTokenClassificationPipeline
        from openmed.mlx.models import build_model

        self.model = build_model(config)
        self.model.eval()
        mx.eval(self.model.parameters())
        pipeline = self.pipeline = object.__new__(MLXTokenClassificationPipeline)
        pipeline.model, pipeline.aggregation_strategy, pipeline.max_length = self.model, "simple", 512
        pipeline.id2label = dict.fromkeys(range(config["num_labels"]), "O")
        # A text is its length here.
        pipeline.tokenizer = lambda text, **_: {
            "input_ids": [9] * len(text), "attention_mask": [1] * len(text), "offset_mapping": [(i, i + 1) for i in range(len(text))],
        }  # fmt: skip

    def logits(self) -> Any:
        ids = mx.full((1, LENGTHS[0]), 9, dtype=mx.int32)
        mask = mx.ones((1, LENGTHS[0]))
        mx.eval(ids, mask)
        return self.model(ids, attention_mask=mask)

    def tag_batch(self) -> None:
        self.pipeline(["a" * length for length in LENGTHS])


PROGRAMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "ours, compiled": lambda config: Ours(config, compile=True),
    "ours": lambda config: Ours(config, compile=False),
    "openmed": OpenMed,
}


def counts(program: str, model_type: str, layers: int, *, as_one: bool) -> int:
    made = PROGRAMS[program](config_of(model_type, layers))
    with fused_as_one() if as_one else nullcontext():
        return primitives(made.logits())


def waits(program: str, model_type: str) -> int:
    made = PROGRAMS[program](config_of(model_type, 1))
    with counted_waits() as found:
        made.tag_batch()
    return len(found)


def row(program: str, model_type: str, layers: int) -> list[str]:
    cells = []
    for as_one in (False, True):
        whole, more = (counts(program, model_type, depth, as_one=as_one) for depth in (layers, layers + 3))
        cells += [str(whole), f"{(more - whole) / 3:.1f}"]
    return [model_type, program, *cells, str(waits(program, model_type))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=at_least(1), default=6)
    layers = parser.parse_args().layers
    rows = []
    for model_type in CONFIGS:
        for program in PROGRAMS:
            try:
                rows.append(row(program, model_type, layers))
            except UsageError as error:  # no C++ compiler for the CPU device
                rows.append([model_type, program, *["–"] * 5])
                print(error)
    columns = (
        "", "", f"primitives, {layers} layers, as mlx builds them on its {accelerator() or 'CPU'}", "a layer",
        f"{layers} layers, a call of mx.fast as one", "a layer", f"waits for a batch of {len(LENGTHS)}",
    )  # fmt: skip
    print(f"mlx {mx.__version__}, {contenders.machine()}\n")
    print(contenders.table(columns, rows))


if __name__ == "__main__":
    main()
