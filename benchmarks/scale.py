"""What a large corpus costs beside the model: documents per second and resident memory of read → score → report, and what a
journal adds to a run.

    python benchmarks/scale.py [MODEL CORPUS] [--documents N] [--limit N]

The model of the first table finds nothing, in no time, so all that is measured is this program's: notes of a line, of
persons and dates that differ, in quarter, half and whole number of N, each in a process of its own. The second table runs
MODEL on the first documents of CORPUS with and without `--output`, in alternating order.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import contenders
from arguments import at_least

NAMES = ["Anna", "Bert", "Carla", "Dieter", "Eva", "Franz", "Gerda", "Hans", "Ida", "Jonas"]
ENDS = (" in clinic.", " for review; stable.", ", discharged home with advice.")

NULL_MODEL = """
import json, resource, sys
from openmed_mlx_eval.benchmark import RunOptions
from openmed_mlx_eval.demo import model_path
from openmed_mlx_eval.kept_run import kept_run
from openmed_mlx_eval.reporting.files import RunFolder
from openmed_mlx_eval.reporting.report import to_json
from openmed_mlx_eval.runtime import classifier

def nothing(self, texts, progress=lambda done: None):
    for chunk in classifier._chunks(texts, 1 << 16):
        yield from ([] for _ in chunk)
        progress(len(chunk))

classifier.TokenClassifier.predict = nothing
corpus, out = sys.argv[1:]
with kept_run(RunOptions(model=str(model_path()), corpus=corpus), out) as made:
    RunFolder(out).write({"report.json": [to_json(made.report)], **made.lines})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps({**made.report["timing"], "peak_mib": peak, "documents": made.report["corpus"]["documents_scored"]}))
"""


def notes(documents: int) -> Iterator[str]:
    """The lines of a corpus of one-sentence notes."""
    draw = random.Random(0)
    for number in range(documents):
        name, end = f"{draw.choice(NAMES)} {draw.choice(NAMES)}son", draw.choice(ENDS)
        date = f"{draw.randint(1, 28):02d}/{draw.randint(1, 12):02d}/{draw.randint(1950, 2020)}"
        at = 9 + len(name)
        gold = [{"start": 5, "end": 5 + len(name), "label": "PERSON"}, {"start": at, "end": at + 10, "label": "DATE"}]
        yield json.dumps({"id": f"d{number}", "text": f"Seen {name} on {date}{end}", "gold_spans": gold}) + "\n"


def null_run(documents: int, folder: Path) -> str:
    corpus, out = folder / f"{documents}.jsonl", folder / f"out-{documents}"
    out.mkdir()
    with corpus.open("w") as file:
        file.writelines(notes(documents))
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", NULL_MODEL, corpus, out], check=True, capture_output=True, text=True)
    seconds, found = time.perf_counter() - started, json.loads(done.stdout)
    corpus.unlink()
    laps = " + ".join(f"{found[name]:.1f} {name[:-2]}" for name in ("read_s", "predict_s", "score_s"))
    rate, peak = found["documents"] / seconds, found["peak_mib"]
    return f"| {found['documents']:,} | {seconds:.1f} s ({laps}) | {rate:,.0f} | {peak:.0f} MiB |"


def journal_overhead(model: str, corpus: str, limit: int, folder: Path, rounds: int = 3) -> str:
    command = [sys.executable, "-m", "openmed_mlx_eval", "run", "--model", model, "--corpus", corpus, "--limit", str(limit)]
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(rounds):
        for kept in (False, True) if turn % 2 == 0 else (True, False):
            more = ["--output", str(folder / f"kept-{turn}")] if kept else []
            started = time.perf_counter()
            subprocess.run([*command, "--quiet", *more], check=True, capture_output=True)
            seconds[kept].append(time.perf_counter() - started)
    without, with_it = (statistics.median(seconds[kept]) for kept in (False, True))
    return f"| {limit:,} | {without:.2f} s | {with_it:.2f} s | {with_it / without - 1:+.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    contenders.add_model_and_corpus(parser)
    parser.add_argument("--documents", type=at_least(4), default=1_000_000)
    parser.add_argument("--limit", type=at_least(1), default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print("| documents | wall clock | documents per second | peak RSS |\n|---|---|---|---|")
        for documents in (arguments.documents // 4, arguments.documents // 2, arguments.documents):
            print(null_run(documents, Path(place)), flush=True)
        print("\n| documents | without journal and files | with | more |\n|---|---|---|---|")
        print(journal_overhead(arguments.model, arguments.corpus, arguments.limit, Path(place)))
    print(f"\n{contenders.machine()}")


if __name__ == "__main__":
    main()
