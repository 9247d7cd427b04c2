"""The README's table of architectures, from what the code has and what was measured.

    python scripts/family_table.py                          print the table
    python scripts/family_table.py --write                  put it into README.md, between its two marks
    python scripts/family_table.py --measure                measure parity anew, on the golden models

Checkpoints are counted in models_manifest.json; measurements are kept in family_table.json beside this file. Parity is the largest difference of any logit from transformers', over the golden models of a family and
both engines, in float32.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".json")
README = ROOT / "README.md"
MANIFEST = ROOT / "models_manifest.json"
GOLDEN = ROOT / "tests" / "data" / "golden"
BEGIN, END = "<!-- families: printed by scripts/family_table.py -->", "<!-- end of families -->"
ENGINES = ("numpy", "mlx")
DTYPES = "float32, float16, bfloat16"

MODEL_TYPES = {"qwen": "qwen3"}
"""{what the collection calls an architecture: model_type}, where they are not the same."""
PATTERNS = ((re.compile("longformer"), "longformer"), (re.compile("^privacy-filter"), "openai_privacy_filter"))
"""Names that a collection has a checkpoint's own name in."""


def model_type(architecture: str) -> str:
    """The model_type of an architecture as the collection names it."""
    return next(
        (known for pattern, known in PATTERNS if pattern.search(architecture)), MODEL_TYPES.get(architecture, architecture)
    )


def counted() -> dict[str, int]:
    """{model_type: token classifiers of it}, the most frequent first; `unknown` where the collection does not say."""
    found: Counter[str] = Counter()
    for row in json.loads(MANIFEST.read_text("utf-8"))["totals"]:
        found[model_type(row["architecture"] or "unknown")] += row["token_classifiers"]
    return {name: count for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0])) if count}


def measured() -> dict[str, dict[str, Any]]:
    """{family: its largest difference, golden models and logits}. Raises ImportError where mlx is not installed."""
    from openmed_mlx_eval.runtime.artifact import open_artifact

    found: dict[str, dict[str, Any]] = {}
    for folder, differences, logits in (*_of_tokens(), *_of_spans()):
        row = found.setdefault(open_artifact(folder).family.name, {"difference": 0.0, "models": 0, "logits": 0})
        row["difference"] = max(row["difference"], *differences)
        row["models"] += 1
        row["logits"] += logits
    return {name: {**row, "difference": float(f"{row['difference']:.1e}")} for name, row in sorted(found.items())}


Measured = Iterator[tuple[Path, list[float], int]]
"""A golden model, the largest difference on each engine, and how many logits were compared."""


def _of_tokens() -> Measured:
    sys.path.insert(0, str(ROOT / "tests"))
    import numpy as np
    from runtime.tiny_models import network_logits

    for folder in sorted(GOLDEN.iterdir()):
        with np.load(folder / "expected.npz") as stored:
            if not {"ids", "lengths", "logits"} <= set(stored.files):
                continue  # its own test says what is compared
            ids, logits = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1]), stored["logits"]
        found = [np.concatenate(network_logits(folder, engine, ids)) for engine in ENGINES]
        yield folder, [float(np.abs(rows - logits).max()) for rows in found], int(logits.size)


def _of_spans() -> Measured:
    sys.path.insert(0, str(ROOT / "tests"))
    import numpy as np
    from runtime.tiny_gliner import ASKED, FOLDERS, TEXTS
    from runtime.tiny_gliner import GOLDEN as MODELS

    from openmed_mlx_eval.runtime.span_classifier import SpanClassifier

    for name in FOLDERS:
        with np.load(MODELS / name / "expected.npz") as stored:
            logits = stored["logits"]
        models = [SpanClassifier.load(MODELS / name, engine=engine, device="cpu", labels=ASKED) for engine in ENGINES]
        found = [np.concatenate(model.forward(model.encoder.encode(TEXTS))) for model in models]
        yield MODELS / name, [float(np.abs(rows - logits).max()) for rows in found], int(logits.size)


def table(record: Mapping[str, Any]) -> str:
    """The table and what its figures are, as Markdown."""
    from openmed_mlx_eval.converters.planning import KEEP
    from openmed_mlx_eval.runtime.families import FAMILIES

    counts = counted()
    lines = [
        "| Family | `model_type` | Checkpoints | Engines | dtypes | `auto` on Metal | Quantised | Parity |",
        "|---|---|---:|---|---|---|---|---:|",
    ]
    for family in sorted(FAMILIES, key=lambda one: (-sum(counts.get(name, 0) for name in one.model_types), one.name)):
        types = ", ".join(f"`{name}`" for name in family.model_types)
        covered = sum(counts.get(name, 0) for name in family.model_types)
        parity = record["parity"].get(family.name)
        figure = f"{parity['difference']:.1e}" if parity else "–"
        lines.append(f"| {family.name} | {types} | {covered:,} | numpy, mlx | {DTYPES} | {family.half} | 8, 4 bits | {figure} |")
    known = {name for family in FAMILIES for name in family.model_types}
    total, covered = sum(counts.values()), sum(number for name, number in counts.items() if name in known)
    others = ", ".join(f"{name} {number}" for name, number in counts.items() if name not in known)
    left = f"; not covered: {others}" if others else ""
    said = (
        f"{covered:,} of the {total:,} token classifiers that OpenMed publishes are of these families{left}. *dtypes* are mlx's; numpy computes in float32. *Quantised*: "
        f"groups of 32, 64 or 128, `--keep {','.join(KEEP)}`. *Parity*: the largest difference of any logit from transformers' (bilstm-crf: torch's; gliner: of any span's score from gliner's) in "
        "float32, over both engines and the golden models of `tests/data/golden` and `tests/data/gliner` "
        f"({record['measured_on']}); `python scripts/family_table.py --measure` measures it again."
    )
    return "\n".join([*lines, "", *textwrap.wrap(said, 126, break_long_words=False, break_on_hyphens=False)])


def in_readme(text: str, new: str) -> str:
    """README.md with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"README.md has not the two marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"parity": {}, "measured_on": ""}
    if options.measure:
        import platform

        record["parity"] = measured()
        record["measured_on"] = f"{platform.system()}, {platform.machine()}, mlx on its CPU device"
        RECORD.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    if options.write:
        README.write_text(in_readme(README.read_text("utf-8"), table(record)), "utf-8")
    else:
        print(table(record))


if __name__ == "__main__":
    main()
