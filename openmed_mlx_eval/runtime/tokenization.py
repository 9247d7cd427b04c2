"""Text to token ids with offsets into the raw text, by the `tokenizers` library alone.

A tokenizer.json may store a truncation and a padding, which the library applies in silence: both are switched
off. It may also make its post-processor trim offsets, which loses a character where pre-tokenizer and
post-processor disagree on `add_prefix_space`: that is switched off too, and white space is trimmed here, against
the raw text, for every kind of tokenizer alike. Nothing is truncated; windows are cut later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from ..errors import ModelError
from .artifact import read_object
from .safetensors import Array
from .tokenizer_settings import NAME as SETTINGS
from .tokenizer_settings import apply_settings

SPACE_MARKS = ("Ġ", "▁")
"""How byte-level and SentencePiece-like vocabularies write a space."""

SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Encoded:
    """One document's content tokens, special tokens left out.

    ids: int32 (tokens,). offsets: (start, end) of each in code points of the raw text, white space trimmed off.
    reported: the offsets as the tokenizer itself reports them, which decide what transformers takes for a word.
    """

    text: str
    ids: Array
    offsets: list[tuple[int, int]]
    reported: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """A tokenizer with its special tokens taken apart.

    prefix, suffix: the ids around one sequence, int32. trims: whether the tokenizer itself trims offsets.
    marks: {id: mark} of the tokens that are a mark for a space and nothing else.
    """

    tokenizer: Any
    prefix: Array
    suffix: Array
    trims: bool
    marks: Mapping[int, str] = field(default_factory=dict)
    _words: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> TextEncoder:
        """path: of tokenizer.json; a tokenizer_config.json beside it is heeded. Raises ModelError for a file that cannot be read."""
        beside = path.with_name(SETTINGS)
        settings = read_object(beside) if beside.is_file() else {}
        try:
            tokenizer = Tokenizer.from_buffer(path.read_bytes())
            apply_settings(tokenizer, settings)
            trims = _stop_trimming(tokenizer)
            tokenizer.no_truncation()
            tokenizer.no_padding()
            sample = tokenizer.encode("a")
        except BaseException as error:
            # The library panics (a BaseException) on some files; its messages quote the file.
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise ModelError("tokenizer.json: the tokenizers library cannot read it – copy the file again") from None
        special = np.array(sample.special_tokens_mask, dtype=bool)
        ids = np.array(sample.ids, dtype=np.int32)
        content = np.flatnonzero(~special)
        first, last = (content[0], content[-1] + 1) if len(content) else (len(ids), len(ids))
        marks = {id: mark for mark in SPACE_MARKS if (id := tokenizer.token_to_id(mark)) is not None}
        return cls(tokenizer, ids[:first], ids[last:], trims, marks)

    @property
    def special_tokens(self) -> int:
        """How many special tokens stand around one sequence."""
        return len(self.prefix) + len(self.suffix)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Content tokens of each text, in order. Raises ModelError where the tokenizers library fails."""
        # A lone surrogate has no UTF-8; U+FFFD is one code point too, so offsets stay true.
        valid = [SURROGATE.sub("\ufffd", text) for text in texts]
        try:
            encodings = self.tokenizer.encode_batch(valid, add_special_tokens=False)
        except BaseException as error:  # a panic of the library is no Exception, and its message quotes the text
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise ModelError("the tokenizers library failed on a document of this batch – is tokenizer.json whole?") from None
        return [self._encoded(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def _encoded(self, text: str, encoding: Any) -> Encoded:
        size = len(text)
        raw = [(min(start, size), min(max(start, end), size)) for start, end in encoding.offsets]
        offsets = [_trimmed(text, start, end) for start, end in raw]
        for i, token in enumerate(encoding.ids):
            # The space a tokenizer puts before the text lies, by its offsets, on the first character.
            if token in self.marks and text[slice(*offsets[i])] != self.marks[token]:
                offsets[i] = (offsets[i][0], offsets[i][0])
        return Encoded(text, np.array(encoding.ids, dtype=np.int32), offsets, offsets if self.trims else raw)

    def continues_word(self, encoded: Encoded) -> list[bool]:
        """Whether each token continues the word of the one before, as transformers' pipeline decides it.

        Source: `TokenClassificationPipeline.gather_pre_entities`, transformers 5: by length of token and surface
        where the model marks continuations, else by a space before the token; an unknown token never continues.
        """
        marks, unknown = self._word_rules()
        text, ids = encoded.text, encoded.ids.tolist()
        if marks:
            lengths = [len(self.tokenizer.id_to_token(i)) for i in ids]
            continues = [n != end - start for n, (start, end) in zip(lengths, encoded.reported, strict=True)]
        else:
            continues = [start > 0 and " " not in text[start - 1 : start + 1] for start, _ in encoded.reported]
        return [known and i != unknown for known, i in zip(continues, ids, strict=True)]

    def _word_rules(self) -> tuple[bool, int | None]:
        if not self._words:
            model = json.loads(self.tokenizer.to_str())["model"]
            unknown = model.get("unk_id")
            if unknown is None and model.get("unk_token"):
                unknown = self.tokenizer.token_to_id(model["unk_token"])
            self._words.update(marks=bool(model.get("continuing_subword_prefix")), unknown=unknown)
        return self._words["marks"], self._words["unknown"]

    def check_vocabulary(self, rows: int) -> None:
        """Raise ModelError where an id of the vocabulary has no row in the embedding table."""
        if self.tokenizer.get_vocab_size() > rows:
            highest = max(self.tokenizer.get_vocab(with_added_tokens=True).values())
            if highest >= rows:
                raise ModelError(
                    f"tokenizer.json has token id {highest}, but the embedding table only {rows} rows"
                    " – tokenizer and weights must come from one checkpoint"
                )


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if start < end and (text[start].isspace() or text[end - 1].isspace()):
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
    return start, end


def _stop_trimming(tokenizer: Any) -> bool:
    """Switch `trim_offsets` off wherever it stands in the post-processor; True if it was on."""
    processor = tokenizer.post_processor
    state = None if processor is None else json.loads(processor.__getstate__())
    if not _trims_no_more(state):
        return False
    processor.__setstate__(json.dumps(state).encode())
    tokenizer.post_processor = processor
    return True


def _trims_no_more(state: Any) -> bool:
    """Whether a post-processor's description said to trim; it does so no longer."""
    if not isinstance(state, dict):
        return False
    trimmed = bool(state.get("trim_offsets"))
    if trimmed:
        state["trim_offsets"] = False
    inner = [_trims_no_more(part) for part in state.get("processors", [])]
    return trimmed or any(inner)
