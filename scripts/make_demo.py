"""Make the embedded demo – a tiny PHI tagger and the synthetic notes it is scored on – from one fixed seed.

    python scripts/make_demo.py [--output DIR] [--notes-only]

Needs the `parity` extra (torch, transformers). Training, validation and gold have templates, names and identifiers
of their own; the gold notes are written here, and read by nothing here but the final score.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

import demo_pools as pools
import demo_templates_gold as gold_templates
import demo_templates_train as train_templates
import demo_templates_validation as validation_templates
from demo_grammar import Note, NoteKind, shared_units, write_note

SEED = 20261130
TRAINING_NOTES, VALIDATION_NOTES, GOLD_NOTES = 16_000, 120, 64
VOCABULARY = 1_500
ROUNDS = ({"steps": 5_500, "rate": 1e-3, "agreement": 1.0}, *[{"steps": 4_500, "rate": 6e-4, "agreement": 4.0}] * 4)
"""Each with notes of its own, and from the half-precision weights of the one before. Shipped, and scored, is the mean of the
weights of all rounds after the first (Wortsman et al. 2022, "Model soups", arXiv:2203.05482).
"""
DEMO = Path(__file__).resolve().parents[1] / "openmed_mlx_eval" / "demo"

KINDS: dict[str, Sequence[NoteKind]] = {
    "train": train_templates.KINDS,
    "validation": validation_templates.KINDS,
    "gold": gold_templates.KINDS,
}


def notes(split: str, count: int, again: int = 0) -> list[Note]:
    """`count` notes of a split, its kinds in turn; the same seed gives the same notes, and others each time `again`."""
    rng = Random(f"{SEED} {split} {again}" if again else f"{SEED} {split}")
    kinds = KINDS[split]
    return [write_note(kinds[number % len(kinds)], split, rng) for number in range(count)]


def fixtures(made: Sequence[Note]) -> str:
    """OpenMed fixtures, one JSON object a line."""
    lines = []
    for number, note in enumerate(made, start=1):
        spans = [{"start": s, "end": e, "label": label, "text": note.text[s:e]} for s, e, label in note.spans]
        row = {
            "id": f"demo-{number:02}",
            "text": note.text,
            "language": "en",
            "gold_spans": spans,
            "metadata": {"kind": note.kind},
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def without_spans(note: Note) -> str:
    """The note's text but for what it says of a person: a vocabulary made from it cuts every name alike, seen or not."""
    text = note.text
    for start, end, _ in reversed(note.spans):
        text = f"{text[:start]} {text[end:]}"
    return text


def check_disjoint() -> None:
    """Raise ValueError where two splits share a template, or a name that is not everybody's."""
    shared = shared_units(KINDS)
    if shared:
        raise ValueError(f"{len(shared)} templates stand in two splits")
    for name in pools.LISTS:
        owners: dict[str, str] = {}
        for split, pool in pools.SPLITS.items():
            for value in getattr(pool, name):
                if owners.setdefault(value.casefold(), split) != split:
                    raise ValueError(f"a value of {name} stands in two splits")


def write(path: Path, data: bytes) -> None:
    """Beside its place first, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def make_model(output: Path, gold: Sequence[Note]) -> None:
    """Train, score on validation and gold, write the model directory."""
    import torch
    from demo_scoring import f1, predict, strict_counts
    from demo_training import TAGS, config_json, forward_of, half_precision, make_tokenizer, mean_of, tagged, train
    from safetensors.torch import save

    torch.set_num_threads(1)
    training = notes("train", TRAINING_NOTES)
    tokenizer = make_tokenizer([without_spans(note) for note in training], VOCABULARY)
    weights, later = None, []
    for number, settings in enumerate(ROUNDS):
        if number:
            training = notes("train", TRAINING_NOTES, number)
        rows = [tagged(note, tokenizer) for note in training]
        model = train(rows, tokenizer, weights, seed=SEED + number, say=partial(print, file=sys.stderr), **settings)
        weights = half_precision(model)
        later += [weights] if number else []
    weights = mean_of(later)
    model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    for split, made in (("validation", notes("validation", VALIDATION_NOTES)), ("gold", gold)):
        counts = strict_counts((note.spans, predict(note.text, tokenizer, forward_of(model), TAGS)) for note in made)
        print(split, *(f"{label} {f1(count):.4f}" for label, count in counts.items()))
    ends = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 128, "do_lower_case": False, **ends}
    write(output / "tiny-phi-bert" / "config.json", config_json(model).encode())
    write(output / "tiny-phi-bert" / "model.safetensors", save(weights, metadata={"format": "pt"}))
    write(output / "tiny-phi-bert" / "tokenizer.json", tokenizer.to_str(pretty=False).encode())
    write(output / "tiny-phi-bert" / "tokenizer_config.json", (json.dumps(settings, indent=2) + "\n").encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DEMO, help="the package's demo folder if not given")
    parser.add_argument("--notes-only", action="store_true", help="write notes.jsonl alone; needs no torch")
    arguments = parser.parse_args()
    check_disjoint()
    gold = notes("gold", GOLD_NOTES)
    if not arguments.notes_only:
        make_model(arguments.output, gold)
    write(arguments.output / "notes.jsonl", fixtures(gold).encode())


if __name__ == "__main__":
    main()
