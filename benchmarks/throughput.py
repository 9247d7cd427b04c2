"""Documents per second and peak memory, ours beside the other contenders, in one run and in alternating order.

    python benchmarks/throughput.py [MODEL CORPUS] [--limit N] [--rounds N] [--mlx]

Needs the `parity` extra; ONNX Runtime is measured where it is installed. Prints a Markdown table; ratios are of the
medians. OpenMed's pipeline, and transformers' unless it says "whole texts", cut a document off at the model's window, and have
less to do then. The last line says how fast any program in float32 could be here: so fast as the machine multiplies matrices.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import contenders
from arguments import at_least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    contenders.add_model_and_corpus(parser)
    parser.add_argument("--limit", type=at_least(0), default=0, help="documents; all if not given")
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--mlx", action="store_true", help="only what runs on MLX's CPU device, which is slow; else all but that")
    arguments = parser.parse_args()
    names = [name for name in contenders.installed() if ("MLX" in name) == arguments.mlx]
    ours = names[0]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        models = contenders.prepared(names, arguments.model, folder)
        for number in range(arguments.rounds):
            for name in names[:: -1 if number % 2 else 1]:
                results[name].append(contenders.run(name, "throughput", models[name], arguments.corpus, arguments.limit))
        work = contenders.run(contenders.OURS, "work", arguments.model, arguments.corpus, arguments.limit)
    seconds = {name: contenders.median(rounds, "seconds") for name, rounds in results.items()}
    rows = [
        [
            name,
            f"{rounds[0]['documents'] / seconds[name]:,.1f}",
            f"{seconds[name] / seconds[ours]:.2f}×",
            f"{contenders.median(rounds, 'peak_rss_mib'):,.0f}",
            f"{rounds[0]['spans']:,}",
        ]
        for name, rounds in results.items()
    ]
    print(f"Medians of {arguments.rounds} runs in alternating order on {contenders.machine()}\n")
    print(contenders.table(("", "documents/s", "ours is", "peak MiB", "spans"), rows))
    if not arguments.mlx:
        least = work["flops"] / work["peak"]
        print(
            f"\nThe texts take {work['flops'] / 1e9:,.0f} GFLOP and numpy multiplies {work['peak'] / 1e9:,.0f} a second here: at best "
            f"{results[ours][0]['documents'] / least:,.1f} documents/s, of which ours are {least / seconds[ours]:.0%}"
        )


if __name__ == "__main__":
    main()
