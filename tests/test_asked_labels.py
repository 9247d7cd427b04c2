"""What `--gliner-labels` takes: words by commas, or a file; what is refused, without a word of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.asked_labels import MOST_CHARACTERS, asked_labels
from openmed_mlx_eval.errors import UsageError

LABELS = st.lists(st.text("abc é-🩺", min_size=1, max_size=9).map(str.strip).filter(bool), min_size=1, max_size=5, unique=True)


@given(LABELS)
def test_labels_come_back_in_their_order(labels: list[str]) -> None:
    assert asked_labels(", ".join(labels)) == asked_labels(labels) == tuple(labels)
    assert asked_labels(asked_labels(labels)) == tuple(labels)


@given(LABELS)
def test_a_file_has_one_a_line(tmp_path_factory: pytest.TempPathFactory, labels: list[str]) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*labels, "", " "]).encode())
    assert asked_labels(str(path)) == tuple(labels)


def test_a_label_in_a_file_may_hold_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("date, or part of one\nperson\n", "utf-8")
    assert asked_labels(str(path)) == ("date, or part of one", "person")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "label 1 is empty"),
        ("a,,b", "label 2 is empty"),
        ("a,b,a", "label 3 is given twice"),
        ("a\tb", "label 1 holds a tab"),
        ("a\x00b", "label 1 holds a tab"),
        ("a\u2028b", "label 1 holds a tab"),
        ("b," + "a" * (MOST_CHARACTERS + 1), "label 2 has more than 200 characters"),
        ("a" * 5000, "label 1 has more than 200 characters"),
        ((), "there is no label"),
        ((1,), "a label is no string"),
    ],
)
def test_what_is_no_list_of_labels(value: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked_labels(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("content", "said"), [(b"", "there is no label"), (b"\xff\xfe", "not UTF-8")])
def test_what_is_no_file_of_labels(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "QZX-7781.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as raised:
        asked_labels(str(path))
    assert "QZX" not in str(raised.value)


@pytest.mark.parametrize(
    "value", ["/home/ann/Quill-1970", "./Quill", "../Quill", "Quill-1970.txt", "Quill/labels.jsonl", "~/Quill"]
)
def test_a_path_that_is_not_there_is_no_label(value: str) -> None:
    """It became one, and stood in the report."""
    with pytest.raises(UsageError, match="no such file") as caught:
        asked_labels(value)
    assert "Quill" not in str(caught.value)


def test_labels_that_look_a_little_like_paths_stay_labels(tmp_path: Path) -> None:
    assert asked_labels("and/or") == ("and/or",)
    assert asked_labels("date.,Dr.") == ("date.", "Dr.")
    with pytest.raises(UsageError, match="that is a folder"):
        asked_labels(str(tmp_path))


@pytest.mark.parametrize("line", ['{"text": "Quill"}', "[1]", "<a>", "lung\tB-Anatomy"])
def test_a_corpus_is_no_file_of_labels(tmp_path: Path, line: str) -> None:
    """Its lines became labels, and text stood in the report."""
    path = tmp_path / "labels.txt"
    path.write_text(f"person\n{line}\n", "utf-8")
    with pytest.raises(UsageError, match="the file holds JSON, XML or columns"):
        asked_labels(str(path))
