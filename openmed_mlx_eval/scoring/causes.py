"""Why a label's exact F1 is not 1: the dominant cause of its errors, and one sentence that says it.

Each strict error is a false positive or a false negative. A span missed or made up is one (detection); a pair with
other bounds (boundary) or under another label (confusion) is two, one on either side. So the three causes share the
errors out without rest: boundary errors are what lies between exact and relaxed F1, detection and confusion are what
relaxed F1 misses too.
"""

from __future__ import annotations

from typing import NamedTuple

from .counts import Counts
from .errors import BEYOND, ErrorCounts, LabelErrors


class Cause(NamedTuple):
    """kind: detection, boundary or confusion, None without errors. share: of the label's strict errors, None without."""

    kind: str | None
    share: float | None
    sentence: str


def shares_of(errors: LabelErrors) -> dict[str, int]:
    """{cause: strict errors}; they add up to the false positives and false negatives of `exact`."""
    return {
        "detection": errors.missed + errors.spurious,
        "boundary": 2 * errors.boundary,
        "confusion": errors.label_confusion + errors.label_confusion_predicted,
    }


def cause_of(label: str, counts: ErrorCounts, errors: LabelErrors) -> Cause:
    """The dominant cause of a label's errors; of equal ones the first of shares_of. errors: counts.by_label()[label]."""
    shares = shares_of(errors)
    total = sum(shares.values())
    if not total:
        return Cause(None, None, "No errors.")
    kind = max(shares, key=lambda name: shares[name])
    share = shares[kind] / total
    found = Counts.of(errors.exact, errors.support, errors.predicted).f1
    relaxed = Counts.of(errors.exact + errors.boundary, errors.support, errors.predicted).f1
    said = _SAID[kind](label, counts, errors)
    figures = f"exact F1 {found:.2f}, relaxed F1 {relaxed:.2f}"
    return Cause(kind, share, f"{kind.capitalize()}: {100 * share:.0f} % of its errors are {said}; {figures}.")


def _detection(label: str, counts: ErrorCounts, errors: LabelErrors) -> str:
    return f"spans missed ({errors.missed:,}) or made up ({errors.spurious:,})"


def _boundary(label: str, counts: ErrorCounts, errors: LabelErrors) -> str:
    """The commonest shift is named where a tenth of the pairs have it, and more than one: anything less is no pattern."""
    shifts = {(start, end): number for (of, start, end), number in counts.shifts.items() if of == label}
    (start, end), number = min(shifts.items(), key=lambda item: (-item[1], item[0]))
    said = f"spans found with other bounds ({errors.boundary:,})"
    if 10 * number < errors.boundary or number < 2:
        return said
    moved = " and ".join(f"{side} {shift_name(by)}" for side, by in (("start", start), ("end", end)) if by)
    return f"{said}, most often {moved} ({number:,})"


def _confusion(label: str, counts: ErrorCounts, errors: LabelErrors) -> str:
    crossed = {cell: n for cell, n in counts.matrix.items() if label in cell and None not in cell and cell[0] != cell[1]}
    (gold, predicted), number = min(crossed.items(), key=lambda item: (-item[1], str(item[0])))
    most = f"predicted as {predicted}" if gold == label else f"{gold} predicted as {label}"
    often = "" if len(crossed) == 1 else "most often "
    return "spans under another label" + (f", {often}{most} ({number:,})" if number > 1 or not often else "")


_SAID = {"detection": _detection, "boundary": _boundary, "confusion": _confusion}


def shift_name(shift: int) -> str:
    """`+1`, `0`, `-3`; `> 10` and `< -10` for what lies further."""
    if abs(shift) < BEYOND:
        return f"{shift:+d}" if shift else "0"
    return f"> {BEYOND - 1}" if shift > 0 else f"< -{BEYOND - 1}"
