"""Which characters of one text are those of another that is nearly the same.

Words first: runs of four, then words, that occur once in both texts are anchors (patience diff, B. Cohen), and between anchors
the shortest edit script is sought (E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1986) up to a
bound; then the characters of what is left, where they are alike. Time is near to linear for texts that are nearly the same, and
bounded for others.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, count, pairwise
from operator import lt, ne

Block = tuple[int, int, int]
"""a[i : i + n] is b[j : j + n], as (i, j, n)."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 4
_SMALL = 16
"""Words on both sides for which anchors cost more than the shortest script itself."""
_MOST_EDITS = 128
_ALIKE = 0.6
"""A replaced word has about 0.45 of its letters in common with another by chance."""


def folded(text: str) -> str:
    """Case-folded, character by character, so that offsets stay."""
    whole = text.casefold()
    return whole if len(whole) == len(text) else "".join(c if len(c.casefold()) != 1 else c.casefold() for c in text)


@dataclass(frozen=True, slots=True)
class Matching:
    """Runs of equal characters of two texts, white space not counted, in order and as long as they can be.

    a, b: where each run begins in either; n: its length; before: how many characters match before it.
    length_a, length_b: of the texts.
    """

    a: Sequence[int]
    b: Sequence[int]
    n: Sequence[int]
    before: Sequence[int]
    length_a: int
    length_b: int

    @classmethod
    def of(cls, blocks: Iterable[Block], length_a: int, length_b: int) -> Matching:
        runs: list[list[int]] = []
        for i, j, n in blocks:
            if runs and (i, j) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
                runs[-1][2] += n
            elif n:
                runs.append([i, j, n])
        sizes = [n for _, _, n in runs]
        counts = list(accumulate(sizes, initial=0))
        return cls([i for i, _, _ in runs], [j for _, j, _ in runs], sizes, counts, length_a, length_b)

    @property
    def size(self) -> int:
        return self.before[-1]

    @property
    def end_b(self) -> int:
        """Where the last match ends in b."""
        return self.b[-1] + self.n[-1] if self.b else 0

    def count(self, start: int, end: int) -> int:
        """How many of a's characters start … end-1 match."""
        return self._before(end) - self._before(start)

    def _before(self, place: int) -> int:
        run = bisect_right(self.a, place) - 1
        return 0 if run < 0 else self.before[run] + min(place - self.a[run], self.n[run])

    def at_or_after(self, place: int) -> tuple[int, int]:
        """The first match from that character of a on, as (character of a, of b); the ends of both where there is none."""
        run = bisect_right(self.a, place) - 1
        if run >= 0 and place < self.a[run] + self.n[run]:
            return place, self.b[run] + place - self.a[run]
        return (self.a[run + 1], self.b[run + 1]) if run + 1 < len(self.a) else (self.length_a, self.length_b)

    def last_before(self, place: int) -> tuple[int, int]:
        """The last match before that character of a; (-1, -1) where there is none."""
        run = bisect_left(self.a, place) - 1
        if run < 0:
            return -1, -1
        offset = min(place - self.a[run], self.n[run]) - 1
        return self.a[run] + offset, self.b[run] + offset

    def has_b(self, place: int) -> bool:
        """Whether that character of b has a match."""
        run = bisect_right(self.b, place) - 1
        return run >= 0 and place < self.b[run] + self.n[run]


def character_matches(a: str, b: str) -> Matching:
    """The characters of `a` and `b` that are each other's, case not counted."""
    return matches_in_place("".join(folded(a).split()), "".join(folded(b).split())) or _matches_by_words(a, b)


def matches_in_place(a: str, b: str) -> Matching | None:
    """What matches where only single characters, or two together, were put for as many others; None for other texts."""
    if len(a) != len(b):
        return None
    other = list(compress(count(), map(ne, a, b)))
    if any(third - first == 2 for first, third in zip(other, other[2:], strict=False)):
        return None
    ends = [-1, *other, len(a)]
    return Matching.of(((i + 1, i + 1, j - i - 1) for i, j in pairwise(ends)), len(a), len(b))


def _matches_by_words(a: str, b: str) -> Matching:
    words_a, words_b = _WORDS.findall(folded(a)), _WORDS.findall(folded(b))
    starts_a, starts_b = (list(accumulate(map(len, words), initial=0)) for words in (words_a, words_b))
    joined_a, joined_b = "".join(words_a), "".join(words_b)
    found: list[Block] = []
    last_i = last_j = 0
    for i, j, n in (*word_blocks(words_a, words_b), (len(words_a), len(words_b), 0)):
        a0, a1, b0, b1 = starts_a[last_i], starts_a[i], starts_b[last_j], starts_b[j]
        found += [(a0 + x, b0 + y, length) for x, y, length in alike_blocks(joined_a[a0:a1], joined_b[b0:b1])]
        found.append((a1, b1, starts_a[i + n] - a1))
        last_i, last_j = i + n, j + n
    return Matching.of(found, len(joined_a), len(joined_b))


def word_blocks(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """Runs of equal words, in order."""
    blocks: list[Block] = []
    todo = [(0, len(a), 0, len(b))]
    while todo:
        i, i_end, j, j_end = todo.pop()
        head = _common(a, b, i, i_end, j, j_end)
        if head:
            blocks.append((i, j, head))
        i, j = i + head, j + head
        while i_end > i and j_end > j and a[i_end - 1] == b[j_end - 1]:
            tail = 1
            while i_end - tail > i and j_end - tail > j and a[i_end - tail - 1] == b[j_end - tail - 1]:
                tail += 1
            i_end, j_end = i_end - tail, j_end - tail
            blocks.append((i_end, j_end, tail))
        if i == i_end or j == j_end:
            continue
        small = min(i_end - i, j_end - j) == 1 or i_end - i + j_end - j <= _SMALL
        anchors = [] if small else _anchors(a[i:i_end], b[j:j_end])
        if not anchors:
            blocks += [(i + x, j + y, n) for x, y, n in edit_blocks(a[i:i_end], b[j:j_end], _MOST_EDITS)]
            continue
        first = {*anchors}  # an anchor is the head of the next piece; one right after another is found from that
        starts = [(i, j), *((i + x, j + y) for x, y in anchors if (x - 1, y - 1) not in first)]
        todo += [(x, x_end, y, y_end) for (x, y), (x_end, y_end) in zip(starts, [*starts[1:], (i_end, j_end)], strict=True)]
    return sorted(blocks)


def _common(a: Sequence[str], b: Sequence[str], i: int, i_end: int, j: int, j_end: int) -> int:
    n = 0
    while i + n < i_end and j + n < j_end and a[i + n] == b[j + n]:
        n += 1
    return n


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of equal items that occur once in either, in the longest order that both share: of runs of words, else of words."""
    if min(len(a), len(b)) > 2 * _SHINGLE:
        runs_a, runs_b = (list(zip(*(words[n:] for n in range(_SHINGLE)), strict=False)) for words in (a, b))
        anchors = _longest_order(_unique_pairs(runs_a, runs_b))
        if anchors:
            return anchors
    return _longest_order(_unique_pairs(a, b))


def _unique_pairs(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    counts_a, counts_b = Counter(a), Counter(b)
    places = {item: y for y, item in enumerate(b) if counts_b[item] == 1}
    return [(x, places[item]) for x, item in enumerate(a) if item in places and counts_a[item] == 1]


def _longest_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest increasing subsequence by the second number, of pairs in order of the first."""
    places = [place for _, place in pairs]
    if all(map(lt, places, places[1:])):
        return list(pairs)
    ends: list[int] = []
    ending: list[int] = []
    before: list[int] = []
    for number, (_, y) in enumerate(pairs):
        at = bisect_left(ends, y)
        before.append(ending[at - 1] if at else -1)
        ends[at : at + 1], ending[at : at + 1] = [y], [number]
    chain = []
    number = ending[-1] if ending else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def alike_blocks(a: str, b: str) -> list[Block]:
    """Runs of equal characters of two pieces, none if they are not alike (2 · equal / both lengths below 0.6)."""
    if not a or not b:
        return []
    return list(edit_blocks(a, b, min(2 * _MOST_EDITS, int((1 - _ALIKE) * (len(a) + len(b))))))


def edit_blocks(a: Sequence[str], b: Sequence[str], most: int) -> Iterator[Block]:
    """Runs of equal items in a shortest script of insertions and deletions; none if it has more than `most`."""
    n, m = len(a), len(b)
    if n == m == 1:
        if a[0] == b[0]:
            yield 0, 0, 1
        return
    furthest = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(most, n + m) + 1):
        trail.append(dict(furthest))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < n and x - k < m and x - k >= 0 and a[x] == b[x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                yield from reversed(list(_walked_back(trail, n, m)))
                return


def _walked_back(trail: Sequence[dict[int, int]], x: int, y: int) -> Iterator[Block]:
    for edits in range(len(trail) - 1, -1, -1):
        furthest, k = trail[edits], x - y
        down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        from_x = furthest[before]
        start_x = from_x if down else from_x + 1
        if edits == 0:
            start_x = 0
        if x > start_x:
            yield start_x, start_x - k, x - start_x
        x, y = from_x, from_x - before
