"""Is a confidence of 0.9 right nine times in ten, and which threshold gives which precision and recall.

Reliability bins of equal width; ECE and MCE (Naeini et al. 2015) over them; Brier score; precision, recall
and F1 against the threshold; risk against coverage and the area under it (AURC, Geifman et al. 2019).
Predictions of one confidence enter or leave together; within them the risk is the expected one, so that no
result depends on the order of ties. A prediction is right as in confidence.py. numpy is imported when a block
is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .confidence import WITHOUT_SCORE, Confidences
from .counts import Counts, ratio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WANTED_RECALLS = (0.9, 0.95, 0.99)
GRID = 20
"""Steps of the threshold grid and of the coverage grid that a report shows."""


def calibration(
    confidences: Confidences, *, bins: int = 10, wanted_recalls: Sequence[float] = WANTED_RECALLS
) -> dict[str, Any] | None:
    """The `calibration` block; None where no prediction came with a usable confidence.

    `threshold_sweep` keeps predictions whose confidence is at least the threshold; one without a usable
    confidence is kept at every threshold, so threshold 0 is the exact F1 of the run. Raises UsageError for
    fewer than one bin.
    """
    if bins < 1:
        raise UsageError("calibration bins: must be at least 1")
    judged = confidences.documents
    if all(confidence is None for one in judged for confidence in one.confidences):
        return None
    import numpy as np

    values = np.array(list(chain.from_iterable(one.confidences for one in judged)), dtype=np.float64)  # None becomes NaN
    rights = np.array(list(chain.from_iterable(one.right for one in judged)), dtype=np.float64)
    unscored = np.isnan(values)
    always_kept = int(rights[unscored].sum()), int(unscored.sum())
    confidence, right = values[~unscored], rights[~unscored]
    order = np.lexsort((-right, -confidence))  # floats add up in one order only
    confidence, right = confidence[order], right[order]
    unusable = dict(confidences.unusable)
    return {
        "predictions": len(confidence),
        WITHOUT_SCORE: unusable.pop(WITHOUT_SCORE, 0),
        "invalid_scores": unusable,
        **reliability(confidence, right, bins),
        "threshold_sweep": threshold_sweep(confidence, right, confidences.support, always_kept, wanted_recalls),
        "risk_coverage": risk_coverage(confidence, right),
    }


def reliability(confidence: Floats, right: Floats, bins: int) -> dict[str, Any]:
    """ECE, MCE, Brier score and the bins; bin i holds confidences in [i / bins, (i + 1) / bins), the last also 1."""
    import numpy as np

    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    confidence_sums = np.bincount(place, weights=confidence, minlength=bins)
    right_sums = np.bincount(place, weights=right, minlength=bins)
    gaps = np.abs(right_sums - confidence_sums)
    filled = counts > 0
    return {
        "expected_calibration_error": float(gaps.sum() / counts.sum()),
        "maximum_calibration_error": float((gaps[filled] / counts[filled]).max()),
        "brier_score": float(np.mean((confidence - right) ** 2)),
        "n_bins": bins,
        "reliability_bins": [
            {
                "bin_index": index,
                "lower_bound": index / bins,
                "upper_bound": (index + 1) / bins,
                "mean_confidence": ratio(float(confidence_sums[index]), int(counts[index])),
                "accuracy": ratio(float(right_sums[index]), int(counts[index])),
                "count": int(counts[index]),
            }
            for index in range(bins)
        ],
    }


def threshold_sweep(
    confidence: Floats,
    right: Floats,
    support: int,
    always_kept: tuple[int, int],
    wanted_recalls: Sequence[float],
) -> dict[str, Any]:
    """Precision, recall and F1 against the threshold.

    confidence, right: descending by confidence, shape (predictions,). always_kept: (right, all) predictions
    without a confidence. `best_f1` is the lowest threshold of the best F1; `for_recall` the highest that
    reaches the recall.
    """
    import numpy as np

    last = np.flatnonzero(np.append(np.diff(confidence) != 0, True))  # the last prediction of each confidence
    thresholds = confidence[last]
    kept = last + 1 + always_kept[1]
    found = np.cumsum(right)[last] + always_kept[0]

    def point(at: int, threshold: float) -> dict[str, Any]:
        matched, predicted = (int(found[at]), int(kept[at])) if at >= 0 else always_kept
        return {"threshold": threshold, **Counts.of(matched, support, predicted).to_dict()}

    best = len(last) - 1 - int(np.argmax((2 * found / np.maximum(support + kept, 1))[::-1]))
    reaching = [(wanted, np.flatnonzero(found >= wanted * support)) for wanted in wanted_recalls]
    return {
        "points": [
            point(int(np.searchsorted(-thresholds, -step / GRID, side="right")) - 1, step / GRID) for step in range(GRID + 1)
        ],
        "best_f1": point(best, float(thresholds[best])),
        "for_recall": [
            {"recall_wanted": wanted, **point(int(at[0]), float(thresholds[at[0]]))}
            if support and len(at)
            else {"recall_wanted": wanted, "threshold": None}
            for wanted, at in reaching
        ],
    }


def risk_coverage(confidence: Floats, right: Floats) -> dict[str, Any]:
    """Share of wrong predictions among the most confident ones, for every share of predictions kept; and its mean."""
    import numpy as np

    last = np.append(np.flatnonzero(np.diff(confidence)), len(confidence) - 1)
    ends = np.append(0, last + 1)
    wrong = np.append(0.0, np.cumsum(1 - right)[last])
    kept = np.arange(1, len(confidence) + 1)
    risk = np.interp(kept, ends, wrong) / kept
    shown = np.unique(np.ceil(np.arange(1, GRID + 1) / GRID * len(confidence)).astype(np.int64))
    return {
        "aurc": float(risk.mean()),
        "points": [{"coverage": int(count) / len(confidence), "risk": float(risk[count - 1])} for count in shown],
    }
