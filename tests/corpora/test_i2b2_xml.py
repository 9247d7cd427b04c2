"""i2b2-2014 XML: the text of the CDATA section, line ends by the surfaces' witness, no declarations."""

from __future__ import annotations

import pytest
from corpus_files import CANARY, documents, gold, load
from hypothesis import given

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.errors import InputError


def xml(text: str, tags: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2>\n<TEXT>{text}</TEXT>\n<TAGS>\n{tags}\n</TAGS>\n</deIdi2b2>\n'


def name(start: int, end: int, surface: str | None = None) -> str:
    text = "" if surface is None else f' text="{surface}"'
    return f'<NAME id="P0" start="{start}" end="{end}"{text} TYPE="DOCTOR" comment="" />'


def test_text_and_types() -> None:
    tags = name(3, 8, "Quill") + '<DATE start="0" end="2" text="Dr"/><MEDICATION id="DOC1" time="now"/>'
    corpus = load(xml("<![CDATA[Dr Quill <x> &amp; \U0001fa7a]]>", tags), "i2b2", name="note 7.xml")
    assert corpus.documents[0].text == "Dr Quill <x> &amp; \U0001fa7a"
    assert corpus.documents[0].id == "note 7"
    assert gold(corpus) == [[(3, 8, "DOCTOR"), (0, 2, "DATE")]]


@pytest.mark.parametrize(
    "text", ["Dr Q&amp;l", "<![CDATA[Dr ]]><![CDATA[Q&l]]>", "\n <![CDATA[Dr Q&l]]>\n", "Dr <![CDATA[Q&l]]>"]
)
def test_a_section_is_the_text_unless_more_stands_beside_it(text: str) -> None:
    assert load(xml(text, name(3, 6)), "i2b2").documents[0].text == "Dr Q&l"


@pytest.mark.parametrize(("start", "text"), [(3, "A\r\nQuill\r\n"), (2, "A\nQuill\n")])
def test_line_ends_are_those_that_the_offsets_were_made_for(start: int, text: str) -> None:
    content = xml("<![CDATA[A\nQuill\n]]>", name(start, start + 5, "Quill")).replace("\n", "\r\n")
    corpus = load(content, "i2b2")
    assert corpus.documents[0].text == text
    assert text[start : start + 5] == "Quill"
    assert gold(corpus) == [[(start, start + 5, "DOCTOR")]]


def test_line_ends_are_xmls_own_where_nothing_decides() -> None:
    content = xml("<![CDATA[A\nQuill]]>", "").replace("\n", "\r\n")
    assert load(content, "i2b2").documents[0].text == "A\nQuill"


def test_a_mark_inside_the_text_is_no_character() -> None:
    for start in (2, 3):
        corpus = load(xml("<![CDATA[\ufeffA Quill]]>", name(start, start + 5, "Quill")), "i2b2")
        assert corpus.documents[0].text == "A Quill"
        assert gold(corpus) == [[(2, 7, "DOCTOR")]]


@given(documents())
def test_every_text_that_xml_can_hold_comes_back(made: list[Document]) -> None:
    for document in made:
        text = "".join(c for c in document.text if c >= " " or c in "\n\r\t").lstrip("\ufeff")
        text = text.replace("\uffff", "").replace("\ufffe", "").replace("]]>", "")
        spans = [s for s in document.gold_spans if s.end <= len(text)]
        escaped = [text[s.start : s.end].replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") for s in spans]
        tags = "".join(name(s.start, s.end, surface) for s, surface in zip(spans, escaped, strict=True))
        corpus = load(xml(f"<![CDATA[{text}]]>", tags), "i2b2")
        read = corpus.documents[0]
        assert read.text in (text, text.replace("\r\n", "\n").replace("\r", "\n"))
        if read.text == text:
            assert gold(corpus) == [[(s.start, s.end, "DOCTOR") for s in spans]]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('<!DOCTYPE a [<!ENTITY x "QZX-7781">]><a><TEXT>&x;</TEXT></a>', "a document type or entity declaration"),
        ('<!DOCTYPE a SYSTEM "QZX-7781"><a><TEXT/></a>', "a document type or entity declaration"),
        ("<a><TEXT>QZX-7781</a>", "line 1: the XML is broken at column"),
        ("<a><QZX-7781/></a>", "no TEXT element"),
        ("<a><TEXT>x</TEXT><TEXT>QZX-7781</TEXT></a>", "a second TEXT element"),
        ("<a><TEXT>&QZX-7781;</TEXT></a>", "the XML is broken"),
        ("", "the XML is broken"),
        (xml("Quill", '<NAME start="QZX-7781" end="5"/>'), "line 5, span 1: an annotation without integers"),
        (xml("Quill", '<NAME end="5"/>'), "span 1: an annotation without integers"),
        (xml("Quill", '<NAME spans="0~5"/>'), "span 1: an annotation without integers"),
        (xml("Quill", name(0, 5, "QZX-7781")), "offsets 0–5: the text at the offsets"),
        (xml("Quill", name(0, 6)), "offsets 0–6: span past the end"),
    ],
)
def test_what_cannot_be_read_is_said_without_its_text(content: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        load({CANARY + ".xml": content}, "i2b2")
    assert says in str(error.value)
    assert str(error.value).startswith("i2b2, file 1, document 1")
    assert "QZX" not in str(error.value)
