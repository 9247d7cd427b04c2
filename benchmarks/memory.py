"""Resident memory over many documents, ours beside the other contenders: its peak, and whether it keeps growing.

    python benchmarks/memory.py [MODEL CORPUS] [--documents N] [--growth N] [--characters N] [--ours]

Needs the `parity` extra; ONNX Runtime is measured where it is installed. Documents come 100 at a time, the corpus again
from its start where it has fewer. The slope is a least-squares line through what was resident from document 500 on;
elsewhere than on Linux only peaks are known, and the slope is that of the peak. Then, of ours alone: the power of the
number of documents by which time grows, over N, 2N and 4N of them, and the peak of one document of N characters.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import contenders
from arguments import at_least

SETTLED = 500
"""Documents after which caches are full and thread pools made."""

NAMES = (contenders.OURS, "transformers, batch 8", "openmed, MLX on the CPU", "ONNX Runtime")


def slope(documents: Sequence[int], held: Sequence[float]) -> float | None:
    """KiB a document, from document SETTLED on; None where fewer than two values are left."""
    points = [(x, y) for x, y in zip(documents, held, strict=True) if x >= SETTLED]
    return None if len(points) < 2 else 1024 * least_squares(points)


def exponent(documents: Sequence[int], seconds: Sequence[float]) -> float:
    """Of the power of the number of documents that fits the times best."""
    return least_squares([(math.log(x), math.log(y)) for x, y in zip(documents, seconds, strict=True)])


def least_squares(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through the points."""
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    contenders.add_model_and_corpus(parser)
    parser.add_argument("--documents", type=at_least(1), default=2000)
    parser.add_argument("--growth", type=at_least(0), default=500, help="documents of the shortest timed run; 0: none")
    parser.add_argument("--characters", type=at_least(0), default=1_000_000, help="of one long document; 0: none")
    parser.add_argument("--ours", action="store_true", help="leave the other contenders out")
    arguments = parser.parse_args()
    names = [contenders.OURS] if arguments.ours else contenders.installed(NAMES)
    weights = sum(path.stat().st_size for path in Path(arguments.model).glob("*.safetensors")) / 2**20
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        models = contenders.prepared(names, arguments.model, folder)
        for name in names:
            found = contenders.run(name, "memory", models[name], arguments.corpus, arguments.documents)
            growth = slope(found["documents"], found["rss_mib"])
            peak = found["peak_rss_mib"]
            rows.append([name, f"{peak:,.0f}", f"{peak - weights:,.0f}", "–" if growth is None else f"{growth:+.2f}"])
    print(f"{arguments.documents:,} documents, weights of {weights:,.0f} MiB as stored, on {contenders.machine()}\n")
    print(contenders.table(("", "peak MiB", "beyond the weights", "KiB a document from the 500th on"), rows))
    if arguments.growth:
        found = contenders.run(contenders.OURS, "growth", arguments.model, arguments.corpus, arguments.growth)
        timed = ", ".join(f"{n:,}: {s:.1f} s" for n, s in zip(found["documents"], found["seconds"], strict=True))
        print(f"\nTime grows with documents to the power of {exponent(found['documents'], found['seconds']):.3f} ({timed})")
    if arguments.characters:
        found = contenders.run(contenders.OURS, "long", arguments.model, arguments.corpus, arguments.characters)
        peak = found["peak_rss_mib"]
        print(f"\nOne document of {found['characters']:,} characters: {peak:,.0f} MiB, {peak - weights:,.0f} beyond the weights")


if __name__ == "__main__":
    main()
