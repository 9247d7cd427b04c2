"""The ids that a corpus has had so far, sixteen bytes each: a dictionary of a million strings would outweigh all else."""

from __future__ import annotations

from array import array


class SeenIds:
    """Which document first had an id. Ids are told apart by a 64-bit hash: of a million, two fall together in one corpus of
    some thirty million."""

    def __init__(self) -> None:
        self._hashes = array("Q", bytes(8 * 1024))  # 0 is an empty place
        self._ordinals = array("Q", bytes(8 * 1024))
        self._filled = 0

    def ordinal_of(self, name: str) -> int | None:
        """The ordinal of the document that has this id; None where none has."""
        place = self._place(_key(name))
        return self._ordinals[place] if self._hashes[place] else None

    def add(self, name: str, ordinal: int) -> None:
        """The document has this id; the last that is said of an id is what counts."""
        if 2 * self._filled >= len(self._hashes):
            self._grow()
        key = _key(name)
        place = self._place(key)
        self._filled += not self._hashes[place]
        self._hashes[place], self._ordinals[place] = key, ordinal

    def _place(self, key: int) -> int:
        """Where the key is, or the empty place where it would be."""
        hashes, last = self._hashes, len(self._hashes) - 1
        place = key & last
        while hashes[place] and hashes[place] != key:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        before = self._hashes, self._ordinals
        size = 8 * 2 * len(self._hashes)
        self._hashes, self._ordinals = array("Q", bytes(size)), array("Q", bytes(size))
        for key, ordinal in zip(*before, strict=True):
            if key:
                place = self._place(key)
                self._hashes[place], self._ordinals[place] = key, ordinal


def _key(name: str) -> int:
    return hash(name) & ((1 << 64) - 1) or 1
