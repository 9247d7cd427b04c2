"""Tag schemes: one set of entities reads alike in every scheme, and a label is never taken for a prefix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.tags import ENTITY, TagScheme, is_outside, spans_of_tags

LABELS = ("NAME", "Organ", "multi-part", "E_MAIL", "E-MAIL", "O2", "b")
Entity = tuple[int, int, str]
Drawn = tuple[int, list[Entity]]


@st.composite
def separated(draw: st.DrawFn) -> Drawn:
    """Entities with at least one outside token between two of them, so that IO can hold them too."""
    position, entities = draw(st.integers(0, 3)), []
    for _ in range(draw(st.integers(1, 8))):
        length = draw(st.integers(1, 4))
        entities.append((position, position + length, draw(st.sampled_from(LABELS))))
        position += length + draw(st.integers(1, 3))
    return position, entities


@st.composite
def touching(draw: st.DrawFn) -> Drawn:
    position, entities = draw(st.integers(0, 3)), []
    for _ in range(draw(st.integers(1, 8))):
        length = draw(st.integers(1, 4))
        entities.append((position, position + length, draw(st.sampled_from(LABELS))))
        position += length + draw(st.integers(0, 2))
    return position, entities


def write(scheme: str, size: int, entities: list[Entity], separator: str = "-") -> list[str]:
    tags = ["O"] * size
    ended: tuple[int, str] | None = None
    for start, end, label in entities:
        for position in range(start, end):
            first, last = position == start, position == end - 1
            if scheme == "IO":
                prefix = "I"
            elif scheme == "IOB1":
                prefix = "B" if first and ended == (start, label) else "I"
            elif scheme == "IOB2":
                prefix = "B" if first else "I"
            else:
                whole = {"IOBES": "S", "BILOU": "U"}[scheme]
                close = {"IOBES": "E", "BILOU": "L"}[scheme]
                prefix = whole if first and last else "B" if first else close if last else "I"
            tags[position] = prefix + separator + label
        ended = (end, label)
    return tags


@pytest.mark.parametrize("scheme", ["IO", "IOB1", "IOB2", "IOBES", "BILOU"])
@given(drawn=separated())
def test_every_scheme_gives_the_entities_it_was_written_from(scheme: str, drawn: Drawn) -> None:
    size, entities = drawn
    assert spans_of_tags(write(scheme, size, entities)) == entities


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOBES", "BILOU"])
@given(drawn=touching())
def test_touching_entities_stay_apart_where_the_scheme_can_say_so(scheme: str, drawn: Drawn) -> None:
    size, entities = drawn
    assert spans_of_tags(write(scheme, size, entities)) == entities


@given(drawn=touching(), separator=st.sampled_from("-_"), lower=st.booleans())
def test_underscores_and_lower_case_read_like_upper_case_with_a_dash(drawn: Drawn, separator: str, lower: bool) -> None:
    size, entities = drawn
    whole = [(0, 2, "NAME"), *((start + 2, end + 2, label) for start, end, label in entities)]
    tags = write("IOB2", size + 2, whole, separator)
    folded = [tag[:2].lower() + tag[2:] if lower and tag != "O" else tag for tag in tags]
    assert spans_of_tags(folded) == whole


@given(st.lists(st.sampled_from(["O", *(p + "-" + t for p in "BIES" for t in ("X", "Y"))]), max_size=12))
def test_lenient_reading_is_seqevals(tags: list[str]) -> None:
    seqeval = pytest.importorskip("seqeval.metrics.sequence_labeling")
    expected = [(start, end + 1, label) for label, start, end in seqeval.get_entities(tags)]
    scheme = TagScheme.of(p + "-" + t for p in "BIES" for t in ("X", "Y"))
    assert spans_of_tags(tags, scheme) == expected


@given(st.lists(st.text(max_size=6)))
def test_no_sequence_is_invalid_and_no_token_is_in_two_entities(tags: list[str]) -> None:
    spans = spans_of_tags(tags)
    positions = [position for start, end, _ in spans for position in range(start, end)]
    assert positions == sorted(set(positions))
    assert set(positions) == {position for position, tag in enumerate(tags) if not is_outside(tag)}


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O I-X I-X", [(1, 3, "X")]),
        ("B-X E-X S-X", [(0, 2, "X"), (2, 3, "X")]),
        ("U-X U-X B-X L-X", [(0, 1, "X"), (1, 2, "X"), (2, 4, "X")]),
        ("I-X L-Y U-X", [(0, 1, "X"), (1, 2, "Y"), (2, 3, "X")]),
        ("B I O B", [(0, 2, ENTITY), (3, 4, ENTITY)]),
        ("b i o", [(0, 2, ENTITY)]),
        ("NAME NAME O NAME", [(0, 2, "NAME"), (3, 4, "NAME")]),
        ("B-X I-X B-O 0 o _ I-X", [(0, 2, "X"), (6, 7, "X")]),
        ("B-X NAME", [(0, 1, "B-X"), (1, 2, "NAME")]),
        ("", []),
    ],
)
def test_trap_sequences(tags: str, spans: list[Entity]) -> None:
    assert spans_of_tags(tags.split()) == spans


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ("O B-X I-X", "IOB"),
        ("O I-X I-Y", "IO"),
        ("O B-X I-X E-X S-X", "IOBES"),
        ("O S-X", "IOBES"),
        ("O B-X I-X L-X U-X", "BILOU"),
        ("O U-X", "BILOU"),
        ("O E_MAIL", "unprefixed"),
        ("O E-MAIL", "unprefixed"),
        ("O E-MAIL NAME", "unprefixed"),
        ("O S_CODE E_MAIL B_DATE", "unprefixed"),
        ("O B-CELL T-CELL", "unprefixed"),
        ("O b_name i_name e_mail", "IOBES"),
        ("0 b-name i-name", "IOB"),
        ("O B I", "IOB"),
        ("O I", "IO"),
        ("O S", "unprefixed"),
        ("O NAME DATE", "unprefixed"),
        ("O", "unprefixed"),
        ("LABEL_0 LABEL_1", "unprefixed"),
    ],
)
def test_the_whole_set_decides(labels: str, name: str) -> None:
    assert TagScheme.of(labels.split()).name == name


def test_split_speaks_one_alphabet() -> None:
    scheme = TagScheme.of(["O", "B-X", "I-X", "L-X", "U-X", "X-RAY"])
    assert [scheme.split(tag) for tag in ("L-X", "U-X", "X-RAY", "B-", "B-O", "")] == [
        ("E", "X"), ("S", "X"), ("I", "X-RAY"), ("B", ENTITY), ("O", ""), ("O", ""),
    ]  # fmt: skip
