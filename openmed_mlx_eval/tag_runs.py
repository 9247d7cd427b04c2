"""TagRun: gold and predicted tags of the same tokens, however they were written down, in one spelling.

`tag_files` and `tag_arrays` read them, `tag_evaluation` scores them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


def spelling(tags: Iterable[str], format: str, scheme: str | None = None) -> Callable[[Iterable[str]], Tags]:
    """What writes tags of this set as `B-NAME` or `O`.

    On tags that seqeval understands it changes no entity. scheme: given where the tags are known to have prefixes,
    which the set `O E-MAIL` does not show; raises InputError if one of them has none after all.
    """
    found = set(tags)
    told = TagScheme.of(found)
    if scheme is not None and told.name == "unprefixed":
        told = TagScheme.named(scheme)
        if any(told.split(tag)[1] == tag for tag in found if not is_outside(tag)):
            raise InputError(format, "a tag without prefix", remedy="leave --scheme out if the tags are bare labels")
    table = {tag: told.spelled(tag) for tag in found}
    return lambda sentence: tuple(map(table.__getitem__, sentence))


def run_of(
    format: str,
    sentences: Sequence[TagSentence],
    sha256: str,
    scheme: str | None,
    *,
    skipped: Sequence[InputError] = (),
    vocabulary: Iterable[str] = (),
) -> TagRun:
    """The run of these sentences, their tags spelled alike. vocabulary: tags beside those that occur."""
    occurring = (tag for one in sentences for side in (one.gold, one.predicted) for tag in side)
    spelled = spelling({*occurring, *vocabulary}, format, scheme)
    rewritten = tuple(replace(one, gold=spelled(one.gold), predicted=spelled(one.predicted)) for one in sentences)
    return TagRun(format, rewritten, sha256, tuple(skipped))
