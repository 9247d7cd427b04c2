"""WordEncoder: a text as GLiNER reads it – split into words, each in as many tokens as it needs, labels in front.

The tokens of a word depend on nothing but the word, so a document is encoded once, whole, and cut into windows later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ModelError, UsageError
from .families.gliner_config import GlinerConfig
from .safetensors import Array
from .tokenization import SURROGATE, Encoded, TextEncoder

WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
"""gliner's `WhitespaceTokenSplitter`: runs of word characters, joined by - and _, and every other character alone."""


@dataclass(frozen=True, slots=True)
class WordEncoder(TextEncoder):
    """A tokenizer, and what stands before every text. prefix holds the labels; label_places: int32, where in it each is.

    longest: tokens of a word that are kept. A word is its first one; the others only stand beside it.
    """

    label_places: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    longest: int = 1

    @classmethod
    def of(cls, plain: TextEncoder, labels: Sequence[str], config: GlinerConfig, window: int) -> WordEncoder:
        """plain: the tokenizer by itself. window: tokens of a sequence, special ones included.

        Raises UsageError for labels that it can make nothing of, or that leave no room for text; ModelError for a
        tokenizer that is not a GLiNER's.
        """
        entity = plain.tokenizer.token_to_id(config.entity)
        if entity is None:
            raise ModelError("tokenizer.json does not know the token that stands before a label – it is not that of this model")
        if config.class_token not in (-1, entity):
            raise ModelError(
                f"class_token_index is {config.class_token}, but tokenizer.json has the token before a label as {entity}"
                " – config and tokenizer must come from one checkpoint"
            )
        encoding = _encoded(plain, [[*(word for label in labels for word in (config.entity, label)), config.separator]])[0]
        ids, words = np.array(encoding.ids, dtype=np.int32), set(encoding.word_ids)
        places = np.flatnonzero(ids == entity)
        unread = [label for at, label in enumerate(labels) if 2 * at + 1 not in words]
        if unread or len(places) != len(labels):
            raise UsageError("--gliner-labels: the tokenizer can make nothing of a label – write it in letters")
        made = cls(
            plain.tokenizer,
            np.concatenate([plain.prefix, ids]),
            plain.suffix,
            plain.trims,
            plain.marks,
            label_places=(len(plain.prefix) + places + (not config.own_token)).astype(np.int32),
        )
        room = window - made.special_tokens
        if room < config.width:
            raise UsageError(
                f"--gliner-labels: {len(labels)} labels take {made.special_tokens} of a window of {window} tokens, which leaves too "
                "little for text – give fewer or shorter ones"
            )
        return replace(made, longest=room)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Tokens of each text's words, in order, each with its word's offsets: neighbours with the same are one word.

        A word of which the tokenizer makes no token is none. Raises ModelError where the tokenizers library fails.
        """
        # A lone surrogate has no UTF-8; U+FFFD is one code point too, so offsets stay true.
        valid = [SURROGATE.sub("\ufffd", text) for text in texts]
        found = [[match.span() for match in WORD.finditer(text)] for text in valid]
        words = [[text[start:end] for start, end in spans] for text, spans in zip(valid, found, strict=True)]
        encodings = _encoded(self, words)
        return [self._by_word(*one) for one in zip(texts, found, encodings, strict=True)]

    def _by_word(self, text: str, words: list[tuple[int, int]], encoding: Any) -> Encoded:
        of = np.array(encoding.word_ids, dtype=np.int64)
        ids = np.array(encoding.ids, dtype=np.int32)
        if len(of):
            first = np.flatnonzero(np.diff(of, prepend=-1))
            lengths = np.diff(np.append(first, len(of)))
            kept = np.arange(len(of)) - np.repeat(first, lengths) < self.longest
            of, ids = of[kept], ids[kept]
        offsets = [words[word] for word in of.tolist()]
        return Encoded(text, ids, offsets, offsets)


def word_starts(encoded: Encoded) -> Array:
    """The place of each word's first token, int64 (words,)."""
    starts = np.array([start for start, _ in encoded.offsets], dtype=np.int64)
    return np.flatnonzero(np.diff(starts, prepend=-1))


def _encoded(encoder: TextEncoder, words: Sequence[Sequence[str]]) -> list[Any]:
    try:
        return list(encoder.tokenizer.encode_batch(words, is_pretokenized=True, add_special_tokens=False))
    except BaseException as error:  # a panic of the library is no Exception, and its message quotes the text
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise ModelError("the tokenizers library failed on a document of this batch – is tokenizer.json whole?") from None
