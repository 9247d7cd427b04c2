"""What a tokenizer_config.json says of a text's form, where its tokenizer.json says otherwise: the config is believed.

transformers believes it too, so the model was trained with it: `BertTokenizerFast` sets its normalizer by do_lower_case,
strip_accents and tokenize_chinese_chars, `RobertaTokenizerFast` its pre-tokenizer by add_prefix_space (transformers 4,
`models/bert/tokenization_bert_fast.py` and roberta's; 5 builds both anew). Only what is written there counts, no default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NAME = "tokenizer_config.json"

_BERT = {"lowercase": "do_lower_case", "strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars"}
_ROBERTA = {"add_prefix_space": "add_prefix_space"}

_PARTS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    **dict.fromkeys(("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"), ("normalizer", "BertNormalizer", _BERT)),
    **dict.fromkeys(("RobertaTokenizer", "LongformerTokenizer"), ("pre_tokenizer", "ByteLevel", _ROBERTA)),
}
"""{tokenizer_class: (part of the tokenizer, its type, {its key: the config's})}."""


def _is_said(settings: Mapping[str, Any], name: str) -> bool:
    """null is a value of strip_accents alone: accents go where letters are lower-cased."""
    return isinstance(settings.get(name), bool) or (name == "strip_accents" and settings.get(name, "") is None)


def apply_settings(tokenizer: Any, settings: Mapping[str, Any]) -> None:
    """Change a `tokenizers.Tokenizer` as its tokenizer_config.json has it; one of another make stays as it is."""
    named = settings.get("tokenizer_class")
    if not isinstance(named, str) or named.removesuffix("Fast") not in _PARTS:
        return
    attribute, kind, keys = _PARTS[named.removesuffix("Fast")]
    part = getattr(tokenizer, attribute)
    state = {} if part is None else json.loads(part.__getstate__())
    said = {key: settings[name] for key, name in keys.items() if _is_said(settings, name)}
    if state.get("type") == kind and said.items() - state.items():
        part.__setstate__(json.dumps({**state, **said}).encode())
        setattr(tokenizer, attribute, part)
