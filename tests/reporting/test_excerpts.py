"""Text put back: both spans marked wherever they lie, and nothing in it that a terminal obeys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.reporting.excerpts import LONGEST, marked, print_excerpts
from openmed_mlx_eval.scoring.error_examples import ErrorSpanExample, example_of
from openmed_mlx_eval.scoring.errors import Finding

TEXT = "The note of Amy Quill, born on 3 May."


def example(
    gold: tuple[int, int] | None, predicted: tuple[int, int] | None, text: str = TEXT, window: int = 100
) -> ErrorSpanExample:
    finding = Finding(gold and (*gold, "A"), predicted and (*predicted, "B"))
    return example_of(finding, 0, text, key=b"k", context_window=window)


def shown(*arguments, **more) -> str:
    text = more.get("text", TEXT)
    return "".join(piece for piece, _ in marked(text, example(*arguments, **more)))


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ((12, 21), None, "The note of [Amy Quill], born on 3 May."),
        (None, (12, 21), "The note of {Amy Quill}, born on 3 May."),
        ((12, 21), (12, 21), "The note of [{Amy Quill}], born on 3 May."),
        ((12, 21), (16, 21), "The note of [Amy {Quill}], born on 3 May."),
        ((12, 21), (9, 15), "The note {of [Amy} Quill], born on 3 May."),
        ((12, 15), (12, 21), "The note of {[Amy] Quill}, born on 3 May."),
        ((16, 21), (12, 21), "The note of {Amy [Quill]}, born on 3 May."),
        ((0, 3), (0, 37), "{[The] note of Amy Quill, born on 3 May.}"),
    ],
)
def test_both_spans_are_marked(gold, predicted, expected) -> None:
    assert shown(gold, predicted) == expected


def test_the_context_is_cut_with_dots() -> None:
    assert shown((12, 21), None, window=3) == "…of [Amy Quill], b…"
    assert shown((12, 15), (0, 37), window=3) == "…of [Amy] Qu…"


def test_a_terminal_obeys_nothing_of_it() -> None:
    text = "a\r\nb\nc\td\x1b[31m\u202ee\x07\x9b2J\u00a0f"
    assert shown((0, 1), None, text=text) == "[a]↵b↵c d\ufffd[31m\ufffde\ufffd\ufffd2J f"


def test_of_a_very_long_piece_the_ends_are_shown() -> None:
    text = "a" * 5000 + "b" * 5000
    said = shown((0, 10000), None, text=text)
    assert said == f"[{'a' * (LONGEST // 2)} … {'b' * (LONGEST // 2)}]"


@given(st.text(st.characters(categories=["L", "P"]), min_size=2, max_size=20), st.data())
def test_the_marks_taken_away_the_text_is_left(text, data) -> None:
    def place() -> tuple[int, int]:
        start = data.draw(st.integers(0, len(text) - 1))
        return start, data.draw(st.integers(start + 1, len(text)))

    gold, predicted = place(), place()
    pieces = marked(text, example(gold, predicted, text=text))
    assert "".join(piece for piece, style in pieces if style not in ("bold", "dim")) == text
    right = set(range(*gold)) & set(range(*predicted))
    assert sum(len(piece) for piece, style in pieces if style == "bold green") == len(right)


def test_a_label_and_its_examples_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_excerpts([TEXT], [example((12, 15), None), example((16, 21), (0, 21))])
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        "[gold] {predicted}",
        "A",
        "missed · document 1, 12–15",
        "  The note of [Amy] Quill, born on 3 May.",
        "label confusion · document 1, 16–21 · predicted B 0–21",
        "  {The note of Amy [Quill]}, born on 3 May.",
    ]
