"""Whatever bytes come, a reader gives documents whose gold can be scored, or one of the project's own errors."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from corpus_files import CANARY, load
from exported_corpora import EXPORTS
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import FORMATS, Corpus, load_corpus
from openmed_mlx_eval.corpora.document import check_gold
from openmed_mlx_eval.errors import EvaluationError

TEXT = f"Dr {CANARY} saw \U0001fa7a Quill\r\nin ward 7."
SPAN = {"start": 3, "end": 11, "label": "NAME", "text": CANARY}
ROW = {"id": CANARY, "text": TEXT, "language": "en", "gold_spans": [SPAN], "metadata": {"note": CANARY}}
VALID: dict[str, list[bytes]] = {
    "openmed": [
        json.dumps([ROW, {**ROW, "id": 2}]).encode(),
        json.dumps({"fixtures": [ROW]}, indent=1, ensure_ascii=False).encode(),
        (json.dumps(ROW) + "\n" + json.dumps({**ROW, "id": "b"}) + "\n").encode(),
    ],
    "conll": [
        f"-DOCSTART- O\n\nDr\tO\n{CANARY}\tB-NAME\n\U0001fa7a\tI-NAME\r\n\n{CANARY}\tS-NAME\nx\tO\n".encode(),
        f"# sent_id = {CANARY}\n1 Dr O SpaceAfter=No\n2 {CANARY} B-NAME _\n3 . O _\n".encode(),
    ],
    "pubtator": [
        f"1|t|Dr {CANARY}\n1|a|ward {CANARY}\n1\t3\t11\t{CANARY}\tNAME\tD1\n1\tCID\tD1\t{CANARY}\n\n2|t|x\n2|a|y\n".encode()
    ],
    "i2b2": [
        f'<?xml version="1.0"?><R><TEXT><![CDATA[{TEXT}]]></TEXT><TAGS><NAME id="P0" start="3" end="11" '
        f'text="{CANARY}" TYPE="DOCTOR" comment="{CANARY}"/></TAGS></R>'.encode()
    ],
}
ANN = f"T1\tNAME 3 11\t{CANARY}\nT2\tX 0 2;3 11\tDr {CANARY}\n#1\tAnnotatorNotes T1\t{CANARY}\nR1\tR Arg1:T1\n".encode()


MEANINGFUL = [b"", b"\xff", b"\xef\xbb\xbf", b"\n", b"\t", b'"', b"null", b"-1", b"1e9", b"true", b"[", b"}", b"\\ud800"]
MEANINGFUL += [b"\0", b";", b"<!DOCTYPE", b"&#0;", b"9" * 20, b"|", b"\r", b"]]>", b"\xe2\x80\xa8"]


def examine(corpus: Corpus) -> None:
    for document in corpus:
        document.text.encode("utf-8")
        assert document.id
        assert all(type(span.start) is int and span.label for span in document.gold_spans)
        check_gold(document.text, document.gold_spans, "x")
    for error in corpus.skipped:
        assert_silent(error)


def assert_silent(error: EvaluationError) -> None:
    said = f"{error} {error!r} {error.args} {error.__dict__}"
    assert "QZX" not in said


def survive(data: bytes | dict[str, bytes], format: str) -> None:
    for skip_bad in (False, True):
        try:
            examine(load(data, format, skip_bad=skip_bad))
        except EvaluationError as error:
            assert_silent(error)


@st.composite
def mutated(draw: st.DrawFn, valid: list[bytes]) -> bytes:
    """A valid file with some pieces cut out, doubled, or overwritten with bytes that mean something here."""
    data = draw(st.sampled_from(valid))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        middle = draw(st.one_of(st.sampled_from(MEANINGFUL), st.binary(max_size=4), st.just(data[start:end] * 2)))
        data = data[:start] + middle + data[end:]
    return data


@pytest.mark.parametrize("format", VALID)
def test_the_files_to_be_mutated_are_valid(format: str) -> None:
    for data in VALID[format]:
        assert len(load(data, format)) >= 1
    assert len(load({"a.txt": TEXT.encode(), "a.ann": ANN}, "brat")) == 1


@pytest.mark.parametrize("format", VALID)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutations_of_valid_files(format: str, data: st.DataObject) -> None:
    survive(data.draw(mutated(VALID[format])), format)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(mutated([ANN]), mutated([TEXT.encode()]))
def test_mutations_of_a_brat_pair(annotations: bytes, text: bytes) -> None:
    survive({"a.txt": TEXT.encode(), "a.ann": annotations}, "brat")
    survive({"a.txt": text, "a.ann": ANN}, "brat")


@pytest.mark.parametrize("format", VALID)
@given(st.binary(max_size=200))
@example(b"")
@example(b"\n\n")
@example(b"\xef\xbb\xbf")
@example(b"\xff\xfe")
def test_any_bytes(format: str, data: bytes) -> None:
    survive(data, format)
    survive({"a.txt": data, "a.ann": data}, "brat")


@given(st.one_of(st.binary(max_size=100), *(mutated(valid) for valid in VALID.values())))
def test_any_bytes_under_no_format(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / CANARY
        path.write_bytes(data)
        try:
            examine(load_corpus(path, skip_bad=True))
        except EvaluationError as error:
            assert_silent(error)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just(CANARY)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*ROW, *SPAN, "fixture_id", "entities", "word", "full_text"]), inner, max_size=5),
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(json_values)
def test_any_json(value: object) -> None:
    survive(json.dumps([value]).encode(), "openmed")
    survive(json.dumps([{**ROW, "gold_spans": value}]).encode(), "openmed")
    survive(json.dumps([{**ROW, "gold_spans": [value]}]).encode(), "openmed")
    survive(json.dumps(value).encode(), "openmed")


def test_every_format_is_fuzzed_here_or_with_the_exports() -> None:
    exported = {format for format, _, _ in EXPORTS.values()}
    assert {*VALID, "brat", *exported, "docbin"} == set(FORMATS)
