"""TagRun: gold and predicted tags of the same tokens, however they were written down, in one spelling.

`tag_files` and `tag_arrays` read them, `tag_evaluation` scores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .errors import InputError
from .tags import TagScheme, is_outside

Tags = tuple[str, ...]
Tokens = tuple[tuple[str, bool], ...]
"""(token, whether a space follows it)."""


@dataclass(frozen=True, slots=True)
class TagSentence:
    """One sentence.

    ordinal: from 1, in reading order. gold, predicted: a tag a token. tokens: None where only tags are known.
    """

    ordinal: int
    gold: Tags
    predicted: Tags
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class TagRun:
    """What was read.

    format: conll, conlleval or npz. sha256: of the gold files' bytes. skipped: the errors of sentences left out.
    """

    format: str
    sentences: tuple[TagSentence, ...]
    sha256: str
    skipped: tuple[InputError, ...] = ()


def run_of(
    format: str,
    sentences: Sequence[TagSentence],
    sha256: str,
    scheme: str | None,
    *,
    skipped: Sequence[InputError] = (),
    vocabulary: Iterable[str] = (),
) -> TagRun:
    """The run of these sentences, their tags written `B-NAME` or `O`; seqeval sees the same entities in both.

    scheme: given where the tags are known to have prefixes, which the set `O E-MAIL` does not show. vocabulary: all
    tags there are, occurring or not. Raises InputError for a tag without prefix, which may be a word of a column that is
    none of tags; a vocabulary may be of bare labels.
    """
    found = {tag for one in sentences for side in (one.gold, one.predicted) for tag in side}.union(vocabulary)
    told = TagScheme.of(found)
    if scheme not in (None, "IO") and told.name == "unprefixed":
        told = TagScheme.named(str(scheme))
    if not (vocabulary and told.name == "unprefixed"):
        _check_prefixes(format, sentences, {tag for tag in found if not is_outside(tag) and told.split(tag)[1] == tag})
    table = {tag: told.spelled(tag) for tag in found}
    spelled = [
        replace(one, gold=tuple(map(table.__getitem__, one.gold)), predicted=tuple(map(table.__getitem__, one.predicted)))
        for one in sentences
    ]
    return TagRun(format, tuple(spelled), sha256, tuple(skipped))


def _check_prefixes(format: str, sentences: Sequence[TagSentence], bare: set[str]) -> None:
    for one in sentences if bare else ():
        for side, tags in (("gold", one.gold), ("predicted", one.predicted)):
            place = next((place for place, tag in enumerate(tags, start=1) if tag in bare), None)
            if place is not None:
                what = f"the {side} tag of token {place} is neither O nor a label with a prefix (B-, I-, …)"
                raise InputError(
                    format, what, document=one.ordinal, remedy="is that column the tag's? bare labels are scored as spans"
                )
