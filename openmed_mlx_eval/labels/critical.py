"""Which gold spans must not be missed: the categories of critical findings, and where fixtures say them.

The three categories and their spellings are OpenMed's. What is none of them is not critical: a category of
one's own words is free text, and free text does not go into a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CATEGORY_OF = {
    "diagnosis": "critical_diagnosis",
    "critical_diagnosis": "critical_diagnosis",
    "condition": "critical_diagnosis",
    "critical_condition": "critical_diagnosis",
    "allergy": "drug_allergy",
    "drug_allergy": "drug_allergy",
    "medication_allergy": "drug_allergy",
    "result": "critical_result",
    "critical_result": "critical_result",
    "lab_result": "critical_result",
    "critical_lab": "critical_result",
}

METADATA_KEYS = ("critical_finding_category", "critical_category", "critical_finding_type")
"""Where OpenMed's fixtures say the category of a gold span."""
_KEYS = frozenset(METADATA_KEYS)


def normalized_category(name: str) -> str | None:
    """The category of a known spelling; None for any other word."""
    return CATEGORY_OF.get(name.strip().lower().replace("-", "_").replace(" ", "_"))


def category_in(metadata: Mapping[str, Any]) -> str | None:
    """The category that a gold span names under the first of METADATA_KEYS that has one; None where none does."""
    if _KEYS.isdisjoint(metadata):
        return None
    named = (normalized_category(str(metadata[key])) for key in METADATA_KEYS if metadata.get(key) is not None)
    return next((category for category in named if category), None)
