"""Tag ids in numpy archives, as a trainer has them in hand, and the names of the ids: to a TagRun.

An archive is a zip of .npy files. Each is checked by its header before it is unpacked (integers, one or two
dimensions, as many bytes as it says), and nothing in it is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .corpora.draft import Fault
from .corpora.source import decoded, sources_of
from .errors import InputError, UsageError
from .tag_runs import TagRun, TagSentence, run_of
from .tags import is_outside

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FORMAT, NAMES = "npz", "tag names"
IGNORED = -100
"""The gold id of a position that is no token: padding, or the later pieces of a word (PyTorch's ignore_index)."""

GOLD_KEYS = ("gold", "labels", "label_ids", "targets", "y_true", "tags")
PREDICTED_KEYS = ("predicted", "predictions", "preds", "y_pred")
MASK_KEYS = ("mask", "attention_mask")
LENGTH_KEYS = ("lengths",)

MOST_BYTES = 1 << 32
"""Unpacked, of one archive: 500 million int64 ids. A zip of a few kilobytes can claim more."""


def load_arrays(gold: str | Path, predictions: str | Path | None, names: str | Path, scheme: str | None = None) -> TagRun:
    """Gold and predicted tag ids; the sentences are the rows, and have no tokens.

    gold, predictions: .npz archives, or one for both under the keys of GOLD_KEYS and PREDICTED_KEYS; where there
    are two, an archive's only array will do under any key. Arrays are integers [sentences, positions], of which
    those with gold IGNORED, a `mask` of 0 or beyond `lengths` are no tokens; or [tokens] with `lengths` that
    divide them. names: JSON, ["O", "B-DRUG"], {"0": "O"} or {"O": 0}. scheme: as in `run_of`.

    Raises UsageError for a path that is not there, InputError for anything else that is not so.
    """
    tag_names = load_tag_names(names)
    first = _opened(gold, 1)
    second = first if predictions is None else _opened(predictions, 2)
    ids = (
        first.needed(GOLD_KEYS, "gold", alone=second is not first),
        second.needed(PREDICTED_KEYS, "predictions", alone=second is not first),
    )
    if ids[0].shape != ids[1].shape:
        raise InputError(FORMAT, "gold and predictions of different shapes", remedy="pad both alike, one id a position")
    rows = _rows(*ids, _agreed(first, second, MASK_KEYS, "biu"), _agreed(first, second, LENGTH_KEYS, "iu"))
    sentences = [
        TagSentence(ordinal, _named(one, tag_names, "gold", ordinal), _named(other, tag_names, "predicted", ordinal))
        for ordinal, (one, other) in enumerate(rows, start=1)
    ]
    return run_of(FORMAT, sentences, first.sha256, scheme, vocabulary=tag_names.values())


def _rows(gold: Array, predicted: Array, mask: Array | None, lengths: Array | None) -> Iterator[tuple[Array, Array]]:
    """Each sentence's gold and predicted ids, without the positions that are no tokens."""
    import numpy as np

    if mask is not None and mask.shape != gold.shape:
        raise InputError(FORMAT, "a mask of another shape than the ids", remedy="one 0 or 1 a position")
    keep = gold != IGNORED if mask is None else (gold != IGNORED) & (mask != 0)
    counts = None if lengths is None else lengths.tolist() if lengths.ndim == 1 else [-1]
    if gold.ndim == 1:
        if counts is None or min(counts, default=0) < 0 or sum(counts) != len(gold):
            what = "ids in one dimension, without lengths that add up to their number"
            raise InputError(FORMAT, what, remedy=f"add an array {LENGTH_KEYS[0]}: the tokens of each sentence")
        ends = list(accumulate(counts))
        pieces: list[Any] = [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]
    else:
        if counts is not None:
            if len(counts) != len(gold) or not all(0 <= count <= gold.shape[1] for count in counts):
                raise InputError(FORMAT, "lengths that do not fit the ids", remedy="one a row, none longer than the row")
            keep &= np.arange(gold.shape[1]) < np.array(counts, dtype=np.int64)[:, None]
        pieces = list(range(len(gold)))
    for piece in pieces:
        yield gold[piece][keep[piece]], predicted[piece][keep[piece]]


def _named(ids: Array, names: Mapping[int, str], side: str, sentence: int) -> tuple[str, ...]:
    try:
        return tuple(map(names.__getitem__, ids.tolist()))
    except KeyError:
        pass
    place = next(place for place, number in enumerate(ids.tolist(), start=1) if number not in names)
    raise InputError(FORMAT, f"the {side} id of token {place} has no name", document=sentence, remedy=_NAMES)


@dataclass(frozen=True, slots=True)
class _Archive:
    """One file. number: 1 for gold, 2 for predictions. members: what is in it, by name without .npy."""

    number: int
    sha256: str
    zip: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]

    def needed(self, keys: Sequence[str], side: str, *, alone: bool) -> Array:
        """The tag ids of a side. alone: the archive holds no other side, so that its only array must be they."""
        ids = self.found(keys, "iu")
        if ids is None and alone:
            rest = [name for name in self.members if name not in (*MASK_KEYS, *LENGTH_KEYS)]
            ids = self.found(rest, "iu") if len(rest) == 1 else None
        if ids is None:
            raise self.error(f"no array of {side}", f"name it {keys[0]}")
        if ids.ndim not in (1, 2):
            raise self.error(f"{side} of {ids.ndim} dimensions", "give ids [sentences, positions]; of logits take the argmax")
        return ids

    def found(self, keys: Sequence[str], kinds: str) -> Array | None:
        """The array under the first of these names that is there. kinds: numpy's letters for the types it may have."""
        name = next((key for key in keys if key in self.members), None)
        return None if name is None else self._loaded(self.members[name], kinds)

    def _loaded(self, member: zipfile.ZipInfo, kinds: str) -> Array:
        import numpy as np

        if member.file_size > MOST_BYTES:
            raise self.error("an array of more than 4 GiB", "divide the corpus")
        kind = ""
        try:
            with self.zip.open(member) as file:
                version = np.lib.format.read_magic(file)
                header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = header(file)
                kind, size = dtype.kind, member.file_size - file.tell()
            if kind in kinds and min(shape, default=0) >= 0 and math.prod(shape) * dtype.itemsize == size:
                with self.zip.open(member) as file:
                    loaded: Array = np.lib.format.read_array(file, allow_pickle=False)
                return loaded
        except Exception:  # zipfile, zlib and numpy raise a dozen kinds for a damaged file, and quote it
            pass
        if kind and kind not in kinds:
            raise self.error("an array of something else than integers", "give tag ids; of logits take the argmax")
        raise self.error("a damaged array", _SAVE)

    def error(self, what: str, remedy: str) -> InputError:
        return InputError(FORMAT, what, file=self.number, remedy=remedy)


_SAVE = "write the archive with numpy.savez"


def _opened(path: str | Path, number: int) -> _Archive:
    try:
        sources = sources_of(path, (".npz",), False)
    except Fault as fault:
        raise fault.at(FORMAT, number) from None
    data = sources[0].data or b""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    except Exception:
        raise InputError(FORMAT, "not a numpy archive, or a damaged one", file=number, remedy=_SAVE) from None
    return _Archive(number, hashlib.sha256(data).hexdigest(), archive, members)


def _agreed(first: _Archive, second: _Archive, keys: Sequence[str], kinds: str) -> Array | None:
    """The mask or the lengths, which either archive may hold. Raises InputError where both do and they differ."""
    one = first.found(keys, kinds)
    other = one if second is first else second.found(keys, kinds)
    if one is None or other is None or one is other:
        return other if one is None else one
    if one.shape != other.shape or (one != other).any():
        raise second.error(f"{keys[0]} other than the gold's", "the tokens of both must be the same")
    return one


def load_tag_names(path: str | Path) -> dict[int, str]:
    """{id: tag}. Raises UsageError for a file that is not there, InputError for one that does not name tags."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        raise UsageError("--tag-names: no file that can be read there") from None
    try:
        value = json.loads(decoded(data))
    except Fault as fault:
        raise fault.at(NAMES, None) from None
    except (ValueError, RecursionError):
        raise InputError(NAMES, "not valid JSON", remedy=_NAMES) from None
    if isinstance(value, dict) and isinstance(value.get("id2label"), dict):
        value = value["id2label"]  # a model's config.json
    pairs = list(enumerate(value)) if isinstance(value, list) else _pairs(value)
    table = {number: name for number, name in pairs if isinstance(name, str)}
    if not table or len(table) != len(pairs):
        raise InputError(NAMES, "not one tag for each id", remedy=_NAMES)
    if not any(map(is_outside, table.values())):
        raise InputError(NAMES, "no tag marks a token outside (O)", remedy=_NAMES)
    return table


_NAMES = 'name each id: ["O", "B-DRUG", …], {"0": "O", …} or {"O": 0, …}'


def _pairs(value: Any) -> list[tuple[int, Any]]:
    """The (id, tag) of an object with ids for keys, or for values; empty for what is none."""
    items = list(value.items()) if isinstance(value, dict) else []
    if all(type(number) is int for _, number in items):
        items = [(str(number), name) for name, number in items]
    if not all(key.isascii() and key.isdigit() and len(key) < 10 for key, _ in items):
        return []
    return [(int(key), name) for key, name in items]
