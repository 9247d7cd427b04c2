"""What the result of a run depends on, by name: two runs with one key give one report but for their timing.

Hashes of contents and the options in force; no path, no time. A journal and a cache are of a key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

RunKey = Mapping[str, Any]
"""{"model": …, "corpus": …, "program": …, "options": {name: value}}, all of them JSON's."""


def run_key(
    *, model: Mapping[str, Any], corpus: Mapping[str, Any], environment: Mapping[str, Any], options: Mapping[str, Any]
) -> RunKey:
    """model, corpus, environment: those of the report. options: the report's config, and what it does not say of them."""
    return {
        "model": dict(model),
        "corpus": dict(corpus),
        "program": {"code": code_digest(), "environment": dict(environment)},
        "options": dict(options),
    }


def digest_of(key: RunKey) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def differences(one: RunKey, other: RunKey) -> list[str]:
    """In which parts two keys differ: `model`, `corpus`, `program`, names of options."""
    parts = [part for part in ("model", "corpus", "program") if one.get(part) != other.get(part)]
    known, stranger = one["options"], other.get("options")
    options = stranger if isinstance(stranger, dict) else {}
    return [*parts, *(name for name in known if name not in options or known[name] != options[name])]


@lru_cache(maxsize=1)
def code_digest() -> str:
    """SHA-256 over this package's own source files, by their places in it."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
