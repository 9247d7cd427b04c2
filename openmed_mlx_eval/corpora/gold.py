"""Gold checks: can each annotation stand in its text, and is the text there the one the file says it is?

Every problem of a document is found, not the first alone; where surfaces show what the offsets really
count, the first error says so. Nothing here reads a file or knows a format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import InputError, UsageError
from ..spans import Span
from .document import problem_of
from .draft import Draft, Fault, Mention
from .surface import agrees, what_offsets_count

Pieces = tuple[tuple[int, int], ...]
_REMEDY = "correct the gold, or use --skip-bad"


class GoldError(InputError):
    """The first problem of a document's gold. problems: all of them, this one first."""

    problems: tuple[InputError, ...] = ()


def _whole(pieces: Pieces) -> Pieces:
    return ((min(start for start, _ in pieces), max(end for _, end in pieces)),)


def _no_pieces(pieces: Pieces) -> Pieces:
    raise Fault(
        f"a discontinuous annotation of {len(pieces)} pieces",
        "choose --discontinuous hull, split or first, or use --skip-bad",
    )


DISCONTINUOUS: Mapping[str, Callable[[Pieces], Pieces]] = {
    "hull": _whole,
    "split": lambda pieces: pieces,
    "first": lambda pieces: pieces[:1],
    "error": _no_pieces,
}
"""What becomes of an annotation in pieces: one span over all, one a piece, the first piece, a refusal."""


def discontinuous_policy(name: str) -> Callable[[Pieces], Pieces]:
    """The policy of that name. Raises UsageError for a name that is none."""
    try:
        return DISCONTINUOUS[name]
    except KeyError:
        pass
    raise UsageError(f"--discontinuous: unknown policy – choose one of {', '.join(DISCONTINUOUS)}")


Gold = list[tuple[Span, str | None]]
"""Each span with the category of critical finding that it is."""


def gold_of(draft: Draft, policy: Callable[[Pieces], Pieces]) -> tuple[Gold, list[Fault]]:
    """The spans of a draft in the file's order, and a Fault for each annotation that should not be one.

    An annotation whose own text stands elsewhere is among both: its offsets are possible.
    """
    spans: Gold = []
    faults: list[Fault] = []
    for number, mention in enumerate(draft.mentions, start=1):
        try:
            _check_bounds(draft.text, mention)
            pieces = mention.pieces
            if len(pieces) > 1:
                pieces = joined_over_line_breaks(draft.text, pieces)
            kept = policy(pieces) if len(pieces) > 1 else pieces
            spans += [(Span(start, end, mention.label), mention.category) for start, end in kept]
            if mention.surface and not agrees(draft.text, mention):
                raise Fault("the text at the offsets is not the annotation's own text", _REMEDY, is_mismatch=True)
        except Fault as fault:
            fault.line, fault.span, fault.offsets = mention.line, number, _shown(mention, draft.text)
            faults.append(fault)
    if faults and faults[0].span:
        counted = what_offsets_count(draft.text, draft.mentions, draft.mentions[faults[0].span - 1])
        faults[0].remedy = counted or faults[0].remedy
    return spans, faults


def _check_bounds(text: str, mention: Mention) -> None:
    for start, end in mention.pieces:
        problem = problem_of(start, end, len(text))
        if problem:
            raise Fault(f"{problem} (text of {len(text)} code points)", _REMEDY)


def _shown(mention: Mention, text: str) -> tuple[int, int] | None:
    """Offsets for a message. A number far beyond the text is left out: it may be an identifier."""
    start, end = mention.pieces[0][0], mention.pieces[-1][1]
    return (start, end) if max(abs(start), abs(end)) <= max(len(text), 999_999) else None


def joined_over_line_breaks(text: str, pieces: Pieces) -> Pieces:
    """Pieces that only a line break parts are one: so brat writes what runs over several lines."""
    if len(pieces) < 2:
        return pieces
    joined = [pieces[0]]
    for start, end in pieces[1:]:
        gap = text[joined[-1][1] : start]
        if joined[-1][1] < start and gap.isspace() and ("\n" in gap or "\r" in gap):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
