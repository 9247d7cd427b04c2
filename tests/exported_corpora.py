"""The small corpora as annotation tools and older shared tasks export them, written by hand here as in small_corpora."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from small_corpora import ENTRIES, Entry

Content = str | dict[str, str]
"""Of one file, or of a folder of {name: content}."""


def doccano(entries: Sequence[Entry]) -> str:
    return lines({"id": name, "text": text, "label": [list(one) for one in gold], "Comments": []} for name, text, gold in entries)


def doccano_relations(entries: Sequence[Entry]) -> str:
    def spans(gold: Any) -> list[dict[str, Any]]:
        return [{"id": n, "label": label, "start_offset": s, "end_offset": e} for n, (s, e, label) in enumerate(gold)]

    return lines({"id": name, "text": text, "entities": spans(gold), "relations": []} for name, text, gold in entries)


def prodigy(entries: Sequence[Entry]) -> str:
    def task(entry: Entry, answer: str) -> dict[str, Any]:
        name, text, gold = entry
        spans = [{"start": s, "end": e, "label": label, "token_start": 0, "token_end": 1} for s, e, label in gold]
        hashes = {"_input_hash": 1, "_task_hash": -2, "_session_id": None, "_view_id": "ner_manual"}
        return {"id": name, "text": text, "meta": {"source": name}, "spans": spans, "answer": answer, **hashes}

    return lines([*(task(entry, "accept") for entry in entries), task(entries[0], "reject"), task(entries[-1], "ignore")])


def label_studio(entries: Sequence[Entry]) -> str:
    def result(text: str, gold: Any) -> list[dict[str, Any]]:
        choice = {"type": "choices", "value": {"choices": [text]}, "from_name": "kind", "to_name": "text"}
        return [choice, *({"type": "labels", "from_name": "label", "value": region(text, *one)} for one in gold)]

    def annotation(text: str, gold: Any) -> dict[str, Any]:
        return {"id": 1, "was_cancelled": False, "ground_truth": False, "result": result(text, gold)}

    skipped = {"id": 1, "was_cancelled": True, "result": []}
    tasks = [
        {"id": name, "data": {"text": text}, "annotations": [skipped, annotation(text, gold)], "predictions": []}
        for name, text, gold in entries
    ]
    return json.dumps([*tasks, {"id": 0, "data": {"text": "x"}, "annotations": []}], indent=1)


def label_studio_minimal(entries: Sequence[Entry]) -> str:
    return json.dumps(
        [
            {"id": name, "text": text, "annotator": 1, "label": [region(text, *one) for one in gold]}
            if gold
            else {"id": name, "text": text, "annotator": 1}
            for name, text, gold in entries
        ]
    )


def region(text: str, start: int, end: int, label: str) -> dict[str, Any]:
    before, within = units(text[:start]), units(text[start:end])
    return {"start": before, "end": before + within, "text": text[start:end], "labels": [label]}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def huggingface(entries: Sequence[Entry]) -> str:
    return lines({"id": name, "tokens": text.split(" "), "ner_tags": tags(text, gold)} for name, text, gold in entries)


NAMES = ["O", "B-NAME", "I-NAME", "B-ANATOMY", "I-ANATOMY", "B-WARD"]


def huggingface_numbers(entries: Sequence[Entry]) -> str:
    """As the datasets server answers."""
    features = [
        {"feature_idx": 0, "name": "tokens", "type": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"}},
        {"feature_idx": 1, "name": "ner_tags", "type": {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}},
    ]
    rows = [
        {"row_idx": n, "row": {"id": name, "tokens": text.split(" "), "ner_tags": [NAMES.index(tag) for tag in tags(text, gold)]}}
        for n, (name, text, gold) in enumerate(entries)
    ]
    return json.dumps({"features": features, "rows": rows})


def tags(text: str, gold: Any) -> list[str]:
    found, at = [], 0
    for word in text.split(" "):
        inside = next(((s, label) for s, e, label in gold if s <= at < e), None)
        found.append("O" if inside is None else f"{'B' if inside[0] == at else 'I'}-{inside[1]}")
        at += len(word) + 1
    return found


def bioc_json(entries: Sequence[Entry]) -> str:
    documents = []
    for name, text, gold in entries:
        cut = text.index(" ")
        passages = [
            {
                "infons": {"type": kind},
                "offset": begin,
                "text": text[begin:end],
                "sentences": [],
                "annotations": [
                    {"id": str(n), "infons": {"type": label}, "text": text[s:e], "locations": [{"offset": s, "length": e - s}]}
                    for n, (s, e, label) in enumerate(gold)
                    if begin <= s < end
                ],
                "relations": [],
            }
            for kind, begin, end in (("title", 0, cut), ("abstract", cut, len(text)))
        ]
        documents.append({"id": name, "infons": {}, "passages": passages, "relations": []})
    return json.dumps({"source": "x", "date": "", "key": "", "infons": {}, "documents": documents})


def bioc_xml(entries: Sequence[Entry]) -> str:
    documents = []
    for name, text, gold in entries:
        annotations = "".join(
            f'<annotation id="{n}"><infon key="identifier">D1</infon><infon key="type">{label}</infon>'
            f'<location offset="{s}" length="{e - s}"/><text>{escape(text[s:e])}</text></annotation>\n'
            for n, (s, e, label) in enumerate(gold)
        )
        documents.append(
            f'<document>\n<id>{name}</id>\n<passage><infon key="type">title</infon><offset>0</offset>\n<text>{escape(text)}</text>\n'
            f'{annotations}</passage>\n<relation id="R0"><node refid="0" role="x"/></relation></document>\n'
        )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
    return head + f"<collection><source>x</source><date/><key/>\n{''.join(documents)}</collection>\n"


def webanno(entries: Sequence[Entry]) -> dict[str, str]:
    head = (
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
        "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value\n"
        "#T_RL=webanno.custom.Relation|kind|BT_webanno.custom.X\n\n\n"
    )
    files = {}
    for name, text, gold in entries:
        rows, at = [], 0
        for n, word in enumerate(text.split(" "), start=1):
            number, label = next(((k, label) for k, (s, e, label) in enumerate(gold, start=1) if s <= at < e), (0, ""))
            value = f"*[{number}]\t{masked(label)}[{number}]" if number else "_\t_"
            begin = units(text[:at])
            rows.append(f"1-{n}\t{begin}-{begin + units(word)}\t{masked(word)}\tX\t{value}\t_\t_\t\n")
            at += len(word) + 1
        files[f"{name}.tsv"] = f"{head}#Text={masked(text)}\n{''.join(rows)}\n"
    return files


def masked(text: str) -> str:
    for reserved in ("\\", "_", "|", "[", "]"):
        text = text.replace(reserved, "\\" + reserved)
    return text


def i2b2_2010(entries: Sequence[Entry]) -> dict[str, str]:
    files = {}
    for name, text, gold in entries:
        concepts = []
        for s, e, label in gold:
            first, last = text[:s].count(" "), text[: e - 1].count(" ")
            concepts.append(f'c="{text[s:e].lower()}" 1:{first} 1:{last}||t="{label}"\n')
        files |= {f"{name}.txt": text, f"{name}.con": "".join(concepts)}
    return files


def i2b2_2006(entries: Sequence[Entry]) -> str:
    records = []
    for name, text, gold in entries:
        parts, at = [], 0
        for s, e, label in gold:
            parts += [escape(text[at:s]), f"<PHI TYPE={quoteattr(label)}>{escape(text[s:e])}</PHI>"]
            at = e
        records.append(f"<RECORD ID={quoteattr(name)}>\n<TEXT>{''.join(parts)}{escape(text[at:])}</TEXT>\n</RECORD>\n")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<ROOT>\n{"".join(records)}</ROOT>\n'


def lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


EXPORTS: Mapping[str, tuple[str, str, Callable[[Sequence[Entry]], Content]]] = {
    "doccano": ("doccano", ".jsonl", doccano),
    "doccano with relations": ("doccano", ".jsonl", doccano_relations),
    "prodigy": ("prodigy", ".jsonl", prodigy),
    "label-studio": ("label-studio", ".json", label_studio),
    "label-studio JSON_MIN": ("label-studio", ".json", label_studio_minimal),
    "huggingface": ("huggingface", ".jsonl", huggingface),
    "huggingface by number": ("huggingface", ".json", huggingface_numbers),
    "bioc JSON": ("bioc", ".json", bioc_json),
    "bioc XML": ("bioc", ".xml", bioc_xml),
    "webanno": ("webanno", "", webanno),
    "i2b2-2010": ("i2b2-2010", "", i2b2_2010),
    "i2b2-2006": ("i2b2-2006", ".xml", i2b2_2006),
}
"""{name: (format, suffix of its one file or "" for a folder, its content)}."""


def write(folder: Path, export: str, entries: Sequence[Entry] = ENTRIES, name: str = "notes") -> Path:
    """The path of a corpus of that export in the folder; `name` begins every file name that is not a document's."""
    folder.mkdir(parents=True, exist_ok=True)
    _, suffix, make = EXPORTS[export]
    content, path = make(entries), folder / (name + suffix)
    if isinstance(content, str):
        path.write_bytes(content.encode())
        return path
    path.mkdir()
    for file, text in content.items():
        (path / file).write_bytes(text.encode())
    return path
