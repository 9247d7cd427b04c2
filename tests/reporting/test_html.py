"""report.html: one file that shows every number, asks for nothing, and lets no label be markup."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from reporting.test_text import ODD

from openmed_mlx_eval.corpora import Corpus, Document
from openmed_mlx_eval.evaluation import Warning, evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.latency.cold import PHASES
from openmed_mlx_eval.reporting.environment import environment
from openmed_mlx_eval.reporting.html import anchor, to_html
from openmed_mlx_eval.reporting.report import build_report, now
from openmed_mlx_eval.reporting.sections import sections
from openmed_mlx_eval.reporting.side_by_side import comparison_html, names_of, on_front
from openmed_mlx_eval.scoring import Bootstrap, Options
from openmed_mlx_eval.spans import Span

WARNING = Warning("odd_labels", 2, f"a label {ODD}")


def report_of(labels: list[str], documents: int = 4, **model: Any) -> dict[str, Any]:
    """A run with every block: each label is found in half of its documents, with a score."""
    golds = [Document(str(n), "Quill saw Bo " * len(labels), tuple(Span(13 * i, 13 * i + 5, label) for i, label in enumerate(labels)),
                      metadata={"ward": "ab"[n % 2]}) for n in range(documents)]  # fmt: skip
    made = [
        [Span(span.start, span.end - (n + i) % 2, span.label, 0.5 + (n + i) % 5 / 10) for i, span in enumerate(gold.gold_spans)]
        for n, gold in enumerate(golds)
    ]
    options = Options(slice_by=("ward",), bootstrap=Bootstrap(20), thresholds={"*": 0.6})
    known = {
        "name": "tiny",
        "family": "bert",
        "parameters": 1 << 20,
        "dtype": "float32",
        "quantization": None,
        "files": {"config.json": "0" * 64},
    }
    return build_report(
        suite=f"my {labels[0]}",
        model={**known, **model},
        corpus=Corpus("mine", "openmed", tuple(golds), "1" * 64),
        evaluation=evaluate(golds, made, LabelMap.verbatim(), options=options),
        environment=environment("numpy", "cpu", "float32"),
        config={"label_map": None, "limit": None, "skip_bad": False, "discontinuous": "hull"},
        timing={"generated_at": now(), "total_s": 0.5, "load_s": 0.1, "documents_per_second": model.get("speed", 10.0)},
        warnings=[WARNING],
    )


ERRORS = {
    "corpus": {"sha256": "1" * 64},
    "buckets": {"missed": "missed", "spurious": "spurious"},
    "confusion_matrix": {"NAME": {"NAME": 3, "DATE": 1, "missed": 2}, "spurious": {"DATE": 4}},
    "overall": {"shifts": {"start": {"0": 2, "+1": 1}, "end": {"-1": 3, "> 10": 1}}},
}


LATENCY = {
    "cold_start_ms": 150.0, "p50_ms": 4.0, "p90_ms": 7.0, "p95_ms": 8.0, "p99_ms": None, "count": 12,
    "tokens_per_second": 900.0, "documents_per_second": 200.0,
    "phases_ms": {phase: 10.0 * (place + 1) for place, phase in enumerate(PHASES)}, "samples_ms": [3.0, 4.0, 8.0] * 4,
}  # fmt: skip


def timed(report: dict[str, Any]) -> dict[str, Any]:
    """The report as `run --cold-start` would have written it."""
    return {**report, "metrics": {**report["metrics"], "latency": LATENCY}}


class Page(HTMLParser):
    """The elements of a page, its ids, its visible text, and everything it would fetch."""

    VOID = frozenset(("meta", "br", "img", "link", "input", "hr"))

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.anchors: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "xlink:href", "src", "action", "data", "srcset") or name.startswith("on"):
                (self.anchors if (value or "").startswith("#") else self.fetched).append(value or "")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data.strip())


@pytest.fixture(scope="module", params=["NAME", ODD, "腎臓 $x_1$", "x" * 120])
def report(request: pytest.FixtureRequest) -> dict[str, Any]:
    return report_of([request.param, "DATE"])


def test_the_page_is_whole_and_asks_for_nothing(report: dict[str, Any]) -> None:
    html = to_html(report, ERRORS)
    page = Page(html)
    assert page.open == []
    assert page.fetched == []
    assert not {"script", "link", "iframe", "img", "object", "form"} & set(page.tags)
    assert len(page.ids) == len(set(page.ids))
    assert {one[1:] for one in page.anchors} <= set(page.ids)
    assert "url(http" not in html and "@import" not in html
    assert set(re.findall(r"https?://[^\"' <]+", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_every_cell_of_every_table_is_there_as_text(report: dict[str, Any]) -> None:
    page = Page(to_html(report))
    text = [" ".join(one.split()) for one in page.text]
    for section in sections(report["metrics"]):
        assert " ".join(section.title.replace("\x1b", "\ufffd").split()) in text
        for row in section.rows:
            for cell in row:
                seen = "".join(c if c.isprintable() else "\ufffd" for c in cell)
                assert " ".join(seen.split()) in text
    assert "b" not in page.tags or page.tags.count("b") == 5  # the cards' own
    assert "\x1b" not in "".join(page.text)


def test_the_same_report_gives_the_same_bytes(report: dict[str, Any]) -> None:
    assert to_html(report, ERRORS) == to_html(report, ERRORS)


def test_pictures_are_drawn_for_what_there_is() -> None:
    full = report_of(["NAME", "DATE"])
    titles = ("F1 by label", "Reliability", "Confidence threshold", "Risk and coverage", "Confusion", "Boundary shifts")
    html = to_html(full, ERRORS)
    assert html.count("<svg") == len(titles) and all(f'aria-label="{title}"' in html for title in titles)
    bare = {**full, "metrics": {**full["metrics"], "calibration": None, "by_label": {}}}
    assert "<svg" not in to_html(bare)
    assert 'href="#pictures"' not in to_html(bare)


def test_latency_is_drawn_and_said_where_it_was_measured() -> None:
    timed_run = timed(report_of(["NAME"]))
    html = to_html(timed_run)
    page = Page(html)
    assert all(f'aria-label="{title}"' in html for title in ("Cold start", "Latency"))
    assert {"cold start: package imported", "20.0 ms", "p95, one document"} <= set(page.text)
    assert len(page.ids) == len(set(page.ids))


def test_confusions_stand_in_a_table_too_heaviest_first() -> None:
    page = Page(to_html(report_of(["NAME"]), ERRORS))
    text = list(filter(None, page.text))
    place = text.index("Spans") + 1
    assert text[place - 4 : place] == ["Confusions", "Gold", "Predicted", "Spans"]
    assert text[place : place + 9] == ["spurious", "DATE", "4", "NAME", "missed", "2", "NAME", "DATE", "1"]


def test_a_run_of_fifty_labels_stays_small() -> None:
    report = report_of([f"LABEL_{n:02}" for n in range(50)])
    assert len(to_html(report, ERRORS).encode()) < 2_000_000


def test_headings_make_anchors() -> None:
    assert anchor("By <b> kind!") == "by-b-kind"
    assert anchor("…") == "section"


def test_the_front_is_what_no_other_run_dominates() -> None:
    runs = [report_of(["NAME"], name=name, parameters=size, speed=speed) for name, size, speed in
            (("slow", 100, 1.0), ("fast", 100, 5.0), ("large", 900, 9.0), ("worse", 900, 4.0))]  # fmt: skip
    assert on_front(runs) == [False, True, True, False]
    unmeasured = report_of(["NAME"], speed=None, parameters=None, dtype=None)
    assert on_front([unmeasured]) == [True]
    assert names_of(runs[:2] + runs[:1]) == ["1: slow · numpy · float32", "fast", "3: slow · numpy · float32"]


def test_runs_beside_each_other() -> None:
    runs = [report_of(["NAME", ODD], name="one"), report_of(["NAME"], name="two", speed=2.0)]
    page = Page(comparison_html(runs))
    assert page.fetched == [] and page.open == []
    assert {"one", "two", "Runs", "Exact F1 by label", "NAME"} <= set(page.text)
    runs[1]["corpus"] = {**runs[1]["corpus"], "sha256": "2" * 64}
    assert "different_corpora" in comparison_html(runs)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOK = """<script>
const boxes = [...document.querySelectorAll('section, .cards li, figure, svg')].map(e => e.getBoundingClientRect());
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
document.body.insertAdjacentHTML('beforeend', `<p id="seen">${JSON.stringify(
  {shown: boxes.length, hidden: boxes.filter(b => b.width < 40 || b.height < 10).length, wide, asked: performance.getEntriesByType('resource').length})}</p>`);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium on the PATH")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_without_network_shows_every_section(tmp_path: Path, width: int) -> None:
    """No console error, no request, nothing hidden, no sideways scrolling of the page. The screenshot is kept where CI asks for it."""
    html = to_html(timed(report_of(["NAME", "DATE", "x" * 60])), ERRORS)
    page = tmp_path / "report.html"
    page.write_text(html, "utf-8")
    looked = tmp_path / "looked.html"
    looked.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", html).replace("</body>", LOOK), "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", f"--window-size={width},4000",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"]  # fmt: skip
    assert CHROMIUM is not None
    seen = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", looked.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    found = json.loads(re.search(r'<p id="seen">(.*?)</p>', seen.stdout)[1])  # type: ignore[index]
    assert found["shown"] > 20
    assert (found["hidden"], found["wide"], found["asked"]) == (0, False, 0)
    shot = tmp_path / f"report-{width}.png"
    said = subprocess.run(
        [CHROMIUM, *flags, f"--screenshot={shot}", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in seen.stderr + said.stderr
    assert shot.stat().st_size > 10_000
    kept = Path(__file__).resolve().parents[2] / "artifacts"
    if kept.is_dir():
        shutil.copy(shot, kept)
