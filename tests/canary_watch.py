"""What tells that the canary came out: its word, half of it, or a hash that anyone could compute of it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator

import small_corpora
from canary_cases import CANARY


def entries() -> list[small_corpora.Entry]:
    texts = (f"dr {CANARY} saw {CANARY} in ward 7", f"{CANARY} fever", f"the {CANARY} " + "ok " * 60 + CANARY)
    return [
        (f"{CANARY}-{number}", text, ((text.index(CANARY), text.index(CANARY) + len(CANARY), "NAME"),))
        for number, text in enumerate(texts)
    ]


HALF = re.compile(rf"(?<![0-9a-f.]){CANARY[4:]}(?![0-9a-f])")
"""The canary's number by itself; inside a longer number or a hash the digits are chance."""


def unkeyed(text: str) -> Iterator[str]:
    """What anyone could compute and compare: the plain hashes of a text, and their first 96 bits, as hex and base64."""
    for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "sha3_256"):
        digest = hashlib.new(name, text.encode()).digest()
        for encoded in (digest.hex(), base64.b64encode(digest).decode(), base64.urlsafe_b64encode(digest).decode()):
            yield encoded[: 24 if encoded == digest.hex() else 16].lower()


HASHES = {
    hashed for text in (CANARY, *(part for name, text, _ in entries() for part in (name, text))) for hashed in unkeyed(text)
}


def assert_silent(said: str, where: str) -> None:
    said = said.lower()
    assert CANARY.lower()[:3] not in said, where
    assert not HALF.search(said), where
    assert not [hashed for hashed in HASHES if hashed in said], where
