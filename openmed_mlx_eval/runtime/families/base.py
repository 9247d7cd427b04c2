"""Family: what the runtime must know of one architecture – its tensors, its window, and its network.

A network is written once against the operations of `engines.base.Ops`, so the code that runs on Metal is the
code that runs in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import ModelError
from ..engines.base import Ops
from ..layouts import Layout
from ..safetensors import Array
from ..weights import Checkpoint, numbered

Config = Mapping[str, Any]
HEADS = ("classifier.", "head.")
Network = Callable[[Any], Any]
"""Of Inputs, or of what a task's models are given in their place (gliner.SpanInputs)."""
TOKEN_CLASSIFICATION = "token-classification"


class Sight(NamedTuple):
    """What a layer's tokens attend to. width: heads · d. before, after: tokens seen to either side; None: all there are."""

    width: int
    before: int | None = None
    after: int | None = None


def whole_sight(config: Config) -> list[Sight]:
    """Every token attends to all of its sequence, in every layer."""
    width = natural(config, "hidden_size", "dim", default=0, least=0)
    return [Sight(width)] * natural(config, "num_hidden_layers", "n_layers", "num_layers", default=0, least=0)


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture.

    name: as an openmed-mlx.json has it. model_types: values of config.json's model_type.
    prefixes, names, ignored: how a Hugging Face checkpoint's tensors are called (`weights.renamed`).
    shapes: config → {our tensor name: shape}. window: config → tokens a sequence may have, special ones included.
    positions: (config, ids of one sequence) → its position ids. network: (ops, checkpoint, config) → forward.
    stored_prefix: what OpenMed's runtime has before the names of all tensors but the head's in an artifact.
    whole: layers that a conversion never quantises; stacks: those that are `weights.Experts`; `{i}` for the layer number.
    half: the half precision in which its activations stay finite. layout: how an artifact has the tensors, where that is
    more than the prefix. artifact_keys: config → what an artifact's config.json must say beside it. chain: the prefix of a
    linear chain's tensors, which then decodes (`runtime.crf`). sight: config → what each layer's tokens attend to. chosen:
    config → how many of `stacks`' experts a token is given to. seldom: layers that few tokens go through, if any;
    `{i}` for the layer number. compiles: config → whether the network is one graph for all batches of a shape, and
    reads no values on the host. task: what its models are for, as an openmed-mlx.json has it.
    """

    name: str
    model_types: tuple[str, ...]
    prefixes: tuple[str, ...]
    names: Mapping[str, str]
    ignored: tuple[str, ...]
    shapes: Callable[[Config], dict[str, tuple[int, ...]]]
    window: Callable[[Config], int]
    positions: Callable[[Config, Array], Array]
    network: Callable[[Ops, Checkpoint, Config], Network]
    stored_prefix: str = ""
    whole: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    half: str = "float16"
    layout: Layout = field(default_factory=Layout)
    artifact_keys: Callable[[Config], dict[str, Any]] = lambda config: {}
    chain: str = ""
    sight: Callable[[Config], Sequence[Sight]] = whole_sight
    chosen: Callable[[Config], int] = lambda config: 1
    seldom: tuple[str, ...] = ()
    task: str = TOKEN_CLASSIFICATION
    compiles: Callable[[Config], bool] = lambda config: True

    def stored_name(self, name: str) -> str:
        """What a tensor of ours is called in an artifact."""
        if self.layout.names:
            return self.layout.stored_name(name)
        return name if name.startswith(HEADS) else self.stored_prefix + name

    def is_whole(self, layer: str) -> bool:
        return numbered(f"{layer}.")[0][:-1] in self.whole

    def is_seldom(self, layer: str) -> bool:
        return numbered(f"{layer}.")[0][:-1] in self.seldom

    def is_stack(self, layer: str) -> bool:
        return numbered(f"{layer}.")[0][:-1] in self.stacks


_REQUIRED = object()

MAX_LAYERS = 1024
"""Beyond any model; a hostile config.json would otherwise have billions of tensor names made."""


def natural(config: Config, *names: str, default: Any = _REQUIRED, least: int = 1, most: int = 1 << 31) -> int:
    """The first of `names` that config has, as an integer from least to most. Raises ModelError naming the key."""
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if type(value) is not int or value < least:
            raise ModelError(f"config.json: {name} must be an integer of at least {least}")
        if value > most:
            raise ModelError(f"config.json: {name} must be at most {most}")
        return value
    if default is _REQUIRED:
        raise ModelError(f"config.json: {names[0]} is missing")
    return int(default)


def flag(config: Config, name: str, default: bool) -> bool:
    """config[name] as a truth value. Raises ModelError naming the key."""
    value = config.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ModelError(f"config.json: {name} must be true or false")
    return value


def number(config: Config, name: str, default: float) -> float:
    """config[name] as a float. Raises ModelError naming the key."""
    value = config.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ModelError(f"config.json: {name} must be a number")
    return float(value)
