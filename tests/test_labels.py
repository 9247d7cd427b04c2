"""Label names: aliases, a user's map over them, and what never meets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.labels import LabelMap, aliases, folded, upper_snake


def test_every_canonical_label_and_alias_is_itself_or_its_own() -> None:
    labels = LabelMap()
    for spelling, label in aliases().items():
        assert labels(spelling) == label
        assert labels(label) == label
        assert labels(f"B-{label}") == label
        assert labels(label.lower().replace("_", "-")) == label


def test_aliases_are_one_table_without_contradiction() -> None:
    table = json.loads((Path(__file__).parents[1] / "openmed_mlx_eval/labels/canonical.json").read_text("utf-8"))
    spelled = [(folded(spelling), label) for label, spellings in table.items() for spelling in (label, *spellings)]
    assert len({spelling for spelling, _ in spelled}) == len(set(spelled))


def test_unknown_labels_keep_their_names_and_never_meet() -> None:
    labels = LabelMap()
    assert [labels(raw) for raw in ("TREATMENT", "hospital", "Quite another-thing")] == [
        "TREATMENT",
        "HOSPITAL",
        "QUITE_ANOTHER_THING",
    ]
    assert labels.met() == {}


@given(st.lists(st.text(min_size=1, max_size=8), unique_by=folded))
def test_labels_of_different_keys_stay_different_but_for_aliases_and_prefixes(raws: list[str]) -> None:
    raws = [raw for raw in raws if folded(raw) not in aliases() and raw == raw.strip() and raw[1:2] != "-"]
    labels = LabelMap()
    names = [labels(raw) for raw in raws]
    assert len({upper_snake(raw) for raw in raws}) == len(set(names))


def test_labels_without_letters_stay_apart() -> None:
    labels = LabelMap({"+": "present"})
    assert [labels("+"), labels("-"), labels("#")] == ["PRESENT", "-", "#"]


def test_prefixes_fall_and_met_says_who_met() -> None:
    labels = LabelMap()
    assert {labels(raw) for raw in ("B-PERSON", "I-PERSON", "person", "Person")} == {labels("PERSON")}
    assert labels.met() == {labels("PERSON"): ["B-PERSON", "I-PERSON", "PERSON", "Person", "person"]}
    assert all(raw != name for raw, name in labels.mappings().items())


def test_a_user_s_map_overrides_and_star_folds_the_rest() -> None:
    labels = LabelMap({"Organ": "Body part", "*": "other thing"})
    assert [labels(raw) for raw in ("ORGAN", "I-organ", "anatomy", "DATE", "body_part", "B-X")] == [
        "BODY_PART",
        "BODY_PART",
        "OTHER_THING",
        "OTHER_THING",
        "BODY_PART",
        "OTHER_THING",
    ]


def test_a_target_is_not_mapped_on() -> None:
    labels = LabelMap({"a": "b", "c": "a"})
    assert [labels("a"), labels("b"), labels("c")] == ["B", "B", "A"]


def test_labels_outside_a_map_go_through_the_aliases() -> None:
    labels = LabelMap({"Organ": "ANATOMY"})
    assert labels("anatomical") == LabelMap()("anatomical") == "ANATOMY"


def test_none_changes_no_letter() -> None:
    labels = LabelMap.load("none")
    assert [labels(raw) for raw in ("B-Person", "person ", "x y")] == ["B-Person", "person ", "x y"]
    assert (labels.mappings(), labels.met()) == ({}, {})


def test_nameless_tags_are_named_by_the_map_alone() -> None:
    labels = LabelMap({"LABEL_0": "O", "LABEL_1": "B-Organ"})
    assert labels.tags(("LABEL_0", "LABEL_1", "LABEL_2", "X")) == ("O", "B-Organ", "LABEL_2", "X")
    assert labels("Organ") == "ORGAN"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[1]", "one JSON object"),
        (b'{"a": 1}', "one JSON object"),
        (b'{"a": ""}', "one JSON object"),
        (b'{"a": null}', "one JSON object"),
        (b'"QZX-7781"', "one JSON object"),
        (b'{"QZX-7781": ', "not JSON"),
        (b'{"QZX-7781": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_map_is_a_usage_error(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "QZX-7781.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=says) as raised:
        LabelMap.load(str(path))
    assert "QZX-7781" not in str(raised.value)
    assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_a_file_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_bytes(b'\xef\xbb\xbf{"Organ": "ANATOMY"}')
    assert LabelMap.load(str(path))("organ") == "ANATOMY"
