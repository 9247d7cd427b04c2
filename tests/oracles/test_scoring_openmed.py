"""openmed 3.1.0's exact and relaxed F1, leakage, character recall and over-redaction, on sorted, in-bounds spans
with known labels (elsewhere its numbers depend on the order of the input, or merge labels).

Its import takes seconds, so one subprocess answers all cases; they travel as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from itertools import accumulate
from typing import Any

import pytest

from openmed_mlx_eval.scoring import Case, metrics, score_case
from openmed_mlx_eval.scoring.api import compute_exact_span_f1, compute_metrics_bundle, compute_relaxed_span_f1
from openmed_mlx_eval.spans import Span

pytestmark = pytest.mark.skipif(importlib.util.find_spec("openmed") is None, reason="openmed is not installed")

LABELS = ["PERSON", "DATE", "DISEASE", "MEDICATION"]
SIMPLE = ("abc 1.", ["a", "e\u0301", "ñ", "漢", "か", "한", "א", "ب", "क", "ि", "\r\n", " "])
JOINED = ["a ", "👩\u200d👩", "🇩🇪", "क्ष", "🩺", "Öz", "1\ufe0f\u20e3"]
"""Clusters that no span of the test cuts: cut ones are one unit here, and what the pieces make alone there."""

ORACLE = """
import json, sys
from openmed.eval import metrics as m
answers = []
for case in json.load(sys.stdin):
    gold, predicted = ([dict(zip(("start", "end", "label"), span)) for span in case[side]] for side in ("gold", "predicted"))
    answers.append(m.compute_metrics_bundle(gold, predicted, source_text=case["text"]))
json.dump(answers, sys.stdout)
"""


def random_case(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    atoms = rng.choices((*SIMPLE, JOINED)[seed % 3], k=rng.randint(1, 60))
    text = "".join(atoms)
    offsets = list(accumulate(map(len, atoms), initial=0)) if seed % 3 == 2 else list(range(len(text) + 1))

    def spans(most: int) -> list[list[Any]]:
        places = [sorted(rng.sample(range(len(offsets)), 2)) for _ in range(rng.randint(0, most))]
        return sorted(
            [offsets[first], offsets[min(last, first + rng.randint(1, 20))], rng.choice(LABELS)] for first, last in places
        )

    gold, predicted = spans(8), spans(8)
    if seed % 2:  # the usual case: most predictions are gold spans, some a little off
        before = {offset: offsets[max(0, place - 1)] for place, offset in enumerate(offsets)}
        kept = [[before[start] if rng.random() < 0.3 else start, end, label] for start, end, label in gold if rng.random() < 0.8]
        predicted = sorted(kept + predicted[:2])
    return {"text": text, "gold": gold, "predicted": predicted}


@pytest.fixture(scope="module")
def answered() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    cases = [random_case(seed) for seed in range(600)]
    run = subprocess.run([sys.executable, "-c", ORACLE], input=json.dumps(cases), capture_output=True, text=True, check=True)
    return list(zip(cases, json.loads(run.stdout), strict=True))


def as_spans(rows: list[list[Any]]) -> list[Span]:
    return [Span(start, end, label) for start, end, label in rows]


def test_metrics_of_one_document_are_openmeds(answered):
    measured = 0
    for case, theirs in answered:
        gold, predicted = as_spans(case["gold"]), as_spans(case["predicted"])
        ours = metrics([score_case(Case(gold, predicted, case["text"]))])
        for key in ("exact_span_f1", "relaxed_span_f1"):
            for count in ("true_positives", "false_positives", "false_negatives"):
                assert ours[key][count] == theirs[key][count]
            if gold and predicted:
                assert ours[key]["f1"] == pytest.approx(theirs[key]["f1"])
        for count in ("leaked_graphemes", "total_graphemes"):
            assert ours["leakage"][count] == theirs["leakage"][count], case
        for key in ("character_recall", "over_redaction_loss"):
            for count in ("numerator", "denominator"):
                assert ours[key][count] == theirs[key][count]
        for label, rate in ours["leakage"]["by_label"].items():
            assert rate == pytest.approx(theirs["leakage"]["by_label"][label])
            measured += 1
    assert measured > 500  # the cases are not empty


def test_bundle_of_openmeds_name_gives_openmeds_values_under_its_keys(answered):
    for case, theirs in answered:
        sides = ([dict(zip(("start", "end", "label"), row, strict=True)) for row in case[side]] for side in ("gold", "predicted"))
        ours = compute_metrics_bundle(*sides, source_text=case["text"])
        for key in ("exact_span_f1", "relaxed_span_f1", "character_recall", "over_redaction_loss"):
            assert ours[key] == pytest.approx(theirs[key])
        for block in ("leakage", "recall_slices"):
            for key, value in ours[block].items():
                if isinstance(value, dict) and not key.endswith("script"):
                    assert value == pytest.approx({name: theirs[block][key][name] for name in value}), (block, key)
                elif not isinstance(value, dict) and key in theirs[block]:
                    assert value == theirs[block][key] or value == pytest.approx(theirs[block][key])
        assert ours["critical_finding_recall"]["overall"] == theirs["critical_finding_recall"]["overall"] == 1.0


def test_f1_functions_of_openmeds_name_give_openmeds_values(answered):
    for case, theirs in answered:
        gold, predicted = as_spans(case["gold"]), as_spans(case["predicted"])
        assert compute_exact_span_f1(gold, predicted).to_dict() == pytest.approx(theirs["exact_span_f1"])
        assert compute_relaxed_span_f1(gold, predicted).to_dict() == pytest.approx(theirs["relaxed_span_f1"])


def test_scripts_are_openmeds_where_every_span_has_letters_of_its_own():
    text = "Jürgen Öz, 山田さん, Иван 7"
    gold = [Span(0, 9, "PERSON"), Span(11, 15, "PERSON"), Span(17, 23, "PERSON")]
    leakage = metrics([score_case(Case(gold, [Span(0, 6, "PERSON"), Span(11, 13, "PERSON")], text))])["leakage"]
    assert leakage["total_graphemes_by_script"] == {"Cyrillic": 6, "Han": 2, "Hiragana": 2, "Latin": 9}
    assert leakage["leaked_graphemes_by_script"] == {"Cyrillic": 6, "Han": 0, "Hiragana": 2, "Latin": 3}
