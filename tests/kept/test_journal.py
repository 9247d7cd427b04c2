"""A journal of finished documents: what is whole of it is read, and what is damaged is done anew; what a run depends on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.run_journal import NAME, RunJournal
from openmed_mlx_eval.run_key import differences
from openmed_mlx_eval.spans import Span

KEY = {
    "model": {"files": {"a": "1"}},
    "corpus": {"sha256": "2"},
    "program": {"code": "3"},
    "options": {"stride": 4, "limit": None},
}


def journal_in(folder: Path, most: int = 99) -> RunJournal:
    return RunJournal(folder, KEY, most, ("A", "B", "Ω\u2028"))


SPANS = st.lists(
    st.builds(Span, st.integers(0, 9), st.integers(9, 12), st.sampled_from(["A", "Ω\u2028"]), st.none() | st.floats(0, 1)),
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(SPANS, min_size=1, max_size=3), max_size=4), st.data())
def test_a_damaged_journal_gives_what_is_whole(tmp_path_factory, batches, data):
    folder = tmp_path_factory.mktemp("journal")
    journal = journal_in(folder)
    for batch in batches:
        journal.add(batch)
    again = journal_in(folder)
    assert list(again.done()) == [spans for batch in batches for spans in batch]
    if not batches:
        return
    path = folder / NAME
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damage = data.draw(st.sampled_from(["cut", "flip", "line"]))
    broken = {
        "cut": whole[:at],
        "flip": whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
        "line": whole + b"00000000 [[]]\n",
    }
    path.write_bytes(broken[damage])
    read = journal_in(folder)
    expected = [spans for batch in batches for spans in batch]
    assert list(read.done()) == expected[: read.documents]
    assert read.documents in [sum(map(len, batches[:n])) for n in range(len(batches) + 1)]
    assert read.notes or damage == "cut"  # between two lines, as a kill between two batches leaves it
    read.add([[Span(1, 2, "B")]])
    assert list(journal_in(folder).done()) == [*expected[: read.documents], [Span(1, 2, "B")]]


@pytest.mark.parametrize("content", [b"", b"\n", b"null\n", b"{}", b"\xff\xfe", b'00000000 {"kind": 1}\n'])
def test_a_file_that_is_no_journal(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    journal = journal_in(tmp_path)
    assert (journal.documents, journal.notes) == (0, ["the journal in the output folder is damaged; everything is done anew"])
    journal.add([[]])
    assert journal_in(tmp_path).documents == 1


@pytest.mark.parametrize(
    "span",
    [
        (0, 4, "C", 0.5),
        (0, 4, ["A"], 0.5),
        (-1, 4, "A", 0.5),
        (5, 4, "A", 0.5),
        (0, 4, "A", 7.5),
        (0, 4, "A", "x"),
        (0, 4, "A", math.nan),
    ],
)
def test_spans_that_no_model_gave_are_damage(tmp_path, span):
    """A journal that was edited, checksums and all, made an internal error or a wrong number."""
    journal = journal_in(tmp_path)
    journal.add([[Span(0, 4, "A", 0.5)], []])
    journal.add([[Span(*span)]])
    again = journal_in(tmp_path)
    assert again.documents == 2
    assert again.notes[0].startswith("the journal's end is damaged")


def test_more_documents_than_the_run_has_are_damage(tmp_path):
    journal = journal_in(tmp_path)
    for _ in range(4):
        journal.add([[], []])
    assert journal_in(tmp_path, most=7).documents == 6


def test_keys_differ_by_name():
    other = {**KEY, "corpus": {}, "options": {"stride": 5, "limit": None}}
    assert differences(KEY, KEY) == []
    assert differences(KEY, other) == ["corpus", "stride"]
    assert differences(KEY, {}) == ["model", "corpus", "program", "stride", "limit"]
