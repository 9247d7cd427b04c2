"""A report for people: Markdown and terminal show the same rows, and no label can be markup or an escape."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from openmed_mlx_eval.corpora import Corpus, Document
from openmed_mlx_eval.evaluation import Warning, evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.reporting.environment import environment
from openmed_mlx_eval.reporting.report import build_report
from openmed_mlx_eval.reporting.sections import sections
from openmed_mlx_eval.reporting.text import facts, print_report, print_warnings, to_markdown
from openmed_mlx_eval.spans import Span

ODD = "a|b`c`\n<b>d</b> [e](f) *g* _h_ \\ &amp; \x1b[31m"


@pytest.fixture(params=["NAME", ODD, "腎臓", "x" * 120])
def label(request: pytest.FixtureRequest) -> str:
    return request.param


def report_of(label: str, **more) -> dict:
    documents = (Document("a", "Quill", (Span(0, 5, label),)), Document("b", "Bo"))
    return build_report(
        suite="my *suite*",
        model={"name": "tiny|1", "family": "bert", "parameters": 1234, "files": {"config.json": "0" * 64}},
        corpus=Corpus("mine", "openmed", documents, "1" * 64),
        evaluation=evaluate(documents[:1], [[Span(0, 5, label)]], LabelMap.verbatim()),
        environment=environment("numpy", "cpu", "float32"),
        config={},
        timing={"documents_per_second": 12.3, "load_s": 0.5},
        warnings=[Warning("a_code", 2, f"label {label}")],
        **more,
    )


def test_markdown_holds_every_row_as_text(label: str) -> None:
    report = report_of(label, partial=True)
    tokens = MarkdownIt("commonmark").enable("table").parse(to_markdown(report))
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children or ()}
    assert kinds <= {"text", "strong_open", "strong_close", "text_special"}
    cells = ["".join(child.content for child in token.children or ()) for token in inline]
    seen = label.replace("\n", " ").replace("\x1b", "\ufffd")
    assert seen in cells
    assert f"a_code (2): label {seen}" in cells
    for cell in ("my *suite*", "tiny|1 (bert, 1,234 parameters)", "0" * 64, "1" * 64, "yes: --limit was given"):
        assert cell in cells
    for section in sections(report["metrics"]):
        assert section.title in cells
        for row in section.rows:
            assert all(cell.replace("\n", " ").replace("\x1b", "\ufffd") in cells for cell in row)


def test_the_terminal_shows_every_row_whole_and_obeys_no_label(label: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(label)
    print_report(report)
    print_warnings(report)
    out, err = capsys.readouterr()
    seen = label.replace("\n", "\ufffd").replace("\x1b", "\ufffd")
    assert seen in out
    assert err == f"warning: label {seen} (a_code: 2)\n"
    assert "\x1b" not in out + err
    for section in sections(report["metrics"]):
        for row in section.rows if section.brief else ():
            assert all(cell in out for cell in row[1:])
    for name, value in facts(report):
        assert name in out
        assert value in out


def test_facts_say_how_much_was_scored() -> None:
    rows = dict(facts(report_of("NAME", partial=True)))
    assert rows["Corpus"] == "mine (openmed): 1 of 2 documents, 1 gold spans"
    assert rows["Partial"] == "yes: --limit was given"
    assert rows["Ran on"].startswith("numpy · cpu · float32 · ")
    assert "Partial" not in dict(facts(report_of("NAME")))
