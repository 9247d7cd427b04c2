"""What the canary test calls: every command, with options and failures of every kind, on a corpus that holds the canary."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

from openmed_mlx_eval.cli.main import cli
from openmed_mlx_eval.corpora import FORMATS
from openmed_mlx_eval.errors import EvaluationError

CANARY = "QZX-7781"
GLINER = Path(__file__).parent / "data" / "gliner" / "bert"
Arguments = list[object]


@dataclass(frozen=True)
class Place:
    """What a case may use. out: a folder for results, which is searched afterwards."""

    corpus: Path
    model: Path
    out: Path


def strange_run_of(at: Place) -> Path:
    """The run folder of a corpus that this one is not."""
    report, folder = scored(at, "a") / "report.json", at.out / "strange"
    folder.mkdir(exist_ok=True)
    if report.exists():
        said = json.loads(report.read_text("utf-8"))
        said["corpus"]["sha256"] = "0" * 64
        (folder / "report.json").write_text(json.dumps(said), "utf-8")
    return folder


def scored(at: Place, name: str, *options: object) -> Path:
    """A run folder of the corpus against itself; a folder that is not there if the corpus is too bad for one."""
    folder = at.out / "runs" / name
    with suppress(EvaluationError):
        arguments = ["score", at.corpus, at.corpus, "--output", folder, "--quiet", *options]
        cli.main([str(argument) for argument in arguments], standalone_mode=False)
    return folder


def shard_of(at: Place, number: int) -> Path:
    """One of two shards of a run; a folder that is not there if the corpus is too bad for a run."""
    folder = at.out / "runs" / f"shard-{number}"
    if folder.exists():
        return folder
    with suppress(EvaluationError):
        arguments = ["run", "--model", at.model, "--corpus", at.corpus, "--shard", f"{number}/2", "--output", folder, "--quiet"]
        cli.main([str(argument) for argument in arguments], standalone_mode=False)
    return folder


def night_of(at: Place, text: str) -> Path:
    """A bench file of that text, beside the corpus."""
    path = at.corpus.parent / f"{CANARY}-{len(text)}.toml"
    path.write_text(text, "utf-8")
    return path


def answers_for(at: Place) -> Path:
    """A language model's answers, with the canary in and out of tags and as a tag, for three documents."""
    answers = (
        f"<think>{CANARY}</think><response>dr <anatomy>{CANARY}</anatomy> saw <{CANARY}>{CANARY} in <QZX>ward</QZX> 7</response>",
        f"I think that {CANARY} has a fever",
        f"<response><anatomy>{CANARY}",
    )
    path = at.corpus.parent / f"{CANARY}-answers.jsonl"
    path.write_text("".join(json.dumps({"document": n, "answer": answer}) + "\n" for n, answer in enumerate(answers)), "utf-8")
    return path


def pulled(at: Place) -> Arguments:
    """A pull of a model that lies in a cache whole and untouched, which needs no network."""
    from openmed_mlx_eval.model_manifest.catalog import write_entry
    from openmed_mlx_eval.model_manifest.entries import Entry
    from openmed_mlx_eval.model_manifest.hashing import hashed

    commit, manifest = "0123456789" * 4, at.out / "pulled.json"
    snapshot = at.out / "hub" / "models--owner--tiny" / "snapshots" / commit
    if not manifest.exists():
        copytree(at.model, snapshot)
        write_entry(manifest, Entry("tiny", repository="owner/tiny", revision=commit, files=hashed(snapshot)))
    return ["tiny", "--manifest", manifest, "--cache", at.out / "hub"]


BRIEF = ("--processes", 0, "--lengths", 8, "--batches", 1, "--warmups", 0, "--iterations", 1, "--seconds", 0)


CASES: dict[str, Callable[[Place], list[Arguments]]] = {
    "run": lambda at: [
        ["--model", at.model, "--corpus", at.corpus, "--output", at.out / "run"],
        ["--model", at.model, "--corpus", at.corpus, "--skip-bad", "--cache", at.out / "cache"],
        ["--model", at.model, "--corpus", at.corpus, "--json", "--skip-bad", "--limit", 3],
        [
            "--model",
            at.model,
            "--corpus",
            at.corpus,
            "--skip-bad",
            "--training-manifest",
            at.corpus,
            "--output",
            at.out / "trained",
        ],
        ["--model", at.model, "--corpus", at.corpus, "--skip-bad", "--training-manifest", at.corpus, "--forbid-overlap"],
        ["--training-manifest", at.corpus, "--limit", 1, "--json", "--layers", "outermost"],
        ["--model", at.model, "--corpus", at.corpus, "--format", "conll"],
        ["--model", at.model, "--corpus", at.corpus, "--abstain", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--abstain", 0.5, "--slice-by", "no such key"],
        ["--model", at.model, "--corpus", at.corpus, "--label-map", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--cold-start", 1, "--limit", 1],
        ["--model", GLINER, "--corpus", at.corpus, "--gliner-labels", "dr quill,fever", "--output", at.out / "gliner"],
        ["--model", at.model, "--corpus", at.corpus, "--gliner-labels", at.corpus],
        ["--model", GLINER, "--corpus", at.corpus, "--gliner-labels", at.corpus / CANARY / "\x00"],
        ["--model", at.model, "--corpus", at.corpus, "--shard", at.corpus],
        ["--model", at.corpus, "--corpus", at.corpus],
        ["--model", CANARY, "--corpus", at.corpus, "--manifest", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--output", at.corpus],
        ["--model", at.model, at.corpus],
    ],
    "merge": lambda at: [
        [shard_of(at, 1), shard_of(at, 2), "--output", at.out / "merged"],
        [shard_of(at, 2), "--json"],
        [shard_of(at, 1), shard_of(at, 1)],
        [shard_of(at, 1), scored(at, "a")],
        [shard_of(at, 1), shard_of(at, 2), "--fail-under", "exact_f1=1", "--quiet"],
        [at.corpus, "--output", at.corpus],
        [at.model, at.corpus],
    ],
    "bench": lambda at: [
        [at.model, "--corpus", at.corpus, "--output", at.out / "bench"],
        [at.model, at.corpus, "--corpus", at.corpus, "--output", at.out / "bench", "--bootstrap", 0],
        [at.model, at.model, "--corpus", at.corpus, "--output", at.out / "bench", "--json", "--skip-bad", "--limit", 1],
        [at.model, "--corpus", at.corpus, "--output", at.corpus],
        [CANARY, at.corpus.name, "--corpus", at.corpus, "--output", at.out / "named", "--bootstrap", 0],
        [at.model, "--corpus", at.corpus, "--output", at.out / "bench", "--label-map", at.corpus],
        [night_of(at, f'models = ["{at.corpus.name}"]\ncorpora = ["{at.corpus.name}"]'), "--output", at.out / "night"],
        [night_of(at, f"{CANARY} = 1"), "--output", at.out / "night"],
        [night_of(at, f'models = ["a"]\ncorpora = [{{path = "a", name = "/{CANARY}"}}]'), "--output", at.out / "night"],
        [night_of(at, f'models = ["a"]\ncorpora = ["a"]\noptions = {{limit = "{CANARY}"}}'), "--output", at.out / "night"],
        [at.model, at.corpus],
    ],
    "score": lambda at: [
        [at.corpus, at.corpus, "--output", at.out / "score"],
        [at.corpus, at.corpus, "--json", "--skip-bad", "--discontinuous", "error", "--layers", "innermost"],
        [at.corpus, at.corpus, "--skip-bad", "--training-manifest", at.corpus, "--output", at.out / "trained"],
        [at.corpus, at.corpus, "--skip-bad", "--training-manifest", at.corpus, "--forbid-overlap"],
        [at.corpus, at.corpus, "--training-manifest", at.model / "config.json"],
        [at.corpus, at.corpus, "--predictions-format", "predictions"],
        [at.corpus, at.corpus, "--format", "pubtator"],
        [at.corpus, at.model / "config.json"],
        [at.corpus, at.corpus, at.corpus],
        [at.corpus],
        [at.corpus, at.corpus, "--format", "conll", "--predictions-format", "conll", "--tags", "strict", "--skip-bad"],
        [at.corpus, at.corpus, "--tags", "lenient", "--scheme", "IOB1", "--output", at.out / "tags"],
        [at.corpus, "--predictions-format", "conlleval"],
        [at.corpus, "--predictions-format", "conlleval", "--skip-bad", "--scheme", "IOE2"],
        [at.corpus, at.corpus, "--tag-names", at.corpus],
        [at.corpus, f"{at.corpus}.npz", "--tag-names", at.corpus],
    ],
    "compare": lambda at: [
        [scored(at, "a"), scored(at, "b"), "--output", at.out / "compared"],
        [scored(at, "a"), scored(at, "c", "--label-map", "none"), "--json", "--max-loss", 0],
        [scored(at, "a"), scored(at, "d", "--limit", 1), "--bootstrap", 0],
        [scored(at, "a"), at.corpus],
        [at.corpus, at.corpus, "--output", at.corpus],
        [at.corpus, at.corpus, "--metric", at.corpus],
        [at.model, at.corpus, at.corpus],
    ],
    "report": lambda at: [
        [scored(at, "a"), "--output", at.out / "page", "--model-card", "--json"],
        [scored(at, "a"), scored(at, "b", "--label-map", "none"), "--output", at.out / "pages"],
        [scored(at, "a"), "--output", at.out / "card", "--model-card", "--dataset-id", at.corpus],
        [scored(at, "a"), "--output", at.corpus],
        [at.corpus],
        [at.corpus, at.corpus],
    ],
    "gate": lambda at: [
        [scored(at, "a"), "--fail-under", "documents=1", "--json"],
        [scored(at, "a"), "--fail-under", "exact_f1=0.99", "--fail-under", "predicted=10000"],
        [scored(at, "a"), "--fail-under", at.corpus],
        [scored(at, "a"), "--fail-over", f"{at.corpus}=1"],
        [scored(at, "a"), "--rules", at.corpus],
        [at.corpus, "--fail-under", "exact_f1=0"],
        [at.corpus, at.corpus],
    ],
    "generate": lambda at: [
        ["--answers", answers_for(at), "--corpus", at.corpus, "--output", at.out / "generate"],
        ["--answers", answers_for(at), "--corpus", at.corpus, "--json", "--align", "evalscope", "--format", "conll"],
        ["--answers", answers_for(at), "--corpus", at.corpus, "--shots-file", at.corpus, "--shots", 2],
        ["--answers", at.corpus, "--corpus", at.corpus],
        ["--answers", answers_for(at), "--corpus", at.corpus, "--benchmark", "custom", "--protocol", at.corpus],
        ["--answers", answers_for(at), "--corpus", at.corpus, "--benchmark", "custom", "--entity", f"<{CANARY}>"],
        ["--endpoint", f"http://{CANARY}.example/v1", "--corpus", at.corpus],
        ["--endpoint", "http://127.0.0.1:9/v1", "--corpus", at.corpus],
        ["--model", at.corpus, "--corpus", at.corpus, "--adapter", at.corpus],
        ["--corpus", at.corpus, at.corpus],
    ],
    "errors": lambda at: [
        ["--model", at.model, "--corpus", at.corpus, "--output", at.out / "errors"],
        ["--model", at.model, "--corpus", at.corpus, "--json", "--skip-bad", "--examples", 100, "--hash-key-file", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--hash-key-file", at.out],
        ["--model", at.corpus, "--corpus", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--output", at.corpus],
        [at.corpus],
    ],
    "errors from": lambda at: [
        [scored(at, "a"), "--corpus", at.corpus, "--output", at.out / "errors-from"],
        [scored(at, "a"), "--corpus", at.corpus, "--json", "--examples", 100, "--hash-key-file", at.corpus],
        [strange_run_of(at), "--corpus", at.corpus],
        [scored(at, "a"), "--corpus", at.model / "config.json"],
        [at.corpus, "--corpus", at.corpus],
        [at.corpus, at.corpus],
    ],
    "errors show": lambda at: [  # what it prints where it may is held by tests/cli/test_errors.py
        [scored(at, "a"), "--corpus", at.corpus],
        [scored(at, "a"), "--corpus", at.corpus, "--label", CANARY, "--kind", CANARY],
        [strange_run_of(at), "--corpus", at.corpus, "--allow-pipe"],
        [scored(at, "a"), "--corpus", at.model / "config.json", "--allow-pipe"],
        [at.corpus, "--corpus", at.corpus, "--allow-pipe"],
    ],
    "latency": lambda at: [
        ["--model", at.model, "--corpus", at.corpus, *BRIEF, "--processes", 1, "--output", at.out / "latency"],
        ["--model", at.model, "--corpus", at.corpus, *BRIEF, "--json", "--quiet", "--skip-bad", "--budget", "p95_ms=0"],
        ["--model", at.model, "--corpus", at.corpus, *BRIEF, "--format", "pubtator"],
        ["--model", at.model, "--corpus", at.corpus, *BRIEF, "--compare", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, *BRIEF, "--label-map", at.corpus],
        ["--model", at.model, "--corpus", at.corpus, "--budget", CANARY],
        ["--model", at.model, "--corpus", at.corpus, "--lengths", CANARY],
        ["--model", at.corpus, "--corpus", at.corpus],
        ["--model", at.model, at.corpus],
    ],
    "corpus check": lambda at: [
        [at.corpus],
        [at.corpus, "--json"],
        *([at.corpus, "--format", format] for format in FORMATS if format not in ("openmed", "conll", "brat", "pubtator")),
    ],
    "corpus stats": lambda at: [[at.corpus], [at.corpus, "--json", "--skip-bad"], [at.corpus, "--format", "brat"]],
    "corpus agreement": lambda at: [
        [at.corpus, at.corpus],
        [at.corpus, at.corpus, at.corpus, "--json", "--label-map", "none"],
        [at.corpus, at.corpus, "--format", "brat"],
        [at.corpus, at.corpus, "--label-map", at.corpus],
        [at.corpus],
    ],
    "corpus convert": lambda at: [
        [at.corpus, "--to", "openmed", "-o", at.out / "written" / "a.jsonl", "--json", "--skip-bad"],
        [at.corpus, "--to", "brat", "-o", at.out / "written" / "b", "--skip-bad"],
        [at.corpus, "--to", "conll", "-o", at.out / "written" / "c", "--lossy"],
        [at.corpus, "--to", "doccano", "-o", at.out / "written" / "e.jsonl", "--skip-bad", "--json"],
        [at.corpus, "--to", "conll", "-o", at.corpus],
        [at.corpus, "--to", at.corpus, "-o", at.out / "written" / "d"],
    ],
    "convert": lambda at: [
        [at.model, at.out / "artifact"],
        [at.model, at.out / "artifact", "--json", "--quantize", "8", "--force"],
        [at.corpus, at.out / "none"],
        [at.model, at.corpus],
        [at.model, at.out / "other", "--dtype", at.corpus],
        [at.model, at.out / "proved", "--quantize", "8", "--group-size", "32", "--verify", "--certify", at.corpus, "--force"],
        [at.model, at.out / "another", "--quantize", "8", "--certify", at.corpus, "--label-map", at.corpus],
        [at.model, at.out / "third", "--quantize", "8", "--certify", at.corpus, "--format", "i2b2"],
    ],
    "parity": lambda at: [
        [at.model, at.model, "--corpus", at.corpus, "--output", at.out / "parity"],
        [at.model, at.model, "--corpus", at.corpus, "--json", "--skip-bad", "--limit", 2, "--min-labels", 1],
        [at.model, "--engine", "numpy,mlx", "--device", "cpu", "--quiet", "--max-difference", 0],
        [at.model, at.model, "--corpus", at.corpus, "--format", "pubtator"],
        [at.model, at.corpus],
        [at.model, "--engine", at.corpus],
        [at.model, at.model, at.corpus],
    ],
    "models list": lambda at: [
        [],
        ["--json", "--language", "de", "--min-size", "10M", "--manifest", pulled(at)[2]],
        ["--totals", "--sort", "size"],
        ["--manifest", at.corpus],
        ["--max-size", CANARY, "--kind", CANARY],
        ["--sort", at.corpus],
        [at.corpus],
    ],
    "models show": lambda at: [
        ["tiny-phi-bert"],
        ["tiny-phi-bert", "--json", "--manifest", at.corpus],
        [CANARY],
        [at.corpus],
    ],
    "models verify": lambda at: [
        ["tiny-phi-bert"],
        [at.model, "--json", "--name", "tiny-phi-bert"],
        [at.corpus, "--name", "tiny-phi-bert"],
        [at.corpus],
        [at.model, "--manifest", at.corpus],
        [CANARY, "--name", at.corpus],
    ],
    "models add": lambda at: [
        [at.model, "--manifest", at.out / "models.json"],
        [at.model, "--manifest", at.out / "models.json", "--json", "--name", "another"],
        [at.model, "--manifest", at.out / "models.json", "--name", at.corpus],
        [at.model, "--manifest", at.corpus],
        [at.corpus, "--manifest", at.out / "models.json"],
    ],
    "models pull": lambda at: [  # what goes through a network is held by tests/model_manifest/test_pulling.py
        pulled(at),
        [*pulled(at), "--json", "--quiet"],
        [*pulled(at), "--revision", CANARY],
        ["tiny-phi-bert", "--manifest", pulled(at)[2]],
        [at.corpus],
        ["tiny", "--manifest", at.corpus],
    ],
    "doctor": lambda at: [[], ["--json"], [at.corpus]],
}
