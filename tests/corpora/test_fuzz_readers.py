"""Each reader, fed with mutations of files of its own and of other formats: documents that can be scored, or an error of the
project's own that says nothing of them, within seconds.

`FUZZ_SECONDS=300 python -m pytest -s tests/corpora/test_fuzz_readers.py -k webanno` goes on for so many seconds a reader;
`FUZZ_SEED` makes it other cases. A failure names the number of its case.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import exported_corpora
import pytest
import small_corpora
from corpus_files import CANARY
from fuzz_mutations import MOST_BYTES, mutated
from test_fuzz import ANN, TEXT, VALID, assert_silent, examine
from test_fuzz_exports import ENTRIES as SHORT

from openmed_mlx_eval.corpora import DISCONTINUOUS, FORMATS, load_corpus
from openmed_mlx_eval.errors import EvaluationError, InputError

SECONDS = float(os.environ.get("FUZZ_SECONDS", 0))
SEED = os.environ.get("FUZZ_SEED", "0")
CASES = 150
"""How many where no time is given."""

HANG = 5.0
"""Seconds of processor time, for less than MOST_BYTES."""

Files = Mapping[str, bytes]
"""Of one file, or of a folder."""


class Hang(BaseException):
    """Not an Exception: nothing on the way may take it for an error of a library."""


def samples() -> dict[str, list[Files]]:
    """Files of each format, as small as they can be and richer ones."""
    found: dict[str, list[Files]] = {format: [{"data": data} for data in files] for format, files in VALID.items()}
    found["brat"] = [{"a.txt": TEXT.encode(), "a.ann": ANN}]
    for format, suffix, make in exported_corpora.EXPORTS.values():
        for entries in (SHORT, small_corpora.ENTRIES):
            made = make(entries)
            files = {f"a{suffix}": made} if isinstance(made, str) else dict(list(made.items())[: 1 + FORMATS[format].pairs])
            found.setdefault(format, []).append({name: content.encode() for name, content in files.items()})
    found["huggingface"].append(
        {"features.json": b'{"ner_tags": ["O", "B-NAME"]}', "a.json": b'[{"tokens": ["x"], "ner_tags": [1]}]'}
    )
    found["huggingface"] += [{"a.parquet": parquet()}] if installed("pyarrow") else []
    found["docbin"] = [{"a.spacy": docbin()}] if installed("spacy") else [{"a.spacy": b"\x78\x9c" + CANARY.encode()}]
    for format, several in public().items() if SECONDS else ():
        found[format] += several
    return found


def public() -> dict[str, list[Files]]:
    """A little of each public corpus that lies beside the repository; nothing where there is none."""
    shared = Path(__file__).resolve().parents[3] / "shared" / "corpora"

    def begin(pattern: str, until: bytes | None = None) -> list[Files]:
        whole = [path.read_bytes() for path in sorted(shared.glob(pattern))[:3]]
        return [
            {"data": data if until is None else data[: data.index(until, 3000)]} for data in whole if len(data) < 50_000 or until
        ]

    texts = sorted(shared.glob("*/brat-devel/*.txt"), key=lambda path: (path.stat().st_size, path.name))[-3:]
    rows = [json.dumps(json.loads(path.read_bytes())[:3]).encode() for path in shared.glob("presidio/*.json")]
    return {
        "openmed": [{"data": data} for data in rows],
        "conll": begin("anatem/devel.tsv", b"\n\n"),
        "pubtator": begin("bc5cdr/*.pubtator.txt", b"\n\n"),
        "i2b2": begin("meddocan/dev/xml/*.xml"),
        "brat": [{"a.txt": path.read_bytes(), "a.ann": path.with_suffix(".ann").read_bytes()} for path in texts],
    }


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    names = b'{"info": {"features": {"ner_tags": {"feature": {"names": ["O", "B-NAME"], "_type": "ClassLabel"}}}}}'
    rows = [{"id": CANARY, "tokens": ["Dr", CANARY], "ner_tags": [0, 1]}, {"id": "2", "tokens": ["x"], "ner_tags": [0]}]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows).replace_schema_metadata({b"huggingface": names}), buffer)
    return buffer.getvalue()


def docbin() -> bytes:
    import spacy
    from spacy.tokens import DocBin, Span

    document = spacy.blank("xx")(f"Dr {CANARY} saw \U0001fa7a\n")
    document.ents = [Span(document, 1, 2, label="NAME")]
    document.spans["sc"] = [Span(document, 0, 2, label="PERSON")]
    return DocBin(docs=[document, spacy.blank("xx")("x")]).to_bytes()


SAMPLES = samples()


@contextmanager
def watched() -> Iterator[None]:
    """Raises Hang after HANG seconds of this process's own time, where the system can count it."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def case(format: str, number: int) -> tuple[Files, dict[str, object]]:
    """The files of a case and the options to read them with."""
    random = Random(f"{format} {SEED} {number}")
    own = random.random() < 0.9
    files = dict(random.choice(SAMPLES[format if own else random.choice(list(SAMPLES))]))
    if not own and FORMATS[format].pairs:
        files = dict(zip((f"a{suffix}" for suffix in FORMATS[format].suffixes), [*files.values()] * 2, strict=False))
    others = [data for some in SAMPLES.values() for one in some for data in one.values()]
    for name in files if random.random() < 0.2 else [random.choice(list(files))]:
        files[name] = mutated(random, files[name], others)
    options = {"skip_bad": random.random() < 0.7, "discontinuous": random.choice(list(DISCONTINUOUS))}
    return files, options


def read_case(folder: Path, format: str, number: int) -> str:
    """What reading a case came to, in a word. Fails where it is neither documents nor an error that can be shown."""
    files, options = case(format, number)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    try:
        corpus = load_corpus(folder if len(files) > 1 else folder / next(iter(files)), format, **options)  # type: ignore[arg-type]
        examine(corpus)
        return "documents" if len(corpus) else "none"
    except EvaluationError as error:
        assert_silent(error)
        assert isinstance(error, InputError) or error.exit_code == 2
        return "an error"
    finally:
        for name in files:
            (folder / name).unlink()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system cannot count the time of a process")
@pytest.mark.parametrize("format", FORMATS)
def test_a_reader_survives_mutated_files(format: str, tmp_path: Path) -> None:
    until = time.monotonic() + SECONDS
    came_to: dict[str, int] = {}
    number = 0
    while number < CASES if not SECONDS else time.monotonic() < until:
        try:
            with watched():
                result = read_case(tmp_path, format, number)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            pytest.fail(f"{format}, FUZZ_SEED={SEED}, case {number}: {type(error).__name__} at {_place(error)}")
        came_to[result] = came_to.get(result, 0) + 1
        number += 1
    print(f"\n{format}: {number} executions, {came_to}")
    assert (number and set(came_to) > {"an error"}) or format == "docbin"


def _place(error: BaseException) -> str:
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place, trace = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}", trace.tb_next
    return place


def test_every_format_has_samples_that_are_read(tmp_path: Path) -> None:
    assert set(SAMPLES) == set(FORMATS)
    for format, several in SAMPLES.items():
        for number, files in enumerate(several):
            folder = tmp_path / f"{format}-{number}"
            folder.mkdir()
            assert all(len(data) < MOST_BYTES for data in files.values())
            for name, data in files.items():
                (folder / name).write_bytes(data)
            if format != "docbin" or installed("spacy"):
                assert len(load_corpus(folder if len(files) > 1 else folder / next(iter(files)), format))
