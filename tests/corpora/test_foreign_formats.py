"""A format that is forced on a file of another: an error, or what the file holds; never silently nothing."""

from __future__ import annotations

import json
from pathlib import Path

import exported_corpora
import pytest
import small_corpora
from corpus_files import load
from test_fuzz_readers import docbin, installed, parquet

from openmed_mlx_eval.corpora import FORMATS, load_corpus
from openmed_mlx_eval.errors import InputError, UsageError

BINARY = {"parquet": ("huggingface", "pyarrow", parquet), "docbin": ("docbin", "spacy", docbin)}
MADE = {name: name for name in small_corpora.FORMATS} | {
    name: format for name, (format, _, _) in exported_corpora.EXPORTS.items()
}
MADE |= {name: format for name, (format, library, _) in BINARY.items() if installed(library)}


def written(folder: Path, name: str) -> list[Path]:
    """The paths that may be given for a corpus of a format: itself, and one file of a folder."""
    if name in BINARY:
        path = folder / name
        path.write_bytes(BINARY[name][2]())
    else:
        path = (small_corpora if name in small_corpora.FORMATS else exported_corpora).write(folder, name)
    return [path, *(sorted(path.iterdir())[:2] if path.is_dir() else ())]


@pytest.mark.parametrize("name", MADE)
def test_no_format_reads_files_of_another_as_nothing(tmp_path: Path, name: str) -> None:
    for path in written(tmp_path, name):
        for format in set(FORMATS) - {MADE[name]}:
            try:
                corpus = load_corpus(path, format)
            except (InputError, UsageError) as error:
                assert " – " in str(error), "an error has a remedy"
            else:  # doccano's objects are what fixtures may hold as well
                held = [(id, text, tuple(gold)) for id, text, gold in small_corpora.ENTRIES]
                read = [(d.id, d.text, tuple((s.start, s.end, s.label) for s in d.gold_spans)) for d in corpus]
                assert (name, format, read) == ("doccano with relations", "openmed", held)


def test_tasks_that_are_no_prodigys_or_label_studios_are_not_documents_without_gold() -> None:
    foreign = json.dumps({"id": 1, "text": "Dr Quill", "label": [[3, 8, "NAME"]]})
    with pytest.raises(InputError, match="line 1: a task without spans, an answer or Prodigy's hashes"):
        load(foreign, "prodigy")
    with pytest.raises(InputError, match="line 1: neither a task with data and annotations nor one of JSON_MIN"):
        load(foreign, "label-studio")
    for own in ({"answer": "accept"}, {"spans": []}, {"_input_hash": 1, "_task_hash": 2}):
        assert len(load(json.dumps({"text": "x", **own}), "prodigy")) == 1
    assert len(load(json.dumps([{"text": "x", "annotation_id": 3}]), "label-studio")) == 1


def test_words_are_not_tags() -> None:
    with pytest.raises(InputError, match="tags of the last column hold spaces – is the last column the tag's"):
        load("T1\tNAME 0 5\tAmy Quill\n", "conll")
    assert len(load("Quill\tB-first name\n", "conll").documents[0].gold_spans) == 1


def test_a_corpus_without_gold_is_said_by_corpus_check(program, tmp_path: Path) -> None:
    for content, code, said in (
        ("Dr\tO\nx\tO\n", "no_gold", "no document has a gold span"),
        ("", "no_documents", "no document was read"),
    ):
        path = tmp_path / code
        path.write_text(content)
        checked = program("corpus", "check", path, "--format", "conll", "--json")
        assert checked.json()["notes"] == {code: len(content) and 1}
        assert f"warning: {said} – is conll its format?" in checked.err
