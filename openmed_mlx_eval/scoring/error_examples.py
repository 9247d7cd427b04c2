"""A few errors to look at: drawn fairly, described without text.

Of each label and kind the same number is drawn, by a seeded hash of the document and the place: the first ones of a
corpus would be one hospital's. An example holds offsets, keyed hashes and features that say nothing of what stands
there. A hash without a key would: all dates of birth are tried in a blink.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from heapq import heappush, heappushpop
from typing import Any

from .errors import KINDS, Finding
from .graphemes import dominant_script

HASH_DIGITS = 32
"""Hexadecimal digits kept of an HMAC-SHA256: 128 bits, half of it, as RFC 2104 (section 5) allows."""


@dataclass(frozen=True, slots=True)
class ExampleOptions:
    """cap: examples a label and kind. context_window: code points on either side. seed: of the draw."""

    cap: int = 5
    context_window: int = 24
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ErrorSpanExample:
    """One error without its text.

    kind: one of KINDS. document: ordinal from 0, as in predictions.jsonl. document_hash, text_hash, matched_text_hash:
    keyed hashes of the document's text and of the spans'. label, start, end: of the gold span, of the prediction where
    it is spurious; matched_*: of the prediction paired with it. context_start, context_end: the span with its
    surroundings, within the document. length: code points of the span. script: of most of its letters. decile: the
    tenth of the document in which it starts, 0 to 9. seam_distance: code points to where the next window of the model
    takes over, 0 inside the span, None where there is no seam or none is known. at_line_edge: first or last on its
    line. fragmented, merged: see Finding.
    """

    kind: str
    document: int
    document_hash: str
    label: str
    start: int
    end: int
    context_start: int
    context_end: int
    text_hash: str
    matched_label: str | None = None
    matched_start: int | None = None
    matched_end: int | None = None
    matched_text_hash: str | None = None
    length: int = 0
    script: str = "Unknown"
    has_digits: bool = False
    decile: int = 0
    seam_distance: int | None = None
    at_line_edge: bool = False
    fragmented: bool = False
    merged: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


COLUMNS = tuple(column.name for column in fields(ErrorSpanExample))


class Draw:
    """Takes findings document by document and keeps, of each label and kind, those of the smallest ranks."""

    def __init__(self, options: ExampleOptions) -> None:
        self._cap = options.cap
        self._seed = str(options.seed).encode()
        self._kept: dict[tuple[str, str], list[tuple[int, int, int, Finding]]] = {}
        self._number = 0

    def add(self, document: int, text: str, findings: Sequence[Finding]) -> None:
        """A finding's rank depends on the text and its place, so the order of documents does not show in the draw."""
        if not findings or not self._cap:
            return
        digest = hashlib.blake2b(_bytes(text), digest_size=8, key=self._seed[:64]).digest()
        base = int.from_bytes(digest, "big")
        for finding in findings:
            start, end, label = finding.span
            heap = self._kept.setdefault((label, finding.kind), [])
            self._number += 1  # so that no two entries are equal and findings are never compared
            entry = (-_mixed(base, start, end), -self._number, document, finding)
            if len(heap) < self._cap:
                heappush(heap, entry)
            elif entry > heap[0]:
                heappushpop(heap, entry)

    def drawn(self) -> list[tuple[int, Finding]]:
        """(document, finding), by label, kind and place."""
        found = []
        for label, kind in sorted(self._kept, key=lambda key: (key[0], KINDS.index(key[1]))):
            entries = [(document, finding) for _, _, document, finding in self._kept[label, kind]]
            found += sorted(entries, key=lambda entry: (entry[0], entry[1].span))
        return found


_MASK = (1 << 64) - 1


def _mixed(base: int, start: int, end: int) -> int:
    """64 bits that look like chance: the finaliser of SplitMix64 (Steele, Lea and Flood 2014) over document and place."""
    x = (base + start * 0x9E3779B97F4A7C15 + end * 0xC2B2AE3D27D4EB4F) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def example_of(
    finding: Finding, document: int, text: str, *, key: bytes, context_window: int, seams: Sequence[int] | None = None
) -> ErrorSpanExample:
    """A finding in a document's text, described. key: of the hashes. seams: offsets at which a window ends, if known."""
    start, end, label = finding.span
    matched = finding.predicted if finding.gold is not None else None
    surface = text[start:end]
    return ErrorSpanExample(
        kind=finding.kind,
        document=document,
        document_hash=keyed_hash(key, "document", text),
        label=label,
        start=start,
        end=end,
        context_start=max(0, start - context_window),
        context_end=min(len(text), end + context_window),
        text_hash=keyed_hash(key, "span", surface),
        matched_label=matched[2] if matched else None,
        matched_start=matched[0] if matched else None,
        matched_end=matched[1] if matched else None,
        matched_text_hash=keyed_hash(key, "span", text[matched[0] : matched[1]]) if matched else None,
        length=end - start,
        script=dominant_script(surface),
        has_digits=any(character.isdigit() for character in surface),
        decile=10 * start // len(text),
        seam_distance=min((_distance(start, end, seam) for seam in seams), default=None) if seams else None,
        at_line_edge=_at_line_edge(text, start, end),
        fragmented=finding.fragmented,
        merged=finding.merged,
    )


def keyed_hash(key: bytes, kind: str, text: str) -> str:
    """HMAC-SHA256 of a text. kind: what it is, so that a document of one word and that word have two hashes."""
    return hmac.new(key, kind.encode() + b"\0" + _bytes(text), hashlib.sha256).hexdigest()[:HASH_DIGITS]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a JSON file can hold half a pair


def _distance(start: int, end: int, seam: int) -> int:
    """0 where the seam lies inside or at an end."""
    return max(start - seam, seam - end, 0)


def _at_line_edge(text: str, start: int, end: int) -> bool:
    """Nothing but white space between the span and the beginning or the end of its line."""
    before, after = start - 1, end
    while before >= 0 and text[before].isspace() and text[before] not in "\r\n":
        before -= 1
    while after < len(text) and text[after].isspace() and text[after] not in "\r\n":
        after += 1
    return before < 0 or after == len(text) or text[before] in "\r\n" or text[after] in "\r\n"
