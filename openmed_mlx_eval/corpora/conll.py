"""CoNLL: a token a line, the tag in its last column, an empty line after each sentence. Sentence = document.

The file holds no text, so it is rebuilt: tokens joined by one space, or by nothing after `SpaceAfter=No`.
Columns are parted by tabs if most lines have one, else by spaces. Tag schemes are `tags.py`'s; scores are
read elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..tags import TagScheme, is_outside, spans_of_tags
from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, text_of

DOCSTART = "-DOCSTART-"
NO_SPACE = "SpaceAfter=No"
MOST_COLUMNS = 4

_HEADERS = (
    {"token", "tokens", "word", "words", "text", "form"},
    {"tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "entity", "iob", "bio", "gold", "pred", "prediction"},
)
"""What a table's first line calls the token's and the tag's column."""

_COMMENT = re.compile(r"# ?(?:(?:newdoc|newpar|id|sent_id|text|global\.columns)\b|[\w.:-]+ *=)")
_MISC = re.compile(r"_|(?:[^|=]+=[^|]*\|)*SpaceAfter=(?:No|Yes)(?:\|[^|=]+=[^|]*)*")

Row: TypeAlias = tuple[int, list[str]]
"""A line's number and its columns."""
_Dialect: TypeAlias = tuple[Callable[[str], list[str]], Callable[[str], bool]]
"""How to divide a line into columns, and whether a line is a comment."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The token's column, the columns of a line without the miscellaneous one, and whether there is that."""

    token: int
    width: int
    misc: bool


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence as written: each line's (token, whether a space follows), its tag, its number in the file."""

    tokens: tuple[tuple[str, bool], ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...]


def read(source: Source) -> Iterator[Made]:
    """The sentences of one file, read under the one scheme that all its tags show."""
    made = tagged_sentences(text_of(source.data or b""))
    scheme = scheme_of({tag for one in made if not isinstance(one, Fault) for tag in one.tags})
    for one in made:
        yield one if isinstance(one, Fault) else _draft(one, scheme)


def tagged_sentences(text: str) -> list[TaggedSentence | Fault]:
    """The sentences of a file with one column of tags. Raises Fault for a file of another layout."""
    sentences = rows_of_sentences(text)
    if not sentences:
        return []
    layout = _layout(sentences)
    return [attempt(_tagged, sentence, layout) for sentence in sentences]


def rows_of_sentences(text: str) -> list[list[Row]]:
    """Runs of token lines, without one that names the columns. U+2028 and the like are part of a token, so only \\n and \\t
    or a space divide.
    """
    numbered = [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), start=1)]
    filled = [(number, line) for number, line in numbered if line.strip(" \t\r")]
    divide, is_comment = _dialect([line for _, line in filled if not line.startswith(DOCSTART)])
    sentences: list[list[Row]] = [[]]
    for number, line in numbered:
        if not line.strip(" \t\r") or line.startswith(DOCSTART):
            sentences.append([])
        elif not is_comment(line):
            sentences[-1].append((number, divide(line)))
    sentences = [sentence for sentence in sentences if sentence]
    if sentences and _names_columns(sentences[0][0][1]):
        del sentences[0][0]
    return [sentence for sentence in sentences if sentence]


def _names_columns(columns: Sequence[str]) -> bool:
    """Whether a file's first line is a table's header: read as a token, it would be an entity that nobody annotated."""
    tokens, tags = _HEADERS
    return len(columns) > 1 and columns[0].lower() in tokens and columns[-1].lower() in tags


def _dialect(lines: Sequence[str]) -> _Dialect:
    """How to divide lines and which are comments.

    In a file of tabs a comment has a `#` and no tab; in one of spaces, where `# O` is a token, comments are
    believed in only if the first line is one that CoNLL-U has, and only where they look like one.
    """
    conllu = bool(lines) and _COMMENT.match(lines[0]) is not None
    tokens = [line for line in lines if not (line.startswith("#") and "\t" not in line)]
    if sum("\t" in line for line in tokens) * 2 > len(tokens):
        return (
            _by_tabs,
            lambda line: line.startswith("#") and ("\t" not in line or (conllu and line[1:2] == " ")),
        )
    return _by_spaces, lambda line: conllu and _COMMENT.match(line) is not None


def _by_tabs(line: str) -> list[str]:
    return [column.strip(" ") or column for column in line.rstrip("\t ").split("\t")]


def _by_spaces(line: str) -> list[str]:
    return re.split(r"[ \t]+", line.strip(" \t"))


def _layout(sentences: Sequence[Sequence[Row]]) -> _Layout:
    """Read from all lines at once. Raises Fault for a file of more columns than the format has."""
    rows = [columns for sentence in sentences for _, columns in sentence]
    wide = [columns[-1] for columns in rows if len(columns) > 2]
    misc = bool(wide) and (all(_MISC.fullmatch(last) for last in wide) or any(_MISC.fullmatch(x) and x != "_" for x in wide))
    widths = [len(columns) - _has_misc(columns, misc) for columns in rows]
    width = Counter(widths).most_common(1)[0][0]
    if width + misc > MOST_COLUMNS:
        raise Fault(
            f"{width + misc} columns, where token, two more and tag are understood",
            "keep the token's and the tag's column, e.g. with cut -f",
            line=sentences[0][0][0],
        )
    counted = width > 2 and any(len(s) > 2 for s in sentences) and all(_is_counted(s) for s in sentences)
    words_follow = not all(_MISC.fullmatch(columns[1]) for columns in rows if len(columns) > 2)
    return _Layout(int(counted and words_follow), width, misc)


def _has_misc(columns: Sequence[str], misc: bool) -> bool:
    return misc and len(columns) > 2 and _MISC.fullmatch(columns[-1]) is not None


def _is_counted(sentence: Sequence[Row]) -> bool:
    """Whether the first column counts the tokens, as in CoNLL-U and GermEval: the second is the token's."""
    return all(columns[0] == str(n) for n, (_, columns) in enumerate(sentence, start=1))


def scheme_of(tags: set[str]) -> TagScheme:
    """Raises Fault where the column is more likely words or parts of speech than entity tags."""
    scheme = TagScheme.of(tags)
    if scheme.name == "unprefixed" and any(" " in tag for tag in tags):
        raise Fault("tags of the last column hold spaces", "is the last column the tag's?")
    if scheme.name == "unprefixed" and len(tags) > 3 and not any(map(is_outside, tags)):
        raise Fault("no tag of the last column marks a token outside", "is the last column the tag's?")
    return scheme


def _tagged(sentence: Sequence[Row], layout: _Layout) -> TaggedSentence:
    """Raises Fault for a line of another shape."""
    tokens, tags = [], []
    for number, columns in sentence:
        has_misc = _has_misc(columns, layout.misc)
        if len(columns) < 2:
            raise Fault("a line of one column: a token without tag", "write token and tag", line=number)
        if len(columns) - has_misc != layout.width:
            what = f"{len(columns)} columns, where most lines of the file have {layout.width + layout.misc}"
            raise Fault(what, "part columns by one tab each; a token may then hold spaces", line=number)
        token = columns[layout.token]
        if not token:
            raise Fault("an empty token", "the first column holds the token", line=number)
        joined = any(NO_SPACE in column.split("|") for column in columns[layout.token + 1 :])
        tokens.append((token, not joined))
        tags.append(columns[-2] if has_misc else columns[-1])
    return TaggedSentence(tuple(tokens), tuple(tags), tuple(number for number, _ in sentence))


def rebuilt(tokens: Sequence[tuple[str, bool]]) -> tuple[str, list[tuple[int, int]]]:
    """The text of (token, whether a space follows), and the half-open offsets of each token in it."""
    bounds: list[tuple[int, int]] = []
    parts: list[str] = []
    position = 0
    for token, spaced in tokens:
        bounds.append((position, position + len(token)))
        parts += [token, " " if spaced else ""]
        position += len(token) + spaced
    return "".join(parts[:-1]), bounds


def _draft(sentence: TaggedSentence, scheme: TagScheme) -> Draft:
    text, bounds = rebuilt(sentence.tokens)
    mentions = tuple(
        Mention(label, ((bounds[first][0], bounds[last - 1][1]),), line=sentence.lines[first])
        for first, last, label in spans_of_tags(sentence.tags, scheme)
    )
    return Draft(None, text, mentions, line=sentence.lines[0])
