"""From the start of a fresh process to its first spans, ours beside the other contenders, in alternating order.

    python benchmarks/cold_start.py [MODEL] [--rounds N]

Needs the `parity` extra; ONNX Runtime is measured where it is installed. The files are in the page cache (a first round
is thrown away); imports are counted.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import contenders
from arguments import at_least

NAMES = (contenders.OURS, contenders.BEST_KNOWN, "openmed, MLX on the CPU", "ONNX Runtime")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    contenders.add_model_and_corpus(parser, corpus=False)
    parser.add_argument("--rounds", type=at_least(1), default=7)
    arguments = parser.parse_args()
    names = contenders.installed(NAMES)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        models = contenders.prepared(names, arguments.model, folder)
        for number in range(arguments.rounds + 1):
            for name in names[:: 1 if number % 2 else -1]:
                result = contenders.run(name, "cold", models[name])
                if number:
                    results[name].append(result)
    elapsed = {name: contenders.median(rounds, "elapsed") for name, rounds in results.items()}
    rows = [
        [
            name,
            f"{elapsed[name]:.3f}",
            f"1/{elapsed[name] / elapsed[contenders.OURS]:.1f}",
            f"{contenders.median(results[name], 'peak_rss_mib'):,.0f}",
        ]
        for name in names
    ]
    print(f"Medians of {arguments.rounds} fresh processes each on {contenders.machine()}\n")
    print(contenders.table(("", "seconds to the first spans", "ours, of it", "peak MiB"), rows))


if __name__ == "__main__":
    main()
