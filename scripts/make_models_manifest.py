"""Make models_manifest.json from the collection's list of models: facts are copied, none is made up.

    python scripts/make_models_manifest.py [--facts FILE] [--output FILE]

FILE holds one JSON object a repository: repo_id, architecture, family (here `kind`), task, languages, tier, param_count,
base_model, formats, canonical_labels, license, released. The checkpoints are chosen so that every architecture comes in each
of its sizes, kinds and languages, and every set of labels once; the choice depends on the facts alone. `family` is that of
openmed_mlx_eval/runtime/families at the time of writing: run this again when a family is added.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openmed_mlx_eval.demo import model_path
from openmed_mlx_eval.model_manifest.adding import facts_of
from openmed_mlx_eval.model_manifest.catalog import FILE_NAME, Manifest
from openmed_mlx_eval.model_manifest.entries import Entry
from openmed_mlx_eval.model_manifest.hashing import hashed
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
FACTS = ROOT.parent / "shared" / "openmed-models.jsonl"

Row = Mapping[str, Any]

MODEL_TYPES = {"qwen": "qwen3", "clinical-longformer": "longformer", "privacy-filter": "openai_privacy_filter"}
"""The collection's word for an architecture → config.json's model_type, where they differ."""

SIZES = (50, 100, 130, 200, 300, 400, 500, 1000)
"""Upper bounds of the sizes that are told apart, in millions of parameters."""

PII_LABELS = "(the 50 PII labels)"


def family_of(architecture: str | None, base_model: str | None, task: str | None) -> str | None:
    """The runtime's family for an architecture of the collection; None where it runs none, or the task is another one."""
    if architecture is None or task != "token-classification":
        return None
    if architecture == "qwen" and "Qwen3-" not in (base_model or ""):
        return None
    model_type = MODEL_TYPES.get(architecture, architecture)
    return next((family.name for family in FAMILIES if model_type in family.model_types), None)


def read_facts(path: Path) -> list[Row]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return sorted(rows, key=lambda row: row["repo_id"])


def origins(rows: Sequence[Row]) -> dict[str, Row]:
    """{repository: the row of the checkpoint that it holds in some format} – its own where it was made from no other."""
    by_name = {row["repo_id"]: row for row in rows}
    return {row["repo_id"]: by_name.get(row["base_model"], row) for row in rows}


def entries_of(rows: Sequence[Row]) -> list[Entry]:
    """One entry for each checkpoint, with the formats of all its repositories."""
    origin, forms = origins(rows), defaultdict(list)
    for row in rows:
        forms[origin[row["repo_id"]]["repo_id"]].append(row)
    return [_entry(origin[name], forms[name]) for name in sorted(forms)]


def _entry(row: Row, forms: Sequence[Row]) -> Entry:
    mlx = [(form["formats"], form["repo_id"]) for form in forms if any(name.startswith("mlx") for name in form["formats"])]
    artifact = min(mlx, key=lambda one: ("mlx-fp" not in one[0], one[1]))[1] if mlx else None
    labels = row["canonical_labels"]
    listed = labels and labels != [PII_LABELS]
    return Entry(
        name=row["repo_id"].rpartition("/")[2],
        repository=row["repo_id"],
        artifact_repository=artifact,
        architecture=row["architecture"],
        family=family_of(row["architecture"], row["base_model"], row["task"]),
        kind=row["family"],
        task=row["task"],
        languages=tuple(row["languages"]),
        labels=tuple(labels) if listed else None,
        label_set=PII_LABELS.strip("()") if labels == [PII_LABELS] else None,
        parameters=row["param_count"],
        tier=row["tier"],
        formats=tuple(sorted({name for form in forms for name in form["formats"]})),
        base_model=row["base_model"],
        license=row["license"],
        released=row["released"],
    )


def features(entry: Entry) -> set[tuple[str, ...]]:
    """What an entry shows of the collection."""
    kind, size = str(entry.architecture), _size(entry.parameters)
    shown = {("size", kind, size), ("kind", kind, str(entry.kind), str(entry.task)), ("license", str(entry.license))}
    shown |= {("language", kind, language) for language in entry.languages}
    shown |= {("formats", kind, *entry.formats), ("tier", kind, str(entry.tier))}
    return shown | {("labels", *(entry.labels or (str(entry.label_set),)))}


def _size(parameters: int | None) -> str:
    if parameters is None:
        return "unknown"
    return next((f"up to {bound}M" for bound in SIZES if parameters <= bound * 10**6), "more")


def covering(entries: Iterable[Entry]) -> list[Entry]:
    """Few entries that together show all features: the one that adds most is taken first, the first by name of equals."""
    left, chosen, seen = {entry.name: entry for entry in entries}, [], set()
    while left:
        name, added = max(((name, len(features(entry) - seen)) for name, entry in left.items()), key=lambda one: one[1])
        if not added:
            break
        seen |= features(left[name])
        chosen.append(left.pop(name))
    return sorted(chosen, key=lambda entry: entry.name)


def totals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The whole collection by architecture. run: repositories that this runtime opens, ONNX not among them."""
    origin, groups = origins(rows), defaultdict(list)
    for row in rows:
        groups[origin[row["repo_id"]]["architecture"]].append(row)
    made = []
    for architecture, group in sorted(groups.items(), key=lambda one: (-len(one[1]), str(one[0]))):
        families = [_family(origin[row["repo_id"]]) for row in group]
        readable = [row["formats"] != ["onnx"] for row in group]
        made.append(
            {
                "architecture": architecture,
                "family": next(filter(None, families), None),
                "repositories": len(group),
                "token_classifiers": sum(row["task"] == "token-classification" for row in group),
                "run": sum(family is not None and read for family, read in zip(families, readable, strict=True)),
            }
        )
    return made


def _family(row: Row) -> str | None:
    return family_of(row["architecture"], row["base_model"], row["task"])


def demo_entry() -> Entry:
    """The embedded model, which every copy of the package holds."""
    artifact = open_artifact(model_path())
    described = {"kind": "PII", "languages": ("en",), "license": "apache-2.0", "path": f"demo/{artifact.name}"}
    return Entry(artifact.name, **facts_of(artifact), **described, files=hashed(artifact.directory))


def manifest_of(rows: Sequence[Row]) -> str:
    """The file's text."""
    made = Manifest(ROOT, (*covering(entries_of(rows)), demo_entry()), tuple(totals(rows)))
    return json.dumps(made.to_json(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--facts", type=Path, default=FACTS)
    parser.add_argument("--output", type=Path, default=ROOT / FILE_NAME)
    options = parser.parse_args()
    options.output.write_text(manifest_of(read_facts(options.facts)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
