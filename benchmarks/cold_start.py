"""From the start of a fresh process to its first spans, ours beside transformers' pipeline, in alternating order.

    python benchmarks/cold_start.py MODEL [--rounds N]

Needs the `parity` extra. The files are in the page cache (a first round is thrown away); imports are counted.
"""

from __future__ import annotations

import argparse
from typing import Any

import contenders

NAMES = ("openmed-mlx-eval", "transformers, batch 1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    for number in range(arguments.rounds + 1):
        for name in NAMES:
            result = contenders.run(name, "cold", arguments.model)
            if number:
                results[name].append(result)
    elapsed = {name: contenders.median(rounds, "elapsed") for name, rounds in results.items()}
    rows = [
        [
            name,
            f"{elapsed[name]:.3f}",
            f"1/{elapsed[NAMES[1]] / elapsed[name]:.1f}",
            f"{contenders.median(results[name], 'peak_rss_mib'):,.0f}",
        ]
        for name in NAMES
    ]
    print(f"Medians of {arguments.rounds} fresh processes each on {contenders.machine()}\n")
    print(contenders.table(("", "seconds to the first spans", "of the pipeline's", "peak MiB"), rows))


if __name__ == "__main__":
    main()
