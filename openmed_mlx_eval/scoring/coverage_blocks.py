"""The report's blocks made from coverage: leakage, character recall, recall slices, over-redaction.

The keys are OpenMed's. Their plain rates are label-aware and in grapheme clusters, as OpenMed's are;
any-label rates and code points stand beside them under names of their own. Only labels, languages and scripts
that occur are listed, and a rate of nothing is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .counts import Rate, ratio
from .coverage import Coverage, Covered

Languages = Mapping[str, Coverage]
"""{language: the sum of its documents}."""


def leakage(coverage: Coverage, languages: Languages) -> dict[str, Any]:
    """Share of the gold that is not covered: `overall` by predictions of its label, `any_label` by any at
    all.

    documents_with_leak: documents in which a gold code point lies under no prediction, of any label;
    documents_with_label_leak: under none of its own label. Both are of `documents_with_gold`.
    """
    overall = coverage.overall
    labels = dict(sorted(coverage.by_label.items()))
    scripts = dict(sorted(coverage.by_script.items()))
    return {
        "unit": coverage.unit,
        "overall": leaked_own(overall),
        "any_label": leaked_any(overall),
        "leaked_graphemes": overall.clusters - overall.clusters_own,
        "any_label_leaked_graphemes": overall.clusters - overall.clusters_any,
        "total_graphemes": overall.clusters,
        "characters": {
            "overall": _left(overall.characters_own, overall.characters),
            "any_label": _left(overall.characters_any, overall.characters),
            "leaked": overall.characters - overall.characters_own,
            "any_label_leaked": overall.characters - overall.characters_any,
            "total": overall.characters,
        },
        "documents_with_gold": coverage.documents_with_gold,
        "documents_with_leak": coverage.documents_with_leak,
        "documents_with_label_leak": coverage.documents_with_label_leak,
        "documents_with_leak_rate": ratio(coverage.documents_with_leak, coverage.documents_with_gold),
        "by_label": {label: leaked_own(part) for label, part in labels.items()},
        "any_label_by_label": {label: leaked_any(part) for label, part in labels.items()},
        "leaked_graphemes_by_label": {label: part.clusters - part.clusters_own for label, part in labels.items()},
        "total_graphemes_by_label": {label: part.clusters for label, part in labels.items()},
        "by_language": {language: leaked_own(part.overall) for language, part in languages.items()},
        "any_label_by_language": {language: leaked_any(part.overall) for language, part in languages.items()},
        "by_script": {script: leaked_own(part) for script, part in scripts.items()},
        "any_label_by_script": {script: leaked_any(part) for script, part in scripts.items()},
        "leaked_graphemes_by_script": {script: part.clusters - part.clusters_own for script, part in scripts.items()},
        "total_graphemes_by_script": {script: part.clusters for script, part in scripts.items()},
    }


def leaked_own(part: Covered) -> Rate:
    """Share of clusters not covered by predictions of their label."""
    return _left(part.clusters_own, part.clusters)


def leaked_any(part: Covered) -> Rate:
    """Share of clusters not covered by any prediction."""
    return _left(part.clusters_any, part.clusters)


def _left(covered: int, total: int) -> Rate:
    return ratio(total - covered, total)


def character_recall(coverage: Coverage) -> dict[str, Any]:
    """Covered share of the gold's clusters, label-aware (`rate`) and by any label, and in code points."""
    overall = coverage.overall
    return {
        "unit": coverage.unit,
        "rate": ratio(overall.clusters_own, overall.clusters),
        "numerator": overall.clusters_own,
        "denominator": overall.clusters,
        "any_label": ratio(overall.clusters_any, overall.clusters),
        "characters": ratio(overall.characters_own, overall.characters),
    }


def recall_slices(coverage: Coverage, languages: Languages) -> dict[str, Any]:
    """Label-aware recall in clusters, overall and by label, language and script."""
    overall = coverage.overall
    scripts = dict(sorted(coverage.by_script.items()))
    return {
        "unit": coverage.unit,
        "overall": _recall(overall),
        "by_label": {label: _recall(part) for label, part in sorted(coverage.by_label.items())},
        "by_language": {language: _recall(part.overall) for language, part in languages.items()},
        "by_script": {script: _recall(part) for script, part in scripts.items()},
        "covered_graphemes": overall.clusters_own,
        "total_graphemes": overall.clusters,
        "covered_graphemes_by_script": {script: part.clusters_own for script, part in scripts.items()},
        "total_graphemes_by_script": {script: part.clusters for script, part in scripts.items()},
    }


def _recall(part: Covered) -> Rate:
    return ratio(part.clusters_own, part.clusters)


def over_redaction_loss(coverage: Coverage) -> dict[str, Any]:
    """Code points predicted that are not gold, of all that are not gold. Labels play no part."""
    return {
        "rate": ratio(coverage.over_redacted, coverage.redactable),
        "numerator": coverage.over_redacted,
        "denominator": coverage.redactable,
    }
