"""What happens when the model may decline: what is under a threshold is redacted or reviewed.

The residual risk is the share of wrong predictions among those accepted. An abstained prediction of a
critical label (a number that identifies or opens something) is redacted, any other goes to review. The names
are OpenMed's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from ..errors import UsageError
from .confidence import Confidences
from .counts import Counts, ratio

CRITICAL_LABELS = frozenset(
    ("SSN", "ID_NUM", "API_KEY", "ACCOUNT_NUMBER", "PASSWORD", "PIN", "CREDIT_CARD", "CVV", "IBAN", "BIC")
)

Thresholds = Mapping[str, float]
"""{label: smallest confidence accepted}; "*" stands for every label not named, 0 where it is not there."""


class _Decision(NamedTuple):
    confidence: float | None
    label: str
    language: str
    right: bool


def parsed_thresholds(value: object) -> Thresholds:
    """A number for all labels, or {label: number} with "*" for the rest; UsageError for anything else."""
    table: Mapping[Any, Any] = value if isinstance(value, Mapping) else {"*": value}
    for threshold in table.values():
        number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not number or not isfinite(threshold) or not 0 <= threshold <= 1:
            raise UsageError('--abstain: give a number in [0, 1], or {"LABEL": number, "*": number}')
    return {str(label): float(threshold) for label, threshold in table.items()}


def abstention(
    confidences: Confidences, thresholds: Thresholds, *, critical_labels: frozenset[str] = CRITICAL_LABELS
) -> dict[str, Any]:
    """The `abstention` block. A prediction without a usable confidence is accepted: there is nothing to
    decide by.

    thresholds: as `parsed_thresholds` gives them. `accepted_span_f1` is the exact F1 of what was accepted.
    """
    rest = thresholds.get("*", 0.0)
    judged = [_Decision(*row) for row in confidences.rows()]
    accepted: list[_Decision] = []
    declined: list[_Decision] = []
    for one in judged:
        keep = one.confidence is None or one.confidence >= thresholds.get(one.label, rest)
        (accepted if keep else declined).append(one)
    wrong = [one for one in accepted if not one.right]
    critical = [one for one in accepted if one.label in critical_labels]
    critical_wrong = [one for one in critical if not one.right]
    redacted = sum(one.label in critical_labels for one in declined)
    total = len(accepted) + len(declined)
    kept = Counts.of(len(accepted) - len(wrong), confidences.support, len(accepted))
    return {
        "thresholds": dict(sorted(thresholds.items())),
        "abstention_rate": {
            "overall": ratio(len(declined), total),
            "by_label": _rates(declined, judged, _label),
            "by_language": _rates(declined, judged, _language),
            "abstained": len(declined),
            "total": total,
        },
        "residual_risk": {
            "overall": ratio(len(wrong), len(accepted)),
            "critical": ratio(len(critical_wrong), len(critical)),
            "by_label": _rates(wrong, accepted, _label),
            "by_language": _rates(wrong, accepted, _language),
            "residual_errors": len(wrong),
            "accepted": len(accepted),
            "critical_residual_errors": len(critical_wrong),
            "accepted_critical": len(critical),
        },
        "route_counts": {"accept": len(accepted), "redact": redacted, "review": len(declined) - redacted},
        "accepted_span_f1": kept.to_dict(),
    }


def _label(one: _Decision) -> str:
    return one.label


def _language(one: _Decision) -> str:
    return one.language


def _rates(part: Iterable[_Decision], whole: Sequence[_Decision], key: Callable[[_Decision], str]) -> dict[str, float | None]:
    counts: dict[str, list[int]] = {name: [0, 0] for name in sorted({key(one) for one in whole})}
    for one in whole:
        counts[key(one)][1] += 1
    for one in part:
        counts[key(one)][0] += 1
    return {name: ratio(*pair) for name, pair in counts.items()}
