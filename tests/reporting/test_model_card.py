"""What a model card says of a run is read by the Hub's own library, and escapes what a corpus named."""

from __future__ import annotations

import pytest
from reporting.test_text import ODD, report_of

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.reporting.model_card import Dataset, dataset_of, eval_results, model_index, quantitative_analysis

DATASET = Dataset("owner/set", 'The "set": 100 %', "ner", "dev")
REPORT = {**report_of("NAME"), "timing": {**report_of("NAME")["timing"], "generated_at": "2026-01-02T03:04:05+00:00"}}


def test_the_hub_reads_the_model_index() -> None:
    hub = pytest.importorskip("huggingface_hub")
    data = hub.ModelCard(model_index(REPORT, DATASET) + "\n# A card\n").data
    results = {(one.metric_name, one.metric_type): one for one in data.eval_results}
    one = results["Exact span F1", "f1"]
    assert (one.metric_value, one.dataset_type, one.dataset_name, one.dataset_split) == (1.0, "owner/set", DATASET.name, "dev")
    assert (data.model_name, one.task_type) == ("tiny|1", "token-classification")
    assert len(data.eval_results) == 5


def test_the_hub_reads_the_eval_results() -> None:
    hub = pytest.importorskip("huggingface_hub")
    yaml = pytest.importorskip("yaml")
    (entry,) = hub.parse_eval_result_entries(yaml.safe_load(eval_results(REPORT, DATASET)))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("owner/set", "ner", 1.0)
    assert entry.date == "2026-01-02T03:04:05+00:00"
    assert "Leakage under any label 0.0000" in entry.notes


@pytest.mark.parametrize("label", ["NAME", ODD])
def test_the_section_has_the_brief_tables(label: str) -> None:
    text = quantitative_analysis(report_of(label))
    assert text.startswith("## Quantitative analysis\n")
    for heading in ("### Scores", "### Labels (exact)", "### Coverage"):
        assert heading in text
    assert "<b>" not in text


def test_a_data_set_has_a_name_of_the_hub_s_kind() -> None:
    report = report_of("NAME")
    assert dataset_of(report, None, None, None, None) == Dataset("local/mine", "mine", "token-classification", "test")
    assert dataset_of(report, "a/b", "n", "t", "dev") == Dataset("a/b", "n", "t", "dev")
    for id in ("one", "a/b/c", "../b", "a/b c"):
        with pytest.raises(UsageError, match="--dataset-id"):
            dataset_of(report, id, None, None, None)


def test_a_run_without_gold_has_no_entry() -> None:
    report = report_of("NAME")
    report["metrics"] = {**report["metrics"], "exact_span_f1": {"precision": None, "recall": None, "f1": None}}
    with pytest.raises(UsageError, match="no gold"):
        eval_results(report, DATASET)
