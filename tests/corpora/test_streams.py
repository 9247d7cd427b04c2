"""A corpus that is read anew each time gives what one that is held gives, whatever the size of the pieces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import load_corpus, open_corpus, source
from openmed_mlx_eval.corpora.seen import SeenIds
from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError


def row(name: str, text: str = "Anna came.") -> str:
    return json.dumps({"id": name, "text": text, "gold_spans": [{"start": 0, "end": 4, "label": "NAME"}]})


def facts(corpus):
    return corpus.name, corpus.format, corpus.sha256, corpus.skipped, dict(corpus.notes), list(corpus)


def same(path: Path, **options) -> None:
    """Both ways of reading end alike."""
    outcomes = []
    for read in (load_corpus, open_corpus):
        try:
            name, format, sha256, skipped, notes, documents = facts(read(path, **options))
            outcomes.append((name, format, sha256, [str(one) for one in skipped], notes, documents))
        except EvaluationError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 22])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_cut_anywhere(tmp_path, monkeypatch, block, ends, last):
    path = tmp_path / "corpus.jsonl"
    lines = [row("a"), row("b", "Anna\u2028Größe"), "{broken", row("a"), row("c")]
    path.write_bytes(b"\xef\xbb\xbf" + ends.join(lines).encode() + (ends.encode() if last else b""))
    whole = facts(load_corpus(path, skip_bad=True))
    monkeypatch.setattr(source, "BLOCK", block)
    same(path, skip_bad=True)
    same(path)
    assert facts(load_corpus(path, skip_bad=True))[5] == whole[5]
    assert [one.id for one in open_corpus(path, skip_bad=True)] == ["a", "b", "c"]


@given(st.lists(st.text('{}"ab\n', max_size=6), max_size=6), st.integers(1, 9))
def test_pieces_are_the_file(tmp_path_factory, parts, size):
    path = tmp_path_factory.mktemp("pieces") / "x.jsonl"
    data = "\n".join(parts).encode()
    path.write_bytes(data)
    (place,) = source.places_of(path, (".jsonl",), False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(source, "BLOCK", size)
        pieces = list(place.pieces())
    assert b"".join(piece.data for piece in pieces) == data
    assert all(piece.data.endswith(b"\n") for piece in pieces[:-1])
    assert [piece.line for piece in pieces] == [
        1 + b"".join(piece.data for piece in pieces[:at]).count(b"\n") for at in range(len(pieces))
    ]


def test_every_pass_is_alike_and_nothing_is_held(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.json").write_text(f"[{row(f'd{number}')}]")
    seen = []
    corpus = open_corpus(tmp_path, see=lambda ordinal, document: seen.append((ordinal, document.id)))
    assert seen == [(n, f"d{n}") for n in range(5)]
    assert list(corpus) == list(corpus) == list(load_corpus(tmp_path))
    assert len(corpus) == 5


def test_a_file_that_changed_since(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(row("a") + "\n")
    corpus = open_corpus(path)
    path.write_text(row("a") + "\n" + row("b") + "\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="file 1: the file changed while it was read"):
        list(corpus)


def test_a_file_that_changes_while_it_is_read_first(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(row("a") + "\n")
    with pytest.raises(InputError, match="changed while it was read"):
        open_corpus(path, see=lambda ordinal, document: os.utime(path, ns=(1, 1)))


def test_bad_gold_is_found_before_a_document_is_used(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(row("a") + "\n" + row("b", "A") + "\n")
    with pytest.raises(InputError, match="document 2"):
        open_corpus(path)
    with pytest.raises(UsageError):
        open_corpus(tmp_path / "none.jsonl")


@given(st.lists(st.text(max_size=3), max_size=60))
def test_ids_are_as_in_a_dictionary(names):
    seen, known = SeenIds(), {}
    for ordinal, name in enumerate(names, start=1):
        assert seen.ordinal_of(name) == known.get(name)
        if name not in known:
            known[name] = ordinal
            seen.add(name, ordinal)


def test_many_ids():
    seen = SeenIds()
    for ordinal in range(1, 20_001):
        assert seen.ordinal_of(f"d{ordinal}") is None
        seen.add(f"d{ordinal}", ordinal)
    assert all(seen.ordinal_of(f"d{ordinal}") == ordinal for ordinal in range(1, 20_001))
