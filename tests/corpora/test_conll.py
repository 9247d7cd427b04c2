"""CoNLL: every scheme and layout of one set of entities gives the same documents, with exact offsets."""

from __future__ import annotations

import pytest
from corpus_files import CANARY, documents, gold, load
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.corpora.writers import WORD, to_conll
from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.spans import Span

SCHEMES = {  # first, middle, last, only
    "IOB2": "BIIB",
    "IOBES": "BIES",
    "BILOU": "BILU",
}
tokens = st.text(st.sampled_from("aB1.#-_é\u0307\u2028\u0085\u00a0🩺腎"), min_size=1, max_size=4).filter(
    lambda token: not token.startswith(("#", "-DOC"))
)
runs = st.lists(st.tuples(st.sampled_from([None, "NAME", "E_MAIL"]), st.lists(tokens, min_size=1, max_size=3)), min_size=1)


def tagged(sentence: list[tuple[str | None, list[str]]], scheme: str) -> list[tuple[str, str]]:
    rows = []
    for label, words in sentence:
        for number, word in enumerate(words):
            place = 3 if len(words) == 1 else 0 if number == 0 else 2 if number == len(words) - 1 else 1
            rows.append((word, f"{SCHEMES[scheme][place]}-{label}" if label else "O"))
    return rows


@given(st.lists(runs, min_size=1, max_size=3))
def test_all_schemes_separators_and_line_ends_give_the_same_documents(sentences: list) -> None:
    expected_text = [" ".join(word for _, words in sentence for word in words) for sentence in sentences]
    expected_gold = []
    for sentence in sentences:
        position, spans = 0, []
        for label, words in sentence:
            length = len(" ".join(words))
            spans += [(position, position + length, label)] if label else []
            position += length + 1
        expected_gold.append(spans)
    for scheme in SCHEMES:
        for separator, end in (("\t", "\n"), (" ", "\n"), ("\t", "\r\n"), ("\tPOS\tCHUNK\t", "\n"), (" X ", "\r\n")):
            content = ""
            for sentence in sentences:
                content += "".join(word + separator + tag + end for word, tag in tagged(sentence, scheme)) + end
            corpus = load("\ufeff" + content, "conll")
            assert [document.text for document in corpus] == expected_text
            assert gold(corpus) == expected_gold


def test_io_joins_what_touches_and_b_parts_it() -> None:
    io = "Amy I-NAME\nBo I-NAME\n"
    assert gold(load(io, "conll")) == [[(0, 6, "NAME")]]
    for tags in ("B-NAME B-NAME", "I-NAME B-NAME", "U-NAME U-NAME", "S-NAME S-NAME", "b_NAME b_NAME"):
        first, second = tags.split()
        assert gold(load(f"Amy {first}\nBo {second}\n", "conll")) == [[(0, 3, "NAME"), (4, 6, "NAME")]]


def test_unprefixed_tags_group() -> None:
    assert gold(load("Amy NAME\nBo NAME\nx O\n", "conll")) == [[(0, 6, "NAME")]]


def test_one_scheme_for_the_file_not_for_the_sentence() -> None:
    """Alone, `E-X` is a label; beside `B-X` it is the end of one."""
    corpus = load("a B-X\nb E-X\n\nc E-X\n", "conll")
    assert gold(corpus) == [[(0, 3, "X")], [(0, 1, "X")]]


@pytest.mark.parametrize("blank", ["", "\n"])
@pytest.mark.parametrize("docstart", ["-DOCSTART-", "-DOCSTART- -X- -X- O", "-DOCSTART-\tO", "-DOCSTART- (7)"])
@pytest.mark.parametrize("separator", ["\t", " "])
def test_docstart_parts_documents_with_and_without_an_empty_line(blank: str, docstart: str, separator: str) -> None:
    content = f"{docstart}\n{blank}Amy{separator}I-NAME\n{blank}{docstart}\n{blank}Bo{separator}I-NAME\nx{separator}O\n"
    corpus = load(content, "conll")
    assert [document.text for document in corpus] == ["Amy", "Bo x"]
    assert gold(corpus) == [[(0, 3, "NAME")], [(0, 2, "NAME")]]


def test_a_line_separator_is_part_of_its_token() -> None:
    corpus = load("a\u2028b\tB-X\nc\x1cd\tO\n", "conll")
    assert corpus.documents[0].text == "a\u2028b c\x1cd"
    assert gold(corpus) == [[(0, 3, "X")]]


def test_tokens_with_spaces_in_a_file_of_tabs() -> None:
    corpus = load("New York\tB-LOC\n \tO\nx\tO\n", "conll")
    assert corpus.documents[0].text == "New York   x"
    assert gold(corpus) == [[(0, 8, "LOC")]]


@pytest.mark.parametrize(
    "content",
    [
        "Quill\tB-NAME\tSpaceAfter=No\n,\tO\t_\nDr\tB-X\t_\n",
        "Quill\tB-NAME\tStart=0|SpaceAfter=No\n,\tO\t_\nDr\tB-X\t_\n",
        "Quill\tNNP\tB-NAME\tSpaceAfter=No\n,\t,\tO\nDr\tNN\tB-X\n",
        "Quill\tSpaceAfter=No\tB-NAME\n,\t_\tO\nDr\t_\tB-X\n",
        "Quill B-NAME SpaceAfter=No\n, O _\nDr B-X _\n",
        "# sent_id = 1\n# text = Quill, Dr\nQuill B-NAME SpaceAfter=No\n, O _\nDr B-X _\n",
        "# id 4e5\tdomain=en\nQuill SpaceAfter=No B-NAME\n, _ O\nDr _ B-X\n",
        "# sent_id = 1\n1\tQuill\tB-NAME\tSpaceAfter=No\n2\t,\tO\t_\n3\tDr\tB-X\t_\n",
    ],
)
def test_space_after_no_and_the_miscellaneous_column(content: str) -> None:
    corpus = load(content, "conll")
    assert [document.text for document in corpus] == ["Quill, Dr"]
    assert gold(corpus) == [[(0, 5, "NAME"), (7, 9, "X")]]


def test_a_number_sign_is_a_token_unless_the_file_is_conllu() -> None:
    assert load("# O\n# O\n5 B-X\n", "conll").documents[0].text == "# # 5"
    assert load("# sent_id = 1\n# O\n5 B-X\n", "conll").documents[0].text == "# 5"
    assert load("#\tO\n# a comment\n5\tB-X\n", "conll").documents[0].text == "# 5"


def test_a_column_that_only_counts_once_is_a_token() -> None:
    assert load("1 CD O\n\n2 CD B-X\n", "conll").documents[1].text == "2"


@pytest.mark.parametrize("header", ["token\tlabel", "Word\tNER_TAG", "# x\nTokens\tTags", "text\tpos\tner", "token\ttag\n"])
def test_a_line_that_names_the_columns_is_no_entity(header: str) -> None:
    pos = "\tNN" if "pos" in header else ""
    corpus = load(f"{header}\nQuill{pos}\tB-NAME\nx{pos}\tO\n\ntoken{pos}\tB-label\n", "conll")
    assert [(d.text, [s.label for s in d.gold_spans]) for d in corpus] == [("Quill x", ["NAME"]), ("token", ["label"])]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a\tO\nQZX-7781\nb\tO\nc\tO\n", "line 2: a line of one column"),
        ("a O\nb O\nQZX-7781 X O\n", "line 3: 3 columns, where most lines of the file have 2"),
        ("a\tO\n\tO\nb\tB-X\n", "line 2: an empty token"),
        ("a b c d QZX-7781\n", "line 1: 5 columns"),
        ("a QZX-7781\nb QZX\nc q\nd r\n", "no tag of the last column marks a token outside"),
    ],
)
def test_bad_lines_are_named_without_their_text(content: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        load(content, "conll")
    assert says in str(error.value)
    assert "QZX" not in str(error.value)


def test_a_bad_sentence_can_be_left_out_and_the_others_keep_their_place() -> None:
    corpus = load(f"a\tO\n\n{CANARY}\nb\tO\n\nc\tB-X\n", "conll", skip_bad=True)
    assert [document.text for document in corpus] == ["a", "c"]
    assert [document.id for document in corpus] == ["1", "3"]
    assert [error.where for error in corpus.skipped] == ["conll, file 1, document 2, line 3"]


@given(documents())
def test_what_conll_can_hold_comes_back_and_the_rest_is_counted(made: list[Document]) -> None:
    written = to_conll(made)
    spans = sum(len(document.gold_spans) for document in made)
    read = list(load(written.files[""], "conll"))
    kept = sum(len(document.gold_spans) for document in read)
    wordless = written.lost.get("documents without a word", 0)
    assert kept + sum(written.lost.values()) - wordless == spans
    assert len(read) + wordless == len(made)


@given(st.lists(st.lists(st.tuples(st.from_regex(r"\w{1,5}[.,]?", fullmatch=True), st.booleans()), min_size=1), max_size=4))
def test_single_spaced_texts_with_spans_on_words_are_held_whole(drawn: list) -> None:
    made = []
    for words in drawn:
        text = " ".join(word for word, _ in words)
        if not text.split():
            continue
        spans = [Span(*m.span(), "NAME") for m in WORD.finditer(text)][:: 2 if words[0][1] else 3]
        made.append(Document(str(len(made) + 1), text, tuple(spans)))
    written = to_conll(made)
    assert (dict(written.lost), {k: v for k, v in written.changed.items() if v}) == ({}, {})
    assert list(load(written.files[""], "conll")) == made
