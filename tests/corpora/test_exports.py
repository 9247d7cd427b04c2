"""What annotation tools and older shared tasks export: every format gives the same documents, is told without being named,
scores 1.0 against itself, and says how its files are written."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_files import CANARY, documents, gold, load
from exported_corpora import EXPORTS, write
from hypothesis import given
from small_corpora import ENTRIES, entry

from openmed_mlx_eval.corpora import Corpus, Document, detect_format, load_corpus
from openmed_mlx_eval.corpora.writers import WRITERS, to_doccano
from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.spans import Span


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


ASTRAL = (
    entry("a1", "\U0001fa7a Dr \U0001d5d4mé I\u0307pek saw her", NAME="\U0001d5d4mé I\u0307pek"),
    entry("a2", "Ødegård \u3000 in ward_7 [b] a|b \\n", NAME="Ødegård", WARD="ward_7"),
)


def read(corpus: Corpus) -> list[tuple[str, str, tuple[tuple[int, int, str], ...]]]:
    return [(d.id, d.text, tuple(sorted((s.start, s.end, s.label) for s in d.gold_spans))) for d in corpus]


@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_is_told_and_read(tmp_path: Path, export: str) -> None:
    path = write(tmp_path, export)
    format = EXPORTS[export][0]
    assert detect_format(path) == format
    corpus = load_corpus(path, format)
    assert read(corpus) == list(ENTRIES)
    assert corpus.notes == {"prodigy": {"not_accepted": 2}, "label-studio": {"not_accepted": 1}}.get(export, {})


@pytest.mark.parametrize("export", EXPORTS)
def test_astral_and_combining_characters_and_reserved_ones(tmp_path: Path, export: str) -> None:
    format = EXPORTS[export][0]
    corpus = load_corpus(write(tmp_path, export, ASTRAL), format)
    assert read(corpus) == list(ASTRAL)
    assert corpus.notes.get("utf16_offsets", 0) == (format == "label-studio")


@pytest.mark.parametrize("export", EXPORTS)
def test_utf16_and_marks_are_read_and_said(tmp_path: Path, export: str) -> None:
    format = EXPORTS[export][0]
    for encoding, code in (("utf-16", "utf16_files"), ("utf-16-be", "utf16_files"), ("utf-8-sig", "byte_order_marks")):
        path = write(tmp_path / encoding, export, ASTRAL)
        files = [path] if path.is_file() else list(path.iterdir())
        for file in files:
            mark = "\ufeff" * (encoding == "utf-16-be")
            text = file.read_bytes().decode().replace('encoding="UTF-8"', 'encoding="UTF-16"' if "16" in encoding else "")
            file.write_bytes((mark + text).encode(encoding))
        assert detect_format(path) == format
        corpus = load_corpus(path, format)
        assert read(corpus) == list(ASTRAL)
        assert corpus.notes[code] == len(files)


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("told", [True, False])
def test_gold_against_itself_is_one(program, tmp_path: Path, export: str, told: bool) -> None:
    path, format = write(tmp_path, export, (*ENTRIES, *ASTRAL)), EXPORTS[export][0]
    formats = ("--format", format, "--predictions-format", format) if told else ()
    scored = program("score", path, path, *formats, "--json", "--bootstrap", 0).json()
    for rule in ("exact_span_f1", "relaxed_span_f1"):
        assert scored["metrics"][rule]["f1"] == 1.0
    assert scored["metrics"]["exact_span_f1"]["true_positives"] == sum(len(gold) for _, _, gold in (*ENTRIES, *ASTRAL))


def test_what_was_read_past_is_a_warning_of_the_report(program, tmp_path: Path) -> None:
    path = write(tmp_path, "prodigy")
    said = program("score", path, path, "--format", "prodigy", "--predictions-format", "prodigy", "--json", "--bootstrap", 0)
    assert {"code": "not_accepted", "count": 2} in [
        {key: warning[key] for key in ("code", "count")} for warning in said.json()["warnings"]
    ]


def row(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


NUMBERED = row(id=1, tokens=["Dr", "Quill"], ner_tags=[0, 1])


@pytest.mark.parametrize("name", ["features.json", "dataset_info.json", "dataset_infos.json"])
def test_tag_names_come_from_the_file_beside(name: str) -> None:
    names = ["O", "B-NAME"]
    for features in (
        {"ner_tags": names},
        {"features": {"id": {"_type": "Value"}, "ner_tags": {"feature": {"names": names, "_type": "ClassLabel"}}}},
        {"default": {"features": {"ner_tags": {"feature": {"num_classes": 2, "names": names}, "_type": "Sequence"}}}},
        {"features": [{"name": "ner_tags", "sequence": {"class_label": {"names": {"1": "B-NAME", "0": "O"}}}}]},
    ):
        corpus = load({name: json.dumps(features), "train.jsonl": NUMBERED}, "huggingface")
        assert gold(corpus) == [[(3, 8, "NAME")]]
    without = load({"features.json": json.dumps({"ner_tags": ["O", "B-X"]}), "train.jsonl": NUMBERED}, "huggingface")
    assert without.sha256 != corpus.sha256  # what numbers mean is part of the gold


def test_label_studio_takes_the_ground_truth_and_every_label_of_a_region() -> None:
    def annotation(labels: list[str], **more: object) -> dict[str, object]:
        return {"result": [{"type": "labels", "value": {"start": 0, "end": 5, "text": "Quill", "labels": labels}}], **more}

    two = [annotation(["A"]), annotation(["NAME", "PERSON"], ground_truth=True)]
    corpus = load(json.dumps([{"id": 1, "data": {"note": "Quill"}, "annotations": two}]), "label-studio")
    assert gold(corpus) == [[(0, 5, "NAME"), (0, 5, "PERSON")]]
    html = {"type": "hypertextlabels", "value": {"start": "/p[1]", "end": "/p[1]", "hypertextlabels": ["NAME"]}}
    html["value"]["globalOffsets"] = {"start": 0, "end": 5}  # type: ignore[index]
    task = {"data": {"text": "Quill", "lang": "en"}, "completions": [{"result": [html]}]}
    assert gold(load(json.dumps([task]), "label-studio")) == [[(0, 5, "NAME")]]


def test_label_studio_finds_the_text_under_the_name_that_the_configuration_gave_it() -> None:
    region = {"type": "labels", "value": {"start": 3, "end": 8, "text": "Quill", "labels": ["NAME"]}}
    data = [{"title": "a note", "body": "Dr Quill, ward 7"}, {"title": "the long title of another note", "body": "Dr Quill"},
            {"title": "a third", "body": "Dr Quill saw her"}]  # fmt: skip
    tasks = [{"data": one, "annotations": [{"result": [region]}]} for one in data]
    corpus = load(json.dumps(tasks), "label-studio")
    assert [document.text for document in corpus] == [one["body"] for one in data]
    assert corpus.documents[0].metadata == {"title": "a note"}


def test_label_studio_says_no_name_of_a_key_of_the_file() -> None:
    """Found by fuzzing: the text was asked for under the key that the other tasks have theirs under."""
    tasks = [
        {"data": {CANARY: "Dr Quill, ward 7"}, "annotations": [{"result": []}]},
        {"data": {}, "annotations": [{"result": []}]},
    ]
    for content in (tasks, [{CANARY: "Dr Quill", "annotator": 1}, {"annotator": 1}]):
        with pytest.raises(
            InputError, match='document 2: the text is missing or null – write it as a string under "text"'
        ) as error:
            load(json.dumps(content), "label-studio")
        assert CANARY not in str(error.value)


def test_bioc_of_bytes_and_pieces_and_sentences() -> None:
    def annotation(surface: str, *locations: tuple[int, int]) -> dict[str, object]:
        places = [{"offset": start, "length": length} for start, length in locations]
        return {"id": "1", "infons": {"type": "X"}, "text": surface, "locations": places}

    sentences = [
        {"offset": 100, "text": "Ødé left", "annotations": [annotation("Ødé", (100, 5))]},
        {"offset": 111, "text": "and Quill", "annotations": [annotation("left Quill", (106, 4), (115, 5))]},
    ]
    document = {
        "id": "d",
        "passages": [{"offset": 100, "sentences": sentences}, {"offset": 122, "text": "Quill", "annotations": []}],
    }
    document["passages"][1]["annotations"] = [annotation("Quill", (122, 5))]  # type: ignore[index]
    corpus = load(json.dumps({"documents": [document]}), "bioc", discontinuous="split")
    assert corpus.documents[0].text == "Ødé left and Quill\n\nQuill"
    assert gold(corpus) == [[(0, 3, "X"), (4, 8, "X"), (13, 18, "X"), (20, 25, "X")]]
    assert corpus.notes == {"byte_offsets": 1}
    assert corpus.documents[0].metadata == {"annotations_in_pieces": 1}
    assert gold(load(json.dumps({"documents": [document]}), "bioc")) == [[(0, 3, "X"), (4, 18, "X"), (20, 25, "X")]]


def test_webanno_spans_over_tokens_stacked_ones_and_parts_of_tokens() -> None:
    content = (
        "#FORMAT=WebAnno TSV 3.2\n#T_SP=webanno.custom.Phi|kind|note\n#T_CH=custom.Coref|a|b\n\n\n"
        "#Text=Dr Amy Quill\n"
        "1-1\t0-2\tDr\t_\t_\t_\t_\t\n1-2\t3-6\tAmy\tNAME[1]|*[2]\tx[1]|*[2]\t_\t_\t\n1-3\t7-12\tQuill\tNAME[1]\tx[1]\t_\t_\t\n"
        "1-3.1\t7-9\tQu\tPART\t_\t_\t_\t\n\n#Text=Ward 7\n2-1\t14-18\tWard\t*\t*\t_\t_\t\n2-2\t19-20\t7\t_\t_\t_\t_\t\n"
    )
    corpus = load(content.replace("\n", "\r\n"), "webanno")
    assert corpus.documents[0].text == "Dr Amy Quill\n\nWard 7"
    assert gold(corpus) == [[(3, 12, "NAME"), (3, 6, "Phi"), (7, 9, "PART"), (14, 18, "Phi")]]


def test_webanno_slots_identifiers_and_sentences_of_two_lines() -> None:
    head = (
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value\n"
        "#T_SP=custom.Place|\n#T_SP=custom.Event|ROLE_custom.Event:who_custom.EventLink|uima.tcas.Annotation\n\n\n"
    )
    rows = (
        "#Text=Amy \U0001fa7a fell\n#Text= in \\[B\\]\n1-1\t4-7\tAmy\thttp://x/Q1[a]\t*\t_\t_\t_\t\n1-2\t8-10\t\U0001fa7a\t_\t_\t_\t_\t_\t\n"
        "1-3\t11-15\tfell\t_\t_\t_\twho;where\t1-1[1];1-5[2]\t\n1-4\t17-19\tin\t_\t_\t_\t_\t_\t\n1-5\t20-23\t\\[B\\]\t_\tL\\[1\\]\t*\t_\t_\t\n"
    )
    corpus = load(head + rows, "webanno")
    assert corpus.documents[0].text == "Amy \U0001fa7a fell\n in [B]"
    assert gold(corpus) == [[(0, 3, "NamedEntity"), (15, 18, "L[1]"), (15, 18, "Place"), (6, 10, "Event")]]


def test_webanno_cut_anywhere_is_an_error_but_between_sentences() -> None:
    """It was read as far as it went: a row cut within a label gave another label, a sentence cut short fewer spans."""
    content = (
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Phi|kind|note\n\n\n#Text=Dr Quill .\n1-1\t0-2\tDr\t_\t_\t\n"
        "1-2\t3-8\tQuill\tNAME\ta note\t\n1-3\t9-10\t.\t_\t_\t\n\n#Text=Ward 7\n2-1\t11-15\tWard\tPLACE[1]\t*[1]\t\n2-2\t16-17\t7\tPLACE[1]\t*[1]\t\n"
    )
    whole = gold(load(content, "webanno"))[0]
    assert whole == [(3, 8, "NAME"), (11, 17, "PLACE")]
    next_sentence = content.index("#Text=Ward")
    readable = {next_sentence - 2: whole[:1], next_sentence - 1: whole[:1], next_sentence: whole[:1], len(content) - 1: whole}
    for cut in range(len(content)):
        if cut in readable:
            assert gold(load(content[:cut], "webanno"))[0] == readable[cut]
        else:
            with pytest.raises(InputError, match=r"line [0-9]+: .* – "):
                load(content[:cut], "webanno")
    rows = content.splitlines(keepends=True)
    for bad in ("1-1\t0-2\tDr\t_\t_\t_\t\n", "1-1\t0-2\tDr\t_\n", "1-1\t0-2\tDr\n"):
        with pytest.raises(
            InputError, match=r"line 6: . columns of annotation, where the layers have 2 – part columns by one tab"
        ):
            load("".join([*rows[:5], bad, *rows[6:]]), "webanno")


def test_webanno_counts_the_columns_of_many_layers_once() -> None:
    """Found by fuzzing: the columns before a layer were summed anew for each, minutes for a head of a megabyte."""
    with pytest.raises(InputError, match="no sentence"):
        load("#FORMAT=WebAnno TSV 3.3\n" + "#T_SP=d\n" * 50_000, "webanno")


def test_i2b2_2006_keeps_line_ends_and_the_exact_bounds() -> None:
    content = '<ROOT><RECORD ID="1"><TEXT>\r\nDr <PHI\r\nTYPE="DOCTOR">Amy\r\nQuill </PHI>&amp; co\r\n</TEXT></RECORD></ROOT>'
    corpus = load(content, "i2b2-2006")
    assert corpus.documents[0].text == "\r\nDr Amy\r\nQuill & co\r\n"
    assert gold(corpus) == [[(5, 16, "DOCTOR")]]
    assert corpus.notes == {"crlf_documents": 1}
    lines = '<?xml version="1.0"?>\r\n<ROOT>\r\n<RECORD ID="1">\r\n<TEXT>Dr <PHI TYPE="DOCTOR">Amy</PHI>\r\n</TEXT>\r\n</RECORD>\r\n</ROOT>\r\n'
    again = load(lines, "i2b2-2006")
    assert (again.documents[0].text, gold(again)) == ("Dr Amy\r\n", [[(3, 6, "DOCTOR")]])


@pytest.mark.parametrize(
    ("format", "content", "says"),
    [
        ("doccano", row(text="Quill", label=[[0, 5]]), "line 1, span 1: a span of 2 parts"),
        ("doccano", row(text="Quill", label=[[0, 5, 7]]), "the label is an integer"),
        ("doccano", row(text="Quill", label=[[0, 9, CANARY]]), "span past the end"),
        ("doccano", row(text=CANARY), "the gold is missing or null"),
        ("prodigy", row(text="Quill", spans=[{"start": 0, "end": True, "label": CANARY}]), "the end is true or false"),
        ("prodigy", row(tokens=[CANARY]), "the text is missing"),
        ("label-studio", json.dumps([{"data": {"a": [CANARY]}, "annotations": [{"result": []}]}]), "the text is missing"),
        ("label-studio", json.dumps([{"data": {"text": CANARY}, "annotations": [{"result": []}] * 2}]), "a task with 2 annotations"),
        ("label-studio", json.dumps([{"data": {"text": "x"}, "annotations": [{"result": [{"type": "labels", "value": CANARY}]}]}]),
         "span 1: a region without a list of labels"),
        ("huggingface", NUMBERED, "the tags are numbers without names"),
        ("huggingface", row(tokens=["a", CANARY], ner_tags=["O"]), "2 tokens and 1 tags"),
        ("huggingface", row(tokens=["a", ""], ner_tags=["O", "O"]), "token 2 is empty"),
        ("huggingface", row(tokens=["a"], ner_tags=[[CANARY]]), "tag 1 is a list"),
        ("huggingface", json.dumps({"features": {"ner_tags": ["O"]}, "rows": [{"row": json.loads(NUMBERED)}]}), "none of the 1 names"),
        ("bioc", json.dumps({"documents": [{"passages": [{"offset": CANARY, "text": ""}]}]}), "an offset or a length that is no integer"),
        ("bioc", json.dumps({"documents": [{"passages": [{"offset": 0, "text": "abc"}, {"offset": 1, "text": CANARY}]}]}),
         "text 2 of the document begins before the one before it ends"),
        ("bioc", json.dumps({"documents": [{"passages": [{"offset": 0, "text": "abc"}, {"offset": 10**9, "text": CANARY}]}]}),
         "text 2 of the document begins far from all others"),
        ("bioc", json.dumps({"documents": [{"passages": [{"offset": 0, "text": "a", "annotations": [{"text": CANARY}]}]}]}),
         "an annotation without a type"),
        ("bioc", f'<!DOCTYPE a [<!ENTITY x "{CANARY}">]><collection/>', "a document type or entity declaration"),
        ("bioc", f"<{CANARY}/>", "the root is no collection"),
        ("bioc", "<collection><document><id>1</id></document></collection>", "line 1: a document without a text"),
        ("webanno", f"#Text={CANARY}\n", "the first line does not name the format"),
        ("webanno", f"#FORMAT=WebAnno TSV 3.3\n#Text=Quill\n1-1\t0-5\t{CANARY}\n", "line 3: a token that is not the text"),
        ("webanno", f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n#Text=Quill\n1-1\t0-5\tQuill\t_\t{CANARY}\n", "line 4: 2 columns"),
        ("webanno", f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n#Text=Quill\n1-1\t0-5\tQuill\t[{CANARY}]\n", "line 4: a value with a bracket"),
        ("webanno", f"#FORMAT=WebAnno TSV 3.3\n{CANARY}\n", "line 2: a line that is neither a token nor a comment"),
        ("i2b2-2006", f"<ROOT>{CANARY}</ROOT>", "no RECORD element"),
        ("i2b2-2006", f"<R><RECORD><TEXT><PHI>{CANARY}</PHI></TEXT></RECORD></R>", "PHI without a TYPE"),
        ("i2b2-2006", f'<R><RECORD ID="1">{CANARY}</RECORD></R>', "a record without TEXT"),
        ("i2b2-2006", f'<!DOCTYPE R SYSTEM "{CANARY}"><R/>', "a document type or entity declaration"),
        ("docbin", CANARY, "not installed" if not installed("spacy") else "the DocBin is broken"),
        ("huggingface", "PAR1" + CANARY, "not installed" if not installed("pyarrow") else "the Parquet file is broken"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_without_its_text(format: str, content: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        load(content, format)
    assert says in str(error.value)
    assert str(error.value).startswith(f"{format}, file 1")
    assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    ("concepts", "says"),
    [
        (CANARY, "line 1: a line that is no concept"),
        (f'c="{CANARY}" 1:0 1:9||t="x"', "line 1, span 1: a word that the text has not"),
        (f'c="{CANARY}" 2:0 1:0||t="x"', "a word that the text has not"),
        (f'c="{CANARY}" 1:0 1:0||t="x"', "the text at the offsets is not"),
    ],
)
def test_concepts_that_cannot_be(concepts: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        load({"a.txt": "Dr Quill", "a.con": concepts}, "i2b2-2010")
    assert says in str(error.value)
    assert CANARY not in str(error.value)
    with pytest.raises(InputError, match="without its"):
        load({"a.txt": CANARY}, "i2b2-2010")


def test_concepts_in_the_subfolders_that_they_are_given_out_in(tmp_path: Path) -> None:
    flat = write(tmp_path, "i2b2-2010")
    (given := tmp_path / "given").mkdir()
    for folder, suffix in (("txt", ".txt"), ("concept", ".con"), ("ast", ".ast"), ("rel", ".rel")):
        (given / folder).mkdir()
        for file in flat.glob("*.con" if suffix in (".ast", ".rel") else f"*{suffix}"):
            (given / folder / (file.stem + suffix)).write_bytes(file.read_bytes())
    (given / "readme.txt").write_text("not a note")
    assert detect_format(given) == "i2b2-2010"
    corpus = load_corpus(given)
    assert read(corpus) == list(ENTRIES)
    assert corpus.sha256 == load_corpus(flat).sha256
    (given / "concept" / "n2.con").unlink()
    with pytest.raises(InputError, match=r"file 2, document 2: a \.txt file without its \.con"):
        load_corpus(given)
    (given / "n1.con").write_text("")  # a .con beside the subfolders is the flat layout, as ever
    with pytest.raises(InputError, match=r"a \.con file without its \.txt"):
        load_corpus(given)


def test_concepts_over_lines_with_an_assertion_and_other_spacing() -> None:
    text = "seen  for\r\nthe left  knee pain\r\nhere"
    concepts = 'c="left knee pain here" 2:1 3:0||t="problem"||a="present"\r\nc="for" 1:1 1:1||t="x"\n'
    corpus = load({"a.txt": text, "a.con": concepts}, "i2b2-2010")
    assert gold(corpus) == [[(15, 36, "problem"), (6, 9, "x")]]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("export", EXPORTS)
def test_what_was_read_is_written_and_read_again(export: str, writer: str, tmp_path: Path) -> None:
    format = EXPORTS[export][0]
    corpus = load_corpus(write(tmp_path, export, (*ENTRIES, *ASTRAL) if writer != "conll" else ENTRIES), format)
    written = WRITERS[writer](corpus.documents)
    assert not written.lost
    again = load(written.files if writer == "brat" else written.files[""], writer)
    one, other = ([(text, spans) for _, text, spans in read(one)] for one in (corpus, again))
    assert (sorted(one), sorted(other)) == (sorted(other), sorted(one)) if writer == "brat" else one == other


@given(documents())
def test_doccano_holds_every_document(made: list[Document]) -> None:
    made = [replace(one, language="de", metadata={"a": [1, {"b": None}]}) if n % 2 else one for n, one in enumerate(made)]
    written = to_doccano(made)
    assert (written.lost, written.changed) == ({}, {})
    assert list(load(written.files[""], "doccano", name="data.jsonl")) == made


def test_doccano_has_no_place_for_critical_findings() -> None:
    document = Document("1", "sepsis", (Span(0, 6, "DISEASE"),), categories=("sepsis",))
    assert to_doccano([document]).changed == {"spans without their critical finding": 1}
