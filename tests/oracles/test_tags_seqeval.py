"""seqeval's entities and classification_report, default and strict mode, to the last digit, over all schemes and odd tags."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.scoring.tag_readings import STRICT, TagReading
from openmed_mlx_eval.scoring.tagging import classification_report, detect_scheme, entities, tag_scores

metrics = pytest.importorskip("seqeval.metrics")
schemes = pytest.importorskip("seqeval.scheme")
pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMES = [name for name in STRICT if name != "IO"]
ODD = [
    "B",
    "I",
    "E",
    "S",
    "O-X",
    "B-",
    "B--X",
    "I-X-",
    "BX",
    "I-a-b",
    "U",
    "L-X",
    "U-X",
    "N",
    ".",
    ".-X",
    "0",
    "_",
    "o",
    "b-X",
    "NAME",
]


def tags_of(prefixes: str, endings: tuple[str, ...] = ("-X", "-Y")) -> list[str]:
    return ["O"] + [prefix + ending for prefix in prefixes if prefix != "O" for ending in endings]


def sequences(tags: list[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    """Sentences of (gold, predicted), which agree more often than not."""
    right = st.sampled_from(tags).map(lambda tag: (tag, tag))
    return st.lists(st.lists(right | st.tuples(*[st.sampled_from(tags)] * 2), max_size=10), min_size=1, max_size=5)


def sides(pairs: list[list[tuple[str, str]]]) -> list[list[list[str]]]:
    return [[[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1)]


def same(ours: dict, theirs: dict) -> None:
    assert list(ours) == list(theirs)
    for name, row in theirs.items():
        for key, value in row.items():
            assert ours[name][key] == value or (ours[name][key] != ours[name][key] and value != value), (name, key)


@given(st.lists(st.sampled_from(tags_of("BIES") + ODD), max_size=12))
def test_lenient_entities_are_get_entities(tags: list[str]) -> None:
    theirs = metrics.sequence_labeling.get_entities(tags)
    assert [(type, first, end - 1) for first, end, type in entities(tags)] == theirs


@pytest.mark.parametrize("name", SCHEMES)
@given(data=st.data())
def test_strict_entities_are_the_schemes(name: str, data: st.DataObject) -> None:
    alphabet = [*tags_of(STRICT[name].prefixes, ("-X", "-Y", "", "--X-", "X")), "O-X"]
    tags = data.draw(st.lists(st.sampled_from(alphabet), max_size=12))
    theirs = schemes.Tokens(tags, getattr(schemes, name)).entities
    assert entities(tags, "strict", name) == [(one.start, one.end, one.tag) for one in theirs]


@given(st.lists(st.sampled_from(tags_of("I")), max_size=12))
def test_strict_io_is_iob1_without_b(tags: list[str]) -> None:
    theirs = schemes.Tokens(tags, schemes.IOB1).entities
    assert entities(tags, "strict", "IO") == [(one.start, one.end, one.tag) for one in theirs]


@pytest.mark.parametrize("zero_division", [0, 1])
@given(pairs=sequences(tags_of("BIES") + ODD))
def test_the_lenient_report(pairs: list[list[tuple[str, str]]], zero_division: int) -> None:
    gold, predicted = sides(pairs)
    theirs = metrics.classification_report(gold, predicted, output_dict=True, zero_division=zero_division)
    score = tag_scores(gold, predicted)
    same(classification_report(score, zero_division), theirs)
    if score.tokens:
        assert score.token_accuracy == metrics.accuracy_score(gold, predicted)


@pytest.mark.parametrize("zero_division", [0, 1])
@pytest.mark.parametrize("name", SCHEMES)
@given(data=st.data())
def test_the_strict_report(name: str, zero_division: int, data: st.DataObject) -> None:
    gold, predicted = sides(data.draw(sequences(tags_of(STRICT[name].prefixes))))
    how = {"mode": "strict", "scheme": getattr(schemes, name)}
    theirs = metrics.classification_report(gold, predicted, output_dict=True, zero_division=zero_division, **how)
    same(classification_report(tag_scores(gold, predicted, "strict", name), zero_division), theirs)


@pytest.mark.parametrize("types", [1, 7, 8, 9, 40, 300])
def test_averages_over_many_types_are_summed_in_the_same_order(types: int) -> None:
    rng = random.Random(types)
    alphabet = tags_of("BI", tuple(f"-T{number}" for number in range(types)))
    gold = [[rng.choice(alphabet) for _ in range(30)] for _ in range(200)]
    predicted = [[tag if rng.random() < 0.8 else rng.choice(alphabet) for tag in tags] for tags in gold]
    for mode, scheme in ((None, None), ("strict", schemes.IOB2)):
        theirs = metrics.classification_report(gold, predicted, output_dict=True, mode=mode, scheme=scheme, zero_division=0)
        ours = tag_scores(gold, predicted, mode or "lenient")
        same(classification_report(ours, 0), theirs)
        for name, row in classification_report(ours).items():
            assert {key: value or 0 for key, value in row.items()} == theirs[name]


@given(pairs=sequences(tags_of("BI")))
def test_null_stands_only_where_seqeval_divides_by_nothing(pairs: list[list[tuple[str, str]]]) -> None:
    gold, predicted = sides(pairs)
    score = tag_scores(gold, predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = metrics.classification_report(gold, predicted, output_dict=True, zero_division=0)
    for name, row in classification_report(score).items():
        for key, value in row.items():
            assert (value == theirs[name][key]) if value is not None else (theirs[name][key] in (0, 0.0) or not score.by_type)
    for type, counts in score.by_type.items():
        row = classification_report(score)[type]
        assert (row["precision"] is None, row["recall"] is None) == (not counts.predicted, not counts.support)


@given(st.lists(st.sampled_from(tags_of("BIESLU")), min_size=1, max_size=8))
def test_a_scheme_that_seqeval_tells_is_told_alike(tags: list[str]) -> None:
    try:
        theirs = schemes.auto_detect([tags])
    except ValueError:
        return
    assert detect_scheme(tags) == theirs.__name__


@pytest.mark.parametrize("name", STRICT)
@given(tags=st.lists(st.sampled_from([*tags_of("BIESLU"), "N-X", "", "-X", "b-X"]), max_size=6))
def test_what_strict_refuses_seqeval_refuses(name: str, tags: list[str]) -> None:
    scheme = getattr(schemes, name, schemes.IOB1)
    try:
        TagReading("strict", name).check(tags, 3)
    except InputError as error:
        assert ", document 3: the tag of token " in str(error)
        if name != "IO":
            with pytest.raises((ValueError, KeyError, IndexError)):
                _ = schemes.Tokens(tags, scheme).entities
        return
    _ = schemes.Tokens(tags, scheme).entities


def written(folder: Path, gold: list[list[str]], predicted: list[list[str]], names: list[str]) -> list[list[object]]:
    """The arguments of `score` for the same tags as columns, as two files and as ids."""
    for name, side in (("gold", gold), ("predicted", predicted)):
        (folder / f"{name}.conll").write_text("\n".join("".join(f"w\t{tag}\n" for tag in tags) for tags in side), "utf-8")
    rows = (
        "".join(f"w x {a} {b}\n" for a, b in zip(one, other, strict=True)) for one, other in zip(gold, predicted, strict=True)
    )
    (folder / "columns").write_text("\n".join(rows), "utf-8")
    ids = [[names.index(tag) for tags in side for tag in tags] for side in (gold, predicted)]
    np.savez(folder / "ids.npz", gold=np.array(ids[0]), predicted=np.array(ids[1]), lengths=np.array([*map(len, gold)]))
    (folder / "names.json").write_text(json.dumps(names), "utf-8")
    return [
        [folder / "columns", "--predictions-format", "conlleval"],
        [folder / "gold.conll", folder / "predicted.conll"],
        [folder / "ids.npz", "--tag-names", folder / "names.json"],
    ]


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize("name", STRICT)
def test_reports_of_the_command_line(program, tmp_path: Path, name: str, mode: str) -> None:
    rng = random.Random(name)
    names = tags_of(STRICT[name].prefixes, ("-X", "-Y", "-part-of", "-Z"))
    gold = [[rng.choice(names) for _ in range(rng.randint(1, 30))] for _ in range(60)]
    predicted = [[tag if rng.random() < 0.7 else rng.choice(names[:-1]) for tag in tags] for tags in gold]
    told = (gold, predicted)
    if name == "BILOU" and mode == "lenient":  # seqeval's default mode does not know L and U: give it their other names
        told = tuple([[tag.replace("L-", "E-").replace("U-", "S-") for tag in tags] for tags in side] for side in told)
    how = {"mode": "strict", "scheme": getattr(schemes, name, schemes.IOB1)} if mode == "strict" else {}
    theirs = metrics.classification_report(*told, output_dict=True, zero_division=0, **how)
    for arguments in written(tmp_path, gold, predicted, names):
        block = program("score", *arguments, "--tags", mode, "--scheme", name, "--json", "--bootstrap", 0).json()["metrics"][
            "tags"
        ]
        assert {type: {key: value or 0 for key, value in row.items()} for type, row in block["report"].items()} == theirs
        assert block["token_accuracy"] == metrics.accuracy_score(gold, predicted)
        if name not in ("IOB1", "IOE1"):
            assert program("score", *arguments, "--tags", mode, "--json", "--bootstrap", 0).json()["metrics"]["tags"] == block


def test_the_public_corpus_with_perturbed_tags(program, shared, tmp_path: Path) -> None:
    rng = random.Random(11)
    text = shared("corpora/anatem/devel.tsv").read_text("utf-8")
    gold = [[line.split("\t")[1] for line in block.split("\n")] for block in text.strip().split("\n\n")]
    names = ["O", "B-Anatomy", "I-Anatomy"]
    predicted = [[rng.choice(names) if rng.random() < 0.05 else tag for tag in tags] for tags in gold]
    for mode, how in (("lenient", {}), ("strict", {"mode": "strict", "scheme": schemes.IOB2})):
        theirs = metrics.classification_report(gold, predicted, output_dict=True, zero_division=0, **how)
        for arguments in written(tmp_path, gold, predicted, names):
            report = program("score", *arguments, "--tags", mode, "--json", "--bootstrap", 0).json()
            assert report["metrics"]["tags"]["report"] == theirs
            assert report["metrics"]["exact_span_f1"]["precision"] == theirs["micro avg"]["precision"]
