"""Mutations of files for long fuzzing: made from a `random.Random`, so that a number says which case it was.

Bytes are flipped, cut out, doubled, multiplied, cut short, overwritten with what means something in some format, and
replaced by pieces of other files; lines change places; values of JSON are dropped, doubled, swapped or made strange.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from test_fuzz import MEANINGFUL
from test_fuzz_exports import STRANGE

MOST_BYTES = 100_000
MOST_DRAWN = 12

WORDS = [
    *MEANINGFUL,
    b" ",
    b"0",
    b"-",
    b"||t=",
    b'c="',
    b"1:0",
    b"T9\t",
    b"B-",
    b"O\n",
    b"#Text=",
    b"#T_SP=",
    b"*[1]",
    b"_",
    b"|a|",
]
WORDS += [
    b"<TEXT>",
    b"</TEXT>",
    b"<PHI",
    b"<RECORD>",
    b"<![CDATA[",
    b"&amp;",
    b'"spans":',
    b'"label":',
    b"{}",
    b"[]",
    b",",
    b"\\",
]
WORDS += [
    "🩺".encode(),
    "I\u0307".encode(),
    "\u00a0".encode(),
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3",
    b"PAR1",
    b"1.5",
]


def mutated(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The file after one to four changes, cut at MOST_BYTES. others: files that pieces are taken from."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        data = random.choice(_CHANGES)(random, data, others)[:MOST_BYTES]
    return data


def _piece(random: Random, data: bytes) -> tuple[int, int]:
    """A slice of it: short ones most often, any length now and then."""
    start = random.randint(0, len(data))
    longest = len(data) - start if random.random() < 0.2 else min(len(data) - start, MOST_DRAWN)
    return start, start + random.randint(0, longest)


def _flipped(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _flip in range(random.randint(1, 4) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _without(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _piece(random, data)
    return data[:start] + data[end:]


def _repeated(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _piece(random, data)
    times = random.choice((2, 2, 2, 3, 20, 1 + MOST_BYTES // max(1, end - start) // random.randint(1, 20)))
    return data[:start] + data[start:end] * times + data[end:]


def _cut_short(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: random.randint(0, len(data))]


def _with_word(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _piece(random, data)
    word = random.choice(WORDS) if random.random() < 0.8 else random.randbytes(random.randint(1, 4))
    return data[:start] + word + data[random.choice((start, end)) :]


def _spliced(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = random.choice([*others, data])
    start, end = _piece(random, data)
    begin, stop = _piece(random, other)
    return data[:start] + other[begin : random.choice((stop, len(other)))] + data[random.choice((start, end, len(data))) :]


def _lines_moved(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    taken = lines.pop(random.randrange(len(lines)))
    if random.random() < 0.3:
        taken = random.choice(random.choice([*others, data]).split(b"\n"))
    lines.insert(random.randint(0, len(lines)), taken)
    return b"\n".join(lines)


def _recoded(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-8-sig", "latin-1")), "replace")


def _columns_moved(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    between = random.choice((b"\t", b" ", b"|", b",", b'"'))
    parts = data.split(between)
    first, second = random.randrange(len(parts)), random.randrange(len(parts))
    parts[first], parts[second] = parts[second], parts[first]
    return between.join(parts)


def _values_changed(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """JSON or lines of it with a value changed; what is neither with a line end doubled."""
    with suppress(ValueError, RecursionError):
        return json.dumps(_changed(random, json.loads(data))).encode()
    lines = data.split(b"\n")
    with suppress(ValueError, RecursionError):
        number = random.randrange(len(lines))
        lines[number] = json.dumps(_changed(random, json.loads(lines[number]))).encode()
        return b"\n".join(lines)
    return data.replace(b"\n", b"\n\n", 1)


def _changed(random: Random, value: Any) -> Any:
    holder, inner = None, value
    while isinstance(inner, (dict, list)) and inner and (holder is None or random.random() < 0.7):
        holder, key = inner, random.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        inner = holder[key]
    if holder is None:
        return random.choice(STRANGE)
    kind = random.random()
    if kind < 0.25:
        del holder[key]
    elif kind < 0.4 and isinstance(holder, list):
        holder.insert(random.randint(0, len(holder)), inner)
    elif kind < 0.6:
        holder[key] = [inner] if kind < 0.5 else {"text": inner, "label": inner, "start": inner, "end": inner}
    else:
        holder[key] = random.choice(STRANGE)
    return value


_CHANGES: tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], ...] = (
    _flipped,
    _without,
    _repeated,
    _cut_short,
    _with_word,
    _with_word,
    _spliced,
    _lines_moved,
    _recoded,
    _columns_moved,
    _values_changed,
)
