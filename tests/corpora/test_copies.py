"""Copies of one corpus: matched by id or by order, and refused where they are not of the same documents."""

from __future__ import annotations

import pytest

from openmed_mlx_eval.corpora import Corpus, Document
from openmed_mlx_eval.corpora.copies import same_documents
from openmed_mlx_eval.errors import InputError, UsageError


def corpus(**texts: str) -> Corpus:
    return Corpus("copy", "openmed", tuple(Document(name, text) for name, text in texts.items()), "")


def test_documents_are_matched_by_id_in_the_order_of_the_first() -> None:
    rows = same_documents([corpus(a="one", b="two"), corpus(b="two", a="one"), corpus(a="one", b="two")])
    assert [[document.text for document in row] for row in rows] == [["one"] * 3, ["two"] * 3]
    assert [[document.id for document in row] for row in rows] == [["a"] * 3, ["b"] * 3]


def test_other_ids_are_matched_by_order() -> None:
    rows = same_documents([corpus(a="one", b="two"), corpus(b="one", c="two")])
    assert [[document.id for document in row] for row in rows] == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize(
    ("other", "offset"), [("QZX end", 4), ("QZX", 3), ("QZX mid and more", 7), ("", 0)], ids=["changed", "cut", "longer", "empty"]
)
def test_another_text_is_an_error_that_names_the_ordinal_alone(other: str, offset: int) -> None:
    with pytest.raises(
        InputError, match=f"document 2: the text in copy 3 is not that in copy 1, from offset {offset} on"
    ) as caught:
        first = corpus(a="one", b="QZX mid")
        same_documents([first, first, corpus(a="one", b=other)])
    assert "QZX" not in str(caught.value)


def test_another_number_of_documents_and_one_copy() -> None:
    with pytest.raises(InputError, match="copy 2 has 1 documents, copy 1 has 2"):
        same_documents([corpus(a="one", b="two"), corpus(a="one")])
    with pytest.raises(UsageError, match="two annotators"):
        same_documents([corpus(a="one")])
    assert same_documents([corpus(), corpus()]) == []
