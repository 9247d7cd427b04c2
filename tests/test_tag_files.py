"""Tags in text files: conlleval's columns and two CoNLL files give the same run, and what does not fit is placed by line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.tag_evaluation import evaluate_tags
from openmed_mlx_eval.tag_files import load_conll_pair, load_conlleval
from openmed_mlx_eval.tag_runs import TagRun, TagSentence

Rows = list[tuple[str, str, str]]
CANARY = "QZX-7781"

tags = st.sampled_from(["O", "O", "B-NAME", "I-NAME", "B-DATE", "I-DATE"])
words = st.text(st.sampled_from("aB1.#-_é\u2028\u0085\u00a0🩺腎"), min_size=1, max_size=4).filter(
    lambda word: not word.startswith(("#", "-DOC", "-X-"))
)
corpora = st.lists(st.lists(st.tuples(words, tags, tags), min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tags")


def write(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


def columns(path: Path, sentences: list[Rows], separator: str = " ", end: str = "\n", more: str = "") -> Path:
    lines = ["".join(separator.join([word, *more.split(), gold, guess]) + end for word, gold, guess in one) for one in sentences]
    return write(path, end.join(lines))


def pair(folder: Path, sentences: list[Rows], separator: str = "\t") -> tuple[Path, Path]:
    sides = ["\n".join("".join(f"{row[0]}{separator}{row[side]}\n" for row in one) for one in sentences) for side in (1, 2)]
    return write(folder / "gold.conll", sides[0]), write(folder / "predicted.conll", sides[1])


def sentences_of(sentences: list[Rows]) -> list[TagSentence]:
    return [
        TagSentence(n, tuple(g for _, g, _ in one), tuple(p for *_, p in one), tuple((w, True) for w, *_ in one))
        for n, one in enumerate(sentences, start=1)
    ]


@given(corpora)
def test_every_layout_gives_the_same_run(folder: Path, corpus: list[Rows]) -> None:
    expected = sentences_of(corpus)
    for separator, end, more in ((" ", "\n", ""), ("\t", "\n", ""), (" ", "\r\n", "NN"), ("\t", "\n", "NN B-NP x y z")):
        assert list(load_conlleval(columns(folder / "a.txt", corpus, separator, end, more)).sentences) == expected
    assert list(load_conll_pair(*pair(folder, corpus)).sentences) == expected


@given(corpora)
def test_spans_are_the_words_of_the_rebuilt_text(folder: Path, corpus: list[Rows]) -> None:
    made = evaluate_tags(load_conll_pair(*pair(folder, corpus)))
    for document, spans, rows in zip(made.corpus, made.predictions.spans, corpus, strict=True):
        assert document.text == " ".join(word for word, *_ in rows)
        for span in (*document.gold_spans, *spans):
            cut = document.text[span.start : span.end]
            assert any(
                cut == " ".join(word for word, *_ in rows[i:j]) for i in range(len(rows)) for j in range(i + 1, len(rows) + 1)
            )
    assert sum(len(document.gold_spans) for document in made.corpus) == made.block["entities"]["gold"]
    assert sum(map(len, made.predictions.spans)) == made.block["entities"]["predicted"]


def test_boundaries_and_a_number_of_columns_that_varies(tmp_path: Path) -> None:
    content = "-DOCSTART- -X- O O\n\nAmy NNP B-NAME B-NAME\nBo I-NAME O\n-X- O O\n-X- O O\nok NN x O O\n\n\n"
    run = load_conlleval(write(tmp_path / "a", content))
    assert [(one.gold, one.predicted) for one in run.sentences] == [(("B-NAME", "I-NAME"), ("B-NAME", "O")), (("O",), ("O",))]


def test_spellings_become_one(tmp_path: Path) -> None:
    for column in ("b_NAME i_NAME o", "B-NAME I-NAME 0", "B-NAME L-NAME _", "B-NAME I-NAME B-O"):
        words = "".join(f"w {tag} {tag}\n" for tag in column.split())
        (one,) = load_conlleval(write(tmp_path / "a", words)).sentences
        assert one.gold == one.predicted == ("B-NAME", "L-NAME" if "L-" in column else "I-NAME", "O")


def test_a_scheme_that_the_tags_do_not_show_is_believed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "w O O\nw E-MAIL E-MAIL\n")
    with pytest.raises(InputError, match="neither O nor a label with a prefix"):
        load_conlleval(path)
    run = load_conlleval(path, "IOE2")
    assert evaluate_tags(run, "strict", "IOE2").block["report"]["MAIL"]["f1-score"] == 1.0
    with pytest.raises(InputError, match="neither O nor"):
        load_conlleval(write(tmp_path / "a", "w O O\nw E-MAIL NAME\n"), "IOE2")


def test_a_scheme_is_the_same_whatever_it_is_written_in(tmp_path: Path) -> None:
    written = {
        "IOB1": ("I-X I-X B-X O I-X", "I-X I-X I-X O I-Y"),
        "IOB2": ("B-X I-X B-X O B-X", "B-X I-X I-X O B-Y"),
        "IOE1": ("I-X E-X I-X O I-X", "I-X I-X I-X O I-Y"),
        "IOE2": ("I-X E-X E-X O E-X", "I-X I-X E-X O E-Y"),
        "IOBES": ("B-X E-X S-X O S-X", "B-X I-X E-X O S-Y"),
        "BILOU": ("B-X L-X U-X O U-X", "B-X I-X L-X O U-Y"),
    }
    blocks = []
    for scheme, sides in written.items():
        rows = zip(*(side.split() for side in sides), strict=True)
        run = load_conlleval(write(tmp_path / "a", "".join(f"w {gold} {guess}\n" for gold, guess in rows)))
        blocks.append(evaluate_tags(run, "lenient").block)
        if scheme not in ("IOB1", "IOE1"):
            blocks.append(evaluate_tags(run, "strict").block)
            assert blocks[-1]["scheme"] == scheme
    for block in blocks:
        assert block["report"] == blocks[0]["report"]
        assert block["entities"] == {"gold": 3, "predicted": 2, "correct": 0}


def test_a_strict_reading_under_the_wrong_scheme_warns(tmp_path: Path) -> None:
    run = load_conlleval(write(tmp_path / "a", "w I-X I-X\nw B-X B-X\nw O O\nw I-X I-X\n"))
    made = evaluate_tags(run, "strict")
    assert [(one.code, one.count) for one in made.predictions.warnings] == [("tags_outside_entities", 2)]
    assert evaluate_tags(run, "strict", "IOB1").predictions.warnings == evaluate_tags(run).predictions.warnings == ()


def refused(path: Path, other: Path | None = None, **more: object) -> str:
    with pytest.raises(InputError) as caught:
        evaluate_tags(load_conlleval(path) if other is None else load_conll_pair(path, other), **more)  # type: ignore[arg-type]
    assert CANARY not in str(caught.value)
    return str(caught.value).split(" – ")[0]


GOLD = f"Dr O\n{CANARY} B-NAME\n\n{CANARY} I-NAME\nok O\n"


@pytest.mark.parametrize(
    ("predicted", "said"),
    [
        (f"Dr O\n{CANARY} B-NAME\n\n{CANARY} I-NAME\n", "file 1, document 2, line 4: 1 tokens, where the gold has 2"),
        (f"{GOLD}{CANARY} O\n", "file 1, document 2, line 6: 3 tokens, where the gold has 2"),
        (f"Dr O\n{CANARY}x B-NAME\n\n{CANARY} I-NAME\nok O\n", "file 1, document 1, line 2: another token than the gold's"),
        (f"Dr O\n{CANARY} B-NAME\n", "document 2: 1 sentences, where the gold has 2"),
        (f"{GOLD}\n{CANARY} O\n", "document 3: 3 sentences, where the gold has 2"),
        (f"Dr O\n{CANARY}\n", "file 1, document 1, line 2: a line of one column: a token without tag"),
        (f"Dr a b c d e {CANARY}\n", "file 1, line 1: 7 columns, where token, two more and tag are understood"),
    ],
)
def test_predictions_that_are_not_the_golds_tokens(tmp_path: Path, predicted: str, said: str) -> None:
    paths = write(tmp_path / "a.conll", GOLD), write(tmp_path / "b.conll", predicted)
    assert refused(*paths) == f"predictions, {said}"


def test_predictions_that_are_no_tags(tmp_path: Path) -> None:
    words = write(tmp_path / "b.conll", f"Dr O\n{CANARY} B-NAME\n\n{CANARY} {CANARY}\nok O\n")
    said = "conll, document 2: the predicted tag of token 1 is neither O nor a label with a prefix (B-, I-, …)"
    assert refused(write(tmp_path / "a.conll", GOLD), words) == said
    free = write(tmp_path / "c", f"dr {CANARY} saw {CANARY}\nthe ward 7\n")
    assert refused(free).startswith("conlleval, document 1: the gold tag of token 1 is neither O")
    assert refused(write(tmp_path / "d", "w B-X B-X\nw I-X S-X\n"), mode="strict", scheme="IOB2") == (
        "tags, document 1: the tag of token 2 has a prefix that IOB2 does not"
    )
    assert refused(write(tmp_path / "d", "w B-X B-X\nw L-X S-X\n"), mode="strict") == "tags: prefixes of no one scheme"


def test_bad_gold_stops_or_is_left_out_with_its_predictions(tmp_path: Path) -> None:
    content = f"w O O\n{CANARY} O\n\nw B-X B-X\n\nx S-X S-X\n"
    path = write(tmp_path / "a", content)
    assert refused(path) == "conlleval, file 1, document 1, line 2: 2 columns, where token, gold tag and predicted tag are needed"
    run = load_conlleval(path, skip_bad=True)
    assert ([one.ordinal for one in run.sentences], len(run.skipped)) == ([2, 3], 1)
    with pytest.raises(InputError, match=r"^tags, document 3: the tag of token 1"):
        evaluate_tags(run, "strict", "IOB2")
    gold, other = write(tmp_path / "a.conll", "w O\nw\n\nw B-X\n"), write(tmp_path / "b.conll", "w O\nw O\n\nw B-X\n")
    assert refused(gold, other) == "conll, file 1, document 1, line 2: a line of one column: a token without tag"
    assert [one.ordinal for one in load_conll_pair(gold, other, skip_bad=True).sentences] == [2]


def test_utf16_and_a_line_that_names_the_columns_are_read_as_in_a_corpus(tmp_path: Path) -> None:
    rows = "Quill\tB-NAME\nÖz\tI-NAME\n"
    plain, named = write(tmp_path / "a.conll", rows), write(tmp_path / "b.conll", f"token\tlabel\n{rows}")
    wide = tmp_path / "c.conll"
    wide.write_bytes(rows.encode("utf-16"))
    expected = load_conll_pair(plain, plain).sentences
    assert load_conll_pair(named, wide).sentences == load_conll_pair(wide, named).sentences == expected
    three = write(tmp_path / "d.tsv", "token\tgold\tpred\nQuill\tB-NAME\tB-NAME\nÖz\tI-NAME\tI-NAME\n")
    assert [(s.gold, s.predicted) for s in load_conlleval(three).sentences] == [(s.gold, s.predicted) for s in expected]


def test_folders_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for side in ("gold", "predicted"):
        (tmp_path / side).mkdir()
        for name in "ab":
            write(tmp_path / side / f"{name}.conll", f"{name} B-{name.upper()}\n")
    run = load_conll_pair(tmp_path / "gold", tmp_path / "predicted")
    assert [one.gold for one in run.sentences] == [("B-A",), ("B-B",)]


def test_nothing_to_read(tmp_path: Path) -> None:
    empty = write(tmp_path / "a.conll", "\n\n-DOCSTART- O\n")
    assert load_conlleval(empty).sentences == load_conll_pair(empty, empty).sentences == ()
    assert evaluate_tags(TagRun("conll", (), "0" * 64), "strict").block["token_accuracy"] is None
    with pytest.raises(UsageError, match="no such file"):
        load_conlleval(tmp_path / CANARY)


noise = st.binary(max_size=60) | st.text(st.sampled_from("BIOSL-X \t\n\r_#é1"), max_size=40).map(str.encode)


@given(noise, noise)
def test_no_bytes_crash_a_reader(folder: Path, one: bytes, other: bytes) -> None:
    paths = folder / "x.conll", folder / "y.conll"
    for path, data in zip(paths, (one, other), strict=True):
        path.write_bytes(data)
    with suppress(InputError):
        evaluate_tags(load_conlleval(paths[0]))
    for gold, predicted in (paths, paths[:1] * 2):
        with suppress(InputError):
            evaluate_tags(load_conll_pair(gold, predicted))
