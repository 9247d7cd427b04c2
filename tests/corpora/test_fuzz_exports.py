"""Exports of annotation tools, mutated as bytes and as the values they hold: documents that can be scored, or an error of
the project's own that says nothing of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from corpus_files import CANARY
from exported_corpora import EXPORTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_fuzz import mutated, survive

ENTRIES = [(CANARY, f"Dr {CANARY} saw \U0001fa7a", ((3, 11, "NAME"),)), (f"{CANARY}-2", "x y", ())]
MADE = {name: (format, make(ENTRIES)) for name, (format, _, make) in EXPORTS.items()}
FILES = {
    name: (format, {"file": content} if isinstance(content, str) else dict(list(content.items())[: 1 + (format == "i2b2-2010")]))
    for name, (format, content) in MADE.items()
}
JSON = {name: (format, [json.loads(line) for line in files["file"].splitlines()] if EXPORTS[name][1] == ".jsonl" else
               json.loads(files["file"])) for name, (format, files) in FILES.items() if "json" in EXPORTS[name][1]}  # fmt: skip


def survive_files(files: dict[str, bytes], format: str) -> None:
    if "file" in files:
        survive(files["file"], format)
    else:
        survive(files, format)


@pytest.mark.parametrize("export", FILES)
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_bytes(export: str, data: st.DataObject) -> None:
    format, files = FILES[export]
    for name in files:
        changed = {other: content.encode() for other, content in files.items()}
        changed[name] = data.draw(mutated([changed[name]]))
        survive_files(changed, format)


@pytest.mark.parametrize("format", sorted({format for format, _, _ in EXPORTS.values()} | {"docbin"}))
@settings(max_examples=60)
@given(
    st.binary(max_size=150), st.sampled_from([b"", b"PAR1", b"\x78\x9c", b"<", b"[", b"#FORMAT=WebAnno TSV 3.3\n", b"\xff\xfe"])
)
def test_any_bytes(format: str, data: bytes, begins: bytes) -> None:
    data = begins + data
    survive({"a.txt": data, "a.con": data} if format == "i2b2-2010" else data, format)


STRANGE: list[Any] = [None, True, 0, -1, 7781, 10**30, 1.5, float("nan"), float("inf"), "", CANARY, "\ud800", [], {}, [CANARY],
                      {CANARY: CANARY}, [[0, 3, CANARY]], [None], "0", 2**63]  # fmt: skip


@st.composite
def changed_values(draw: st.DrawFn, value: Any) -> Any:
    """The value with some of what it holds dropped, doubled, or replaced by something strange."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = value
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], (dict, list)) and holder[key] and draw(st.booleans()):
                holder = holder[key]
                continue
            change = draw(st.sampled_from(["drop", "double", "replace"]))
            if change == "drop":
                del holder[key]
            elif change == "double" and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            else:
                holder[key] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
            break
    return value


@pytest.mark.parametrize("export", JSON)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_changed_values(export: str, data: st.DataObject) -> None:
    format, value = JSON[export]
    changed = data.draw(changed_values(value))
    survive(json.dumps(changed).encode(), format)
    if isinstance(changed, list):
        survive("".join(json.dumps(row) + "\n" for row in changed).encode(), format)


@pytest.mark.parametrize("export", JSON)
def test_deep_nesting_and_long_numbers(export: str) -> None:
    format, value = JSON[export]
    text = json.dumps(value)
    for strange in ("[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 100_000, "9" * 5000, "-" + "9" * 400, "1e999", "NaN"):
        for key in ("3", f'"{CANARY}"', "[]"):
            survive(text.replace(key, strange, 1).encode(), format)
        survive(strange.encode(), format)


@pytest.mark.parametrize(("format", "opening"), [("bioc", "<document>"), ("bioc", "<passage>"), ("i2b2-2006", "<PHI TYPE='a'>")])
def test_deep_markup(format: str, opening: str) -> None:
    root = {"bioc": "<collection>", "i2b2-2006": "<ROOT><RECORD><TEXT>"}[format]
    closing = f"</{opening[1:-1].split()[0]}>"
    survive((root + opening * 20_000).encode(), format)
    ends = "".join(f"</{name}>" for name in reversed(root.replace(">", "").split("<")[1:]))
    survive((root + opening * 20_000 + closing * 20_000 + ends).encode(), format)
