"""Annotators' agreement: kappa against its formula written out, token labels by brute force, and what is symmetric."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.scoring.agreement import annotator_agreement, cohen_kappa, token_labels
from openmed_mlx_eval.scoring.scorecard import score_document
from openmed_mlx_eval.spans import Span
from openmed_mlx_eval.words import pieces

from .strategies import overlap, spans

TEXT = "Dr Amy Quill, ward 7, has 5mg of it, ok."
LENGTH = len(TEXT)
ANNOTATION = spans(length=LENGTH, most=6)
ratings = st.lists(st.tuples(st.sampled_from("ABO"), st.sampled_from("ABO")), max_size=30)


def kappa_by_the_book(pairs: list[tuple[object, object]]) -> float | None:
    """Cohen 1960, formula (1), in proportions."""
    n = len(pairs)
    categories = {category for pair in pairs for category in pair}
    if len(categories) < 2:
        return None
    observed = sum(one == other for one, other in pairs) / n
    expected = sum(
        sum(one == category for one, _ in pairs) / n * (sum(other == category for _, other in pairs) / n)
        for category in categories
    )
    return (observed - expected) / (1 - expected)


def table(pairs: list[tuple[object, object]]) -> dict[tuple[object, object], int]:
    return {pair: pairs.count(pair) for pair in pairs}


def close(one: float | None, other: float | None) -> bool:
    return one is other is None or (one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9))


@given(ratings)
def test_kappa_is_cohens(pairs: list[tuple[str, str]]) -> None:
    value = cohen_kappa(table(pairs))
    assert close(value, kappa_by_the_book(pairs))
    assert close(value, cohen_kappa(table([(other, one) for one, other in pairs])))
    assert value is None or -1 <= value <= 1


def test_kappa_of_a_textbook_table() -> None:
    """50 proposals, 20 yes by both, 15 no by both, 5 and 10 in dispute: p_o 0.7, p_e 0.5, kappa 0.4."""
    assert cohen_kappa({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15}) == pytest.approx(0.4)


@given(ANNOTATION)
def test_a_token_bears_the_label_of_the_longest_span(made: list[Span]) -> None:
    tokens = pieces(TEXT)
    for token, label in zip(tokens, token_labels(tokens, made), strict=True):
        touching = [span for span in made if overlap(token, (span.start, span.end))]
        first = min(touching, key=lambda span: (span.start - span.end, span.start, span.end, span.label), default=None)
        assert label == (first.label if first else None)


def test_many_nested_spans_paint_each_token_once() -> None:
    tokens = [(2 * number, 2 * number + 1) for number in range(30_000)]
    deep = [Span(number, 60_000 - number, str(number)) for number in range(20_000)]
    assert token_labels(tokens, deep) == ["0"] * 30_000


@given(ANNOTATION, ANNOTATION)
def test_a_pair_is_the_same_either_way_round(one: list[Span], other: list[Span]) -> None:
    forth = annotator_agreement([TEXT], [[one], [other]]).pairs[0].to_dict()
    back = annotator_agreement([TEXT], [[other], [one]]).pairs[0].to_dict()
    for block, mirrored in [(forth, back), *((forth["by_label"][label], back["by_label"][label]) for label in forth["by_label"])]:
        assert block["spans"] == mirrored["spans"][::-1]
        for key in ("exact", "relaxed", "kappa"):
            assert block[key] == mirrored[key]
    score = score_document(one, other, LENGTH)
    assert forth["exact"]["f1"] == score.counts("exact").f1
    assert forth["relaxed"]["f1"] == score.counts("relaxed_maximum").f1


@given(st.lists(st.tuples(ANNOTATION, ANNOTATION), min_size=1, max_size=4))
def test_documents_add_up_to_one(pairs: list[tuple[list[Span], list[Span]]]) -> None:
    """Kappa is over the tokens of all documents, so documents laid end to end give the same."""
    apart = annotator_agreement([TEXT] * len(pairs), list(zip(*pairs, strict=True)))

    def laid(side: int) -> list[Span]:
        gap = LENGTH + 1
        return [Span(s.start + gap * n, s.end + gap * n, s.label) for n, pair in enumerate(pairs) for s in pair[side]]

    whole = annotator_agreement(["\n".join([TEXT] * len(pairs))], [[laid(0)], [laid(1)]])
    assert whole.pairs[0].to_dict() == apart.pairs[0].to_dict()
    assert whole.tokens == apart.tokens


@given(ANNOTATION)
def test_per_label_kappa_is_one_against_the_rest(made: list[Span]) -> None:
    other = [Span(0, 6, "PERSON"), Span(14, 20, "DISEASE")]
    pair = annotator_agreement([TEXT], [[made], [other]]).pairs[0]
    tokens = pieces(TEXT)
    rows = list(zip(token_labels(tokens, made), token_labels(tokens, other), strict=True))
    assert close(pair.kappa, kappa_by_the_book(rows))
    for label, block in pair.to_dict()["by_label"].items():
        assert close(block["kappa"], kappa_by_the_book([(one == label, two == label) for one, two in rows]))


@given(ANNOTATION)
def test_an_annotator_agrees_with_himself(made: list[Span]) -> None:
    pair = annotator_agreement([TEXT], [[made], [made]]).pairs[0].to_dict()
    assert pair["exact"]["f1"] == pair["relaxed"]["f1"] == (1.0 if made else None)
    assert pair["kappa"] in (1.0, None)
    assert pair["observed_agreement"] == 1.0


def test_nothing_to_measure_is_none() -> None:
    empty = annotator_agreement([], [[], []]).to_dict()
    assert empty["mean"] == {"exact_f1": None, "relaxed_f1": None, "kappa": None}
    blank = annotator_agreement([" \n", TEXT], [[[], []], [[], []]]).to_dict()
    assert (blank["pairs"][0]["kappa"], blank["pairs"][0]["exact"]["f1"], blank["pairs"][0]["observed_agreement"]) == (
        None,
        None,
        1.0,
    )


def test_three_annotators_are_three_pairs() -> None:
    one, two, three = [Span(0, 6, "A")], [Span(0, 6, "A")], [Span(3, 6, "A")]
    result = annotator_agreement([TEXT], [[one], [two], [three]]).to_dict()
    assert [pair["annotators"] for pair in result["pairs"]] == [[1, 2], [1, 3], [2, 3]]
    assert [pair["exact"]["f1"] for pair in result["pairs"]] == [1.0, 0.0, 0.0]
    assert [pair["relaxed"]["f1"] for pair in result["pairs"]] == [1.0, 1.0, 1.0]
    assert result["mean"]["exact_f1"] == pytest.approx(1 / 3)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="two annotators"):
        annotator_agreement([TEXT], [[[]]])
    with pytest.raises(UsageError, match="every annotator"):
        annotator_agreement([TEXT], [[[]], []])
    bad, none = [[Span(0, 99, "A")]], [[]]
    for one, other in ((bad, none), (none, bad)):
        with pytest.raises(InputError, match="document 1, span 1"):
            annotator_agreement([TEXT], [one, other])
