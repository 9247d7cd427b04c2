"""What is measured side by side: each contender loads a model and tags texts, in a process of its own.

Not a benchmark itself: `throughput.py` and `cold_start.py` run `python contenders.py NAME MODE MODEL CORPUS LIMIT`,
which prints one JSON line. Only what a contender needs is imported, since imports are part of a cold start.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Tagger = Callable[[Sequence[str]], int]
"""Tags texts and returns how many spans it found."""


def ours(model: str, batch: int) -> Tagger:
    from openmed_mlx_eval.runtime.classifier import TokenClassifier

    classifier = TokenClassifier.load(model)
    return lambda texts: sum(len(spans) for spans in classifier.predict(texts))


def transformers(model: str, batch: int) -> Tagger:
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

    network = AutoModelForTokenClassification.from_pretrained(model, dtype=torch.float32)
    tagger = pipeline(
        "token-classification", network, tokenizer=AutoTokenizer.from_pretrained(model), aggregation_strategy="simple"
    )
    return lambda texts: sum(len(spans) for spans in tagger(list(texts), batch_size=batch))


CONTENDERS: dict[str, tuple[Callable[[str, int], Tagger], int]] = {
    "openmed-mlx-eval": (ours, 0),
    "transformers, batch 1": (transformers, 1),
    "transformers, batch 8": (transformers, 8),
    "transformers, batch 32": (transformers, 32),
}


def child(name: str, mode: str, model: str, corpus: str, limit: int) -> dict[str, Any]:
    """throughput: seconds for all texts after a warm-up. cold: one text, straight away; the parent holds the clock."""
    make, batch = CONTENDERS[name]
    if mode == "cold":
        return {"spans": make(model, 1)(["The left lung and the kidney were examined."]), "done_at": time.time(), **memory()}
    from openmed_mlx_eval.corpora import load_corpus

    texts = [document.text for document in load_corpus(corpus).documents[: limit or None]]
    tagger = make(model, batch)
    tagger(texts[:32])
    started = time.perf_counter()
    spans = tagger(texts)
    return {"seconds": time.perf_counter() - started, "documents": len(texts), "spans": spans, **memory()}


def memory() -> dict[str, float]:
    """The process's peak resident memory; ru_maxrss counts bytes on macOS and KiB elsewhere."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak_rss_mib": peak / 2**20 if sys.platform == "darwin" else peak / 2**10}


def run(name: str, mode: str, model: str, corpus: str = "", limit: int = 0) -> dict[str, Any]:
    """One fresh process; `elapsed` is from before its start to the moment it had its spans."""
    # Both variables pin OpenBLAS to kernels older than the machine's; every contender gets the machine's own.
    environment = {key: value for key, value in os.environ.items() if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    started = time.time()
    command = [sys.executable, __file__, name, mode, model, corpus, str(limit)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if "done_at" in result:
        result["elapsed"] = result["done_at"] - started
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
