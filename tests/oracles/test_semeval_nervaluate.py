"""nervaluate's four schemes, wherever the spans of a list neither touch nor overlap.

nervaluate's ends are inclusive, so it is given `end - 1`; elsewhere its counts depend on the order of its
input.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.semeval import semeval_score
from openmed_mlx_eval.scoring.sides import Sides
from openmed_mlx_eval.spans import Span

Evaluator = pytest.importorskip("nervaluate").Evaluator

NAMES = {"type": "ent_type"}
LABELS = ["DISEASE", "DRUG", "PERSON"]
KEYS = ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual", "precision", "recall", "f1")


def flat(marks: set[int], labels: list[str]) -> list[Span]:
    """Every other gap between marks is a span, so none touches the next."""
    bounds = sorted(marks)
    return [Span(start, end, label) for start, end, label in zip(bounds[::2], bounds[1::2], labels, strict=False)]


FLAT = st.builds(
    flat,
    st.sets(st.integers(0, 40), max_size=16),
    st.lists(st.sampled_from(LABELS), min_size=8, max_size=8),
)


@given(FLAT, FLAT)
@settings(max_examples=400)
def test_counts_and_rates_are_nervaluates(gold, predicted):
    given_to_it = [
        [[{"label": span.label, "start": span.start, "end": span.end - 1} for span in side]] for side in (gold, predicted)
    ]
    theirs = Evaluator(*given_to_it, tags=LABELS, loader="dict").evaluate()["overall"]
    triples = [sorted((span.start, span.end, span.label) for span in side) for side in (gold, predicted)]
    for scheme, ours in semeval_score(Sides.of(*triples)).to_dict().items():
        result = theirs[NAMES.get(scheme, scheme)]
        for key in KEYS:
            assert (ours[key] or 0) == pytest.approx(getattr(result, key)), (scheme, key)
