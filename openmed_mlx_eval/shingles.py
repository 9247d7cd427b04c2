"""Near-duplicates by shingles: which documents are, in good part, word for word among other texts.

A shingle is a run of five words; a text is the set of its shingles (Broder 1997, "On the resemblance and containment of
documents"; the threshold of one half is that of Broder et al. 1997, "Syntactic clustering of the web"). Another text
counts for a document if at least half of the shorter one's shingles, and five of them, are in both. A document is a
near-duplicate if the texts that count for it hold at least half of its shingles together: a changed copy, a part of a
longer text, or a note whose sentences lie in many rows. With other names and dates put in, a note usually still is one;
two notes that share headings and phrases are not.

Memory is that of the documents' shingles in an inverted index; the other texts come one at a time. What many documents
share – headings, phrases – is looked up only where the rest alone leaves the answer open, so that it does not cost the
product of all documents with all texts. Words are hashed to 64 bits: with ten million shingles on either side, two
unlike ones meet with a chance of five in a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .words import words

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

WORDS = 5
SHARE = 0.5
LEAST = 5
"""Shared shingles below which nothing is said: a text of less than nine words is nobody's near-duplicate."""

_COMMON = 50
"""Documents that may have a shingle before it counts as common. Changes the time, never the result."""

_MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that a word's place in a shingle counts and none of its bits is lost


def near_duplicates(documents: Sequence[str], others: Iterable[str]) -> list[bool]:
    """For each document, whether it is a near-duplicate among the other texts. Case and Unicode form must be alike."""
    found = [False] * len(documents)
    index = _Index.of([shingles(text) for text in documents])
    for text in others:
        if not index.left:
            break
        for number in index.found_in(shingles(text)):
            found[number] = True
        if 2 * index.left < len(index.numbers):
            index = index.of_the_rest()
    return found


def shingles(text: str) -> Array:
    """The distinct shingles of a text: sorted 64-bit hashes, comparable within this process. None in a shorter text."""
    import numpy as np

    hashes = np.fromiter(map(hash, words(text)), dtype=np.int64).view(np.uint64)
    count = len(hashes) - WORDS + 1
    if count < 1:
        return np.empty(0, dtype=np.uint64)
    mixed = np.zeros(count, dtype=np.uint64)
    for place in range(WORDS):
        mixed = mixed * np.uint64(_MULTIPLIER) + hashes[place : place + count]
    return np.unique(mixed)


@dataclass(slots=True)
class _Index:
    """Shingle → the documents that have it, and what of each document was found so far.

    Entries are (document, shingle), document by document. owner: the document of each entry. covered: whether its
    shingle was in a text that counts. keys: the distinct shingles, ascending; entries[starts[k]:starts[k + 1]] are those
    of keys[k]. sizes, common, held: entries of each document, those of a common shingle, the covered ones. open:
    documents not yet found. numbers: what the caller calls them. left: how many are open.
    """

    owner: Array
    covered: Array
    keys: Array
    starts: Array
    entries: Array
    sizes: Array
    common: Array
    held: Array
    open: Array
    numbers: Array
    left: int

    @classmethod
    def of(cls, documents: Sequence[Array]) -> _Index:
        import numpy as np

        able = [number for number, hashes in enumerate(documents) if len(hashes) >= LEAST]
        sizes = np.array([len(documents[number]) for number in able], dtype=np.int64)
        hashes = np.concatenate([documents[number] for number in able]) if able else np.empty(0, dtype=np.uint64)
        return cls._built(hashes, sizes, np.zeros(len(hashes), dtype=bool), np.array(able, dtype=np.int64))

    @classmethod
    def _built(cls, hashes: Array, sizes: Array, covered: Array, numbers: Array) -> _Index:
        import numpy as np

        owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        entries = np.argsort(hashes, kind="stable").astype(np.int32)
        keys, first = np.unique(hashes[entries], return_index=True)
        starts = np.append(first, len(hashes))
        spread = np.diff(starts)
        common = np.bincount(owner[entries[np.repeat(spread > _COMMON, spread)]], minlength=len(sizes))
        held = np.bincount(owner[covered], minlength=len(sizes))
        is_open = np.ones(len(sizes), dtype=bool)
        return cls(owner, covered, keys, starts, entries, sizes, common, held, is_open, numbers, len(sizes))

    def found_in(self, text: Array) -> list[int]:
        """The numbers of the documents that are near-duplicates now that this text's shingles are known, too."""
        import numpy as np

        if len(text) < LEAST:
            return []
        at = np.searchsorted(self.keys, text)
        at = at[self.keys[np.minimum(at, len(self.keys) - 1)] == text]
        if len(at) < LEAST:
            return []
        needed = _needed(np.minimum(self.sizes, len(text)))
        rare = at[self.starts[at + 1] - self.starts[at] <= _COMMON]
        at_most = self._shared(rare)[2] + np.minimum(self.common, len(at) - len(rare))
        if not (self.open & (at_most >= needed)).any():
            return []
        entries, owner, shared = self._shared(at)
        counts = self.open & (shared >= needed)
        new = entries[counts[owner] & ~self.covered[entries]]
        self.covered[new] = True
        self.held += np.bincount(self.owner[new], minlength=len(self.sizes))
        found = counts & (self.held >= _needed(self.sizes))
        self.open &= ~found
        self.left -= int(found.sum())
        numbers: list[int] = self.numbers[found].tolist()
        return numbers

    def _shared(self, keys: Array) -> tuple[Array, Array, Array]:
        """(the entries of these keys, the document of each, how many each document has)."""
        import numpy as np

        entries = self.entries[_ranges(self.starts[keys], self.starts[keys + 1])]
        owner = self.owner[entries]
        return entries, owner, np.bincount(owner, minlength=len(self.sizes))

    def of_the_rest(self) -> _Index:
        """The same without the documents found: what they share with every text would be counted in vain."""
        import numpy as np

        hashes = np.empty(len(self.entries), dtype=np.uint64)
        hashes[self.entries] = np.repeat(self.keys, np.diff(self.starts))
        rest = self.open[self.owner]
        return self._built(hashes[rest], self.sizes[self.open], self.covered[rest], self.numbers[self.open])


def _needed(shingles: Array) -> Array:
    """How many of so many shingles make at least a half, and five."""
    import numpy as np

    return np.maximum(LEAST, np.ceil(SHARE * shingles))


def _ranges(starts: Array, ends: Array) -> Array:
    """The whole numbers of each half-open range, one range after the other."""
    import numpy as np

    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places: Array = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return places
