"""compare: the difference of two reports, number by number; other gold is refused; a label that shows nothing fails."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from openmed_mlx_eval.comparison import METRICS, compare
from openmed_mlx_eval.corpora import Corpus, Document
from openmed_mlx_eval.document_scores import document_lines
from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.evaluation import evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.reporting.comparison import facts, schema, sections, to_markdown, verdict_line
from openmed_mlx_eval.reporting.environment import environment
from openmed_mlx_eval.reporting.report import build_report, to_json
from openmed_mlx_eval.saved_runs import SavedRun, load_report, load_run
from openmed_mlx_eval.scoring.bootstrap import Bootstrap
from openmed_mlx_eval.spans import Span

HOW = Bootstrap(resamples=100)
VALIDATOR = Draft202012Validator(schema())
TEXT = "Quill saw Bo on 3 May in ward seven, then went home."
GOLD = (Span(0, 5, "PERSON"), Span(10, 12, "PERSON"), Span(16, 21, "DATE"), Span(25, 29, "PLACE"))


def documents(count: int = 12) -> list[Document]:
    return [Document(str(n), TEXT, GOLD[: 1 + n % 4]) for n in range(count)]


def model(seed: int, labels: tuple[str, ...] = ("PERSON", "DATE", "PLACE")) -> list[list[Span]]:
    """Finds each gold span with probability 0.7, cuts some short, and invents some."""
    rng = random.Random(seed)
    found = []
    for document in documents():
        spans = [Span(s.start, s.end - (rng.random() < 0.2), s.label) for s in document.gold_spans if rng.random() < 0.7]
        spans += [Span(30, 35, rng.choice(labels))] * (rng.random() < 0.3)
        found.append([span for span in spans if span.label in labels])
    return found


def written(folder: Path, gold: list[Document], predictions: list[list[Span]], *, sha256: str = "1" * 64, **model: Any) -> Path:
    """A run folder as the commands write it."""
    corpus = Corpus("mine", "openmed", tuple(gold), sha256)
    evaluation = evaluate(gold, predictions, LabelMap.verbatim())
    facts = {"name": "tiny", "family": "bert", "parameters": 9, "dtype": "float32", "quantization": None, "files": {}}
    report = build_report(
        suite=None,
        model=facts | model,
        corpus=corpus,
        evaluation=evaluation,
        environment=environment("numpy", "cpu", "float32"),
        config={},
        timing={},
    )
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(to_json(report), "utf-8")
    (folder / "documents.jsonl").write_text("".join(document_lines(evaluation.scores)), "utf-8")
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[SavedRun, SavedRun]:
    quantization = {"bits": 4, "group_size": 64, "layers": 3}
    b = written(tmp_path / "b", documents(), model(2), name="tiny|4", quantization=quantization)
    return load_run(written(tmp_path / "a", documents(), model(1))), load_run(b)


def at(block: Any, *keys: str) -> Any:
    for key in keys:
        block = block[key]
    return block


def test_every_number_is_that_of_the_two_reports(pair) -> None:
    a, b = pair
    made = compare(a, b, HOW)
    VALIDATOR.validate(made)
    json.dumps(made, allow_nan=False)
    places = [
        *((rule, rate) for rule in ("exact_span_f1", "relaxed_span_f1") for rate in ("precision", "recall", "f1")),
        ("macro", "exact", "f1"),
        ("leakage", "overall"),
        ("leakage", "any_label"),
        ("character_recall", "rate"),
        ("over_redaction_loss", "rate"),
    ]
    for place in places:
        number = at(made["metrics"], *place)
        one, other = at(a.report["metrics"], *place), at(b.report["metrics"], *place)
        assert (number["a"], number["b"]) == pytest.approx((one, other)), place
        assert number["difference"] == pytest.approx(other - one)
        assert number["confidence_interval"]["lower"] <= number["difference"] <= number["confidence_interval"]["upper"]
    assert list(made["by_label"]) == ["DATE", "PERSON", "PLACE"]
    for label, block in made["by_label"].items():
        one, other = a.report["metrics"]["by_label"][label], b.report["metrics"]["by_label"][label]
        assert (block["support"], block["predicted_a"], block["predicted_b"]) == (
            one["support"],
            one["predicted"],
            other["predicted"],
        )
        for rule, rate in METRICS.values():
            assert (block[rule][rate]["a"], block[rule][rate]["b"]) == pytest.approx((one[rule][rate], other[rule][rate]))
            assert block[rule][rate]["p_value"] <= block[rule][rate]["p_adjusted"] <= 1
        assert block["leakage"]["a"] == pytest.approx(a.report["metrics"]["leakage"]["by_label"][label])
    assert made["runs"]["b"]["model"]["quantization"]["bits"] == 4
    assert 0 < made["documents_that_differ"] < 12


def test_a_run_against_itself_differs_in_nothing(pair) -> None:
    made = compare(pair[0], pair[0], HOW, max_loss=0.0)
    assert (made["documents_that_differ"], made["verdict"]["passed"]) == (0, True)
    for block in (*made["by_label"].values(), made["metrics"]):
        text = json.dumps(block)
        numbers = [value for value in _numbers(block) if value["a"] is not None]
        assert numbers, text
        assert {(value["difference"], value["p_value"]) for value in numbers} == {(0.0, 1.0)}


def _numbers(block: Any) -> list[dict[str, Any]]:
    if not isinstance(block, dict):
        return []
    return [block] if "difference" in block else [number for part in block.values() for number in _numbers(part)]


@given(st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_the_order_of_documents_changes_nothing(tmp_path_factory, rng) -> None:
    order = list(range(12))
    rng.shuffle(order)
    made = []
    for places in (range(12), order):
        folder, gold = tmp_path_factory.mktemp("runs"), documents()
        runs = (
            load_run(written(folder / str(seed), [gold[n] for n in places], [model(seed)[n] for n in places])) for seed in (1, 2)
        )
        made.append(compare(*runs, HOW))
    assert made[0] == made[1]


def test_labels_restrict_what_is_listed_and_adjusted_and_nothing_else(pair) -> None:
    whole, one = compare(*pair, HOW), compare(*pair, HOW, labels=["DATE", "DATE"])
    assert one["metrics"] == whole["metrics"]
    assert list(one["by_label"]) == ["DATE"]
    number = one["by_label"]["DATE"]["exact"]["recall"]
    assert number["p_adjusted"] == number["p_value"]
    assert {**number, "p_adjusted": 0} == {**whole["by_label"]["DATE"]["exact"]["recall"], "p_adjusted": 0}


def test_folders_and_one_label_are_taken_as_they_are(tmp_path: Path) -> None:
    folders = [written(tmp_path / name, documents(), model(seed)) for seed, name in enumerate("ab")]
    expected = compare(load_run(folders[0]), load_run(folders[1]), labels=["DATE"])
    assert list(expected["by_label"]) == ["DATE"]
    assert compare(str(folders[0]), folders[1], labels="DATE") == expected
    with pytest.raises(UsageError, match=r"RUN|run B"):
        compare(folders[0], tmp_path / "nowhere")


def verdicts(tmp_path: Path, **options: Any) -> dict[str, Any]:
    """A finds all; B loses one of three DATEs. ROLE has gold and neither predicts it, DRUG is only predicted, CITY is new in B."""
    gold = [Document(str(n), TEXT, (*GOLD[:3], *([Span(25, 29, "ROLE")] if n else []), Span(30, 35, "CITY"))) for n in range(3)]
    a = [[*GOLD[:3], Span(36, 40, "DRUG")] for _ in gold]
    b = [[*GOLD[: 3 - (n == 1)], Span(36, 40, "DRUG"), Span(30, 35, "CITY")] for n in range(3)]
    runs = load_run(written(tmp_path / "a", gold, a)), load_run(written(tmp_path / "b", gold, b))
    made = compare(*runs, None, **options)
    VALIDATOR.validate(made)
    assert made["uncertainty"] is None
    return made


def test_a_label_that_shows_nothing_is_not_covered_and_fails(tmp_path: Path) -> None:
    made = verdicts(tmp_path, max_loss=0.5)
    assert {label: (one["verdict"], one["reason"]) for label, one in made["verdict"]["labels"].items()} == {
        "CITY": ("not_covered", "never predicted by A"),
        "DATE": ("passed", None),
        "DRUG": ("not_covered", "no gold"),
        "PERSON": ("passed", None),
        "ROLE": ("not_covered", "never predicted by A"),
    }
    assert made["verdict"]["passed"] is False


@pytest.mark.parametrize(
    ("labels", "max_loss", "passed"),
    [
        (["PERSON"], 0.0, True),
        (["PERSON", "DATE"], 0.33, False),
        (["PERSON", "DATE"], 0.34, True),
        (["PERSON", "NO_SUCH"], 1.0, False),
        ([], 1.0, False),
    ],
)
def test_the_verdict_is_on_every_label_asked_for(tmp_path: Path, labels: list[str], max_loss: float, passed: bool) -> None:
    made = verdicts(tmp_path, labels=labels, max_loss=max_loss)
    assert made["verdict"]["passed"] is passed
    said = verdict_line(made)
    assert said.startswith("no label lost") is passed
    for label, one in made["verdict"]["labels"].items():
        assert (label in said) is (one["verdict"] != "passed")


def test_a_loss_at_the_limit_is_within_it(tmp_path: Path) -> None:
    gold = [Document(str(n), TEXT, GOLD[:1]) for n in range(200)]
    a, b = ([list(GOLD[:1]) if n < right else [Span(30, 35, "PERSON")] for n in range(200)] for right in (180, 179))
    runs = load_run(written(tmp_path / "a", gold, a)), load_run(written(tmp_path / "b", gold, b))
    assert compare(*runs, max_loss=0.005)["verdict"]["passed"]  # 0.9 - 0.895 > 0.005 in floats
    assert not compare(*runs, max_loss=0.0049)["verdict"]["passed"]


@pytest.mark.parametrize("wrong", [{"metric": "f1"}, {"max_loss": -0.1}, {"max_loss": float("nan")}])
def test_senseless_options_are_a_usage_error(pair, wrong) -> None:
    with pytest.raises(UsageError):
        compare(*pair, **wrong)


OTHER_GOLD = {
    "another corpus": lambda to: written(to, documents(), model(1), sha256="2" * 64),
    "fewer documents": lambda to: written(to, documents(11), model(1)[:11]),
    "another label": lambda to: written(to, [_changed(d, label="DOCTOR") for d in documents()], model(1)),
    "a longer span": lambda to: written(to, [_changed(d, end=6) for d in documents()], model(1)),
    "a longer document": lambda to: written(to, [Document(d.id, d.text + ".", d.gold_spans) for d in documents()], model(1)),
    "less gold": lambda to: written(to, [Document(d.id, d.text, d.gold_spans[1:]) for d in documents()], model(1)),
    "other order": lambda to: written(to, documents()[::-1], model(1)[::-1]),
}


def _changed(document: Document, end: int = 5, label: str = "PERSON") -> Document:
    return Document(document.id, document.text, (Span(0, end, label), *document.gold_spans[1:]))


@pytest.mark.parametrize("kind", OTHER_GOLD)
def test_runs_that_did_not_score_the_same_gold_are_refused(tmp_path: Path, kind: str) -> None:
    a, b = load_run(written(tmp_path / "a", documents(), model(1))), load_run(OTHER_GOLD[kind](tmp_path / "b"))
    for runs in ((a, b), (b, a)):
        with pytest.raises(UsageError, match=r"the two runs .* – "):
            compare(*runs)


def test_what_people_read_holds_every_number(pair) -> None:
    made = compare(*pair, HOW, max_loss=0.05, metric="relaxed_f1")
    shown = {section.title: section for section in sections(made)}
    assert [title for title, section in shown.items() if section.brief] == ["All labels", "Relaxed F1 by label"]
    assert len(shown) == 8
    assert all(len(row) == len(section.columns) for section in shown.values() for row in section.rows)
    assert shown["Relaxed F1 by label"].columns[-2:] == ("p, adjusted", "Verdict")
    number = made["by_label"]["DATE"]["exact"]["recall"]
    row = next(row for row in shown["Exact recall by label"].rows if row[0] == "DATE")
    assert row[2:5] == [f"{number['a']:.4f}", f"{number['b']:.4f}", f"{number['difference']:+.4f}"]
    assert dict(facts(made))["B"] == "tiny|4 (bert, 4 bits, numpy, cpu, float32)"
    text = to_markdown(made)
    assert "tiny\\|4" in text
    assert all(title in text for title in shown)
    bare = sections(compare(*pair))
    assert all(len(row) == len(section.columns) for section in bare for row in section.rows)
    assert bare[0].columns == ("Measure", "A", "B", "B − A")


REPORT_DAMAGE = {
    "cut": lambda text: text[:-40],
    "empty": lambda text: "",
    "not UTF-8": lambda text: text.encode("utf-16"),
    "a list": lambda text: f"[{text}]",
    "deep": lambda text: "[" * 100_000,
    "another schema": lambda text: text.replace("openmed-mlx-eval/report", "other/report"),
    "another version": lambda text: text.replace('"schema_version": 1', '"schema_version": 2'),
    "no metrics": lambda text: text.replace('"metrics"', '"metric"'),
    "a number for a name": lambda text: text.replace('"name": "tiny"', '"name": 7'),
    "a list for metrics": lambda text: text.replace('"metrics": {', '"metrics": [], "others": {'),
}


@pytest.mark.parametrize("kind", REPORT_DAMAGE)
def test_a_report_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "a", documents(), model(1)) / "report.json"
    data = REPORT_DAMAGE[kind](path.read_text("utf-8"))
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    for load in (lambda: load_run(path.parent, "A"), lambda: load_report(path.parent), lambda: load_report(path)):
        with pytest.raises(InputError, match=r"^(run A, )?report\.json: "):
            load()


SCORES_DAMAGE = {
    "cut": lambda text: text[:-40],
    "a line less": lambda text: "".join(text.splitlines(keepends=True)[:-1]),
    "empty": lambda text: "",
    "other counts": lambda text: text.replace('"support":1', '"support":2', 1),
    "a label more": lambda text: text.replace('"DATE"', '"DAY"', 1),
    "huge": lambda text: text.replace('"support":1', f'"support":1{"0" * 400}', 1),
    "huger": lambda text: text.replace('"support":1', f'"support":1{"0" * 5000}', 1),
    "not JSON": lambda text: text.replace(":", "", 3),
}


@pytest.mark.parametrize("kind", SCORES_DAMAGE)
def test_document_scores_of_another_run_or_none_are_refused(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "a", documents(), model(1)) / "documents.jsonl"
    path.write_text(SCORES_DAMAGE[kind](path.read_text("utf-8")), "utf-8")
    with pytest.raises(InputError, match=r"^run B, documents\.jsonl"):
        load_run(path.parent, "B")


def test_a_missing_run_says_which(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^run A, report\.json cannot be read \(No such file or directory\) – give"):
        load_run(tmp_path / "none", "A")
    folder = written(tmp_path / "a", documents(), model(1))
    (folder / "documents.jsonl").unlink()
    with pytest.raises(InputError, match=r"^run A, documents\.jsonl: the run folder's"):
        load_run(folder, "A")
