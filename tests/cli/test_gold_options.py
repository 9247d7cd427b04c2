"""`--layers`, `--training-manifest` and `--forbid-overlap` of `run` and `score`, end to end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import small_corpora
from jsonschema import Draft202012Validator
from small_corpora import ENTRIES, entry, write, write_rows

from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(schema())
NESTED = ("1", "left kidney cortex of dr amy quill", [(0, 18, "SITE"), (5, 11, "ORGAN"), (22, 34, "NAME"), (29, 34, "SURNAME")])


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write(tmp_path / "gold", "openmed")


def codes(report: dict) -> dict[str, int]:
    return {warning["code"]: warning["count"] for warning in report["warnings"]}


def counts(report: dict) -> tuple[int, int, int]:
    block = report["metrics"]["exact_span_f1"]
    return block["true_positives"], block["false_positives"], block["false_negatives"]


@pytest.mark.parametrize(("rule", "spans"), [("all", 4), ("outermost", 2), ("innermost", 2)])
def test_score_with_layers_of_gold_and_predictions(program, tmp_path: Path, rule: str, spans: int) -> None:
    """A model that gives every layer is perfect under every rule; one that gives the outer ones, under that rule alone."""
    whole = write_rows(tmp_path / "gold.jsonl", small_corpora.rows([NESTED]))
    said = program("score", whole, whole, "--json", "--layers", rule, "--label-map", "none")
    report = said.json()
    VALIDATOR.validate(report)
    assert counts(report) == (spans, 0, 0)
    assert (report["corpus"]["spans"], report["config"]["layers"]) == (spans, rule)
    assert codes(report) == ({} if rule == "all" else {"nested_spans_left_out": 4})
    if rule != "all":
        assert f"--layers {rule} left out: 2 of gold, 2 predicted" in said.err

    name, text, gold = NESTED
    outer = write_rows(tmp_path / "outer.jsonl", small_corpora.rows([(name, text, gold[::2])]))
    report = program("score", whole, outer, "--json", "--layers", rule, "--label-map", "none").json()
    assert counts(report) == {"all": (2, 0, 2), "outermost": (2, 0, 0), "innermost": (0, 2, 2)}[rule]


def test_run_with_layers(program, tiny_model: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "gold.jsonl", small_corpora.rows([NESTED]))
    report = program("run", "--model", tiny_model, "--corpus", path, "--json", "--layers", "innermost", "--bootstrap", 0).json()
    VALIDATOR.validate(report)
    assert (report["corpus"]["spans"], report["config"]["layers"]) == (2, "innermost")
    assert program("run", "--layers", "middle").code == 2


MANIFESTS = {
    "texts": [{"text": text} for _, text, _ in ENTRIES[:2]],
    "hashes": [{"sha256": hashlib.sha256(text.encode()).hexdigest()} for _, text, _ in ENTRIES[:2]],
    "spelling": [{"text": f" {text.upper()}\n"} for _, text, _ in ENTRIES[:2]],
    "ids and texts": [{"id": name, "text": text} for name, text, _ in ENTRIES[:2]],
}
KINDS = {"texts": "exact_text", "hashes": "exact_text", "spelling": "normalised_text", "ids and texts": "id_and_text"}


@pytest.mark.parametrize("command", ["run", "score"])
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_overlap_is_reported_or_forbidden(
    program, tiny_model: Path, gold: Path, tmp_path: Path, command: str, manifest: str
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(MANIFESTS[manifest]))
    out = tmp_path / "out"
    call = ["run", "--model", tiny_model, "--corpus", gold] if command == "run" else ["score", gold, gold]
    said = program(*call, "--bootstrap", 0, "--training-manifest", path, "--output", out)
    assert said.code == 0
    assert f"warning: documents that are in the training manifest ({KINDS[manifest]} 2; documents 1, 2)" in said.err
    report = json.loads((out / "report.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    found = report["corpus"]["training_overlap"]
    assert (found["manifest_documents"], found["documents"], found["share"]) == (2, [1, 2], 0.5)
    assert {kind: count for kind, count in found["by_kind"].items() if count} == {KINDS[manifest]: 2}
    assert (report["config"]["training_manifest"], report["config"]["forbid_overlap"]) == (True, False)
    assert codes(report)["training_overlap"] == 2

    said = program(*call, "--training-manifest", path, "--forbid-overlap", "--output", tmp_path / "none")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: --forbid-overlap: 2 of 4 documents are in the training manifest")
    assert not (tmp_path / "none").exists()


def test_it_fails_before_the_model_is_loaded(program, gold: Path, tmp_path: Path) -> None:
    (tmp_path / "no-model").mkdir()
    said = program("run", "--model", tmp_path / "no-model", "--corpus", gold, "--training-manifest", gold, "--forbid-overlap")
    assert said.code == 1
    assert "4 of 4 documents" in said.err


def test_only_the_documents_scored_count(program, gold: Path, tmp_path: Path) -> None:
    last = write_rows(tmp_path / "train.jsonl", [{"text": ENTRIES[3][1]}])
    call = ["score", gold, gold, "--json", "--training-manifest", last, "--forbid-overlap"]
    assert program(*call).code == 1
    report = program(*call, "--limit", 3).json()
    assert report["corpus"]["training_overlap"]["documents"] == []
    assert (report["config"]["forbid_overlap"], codes(report)) == (True, {})


def test_ids_alone_are_no_overlap_but_said_to_be_no_proof(program, gold: Path, tmp_path: Path) -> None:
    rows = [{"id": name} for name, _, _ in ENTRIES] + [{"text": "something else"}]
    report = program("score", gold, gold, "--json", "--training-manifest", write_rows(tmp_path / "m.jsonl", rows)).json()
    assert report["corpus"]["training_overlap"]["documents"] == []
    assert codes(report) == {"training_manifest_not_comparable": 4}
    said = program("score", gold, gold, "--training-manifest", write_rows(tmp_path / "n.jsonl", rows[:4]))
    assert (said.code, said.out) == (1, "")
    assert "nothing can be compared" in said.err


@pytest.mark.parametrize("format", small_corpora.FORMATS)
def test_a_corpus_of_any_format_is_a_manifest(program, gold: Path, tmp_path: Path, format: str) -> None:
    changed = [entry("other", text.replace("quill", "marsh")) for _, text, _ in ENTRIES]
    train = write(tmp_path / "train", format, [(f"t{number}", *rest) for number, (_, *rest) in enumerate(changed)])
    report = program("score", gold, gold, "--json", "--training-manifest", train).json()
    found = report["corpus"]["training_overlap"]
    assert (found["by_kind"]["exact_text"], found["by_kind"]["near_duplicate"]) == (2, 1)
    assert found["documents"] == [2, 3, 4]  # the third is the same but for its one name


def test_without_a_manifest_nothing_is_said_and_nothing_can_be_forbidden(program, gold: Path) -> None:
    report = program("score", gold, gold, "--json").json()
    assert "training_overlap" not in report["corpus"]
    assert (report["config"]["training_manifest"], report["config"]["layers"]) == (False, "all")
    assert program("score", gold, gold, "--forbid-overlap").code == 2
    assert program("run", "--forbid-overlap").code == 2
    assert program("score", gold, gold, "--training-manifest", gold.parent / "none.json").code == 2


def test_arrays_of_tags_have_no_text_to_compare(program, gold: Path, tmp_path: Path) -> None:
    import numpy as np

    path, names = tmp_path / "tags.npz", tmp_path / "names.json"
    np.savez(path, gold=np.array([[0, 1]]), predicted=np.array([[0, 1]]))
    names.write_text('["O", "B-NAME"]')
    call = ["score", path, "--tag-names", names, "--json", "--bootstrap", 0]
    assert program(*call).code == 0
    said = program(*call, "--training-manifest", gold)
    assert (said.code, said.out) == (2, "")
    assert "--training-manifest compares texts" in said.err
