"""Corpora made on the spot: bytes to files to `load_corpus`, and the strategies for them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from openmed_mlx_eval.corpora import Corpus, Document, load_corpus
from openmed_mlx_eval.spans import Span

CANARY = "QZX-7781"


def load(files: bytes | str | Mapping[str, bytes | str], format: str, name: str = "data", **options: Any) -> Corpus:
    """The corpus of one file's content, or of a folder of {name: content}."""
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(files, Mapping):
            path = Path(folder) / name
            path.write_bytes(_bytes(files))
            return load_corpus(path, format, **options)
        for file_name, content in files.items():
            (Path(folder) / file_name).write_bytes(_bytes(content))
        return load_corpus(folder, format, **options)


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def gold(corpus: Corpus) -> list[list[tuple[int, int, str]]]:
    return [[(span.start, span.end, span.label) for span in document.gold_spans] for document in corpus]


texts = st.text(
    st.one_of(
        st.sampled_from("aB1 \n\r\t.,-'é\u0307\u2028\u0085\x1c🩺腎ß\ufeff\u200b"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)
labels = st.sampled_from(["NAME", "Organ", "E-MAIL", "a b", "ß", "O2", "multi-part_x"])


@st.composite
def documents(draw: st.DrawFn, label: st.SearchStrategy[str] = labels) -> list[Document]:
    """Documents with any text, and any spans in it: nested, overlapping, equal, on white space."""
    made = []
    for ordinal in range(draw(st.integers(0, 4))):
        text = draw(texts)
        spans = []
        for _ in range(draw(st.integers(0, 4)) if text else 0):
            start = draw(st.integers(0, len(text) - 1))
            spans.append(Span(start, draw(st.integers(start + 1, len(text))), draw(label)))
        made.append(Document(f"d{ordinal}", text, tuple(spans)))
    return made
