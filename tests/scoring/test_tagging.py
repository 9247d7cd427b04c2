"""Tag scores: gold against itself is right, the order and division of sentences changes nothing, all schemes say the same."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.scoring.counts import Counts
from openmed_mlx_eval.scoring.tag_readings import SCHEMES, TagReading, scheme_of
from openmed_mlx_eval.scoring.tagging import TagScore, classification_report, detect_scheme, entities, tag_scores
from openmed_mlx_eval.tags import TagScheme, spans_of_tags

PREFIXES = {name: name.rstrip("12") for name in SCHEMES}
CASES = [("lenient", scheme) for scheme in SCHEMES] + [("strict", scheme) for scheme in SCHEMES]
Sentences = list[list[str]]
Entity = tuple[int, int, str]


def alphabet(scheme: str) -> list[str]:
    return ["O", *(f"{prefix}-{type}" for prefix in PREFIXES[scheme] if prefix != "O" for type in ("DRUG", "part-of"))]


def sentences(scheme: str) -> st.SearchStrategy[Sentences]:
    return st.lists(st.lists(st.sampled_from(alphabet(scheme)), max_size=8), max_size=5)


@st.composite
def parallel(draw: st.DrawFn, scheme: str) -> tuple[Sentences, Sentences]:
    gold = draw(sentences(scheme))
    return gold, [[draw(st.sampled_from([tag, tag, *alphabet(scheme)])) for tag in sentence] for sentence in gold]


def write(scheme: str, size: int, spans: list[Entity]) -> list[str]:
    """Entities as the tags of a scheme."""
    tags = ["O"] * size
    for number, (start, end, type) in enumerate(spans):
        after_same = number > 0 and spans[number - 1][1:] == (start, type)
        before_same = number + 1 < len(spans) and spans[number + 1][::2] == (end, type)
        inside = ["I"] * (end - start)
        if scheme in ("IOB2", "IOBES", "BILOU") or (scheme == "IOB1" and after_same):
            inside[0] = "B"
        if scheme in ("IOE2", "IOBES", "BILOU") or (scheme == "IOE1" and before_same):
            inside[-1] = "L" if scheme == "BILOU" else "E"
        if scheme in ("IOBES", "BILOU") and len(inside) == 1:
            inside = ["U" if scheme == "BILOU" else "S"]
        tags[start:end] = [f"{prefix}-{type}" for prefix in inside]
    return tags


@st.composite
def drawn(draw: st.DrawFn, least_gap: int) -> tuple[int, list[Entity]]:
    position, found = draw(st.integers(0, 2)), []
    for _ in range(draw(st.integers(0, 6))):
        length = draw(st.integers(1, 3))
        found.append((position, position + length, draw(st.sampled_from(["DRUG", "part-of"]))))
        position += length + draw(st.integers(least_gap, 2))
    return position, found


@pytest.mark.parametrize(("mode", "scheme"), CASES)
@given(data=st.data())
def test_entities_come_back_from_every_scheme(mode: str, scheme: str, data: st.DataObject) -> None:
    touching = scheme in ("IOB2", "IOE2", "IOBES", "BILOU") or (scheme in ("IOB1", "IOE1") and mode == "lenient")
    size, spans = data.draw(drawn(0 if touching else 1))
    assert entities(write(scheme, size, spans), mode, scheme) == spans


@given(drawn(0), drawn(0))
def test_the_same_entities_give_the_same_report_in_every_scheme(one: tuple, other: tuple) -> None:
    size = max(one[0], other[0])
    reports = []
    for scheme in ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"):
        gold, predicted = (write(scheme, size, spans) for _, spans in (one, other))
        modes = ("lenient",) if scheme in ("IOB1", "IOE1") else ("lenient", "strict")
        reports += [classification_report(tag_scores([gold], [predicted], mode, scheme)) for mode in modes]
    assert all(report == reports[0] for report in reports)


@pytest.mark.parametrize(("mode", "scheme"), CASES)
@given(data=st.data())
def test_gold_against_itself_is_right(mode: str, scheme: str, data: st.DataObject) -> None:
    gold = data.draw(sentences(scheme))
    score = tag_scores(gold, gold, mode, scheme)
    assert score.correct_tokens == score.tokens == sum(map(len, gold))
    assert score.token_accuracy == (1.0 if score.tokens else None)
    for row in classification_report(score).values():
        assert set(list(row.values())[:3]) == ({1.0} if score.by_type else {None})


@pytest.mark.parametrize(("mode", "scheme"), CASES)
@given(data=st.data())
def test_sentences_add_up_in_any_order(mode: str, scheme: str, data: st.DataObject) -> None:
    gold, predicted = data.draw(parallel(scheme))
    order = data.draw(st.permutations(range(len(gold))))
    whole = tag_scores(gold, predicted, mode, scheme)
    assert tag_scores([gold[at] for at in order], [predicted[at] for at in order], mode, scheme) == whole
    parts = [tag_scores([gold[at]], [predicted[at]], mode, scheme) for at in order]
    assert reduce(add, parts, TagScore()) == sum(parts, TagScore()) == whole
    assert sum(one.support for one in whole.by_type.values()) == sum(len(entities(tags, mode, scheme)) for tags in gold)


@pytest.mark.parametrize(("mode", "scheme"), CASES)
@given(data=st.data())
def test_gold_and_prediction_change_places(mode: str, scheme: str, data: st.DataObject) -> None:
    gold, predicted = data.draw(parallel(scheme))
    one, other = tag_scores(gold, predicted, mode, scheme), tag_scores(predicted, gold, mode, scheme)
    swapped = {type: Counts(c.true_positives, c.false_negatives, c.false_positives) for type, c in other.by_type.items()}
    assert (one.by_type, one.token_accuracy) == (swapped, other.token_accuracy)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_lenient_reading_is_that_of_the_readers(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(alphabet(scheme))))
    assert entities(tags, "lenient", scheme) == spans_of_tags(tags, TagScheme.of([*alphabet(scheme), "B-DRUG"]))


@pytest.mark.parametrize(("mode", "scheme"), CASES)
@given(tags=st.lists(st.text(max_size=4)))
def test_no_tag_crashes_a_reading_and_one_reading_serves_all(mode: str, scheme: str, tags: list[str]) -> None:
    reading = TagReading(mode, scheme)
    found = reading.entities(tags)
    assert reading.entities(tags) == found
    assert all(0 <= start < end <= len(tags) for start, end, _ in found)


@pytest.mark.parametrize(
    ("tags", "mode", "scheme", "expected"),
    [
        ("O I-X I-X", "lenient", None, [(1, 3, "X")]),
        ("O I-X I-X", "strict", "IOB2", []),
        ("O I-X I-X", "strict", "IOB1", [(1, 3, "X")]),
        ("B-X E-X S-X", "lenient", None, [(0, 2, "X"), (2, 3, "X")]),
        ("B-X E-X S-X", "strict", None, [(0, 2, "X"), (2, 3, "X")]),
        ("U-X U-X B-X L-X", "strict", None, [(0, 1, "X"), (1, 2, "X"), (2, 4, "X")]),
        ("U-X U-X B-X L-X", "lenient", "BILOU", [(0, 1, "X"), (1, 2, "X"), (2, 4, "X")]),
        ("U-X U-X B-X L-X", "lenient", None, [(2, 4, "X")]),  # as seqeval's default mode has it
        ("I-X L-Y U-X", "strict", None, [(2, 3, "X")]),
        ("I-X L-Y U-X", "lenient", "BILOU", [(0, 1, "X"), (1, 2, "Y"), (2, 3, "X")]),
        ("B-X I-Y", "lenient", None, [(0, 1, "X"), (1, 2, "Y")]),
        ("B-X I-Y", "strict", "IOB2", [(0, 1, "X")]),
        ("B-X I-X O", "strict", "IOBES", []),
        ("B I O B", "lenient", None, [(0, 2, "_"), (3, 4, "_")]),
    ],
)
def test_trap_sequences(tags: str, mode: str, scheme: str | None, expected: list[Entity]) -> None:
    assert entities(tags.split(), mode, scheme) == expected


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("O", "IO"), ("O I-X", "IO"), ("O B-X", "IOB2"), ("O B-X I-X", "IOB2"), ("I-X E-X", "IOE2"), ("E-X O", "IOE2"),
        ("O S-X", "IOBES"), ("B-X E-X", "IOBES"), ("I-X S-X O B-X", "IOBES"), ("O U-X", "BILOU"), ("B-X L-X", "BILOU"),
        ("B-X L-X S-X", None), ("O NAME", None), ("O b-X", None), ("", "IO"),
    ],
)  # fmt: skip
def test_the_scheme_of_a_set_of_tags(tags: str, scheme: str | None) -> None:
    assert detect_scheme(tags.split()) == scheme
    if scheme is None:
        with pytest.raises(InputError, match="prefixes of no one scheme"):
            scheme_of(tags.split())


def test_null_where_there_is_nothing_to_measure() -> None:
    report = classification_report(tag_scores([["B-A", "O"]], [["O", "B-B"]]))
    assert report == {
        "A": {"precision": None, "recall": 0.0, "f1-score": 0.0, "support": 1},
        "B": {"precision": 0.0, "recall": None, "f1-score": 0.0, "support": 0},
        "micro avg": {"precision": 0.0, "recall": 0.0, "f1-score": 0.0, "support": 1},
        "macro avg": {"precision": 0.0, "recall": 0.0, "f1-score": 0.0, "support": 1},
        "weighted avg": {"precision": 0.0, "recall": 0.0, "f1-score": 0.0, "support": 1},
    }
    nothing = {"precision": None, "recall": None, "f1-score": None, "support": 0}
    empty = classification_report(tag_scores([["O"], []], [["O"], []]))
    assert empty == dict.fromkeys(("micro avg", "macro avg", "weighted avg"), nothing)
    assert tag_scores([], []).token_accuracy is None
    filled = classification_report(tag_scores([["O"]], [["O"]]), 1)
    assert (filled["micro avg"]["f1-score"], filled["weighted avg"]["recall"]) == (1.0, 1.0)
    assert math.isnan(filled["macro avg"]["precision"])


def test_sequences_that_are_not_parallel_are_named_by_ordinal() -> None:
    with pytest.raises(InputError, match=r"^tags: 2 gold sequences and 1 predicted ones"):
        tag_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(InputError, match=r"^tags, document 2: 1 gold tags and 2 predicted ones"):
        tag_scores([["O"], ["O"]], [["O"], ["O", "O"]])


def test_a_tag_that_the_scheme_does_not_have_is_placed_and_not_repeated() -> None:
    with pytest.raises(InputError) as caught:
        tag_scores([["O"], ["O", "B-X"]], [["O"], ["O", "Quill"]], "strict", "IOB2")
    assert str(caught.value).startswith("tags, document 2: the tag of token 2 has a prefix that IOB2 does not – ")
    assert "Quill" not in str(caught.value)


@pytest.mark.parametrize(("mode", "scheme"), [("Strict", "IOB2"), ("lenient", "IOB"), ("strict", None)])
def test_an_unknown_way_to_read_is_a_usage_error(mode: str, scheme: str | None) -> None:
    with pytest.raises(UsageError):
        TagReading(mode, scheme)
