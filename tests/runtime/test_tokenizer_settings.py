"""tokenizer_config.json against tokenizer.json: what transformers heeds is heeded, and hashed; anything else changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.tokenization import TextEncoder

from .tiny_models import byte_bpe, word_piece, write_model

TEXTS = ["The Kidney, crème 5 mg", "lung", " ward 腎臓 7"]
UNSTRIPPED = word_piece()
UNSTRIPPED.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
BERT, ROBERTA = word_piece(), byte_bpe(TEXTS * 3, size=300, trim=True)


def ids(folder: Path, tokenizer: Tokenizer, settings: dict[str, Any] | None) -> list[list[int]]:
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return [encoded.ids.tolist() for encoded in TextEncoder.load(folder / "tokenizer.json").encode(TEXTS)]


@pytest.mark.parametrize(
    ("tokenizer", "settings"),
    [
        (BERT, {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}),
        (BERT, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": False}),
        (UNSTRIPPED, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": None}),
        (BERT, {"tokenizer_class": "DistilBertTokenizer", "do_lower_case": False, "tokenize_chinese_chars": False}),
        (ROBERTA, {"tokenizer_class": "RobertaTokenizerFast", "add_prefix_space": True}),
        (ROBERTA, {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False}),
    ],
)
def test_what_the_config_says_is_what_transformers_does(tmp_path: Path, tokenizer: Tokenizer, settings: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    unknown = "<unk>" if tokenizer is ROBERTA else "[UNK]"
    found = ids(tmp_path, tokenizer, {**settings, "unk_token": unknown})
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert found == [theirs(text, add_special_tokens=False)["input_ids"] for text in TEXTS]


@pytest.mark.parametrize("tokenizer", [BERT, ROBERTA])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tokenizer_class": "BertTokenizer"},
        {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False, "add_prefix_space": True},
        {"tokenizer_class": ["BertTokenizer"], "do_lower_case": False},
        {"tokenizer_class": "BertTokenizer", "do_lower_case": "no", "strip_accents": None},
    ],
)
def test_what_it_does_not_say_stays(tmp_path: Path, tokenizer: Tokenizer, settings: dict[str, Any]) -> None:
    assert ids(tmp_path / "a", tokenizer, settings) == ids(tmp_path / "b", tokenizer, None)


def test_it_is_hashed_and_must_be_json(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    assert "tokenizer_config.json" not in open_artifact(folder).hashes()
    (folder / "tokenizer_config.json").write_text("{}", "utf-8")
    assert "tokenizer_config.json" in open_artifact(folder).hashes()
    (folder / "tokenizer_config.json").write_text("{", "utf-8")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: not valid JSON"):
        TextEncoder.load(folder / "tokenizer.json")
