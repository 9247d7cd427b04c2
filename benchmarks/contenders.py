"""What is measured side by side: each contender loads a model and tags texts, in a process of its own.

Not a benchmark itself: `throughput.py`, `cold_start.py` and `memory.py` run `python contenders.py NAME MODE MODEL CORPUS
LIMIT`, which prints one JSON line. Only what a contender needs is imported, since imports are part of a cold start.
A contender whose software is not installed is left out, and the benchmark says so.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

Tagger = Callable[[Sequence[str]], int]
"""Tags texts and returns how many spans it found."""


def ours(model: str, batch: int, engine: str = "auto", device: str = "auto") -> Tagger:
    from openmed_mlx_eval.runtime.classifier import TokenClassifier

    classifier = TokenClassifier.load(model, engine=engine, device=device)
    return lambda texts: sum(len(spans) for spans in classifier.predict(texts))


def ours_on_mlx_cpu(model: str, batch: int) -> Tagger:
    return ours(model, batch, "mlx", "cpu")


def transformers(model: str, batch: int, stride: int | None = None) -> Tagger:
    """The pipeline as it comes, which cuts a text off at its model's window; with a stride it reads all of it, as we do."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

    network = AutoModelForTokenClassification.from_pretrained(model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(model)
    options: dict[str, Any] = {"aggregation_strategy": "simple"}
    if stride is not None:
        tokenizer.model_max_length = network.config.max_position_embeddings
        options["stride"] = stride
    tagger = pipeline("token-classification", network, tokenizer=tokenizer, **options)
    return lambda texts: sum(len(spans) for spans in tagger(list(texts), batch_size=batch))


def transformers_whole(model: str, batch: int) -> Tagger:
    from openmed_mlx_eval.runtime.windows import DEFAULT_STRIDE

    return transformers(model, batch, DEFAULT_STRIDE)


def openmed(model: str, batch: int) -> Tagger:
    """OpenMed's own MLX pipeline, which takes one text at a time and cuts it off at the window."""
    import mlx.core as mx
    from openmed.mlx.inference import create_mlx_pipeline

    mx.set_default_device(mx.cpu)
    tagger = create_mlx_pipeline(model, aggregation_strategy="simple")
    return lambda texts: sum(len(tagger(text)) for text in texts)


def onnx(model: str, batch: int) -> Tagger:
    """ONNX Runtime for the network, and this project's windows, batches and decoding around it."""
    import numpy as np
    import onnxruntime

    from openmed_mlx_eval.runtime.artifact import open_artifact
    from openmed_mlx_eval.runtime.classifier import TokenClassifier
    from openmed_mlx_eval.runtime.decoding import Decoder
    from openmed_mlx_eval.runtime.engines.base import Inputs
    from openmed_mlx_eval.runtime.engines.numpy_ops import NumpyOps
    from openmed_mlx_eval.runtime.tokenization import TextEncoder
    from openmed_mlx_eval.runtime.windows import stride_for

    session = onnxruntime.InferenceSession(str(Path(model) / ONNX_FILE), providers=["CPUExecutionProvider"])

    class Ops:
        name, device, dtype, compiles, workers = "onnx", "cpu", "float32", False, 1
        batch_tokens, least_share, size = NumpyOps.batch_tokens, 0.0, NumpyOps.size

        def inputs(self, ids: Sequence[Any], positions: Sequence[Any]) -> Inputs:
            lengths = tuple(map(len, ids))
            padded = np.zeros((2, len(ids), max(lengths)), dtype=np.int64)
            for row, sequence in enumerate(ids):
                padded[:, row, : len(sequence)] = sequence, np.ones(len(sequence))
            return Inputs(padded[0], padded[1], None, lengths)

        def host(self, logits: Any, inputs: Inputs) -> Any:
            return np.concatenate([row[:length] for row, length in zip(logits, inputs.lengths, strict=True)])

    def network(inputs: Inputs) -> Any:
        return session.run(None, {"input_ids": inputs.ids, "attention_mask": inputs.positions})[0]

    artifact, ops = open_artifact(model), Ops()
    encoder, size = TextEncoder.load(artifact.tokenizer), artifact.window
    size -= encoder.special_tokens
    decoder = Decoder.of(artifact.labels, "simple")
    parts: Any = (artifact, ops, encoder, decoder, size, stride_for(size, None), Ops.batch_tokens, network)
    classifier = TokenClassifier(*parts)
    return lambda texts: sum(len(spans) for spans in classifier.predict(texts))


ONNX_FILE = "model.onnx"


def as_artifact(model: str, folder: str) -> None:
    """The model as an openmed-mlx.json artifact, in float32 as all others run it."""
    from openmed_mlx_eval.converters import Options, convert

    convert(model, folder, Options(dtype="float32"))


def as_onnx(model: str, folder: str) -> None:
    """The model's directory again, and its graph as ONNX, exported by torch."""
    import shutil

    import torch
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils
    from transformers import AutoModelForTokenClassification

    # The exporter wants the `onnx` package for nothing but functions of onnxscript, of which an encoder has none.
    onnx_proto_utils._add_onnxscript_fn = lambda proto, functions: proto
    shutil.copytree(model, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    network = AutoModelForTokenClassification.from_pretrained(model, dtype=torch.float32).eval()
    example = torch.ones(2, 9, dtype=torch.long)
    names = ("input_ids", "attention_mask", "logits")
    torch.onnx.export(
        network,
        (example, torch.ones_like(example)),
        str(Path(folder) / ONNX_FILE),
        input_names=list(names[:2]),
        output_names=[names[2]],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names},
        opset_version=17,
        dynamo=False,
    )


class Contender(NamedTuple):
    """make: (model, batch) → Tagger. needs: modules. prepare: (model, empty folder) → the form in which it takes a model."""

    make: Callable[[str, int], Tagger]
    batch: int = 1
    needs: tuple[str, ...] = ()
    prepare: Callable[[str, str], None] | None = None


_PIPELINE = ("torch", "transformers")
CONTENDERS: dict[str, Contender] = {
    "openmed-mlx-eval": Contender(ours),
    "transformers, batch 1": Contender(transformers, 1, _PIPELINE),
    "transformers, batch 8": Contender(transformers, 8, _PIPELINE),
    "transformers, batch 32": Contender(transformers, 32, _PIPELINE),
    "transformers, batch 1, whole texts": Contender(transformers_whole, 1, _PIPELINE),
    "transformers, batch 8, whole texts": Contender(transformers_whole, 8, _PIPELINE),
    "openmed-mlx-eval, MLX on the CPU": Contender(ours_on_mlx_cpu, 1, ("mlx",)),
    "openmed, MLX on the CPU": Contender(openmed, 1, ("mlx", "openmed", "transformers"), as_artifact),
    "ONNX Runtime": Contender(onnx, 1, ("onnxruntime", *_PIPELINE), as_onnx),
}
OURS, BEST_KNOWN = "openmed-mlx-eval", "transformers, batch 1"


SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Real models and corpora, where they lie beside the project."""


def add_model_and_corpus(parser: Any, *, corpus: bool = True) -> None:
    """The arguments MODEL and CORPUS; without them anatem-minilm and AnatEM's devel sentences, where they are here."""
    from arguments import existing  # not above: what a contender's process imports is part of its cold start

    known = {"model": SHARED / "models" / "anatem-minilm", "corpus": SHARED / "corpora" / "anatem" / "devel.tsv"}
    for name, path in known.items():
        if name == "model" or corpus:
            parser.add_argument(name, type=existing, **({"nargs": "?", "default": str(path)} if path.exists() else {}))


def installed(names: Sequence[str] = tuple(CONTENDERS)) -> list[str]:
    """Those of the names whose software is here; says on stderr what was left out."""
    absent = {name: [need for need in CONTENDERS[name].needs if find_spec(need) is None] for name in names}
    for name, needs in absent.items():
        if needs:
            print(f"left out, not installed: {name} ({', '.join(needs)})", file=sys.stderr)
    return [name for name, needs in absent.items() if not needs]


def prepared(names: Sequence[str], model: str, folder: str) -> dict[str, str]:
    """{contender: the model in the form it takes}, made where need be, each once and in a process of its own."""
    forms = {}
    for number, name in enumerate(names):
        forms[name] = model
        if CONTENDERS[name].prepare is not None:
            forms[name] = str(Path(folder) / str(number))
            _run(name, "prepare", model, forms[name], "0")
    return forms


def child(name: str, mode: str, model: str, corpus: str, limit: int) -> dict[str, Any]:
    """throughput: seconds for all texts after a warm-up. cold: one text, straight away; the parent holds the clock.
    memory: `limit` texts, the corpus again from its start where it has fewer, and what was resident after every STEP.
    growth: seconds for `limit`, twice and four times as many texts. long: one text of `limit` characters. work: what the
    network has to compute for the texts, and what this machine can.
    """
    contender = CONTENDERS[name]
    if mode == "prepare":
        assert contender.prepare is not None
        contender.prepare(model, corpus)
        return {}
    if mode == "cold":
        spans = contender.make(model, 1)(["The left lung and the kidney were examined."])
        return {"spans": spans, "done_at": time.time(), **memory()}
    from openmed_mlx_eval.corpora import load_corpus

    texts = [document.text for document in load_corpus(corpus).documents]
    if mode == "work":
        return work(model, texts[: limit or None])
    tagger = contender.make(model, contender.batch)
    if mode == "growth":
        return growth(tagger, texts, limit)
    if mode == "long":
        text = "\n".join(cycle_to(texts, limit))[:limit]
        return {"spans": tagger([text]), "characters": len(text), **memory()}
    if mode == "memory":
        return resident(tagger, list(islice(cycle(texts), limit)))
    texts = texts[: limit or None]
    tagger(texts[:32])
    started = time.perf_counter()
    spans = tagger(texts)
    return {"seconds": time.perf_counter() - started, "documents": len(texts), "spans": spans, **memory()}


def work(model: str, texts: Sequence[str]) -> dict[str, float]:
    """{flops: of the texts' windows, without padding; peak: FLOP/s of matrix products that numpy reaches here}."""
    from openmed_mlx_eval.latency.roofline import flops_per_token, peaks
    from openmed_mlx_eval.runtime.classifier import TokenClassifier
    from openmed_mlx_eval.runtime.windows import windows

    tagger = TokenClassifier.load(model, engine="numpy")
    lengths = [
        window.end - window.start + tagger.encoder.special_tokens
        for encoded in tagger.encoder.encode(texts)
        for window in windows(len(encoded.ids), tagger.window, tagger.stride)
    ]
    return {"flops": sum(n * flops_per_token(tagger.artifact, n) for n in lengths), "peak": peaks(tagger.ops)[0]}


STEP = 100


def resident(tagger: Tagger, texts: Sequence[str]) -> dict[str, Any]:
    """{documents: [100, 200, …], rss_mib: [what was resident after so many], peak_rss_mib}."""
    from openmed_mlx_eval.latency.memory import rss_mib

    documents, held = [], []
    for first in range(0, len(texts), STEP):
        part = texts[first : first + STEP]
        tagger(part)
        documents.append(first + len(part))
        held.append(rss_mib())
    return {"documents": documents, "rss_mib": held, **memory()}


def growth(tagger: Tagger, texts: Sequence[str], limit: int, rounds: int = 3) -> dict[str, Any]:
    """{documents: [limit, 2·limit, 4·limit], seconds: the best of `rounds` in turn}; the same texts, again and again."""
    few = list(islice(cycle(texts), limit))
    counts = [limit, 2 * limit, 4 * limit]
    seconds = [float("inf")] * len(counts)
    tagger(few)
    for _ in range(rounds):
        for place, count in enumerate(counts):
            started = time.perf_counter()
            tagger(list(islice(cycle(few), count)))
            seconds[place] = min(seconds[place], time.perf_counter() - started)
    return {"documents": counts, "seconds": seconds}


def cycle_to(texts: Sequence[str], characters: int) -> list[str]:
    """Texts of at least so many characters together, the first ones again where there are too few."""
    whole = sum(len(text) + 1 for text in texts)
    return list(texts) * (characters // max(1, whole) + 1)


def memory() -> dict[str, float | None]:
    from openmed_mlx_eval.latency.memory import peak_rss_mib

    return {"peak_rss_mib": peak_rss_mib()}


def run(name: str, mode: str, model: str, corpus: str = "", limit: int = 0) -> dict[str, Any]:
    """One fresh process; `elapsed` is from before its start to the moment it had its spans."""
    started = time.time()
    result = _run(name, mode, model, corpus, str(limit))
    if "done_at" in result:
        result["elapsed"] = result["done_at"] - started
    return result


UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")
"""Variables no contender gets: two pin OpenBLAS to kernels older than the machine's; with the third this project, run from
where it was checked out, would be compiled again by each process, and those that were installed would not."""


def _run(*arguments: str) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key not in UNSET}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run([sys.executable, __file__, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]}, {arguments[1]}: it failed\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def median(results: Sequence[dict[str, Any]], key: str) -> float:
    return statistics.median(result[key] for result in results)


def machine() -> str:
    from openmed_mlx_eval.reporting.environment import chip, operating_system

    return f"{chip()}, {os.cpu_count()} cores, {operating_system()}, Python {platform.python_version()}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    name, mode, model, corpus, limit = sys.argv[1:]
    print(json.dumps(child(name, mode, model, corpus, int(limit))))
