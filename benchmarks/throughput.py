"""Documents per second and peak memory, ours beside transformers' pipeline, in one run and in alternating order.

    python benchmarks/throughput.py MODEL CORPUS [--limit N] [--rounds N]

Needs the `parity` extra. Prints a Markdown table; the ratio is against the best batch size of the pipeline.
"""

from __future__ import annotations

import argparse
from typing import Any

import contenders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--limit", type=int, default=0, help="documents; all if not given")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders.CONTENDERS}
    for _ in range(arguments.rounds):
        for name in results:
            results[name].append(contenders.run(name, "throughput", arguments.model, arguments.corpus, arguments.limit))
    seconds = {name: contenders.median(rounds, "seconds") for name, rounds in results.items()}
    ours = next(iter(seconds))
    best = min(value for name, value in seconds.items() if name != ours)
    rows = [
        [
            name,
            f"{rounds[0]['documents'] / seconds[name]:,.1f}",
            f"{best / seconds[name]:.2f}×",
            f"{contenders.median(rounds, 'peak_rss_mib'):,.0f}",
            f"{rounds[0]['spans']:,}",
        ]
        for name, rounds in results.items()
    ]
    print(f"{rounds_said(arguments.rounds)} on {contenders.machine()}\n")
    print(contenders.table(("", "documents/s", "to the best pipeline", "peak MiB", "spans"), rows))


def rounds_said(rounds: int) -> str:
    return f"Medians of {rounds} runs in alternating order"


if __name__ == "__main__":
    main()
