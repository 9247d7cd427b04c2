"""Errors with their text put back, for someone who holds the corpus: on a terminal, never in a file.

One text is shown with both spans marked in it, in brackets as well as in colour: colour alone is not seen by everyone,
and the marks of crossing bounds must be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..scoring.error_examples import ErrorSpanExample
from .text import printable, stdout

LEGEND = "[gold] {predicted}"
_STYLES = {(True, False): "bold yellow", (False, True): "bold magenta", (True, True): "bold green", (False, False): ""}
"""{(in gold, in the prediction): style}."""

LONGEST = 400
"""Characters of one piece that are shown; of a longer one its ends."""

Piece = tuple[str, str]
"""(text, style)"""


def print_excerpts(texts: Sequence[str], examples: Iterable[ErrorSpanExample]) -> None:
    """Each example as a line of facts and its context on stdout. texts: of the documents, by ordinal."""
    from rich.text import Text

    out = stdout()
    out.print(Text(LEGEND, style="dim"))
    label = None
    for example in examples:
        if example.label != label:
            label = example.label
            out.print(Text(f"\n{printable(label)}", style="bold underline"))
        out.print(Text(_facts(example), style="dim"))
        out.print(Text.assemble("  ", *marked(texts[example.document], example)))


def _facts(example: ErrorSpanExample) -> str:
    facts = [example.kind.replace("_", " "), f"document {example.document + 1}, {example.start}–{example.end}"]
    if example.matched_label is not None:
        facts.append(f"predicted {printable(example.matched_label)} {example.matched_start}–{example.matched_end}")
    facts += [name for name, holds in (("in pieces", example.fragmented), ("merged", example.merged)) if holds]
    return " · ".join(facts)


def marked(text: str, example: ErrorSpanExample) -> list[Piece]:
    """The context of an example with its spans marked, in pieces of one style; nothing in it moves a terminal's cursor."""
    own = (example.start, example.end)
    matched = None
    if example.matched_start is not None and example.matched_end is not None:
        matched = (example.matched_start, example.matched_end)
    gold, predicted = (None, own) if example.kind == "spurious" else (own, matched)
    first, last = example.context_start, example.context_end
    spans = [(span, marks) for span, marks in ((gold, "[]"), (predicted, "{}")) if span is not None]
    bounds = {first, last, *(offset for span, _ in spans for offset in span if first < offset < last)}
    pieces: list[Piece] = [("…", "dim")] if first > 0 else []
    for start, end in pairwise(sorted(bounds)):
        style = _STYLES[_covers(gold, start), _covers(predicted, start)]
        opened = "".join(marks[0] for span, marks in sorted(spans, key=_longest_last)[::-1] if span[0] == start)
        closed = "".join(marks[1] for span, marks in sorted(spans, key=_longest_last) if span[1] == end)
        pieces += [(opened, "bold"), (_shown(text[start:end]), style), (closed, "bold")]
    if last < len(text):
        pieces.append(("…", "dim"))
    return [piece for piece in pieces if piece[0]]


def _longest_last(marked_span: tuple[tuple[int, int], str]) -> tuple[int, bool]:
    """So that marks nest wherever the spans do; the gold span is around an equal prediction."""
    (start, end), marks = marked_span
    return end - start, marks == "[]"


def _covers(span: tuple[int, int] | None, offset: int) -> bool:
    return span is not None and span[0] <= offset < span[1]


def _shown(piece: str) -> str:
    if len(piece) > LONGEST:
        piece = f"{piece[: LONGEST // 2]} … {piece[-LONGEST // 2 :]}"
    lines = piece.replace("\r\n", "\n").replace("\n", "↵")
    return printable("".join(" " if character.isspace() else character for character in lines))
