"""Tag ids in numpy archives: every layout gives the same run, and no archive, however damaged, is more than an error."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval import tag_arrays
from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.tag_arrays import load_arrays, load_tag_names
from openmed_mlx_eval.tag_evaluation import evaluate_tags

TAGS = ["O", "B-NAME", "I-NAME", "B-DATE", "I-DATE"]
CANARY = "QZX-7781"
Sentences = list[list[tuple[int, int]]]

ids = st.integers(0, len(TAGS) - 1)
corpora = st.lists(st.lists(st.tuples(ids, ids), max_size=6), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("arrays")
    (made / "names.json").write_text(json.dumps(TAGS), "utf-8")
    return made


def padded(corpus: Sentences, side: int, fill: int, dtype: type = np.int64, left: bool = False) -> np.ndarray:
    width = max(map(len, corpus)) + 1
    table = np.full((len(corpus), width), fill, dtype)
    for row, sentence in enumerate(corpus):
        start = width - len(sentence) if left else 0
        table[row, start : start + len(sentence)] = [pair[side] for pair in sentence]
    return table


def layouts(corpus: Sentences) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray] | None]]:
    lengths = np.array([len(sentence) for sentence in corpus])
    mask = (padded(corpus, 0, -1) >= 0).astype(np.uint8)
    flat = [np.array([pair[side] for sentence in corpus for pair in sentence], np.int16) for side in (0, 1)]
    tables = [padded(corpus, side, 9, np.uint8) for side in (0, 1)]
    return [
        ({"labels": padded(corpus, 0, -100), "predictions": padded(corpus, 1, 0)}, None),
        ({"labels": padded(corpus, 0, -100, np.int8, True), "y_pred": padded(corpus, 1, -100, np.int32, True)}, None),
        ({"gold": tables[0], "predicted": tables[1], "mask": mask}, None),
        ({"gold": tables[0], "predicted": np.asfortranarray(tables[1]), "attention_mask": mask.astype(bool)}, None),
        ({"gold": tables[0], "predicted": tables[1], "lengths": lengths}, None),
        ({"gold": flat[0], "predicted": flat[1], "lengths": lengths}, None),
        ({"arr_0": padded(corpus, 0, -100)}, {"arr_0": padded(corpus, 1, -100)}),
        ({"gold": tables[0], "logits": np.zeros(3)}, {"mask": mask, "anything": tables[1].astype(">i4")}),
        ({"gold": flat[0], "lengths": lengths}, {"predictions": flat[1], "lengths": lengths.astype(np.uint64)}),
    ]


@given(corpora)
def test_every_layout_gives_the_same_run(folder: Path, corpus: Sentences) -> None:
    expected = [tuple(tuple(TAGS[pair[side]] for pair in sentence) for side in (0, 1)) for sentence in corpus]
    for write in (np.savez, np.savez_compressed):
        for gold, other in layouts(corpus):
            write(folder / "gold.npz", **gold)
            if other is not None:
                write(folder / "other.npz", **other)
            run = load_arrays(folder / "gold.npz", other and folder / "other.npz", folder / "names.json")
            assert [(one.gold, one.predicted) for one in run.sentences] == expected
            assert {one.tokens for one in run.sentences} == {None}


@given(corpora)
def test_spans_count_tokens(folder: Path, corpus: Sentences) -> None:
    np.savez(folder / "gold.npz", labels=padded(corpus, 0, -100), predictions=padded(corpus, 1, -100))
    made = evaluate_tags(load_arrays(folder / "gold.npz", None, folder / "names.json"), "strict", "IOB2")
    assert made.block["unit"] == "token"
    assert [len(document.text) for document in made.corpus] == [len(sentence) for sentence in corpus]
    assert made.block["tokens"] == sum(map(len, corpus))
    assert sum(len(document.gold_spans) for document in made.corpus) == made.block["entities"]["gold"]


def test_ignored_positions_within_a_word_are_no_tokens(folder: Path) -> None:
    np.savez(folder / "gold.npz", labels=np.array([[-100, 1, -100, 2, 0, -100]]), predictions=np.array([[3, 1, 4, 2, 0, 3]]))
    (sentence,) = load_arrays(folder / "gold.npz", None, folder / "names.json").sentences
    assert sentence.gold == sentence.predicted == ("B-NAME", "I-NAME", "O")


@pytest.mark.parametrize(
    "names",
    [
        TAGS,
        dict(enumerate(TAGS)),
        {name: number for number, name in enumerate(TAGS)},
        {"id2label": dict(enumerate(TAGS)), "hidden_size": 4},
    ],
)
def test_names_of_ids(tmp_path: Path, names: Any) -> None:
    path = tmp_path / "names.json"
    path.write_text("\ufeff" + json.dumps(names), "utf-8")
    assert load_tag_names(path) == dict(enumerate(TAGS))


def test_bare_labels_of_a_vocabulary_are_io(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text('["O", "NAME", "E-MAIL"]', "utf-8")
    np.savez(folder / "gold.npz", labels=np.array([[0, 1, 1, 2]]), predictions=np.array([[0, 1, 1, 2]]))
    made = evaluate_tags(load_arrays(folder / "gold.npz", None, tmp_path / "names.json"))
    assert {name: row["support"] for name, row in made.block["report"].items() if " " not in name} == {"NAME": 1, "E-MAIL": 1}
    assert evaluate_tags(load_arrays(folder / "gold.npz", None, tmp_path / "names.json", "IO"), "strict").block["scheme"] == "IO"
    with pytest.raises(InputError, match="document 1: the gold tag of token 2 is neither O nor"):
        load_arrays(folder / "gold.npz", None, tmp_path / "names.json", "IOE2")


@pytest.mark.parametrize(
    "names",
    [
        f'["{CANARY}"', f'"{CANARY}"', "[]", "{}", "null", f'["O", ["{CANARY}"]]', f'{{"{CANARY}": "O"}}', '{"-1": "O"}', '{"1.0": "O"}',
        '{"0": "O", "00": "B-X"}', '{"O": 0, "B-X": 0}', '{"O": true}', f'{{"O": "{CANARY}"}}', f'["{CANARY}", "B-X"]', "[" * 9999,
        '{"99999999999999999999": "O"}', '{"²": "O"}',
    ],
)  # fmt: skip
def test_what_names_no_tags_is_an_input_error(tmp_path: Path, names: str) -> None:
    path = tmp_path / "names.json"
    for data in (names.encode(), b"\xff" + names.encode(), names.encode("utf-16")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"^tag names: ") as caught:
            load_tag_names(path)
        assert CANARY not in str(caught.value)


def test_names_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / CANARY, tmp_path, f"{CANARY}\0"):
        with pytest.raises(UsageError) as caught:
            load_tag_names(path)
        assert CANARY not in str(caught.value)


TABLE = np.array([[0, 1, 2], [0, 0, -100]])


class Evil:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"labels": TABLE}, "no array of predictions"),
        ({"predictions": TABLE}, "no array of gold"),
        ({"arr_0": TABLE, "arr_1": TABLE}, "no array of gold"),
        ({"gold": TABLE, "predicted": TABLE[:, :2]}, "gold and predictions of different shapes"),
        ({"gold": TABLE, "predicted": TABLE[:1]}, "gold and predictions of different shapes"),
        ({"gold": TABLE, "predicted": TABLE.astype(float)}, "an array of something else than integers"),
        ({"gold": TABLE, "predicted": TABLE > 0}, "an array of something else than integers"),
        ({"gold": TABLE, "predicted": np.array([["O"] * 3] * 2)}, "an array of something else than integers"),
        ({"gold": TABLE, "predicted": np.array([[Evil()] * 3] * 2)}, "an array of something else than integers"),
        ({"gold": np.array([[0, 1], [2]], dtype=object), "predicted": TABLE}, "an array of something else than integers"),
        ({"gold": np.zeros((2, 3, 5), int), "predicted": TABLE}, "gold of 3 dimensions"),
        ({"gold": np.array(1), "predicted": np.array(1)}, "gold of 0 dimensions"),
        ({"gold": TABLE, "predicted": TABLE, "mask": TABLE[:1] > 0}, "a mask of another shape than the ids"),
        ({"gold": TABLE, "predicted": TABLE, "mask": TABLE * 1.0}, "an array of something else than integers"),
        ({"gold": TABLE, "predicted": TABLE, "lengths": np.array([3])}, "lengths that do not fit the ids"),
        ({"gold": TABLE, "predicted": TABLE, "lengths": np.array([3, 4])}, "lengths that do not fit the ids"),
        ({"gold": TABLE, "predicted": TABLE, "lengths": np.array([3, -1])}, "lengths that do not fit the ids"),
        ({"gold": TABLE, "predicted": TABLE, "lengths": np.array([[3], [2]])}, "lengths that do not fit the ids"),
        ({"gold": TABLE, "predicted": TABLE, "lengths": np.array(3)}, "lengths that do not fit the ids"),
        ({"gold": TABLE[0], "predicted": TABLE[0]}, "ids in one dimension, without lengths that add up to their number"),
        ({"gold": TABLE[0], "predicted": TABLE[0], "lengths": np.array([5, -2])}, "ids in one dimension, without lengths that"),
        ({"gold": TABLE[0], "predicted": TABLE[0], "lengths": np.array([2])}, "ids in one dimension, without lengths that"),
        ({"gold": TABLE + 4, "predicted": TABLE}, "document 1: the gold id of token 2 has no name"),
        ({"gold": TABLE, "predicted": TABLE + 3}, "document 1: the predicted id of token 3 has no name"),
        ({"gold": TABLE[::-1], "predicted": TABLE}, "document 2: the predicted id of token 3 has no name"),
    ],
)
def test_arrays_that_do_not_fit(folder: Path, arrays: dict[str, np.ndarray], said: str) -> None:
    np.savez(folder / "a.npz", allow_pickle=True, **arrays)
    with pytest.raises(InputError) as caught:
        load_arrays(folder / "a.npz", None, folder / "names.json")
    message = str(caught.value)
    assert said in message
    assert message.startswith("npz")


def test_masks_and_lengths_of_two_archives_must_agree(folder: Path) -> None:
    np.savez(folder / "a.npz", gold=TABLE, lengths=np.array([3, 2]))
    np.savez(folder / "b.npz", predicted=abs(TABLE), lengths=np.array([3, 1]))
    with pytest.raises(InputError, match="file 2: lengths other than the gold's"):
        load_arrays(folder / "a.npz", folder / "b.npz", folder / "names.json")


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    size = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + header.encode("latin-1") + data


def head(shape: str, descr: str = "'<i8'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n"


HOSTILE = {
    "nothing": b"",
    "magic alone": b"\x93NUMPY",
    "a pickle": pickle.dumps([CANARY]),
    "more than there is": npy(head("(1000000000000,)"), b"\0" * 80),
    "less than there is": npy(head("(2, 3)"), b"\0" * 80),
    "cut": npy(head("(2, 3)"), b"\0" * 40),
    "negative": npy(head("(-2, -3)"), b"\0" * 48),
    "huge and empty": npy(head("(0, 99999999999999999999)")),
    "nested header": npy("(" * 5000 + "\n"),
    "long header": npy(head("(2, 3)") + " " * 20000, b"\0" * 48),
    "canary header": npy(head("(2, 3)", f"'{CANARY}'"), b"\0" * 48),
    "no dictionary": npy(f"['{CANARY}']\n"),
    "object": npy(head("(2, 3)", "'|O'"), pickle.dumps([Evil()] * 6)),
    "structure": npy(head("(2, 3)", "[('a', '<i8')]"), b"\0" * 48),
    "nothing wide": npy(head("(2, 3)", "'|V0'")),
    "shape of strings": npy(head(f"('{CANARY}',)"), b"\0" * 48),
    "version 9": npy(head("(2, 3)"), b"\0" * 48, b"\x09\x00"),
    "version 3": npy(head("(2, 3)"), b"\0" * 48, b"\x03\x00"),
}


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


GOOD = {"gold.npy": npy(head("(2, 3)"), bytes(48)), "predicted.npy": npy(head("(2, 3)"), bytes(48), b"\x02\x00")}


def attempt(folder: Path, data: bytes) -> str | None:
    """The error of an archive of these bytes, None where it can be read."""
    (folder / "x.npz").write_bytes(data)
    try:
        evaluate_tags(load_arrays(folder / "x.npz", None, folder / "names.json"))
    except InputError as error:
        assert CANARY not in str(error)
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
        return str(error)
    return None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_array_is_an_input_error(folder: Path, name: str) -> None:
    assert attempt(folder, archive(GOOD)) is None
    said = attempt(folder, archive({**GOOD, "predicted.npy": HOSTILE[name]}))
    assert said is not None or name in ("huge and empty", "version 3")
    said = attempt(folder, archive({**GOOD, "lengths.npy": HOSTILE[name]}))
    assert said is not None


def test_an_archive_that_claims_gigabytes_is_not_unpacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_arrays, "MOST_BYTES", 1_000_000)
    bomb = archive({**GOOD, "predicted.npy": npy(head("(2, 100000)"), bytes(1_600_000))})
    assert len(bomb) < 10_000
    assert "an array of more than" in (attempt(folder, bomb) or "")


def test_no_archive_at_all(folder: Path, tmp_path: Path) -> None:
    for data in (b"", b"PK\x03\x04", CANARY.encode(), pickle.dumps(Evil()), npy(head("(2, 3)"), bytes(48))):
        assert attempt(folder, data) == "npz, file 1: not a numpy archive, or a damaged one – write the archive with numpy.savez"
    for path in (tmp_path / CANARY, tmp_path):
        with pytest.raises(UsageError) as caught:
            load_arrays(path, None, folder / "names.json")
        assert CANARY not in str(caught.value)


@given(st.data())
def test_no_damage_crashes_the_reader(folder: Path, data: st.DataObject) -> None:
    whole = bytearray(archive(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    attempt(folder, bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))]))


@given(st.binary(max_size=200), st.sampled_from(["gold.npy", "predicted.npy", "lengths.npy", "mask.npy"]))
def test_no_member_crashes_the_reader(folder: Path, noise: bytes, name: str) -> None:
    for content in (noise, npy(head("(2, 3)"), noise), npy(noise.decode("latin-1"), bytes(48))):
        attempt(folder, archive({**GOOD, name: content}))
