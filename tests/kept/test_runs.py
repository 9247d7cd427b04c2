"""A run that is broken off goes on where it was and ends in the same report."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openmed_mlx_eval import run_journal
from openmed_mlx_eval.benchmark import RunOptions
from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError
from openmed_mlx_eval.kept_run import kept_run
from openmed_mlx_eval.reporting.files import RunFolder
from openmed_mlx_eval.run_journal import NAME
from openmed_mlx_eval.runtime import classifier

from .running import Broken, broken_after, contents, finished, sentence


@pytest.mark.parametrize("calls", [0, 1, 9, 14])
def test_a_broken_run_goes_on_and_does_no_batch_twice(corpus, tiny_model, tmp_path, whole, calls):
    options = RunOptions(model=str(tiny_model), corpus=str(corpus))
    with pytest.MonkeyPatch.context() as patch:
        before = broken_after(patch, calls)
        with pytest.raises(Broken):
            finished(options, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        after = broken_after(patch, 10**6)
        said: list[str] = []
        finished(options, tmp_path, said)
    assert contents(tmp_path) == whole
    journalled = 40 - sum(after)
    assert journalled <= sum(before)
    assert said == ([f"going on after {journalled} documents that are done"] if journalled else [])


def test_a_run_broken_twice_and_a_journal_of_everything(corpus, tiny_model, tmp_path, whole):
    options = RunOptions(model=str(tiny_model), corpus=str(corpus))
    for calls in (2, 2):
        with pytest.MonkeyPatch.context() as patch:
            broken_after(patch, calls)
            with pytest.raises(Broken):
                finished(options, tmp_path)
    with pytest.raises(Broken), kept_run(options, tmp_path):
        raise Broken  # everything is predicted, and the body fails to write it
    assert (tmp_path / NAME).exists()
    with pytest.MonkeyPatch.context() as patch:
        after = broken_after(patch, 0)
        finished(options, tmp_path)
    assert after == []
    assert contents(tmp_path) == whole


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"stride": 3}, "stride"),
        ({"aggregation": "first"}, "aggregation"),
        ({"limit": 39}, "limit"),
        ({"layers": "outermost"}, "layers"),
        ({"shard": "1/1"}, "shard"),
        ({"suite": "other"}, "suite"),
    ],
)
def test_a_changed_option_starts_anew_and_says_which(corpus, tiny_model, tmp_path, changed, named):
    with pytest.MonkeyPatch.context() as patch:
        broken_after(patch, 12)
        with pytest.raises(Broken):
            finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), tmp_path)
    said: list[str] = []
    report = finished(RunOptions(model=str(tiny_model), corpus=str(corpus), **changed), tmp_path, said)
    assert said == [f"the journal in the output folder is of another run ({named} differs); everything is done anew"]
    assert report["corpus"]["documents_scored"] == changed.get("limit", 40)


def test_a_changed_corpus_or_model_starts_anew_and_a_moved_one_does_not(corpus, tiny_model, tmp_path, whole):
    def broken(model: Path, notes: Path, folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            broken_after(patch, 12)
            with pytest.raises(Broken):
                finished(RunOptions(model=str(model), corpus=str(notes)), folder)

    moved = shutil.copytree(tiny_model, tmp_path / "elsewhere" / tiny_model.name)
    notes = shutil.copy(corpus, tmp_path / "other-name.jsonl")
    broken(tiny_model, corpus, tmp_path / "out")
    said: list[str] = []
    finished(RunOptions(model=str(moved), corpus=str(notes)), tmp_path / "out", said)
    assert said[0].startswith("going on after")
    assert contents(tmp_path / "out") == whole

    broken(tiny_model, corpus, tmp_path / "out")
    notes.write_text(notes.read_text() + "\n")
    config = moved / "config.json"
    config.write_text(config.read_text() + "\n")
    said.clear()
    finished(RunOptions(model=str(moved), corpus=str(notes)), tmp_path / "out", said)
    assert said == ["the journal in the output folder is of another run (model, corpus differ); everything is done anew"]


def test_a_shard_goes_on_too(corpus, tiny_model, tmp_path):
    options = RunOptions(model=str(tiny_model), corpus=str(corpus), shard="1/2")
    finished(options, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        broken_after(patch, 6)
        with pytest.raises(Broken):
            finished(options, tmp_path / "broken")
    finished(options, tmp_path / "broken")
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    assert "shard.jsonl" in contents(tmp_path / "whole")


def test_a_journal_holds_no_text(corpus, tiny_model, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        broken_after(patch, 12)
        with pytest.raises(Broken):
            finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), tmp_path)
    journal = (tmp_path / NAME).read_text()
    for word in ("Patient", "fever", "murmur", "notes.jsonl", '"d7"', str(corpus.parent), str(tiny_model.parent)):
        assert word not in journal


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are POSIX's")
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_in_the_journals_place_is_left_alone(corpus, tiny_model, tmp_path, kind):
    """A link was written through, and a pipe waited for."""
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("precious")
    out.mkdir()
    {"folder": Path.mkdir, "link": lambda path: path.symlink_to(precious), "pipe": os.mkfifo}[kind](out / NAME)
    said: list[str] = []
    finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), out, said)
    assert said == ["what lies in the journal's place is no file of this program; the run has no journal"]
    assert precious.read_text() == "precious"
    assert os.path.lexists(out / NAME)
    assert (out / "report.json").exists()


def test_a_full_disk_ends_the_journal_and_not_the_run(corpus, tiny_model, tmp_path, monkeypatch, whole):
    def full(*arguments: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_journal, "_line", full)
    said: list[str] = []
    finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), tmp_path, said)
    assert contents(tmp_path) == whole
    assert said == ["the journal could not be written (No space left on device); the run would have begun anew after a kill"]


# Two runs, and a corpus that changes


def test_two_runs_on_one_folder(tmp_path):
    folder = RunFolder(tmp_path)
    with folder.alone():
        with pytest.raises(UsageError, match="another run is at work in that folder"), RunFolder(tmp_path).alone():
            pass
        with RunFolder(tmp_path / "other").alone():
            pass
    with RunFolder(tmp_path).alone():
        pass


def test_a_corpus_that_changes_while_the_model_runs(corpus, tiny_model, tmp_path, monkeypatch):
    notes = Path(shutil.copy(corpus, tmp_path / "notes.jsonl"))
    real = classifier.TokenClassifier._begin

    def begin(self: Any, batch: Any) -> Any:
        os.utime(notes, ns=(1, 1))
        return real(self, batch)

    monkeypatch.setattr(classifier.TokenClassifier, "_begin", begin)
    with pytest.raises(InputError, match="changed while it was read"):
        finished(RunOptions(model=str(tiny_model), corpus=str(notes)), tmp_path / "out")
    assert "report.json" not in contents(tmp_path / "out")


def test_memory_does_not_grow_with_the_corpus(tiny_model, tmp_path):
    """Four times the documents, all different, through a model that finds nothing."""
    peaks = []
    for documents in (5_000, 20_000):
        path = tmp_path / f"{documents}.jsonl"
        with path.open("w") as file:
            for n in range(documents):
                row = {"id": f"d{n}", "text": sentence(n), "gold_spans": [{"start": 0, "end": 7, "label": "NAME"}]}
                file.write(json.dumps(row) + "\n")
        code = (
            "import sys, resource\n"
            "from openmed_mlx_eval.benchmark import RunOptions\n"
            "from openmed_mlx_eval.kept_run import kept_run\n"
            "from openmed_mlx_eval.runtime.classifier import TokenClassifier, _chunks\n"
            "def nothing(self, texts, progress=lambda done: None):\n"
            "    for chunk in _chunks(texts, 65536):\n"
            "        yield from ([] for _ in chunk)\n"
            "        progress(len(chunk))\n"
            "TokenClassifier.predict = nothing\n"
            "with kept_run(RunOptions(model=sys.argv[1], corpus=sys.argv[2]), sys.argv[3]) as made:\n"
            "    assert made.report['corpus']['documents_scored'] == int(sys.argv[4])\n"
            "    assert sum(1 for line in made.lines['documents.jsonl']) == int(sys.argv[4])\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        )
        out = tmp_path / f"out-{documents}"
        out.mkdir()
        command = [sys.executable, "-c", code, str(tiny_model), str(path), str(out), str(documents)]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert peaks[1] < peaks[0] * 1.15 + 2_000, peaks  # KiB on Linux; 15,000 held documents would be some 30 MB


# Killed for real


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
def test_killed_at_random_moments(corpus, tiny_model, tmp_path):
    """Twenty kills of one run, or as many as it outlives; each start goes on, and the end is the report of an unbroken run."""
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import time\n"
        "from openmed_mlx_eval.runtime import classifier\n"
        "chunks = classifier._chunks\n"
        "classifier._chunks = lambda texts, size: chunks(texts, 100)\n"
        "real = classifier.TokenClassifier._begin\n"
        "def begin(self, batch):\n"
        "    time.sleep(0.02)\n"
        "    return real(self, batch)\n"
        "classifier.TokenClassifier._begin = begin\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(slow), *filter(None, [os.environ.get("PYTHONPATH")])])}

    def start(out: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "openmed_mlx_eval", "run", "--model", tiny_model, "--corpus", corpus, "--output", out]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    unbroken = start(tmp_path / "unbroken")
    assert unbroken.wait() == 0
    draw, out, kills, done = random.Random(7), tmp_path / "killed", 0, [0]
    while kills < 20:
        running = start(out)
        wait_for_progress(out, running, draw.random() * 0.05)
        running.send_signal(signal.SIGKILL)
        if running.wait() == 0 or (out / "report.json").exists():
            break
        kills += 1
        done.append(journalled(out))
        assert done[-1] >= done[-2]
    assert start(out).wait() == 0
    assert kills >= 3
    expected, found = ({name: timeless(path) for name, path in paths(folder)} for folder in (tmp_path / "unbroken", out))
    assert found == expected


def wait_for_progress(out: Path, running: subprocess.Popen[bytes], more: float) -> None:
    """Until the journal has grown or the run has ended, and a moment longer."""
    before = size(out)
    while size(out) == before and running.poll() is None:
        time.sleep(0.005)
    time.sleep(more)


def size(out: Path) -> int:
    return (out / NAME).stat().st_size if (out / NAME).exists() else -1


def journalled(out: Path) -> int:
    return (out / NAME).read_bytes().count(b"\n") if (out / NAME).exists() else 0


def paths(folder: Path) -> Iterator[tuple[str, Path]]:
    return ((path.name, path) for path in folder.iterdir())


def timeless(path: Path) -> Any:
    if path.name != "report.json":
        return "" if path.name == "report.md" else path.read_bytes()
    report = json.loads(path.read_text())
    return {key: value for key, value in report.items() if key != "timing"}


def test_errors_of_a_run_are_its_own(corpus, tiny_model, tmp_path):
    with pytest.raises(EvaluationError), kept_run(RunOptions(model=str(tmp_path), corpus=str(corpus)), tmp_path):
        pass
    assert contents(tmp_path) == {}
