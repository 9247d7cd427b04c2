"""Decoding: forced labels on real tokenizers give the right pieces of the raw text (traps 1 to 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.decoding import Decoder
from openmed_mlx_eval.runtime.options import AGGREGATIONS
from openmed_mlx_eval.runtime.tokenization import Encoded, TextEncoder
from openmed_mlx_eval.runtime.viterbi import Constraints, best_path

from .tiny_models import byte_bpe, deberta_unigram, unigram, word_piece

IOB = ("O", "B-NAME", "I-NAME", "B-ANATOMY", "I-ANATOMY")
TEXTS = ["in lung tissue", "Quill, ward 7", "🩺 Quill", "I\u0307pek Öz", "crème 5 mg, Dr Ødeg", "腎臓と肺", "Amy Bo"]


@pytest.fixture
def encoder_of(tmp_path: Path) -> Any:
    def load(tokenizer: Tokenizer) -> TextEncoder:
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        return TextEncoder.load(tmp_path / "tokenizer.json")

    return load


def forced(labels: Sequence[str], rows: Sequence[str]) -> Any:
    """Logits that make each token's label certain."""
    return np.array([[8.0 if label == row else 0.0 for label in labels] for row in rows], dtype=np.float32)


def tagged(
    encoder: TextEncoder, text: str, wanted: Mapping[tuple[int, int], str], labels: Sequence[str], aggregation: str
) -> Any:
    """Spans where each token that touches a wanted piece has its label: B- at the start of it, I- inside."""
    encoded = encoder.encode([text])[0]
    known = set(labels)
    rows = []
    begun: set[tuple[int, int]] = set()
    for start, end in encoded.offsets:
        row = "O"
        for piece, label in wanted.items():
            if start < end and start < piece[1] and end > piece[0]:
                prefixed = f"{'I' if piece in begun else 'B'}-{label}"
                row = next(name for name in (prefixed, f"I-{label}", label) if name in known)
                begun.add(piece)
        rows.append(row)
    return as_tuples(Decoder.of(tuple(labels), aggregation).spans(encoded, forced(labels, rows), encoder))


def as_tuples(spans: Any) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label) for span in spans]


PIECES = ["▁", *"abcdefghijklmnopqrstuvwxyzIQDAÖØB\u0307İè,57🩺腎臓と肺", "▁lung", "▁tissue", "▁Dr"]
KINDS = {
    "wordpiece": lambda: word_piece(
        [*"abcdefghijklmnopqrstuvwxyz,57🩺腎臓と肺", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyzø")]
    ),
    "bytes": lambda: byte_bpe([], trim=False, size=260),
    "bpe-untrimmed": lambda: byte_bpe(TEXTS, trim=False),
    "bpe-trimmed": lambda: byte_bpe(TEXTS, trim=True),
    "bpe-prefix-space-before": lambda: byte_bpe(TEXTS, trim=True, pre_space=True, post_space=False),
    "bpe-prefix-space-after": lambda: byte_bpe(TEXTS, trim=True, pre_space=False, post_space=True),
    "bpe-prefix-space-untrimmed": lambda: byte_bpe(TEXTS, trim=False, pre_space=True, post_space=False),
    "unigram": lambda: unigram(PIECES),
    "deberta-v3": lambda: deberta_unigram(PIECES),
    "mdeberta": lambda: deberta_unigram(PIECES, multilingual=True),
}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("in lung tissue", {(3, 14): "ANATOMY"}),
        ("Quill, ward 7", {(0, 5): "NAME"}),
        ("🩺 Quill", {(2, 7): "NAME"}),
        ("I\u0307pek Öz", {(0, 8): "NAME"}),
        ("crème 5 mg, Dr Ødeg", {(15, 19): "NAME"}),
        ("Amy Bo", {(0, 3): "NAME", (4, 6): "NAME"}),
        ("a  b", {(0, 1): "NAME", (3, 4): "ANATOMY"}),
        ("\n\tAmy \u00a0 Bo \n", {(2, 5): "NAME", (8, 10): "ANATOMY"}),
    ],
)
def test_a_certain_model_gives_exactly_the_piece(
    encoder_of: Any, kind: str, aggregation: str, text: str, wanted: dict[tuple[int, int], str]
) -> None:
    if kind != "wordpiece" and aggregation in ("first", "average", "max"):
        text = text.replace("Quill,", "Quill")  # `Quill,` is one word to transformers where a model marks no pieces
    found = tagged(encoder_of(KINDS[kind]()), text, wanted, IOB, aggregation)
    assert found == [(start, end, label) for (start, end), label in wanted.items()]


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram", "deberta-v3", "mdeberta"])
@pytest.mark.parametrize("aggregation", ["simple", "viterbi"])  # the others take 腎臓と肺 for one word, as transformers does
def test_cjk_entities_stay_two(encoder_of: Any, kind: str, aggregation: str) -> None:
    found = tagged(encoder_of(KINDS[kind]()), "腎臓と肺", {(0, 2): "ANATOMY", (3, 4): "ANATOMY"}, IOB, aggregation)
    assert found == [(0, 2, "ANATOMY"), (3, 4, "ANATOMY")]


def test_adjacent_entities_join_under_io_tags(encoder_of: Any) -> None:
    for labels in (("O", "I-NAME"), ("O", "NAME")):
        found = tagged(encoder_of(byte_bpe(TEXTS, trim=True)), "Amy Bo", {(0, 3): "NAME", (4, 6): "NAME"}, labels, "simple")
        assert found == [(0, 6, "NAME")]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("nothing", ["O", "B-ANATOMY"])
def test_zero_width_token_neither_opens_closes_nor_drops(aggregation: str, nothing: str) -> None:
    encoder = TextEncoder(unigram(["▁", "a", "b"]), np.zeros(0, np.int32), np.zeros(0, np.int32), False)
    offsets = [(0, 1), (1, 1), (2, 2), (3, 4)]
    encoded = Encoded("a  b", np.array([5, 4, 4, 6], dtype=np.int32), offsets, offsets)
    decoder = Decoder.of(IOB, aggregation)
    for position, tags in enumerate(
        (["B-NAME", nothing, nothing, "I-NAME"], [nothing if nothing == "O" else "O", nothing, nothing, "O"])
    ):
        found = as_tuples(decoder.spans(encoded, forced(IOB, tags), encoder))
        assert found == ([(0, 4, "NAME")] if position == 0 else [])


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("kind", ["unigram", "bytes-prefixed", "bytes-prefixed-trimmed"])
def test_the_space_a_tokenizer_puts_before_the_text_is_none_of_it(encoder_of: Any, kind: str, aggregation: str) -> None:
    tokenizers = {
        "unigram": lambda: unigram(["▁", *"腎臓"]),
        "bytes-prefixed": lambda: byte_bpe([], trim=False, pre_space=True, size=260),
        "bytes-prefixed-trimmed": lambda: byte_bpe([], trim=True, pre_space=True, post_space=True, size=260),
    }
    encoder = encoder_of(tokenizers[kind]())
    encoded = encoder.encode(["腎臓"])[0]
    assert encoded.offsets[0] == (0, 0)
    rest = len(encoded.ids) - 1
    decoder = Decoder.of(IOB, aggregation)
    assert decoder.spans(encoded, forced(IOB, ["B-NAME", *["O"] * rest]), encoder) == []
    found = decoder.spans(encoded, forced(IOB, ["O", "B-NAME", *["I-NAME"] * (rest - 1)]), encoder)
    assert as_tuples(found) == [(0, 2, "NAME")]


def test_a_mark_that_stands_in_the_text_is_text(encoder_of: Any) -> None:
    encoder = encoder_of(unigram(["▁", "a"]))
    encoded = encoder.encode(["a▁"])[0]
    assert encoded.offsets[-1] == (1, 2)


NORMALISERS = {
    "nfkc": normalizers.NFKC(),
    "lower": normalizers.Lowercase(),
    "nfd-strip": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "nfc": normalizers.NFC(),
    "bert": normalizers.BertNormalizer(lowercase=True),
}
SPLITTERS = {
    "bytes": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "bytes-prefixed": pre_tokenizers.ByteLevel(add_prefix_space=True),
    "metaspace": pre_tokenizers.Metaspace(),
    "whitespace": pre_tokenizers.WhitespaceSplit(),
}
AWKWARD = st.text(st.sampled_from("ab ½ﬁ…İi\u0307ẞé🩺腎臓\u200d\u00a0\n\t\r\ud800\u0000,7 "), max_size=24)


def splitter(normaliser: str, pre: str) -> Tokenizer:
    """Whole words or single characters, whatever the text: the vocabulary is bytes and a few signs."""
    alphabet = {sign: number for number, sign in enumerate([*pre_tokenizers.ByteLevel.alphabet(), "▁", "½", "é", "腎", "<unk>"])}
    tokenizer = Tokenizer(models.BPE(alphabet, [], unk_token="<unk>"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = NORMALISERS[normaliser], SPLITTERS[pre]
    return tokenizer


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("pre", SPLITTERS)
def test_offsets_always_index_the_raw_text(tmp_path: Path, normaliser: str, pre: str) -> None:
    splitter(normaliser, pre).save(str(tmp_path / "tokenizer.json"))
    encoder = TextEncoder.load(tmp_path / "tokenizer.json")
    decoders = [Decoder.of(IOB, aggregation) for aggregation in AGGREGATIONS]

    @given(AWKWARD, st.integers(0, 2**32 - 1))
    def check(text: str, seed: int) -> None:
        encoded = encoder.encode([text])[0]
        for start, end in encoded.offsets:
            assert 0 <= start <= end <= len(text)
            assert text[start:end] == text[start:end].strip()
        logits = np.random.default_rng(seed).normal(0, 3, (len(encoded.ids), len(IOB))).astype(np.float32)
        for decoder in decoders:
            spans = decoder.spans(encoded, logits, encoder)
            for span in spans:
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end] == text[span.start : span.end].strip()
                assert 0 < span.score <= 1 + 1e-6
            assert [span.start for span in spans] == sorted(span.start for span in spans)

    check()


@pytest.mark.parametrize("text", ["½ mg", "ﬁne", "wait … now", "İpek"])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_length_changing_sign_is_found_whole(encoder_of: Any, normaliser: str, text: str) -> None:
    encoder = encoder_of(splitter(normaliser, "bytes"))
    first = len(text.split()[0])
    assert tagged(encoder, text, {(0, first): "NAME"}, ("O", "I-NAME"), "simple") == [(0, first, "NAME")]


@pytest.mark.parametrize(
    ("labels", "rows", "expected"),
    [
        (("O", "NAME"), ["NAME", "NAME", "O"], [(0, 6, "NAME")]),
        (("B-X", "I-X", "L-X", "U-X", "O"), ["B-X", "L-X", "U-X"], [(0, 6, "X"), (7, 9, "X")]),
        (("B-X", "I-X", "E-X", "S-X", "O"), ["S-X", "B-X", "E-X"], [(0, 3, "X"), (4, 9, "X")]),
        (("b-x", "i-x", "o"), ["b-x", "i-x", "o"], [(0, 6, "x")]),
        (("B_X", "I_X", "O"), ["B_X", "I_X", "B_X"], [(0, 6, "X"), (7, 9, "X")]),
        (("B-O", "B-X", "I-X"), ["B-X", "B-O", "I-X"], [(0, 3, "X"), (7, 9, "X")]),
        (("0", "X"), ["X", "0", "X"], [(0, 3, "X"), (7, 9, "X")]),
        (("o", "X"), ["o", "X", "o"], [(4, 6, "X")]),
    ],
)
def test_every_spelling_of_tags(encoder_of: Any, labels: tuple[str, ...], rows: list[str], expected: Any) -> None:
    encoder = encoder_of(unigram(["▁Amy", "▁Bo", "▁Cy"]))
    encoded = encoder.encode(["Amy Bo Cy"])[0]
    assert as_tuples(Decoder.of(labels, "simple").spans(encoded, forced(labels, rows), encoder)) == expected


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1"), ("label_0",), ("1", "2")])
def test_nameless_labels_ask_for_a_label_map(labels: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="--label-map FILE"):
        Decoder.of(labels, "simple")


# Word aggregations by hand, on the pieces neph ##r ##itis of one word


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("simple", [(0, 4, "NAME"), (4, 9, "ANATOMY")]),
        ("first", [(0, 9, "NAME")]),
        ("average", [(0, 9, "ANATOMY")]),
        ("max", [(0, 9, "NAME")]),
    ],
)
def test_pieces_of_one_word_that_disagree(encoder_of: Any, aggregation: str, expected: Any) -> None:
    encoder = encoder_of(word_piece())
    encoded = encoder.encode(["nephritis"])[0]
    assert encoded.offsets == [(0, 4), (4, 5), (5, 9)]
    strong, weak = [0, 4.0, 0, 0, 0], [0, 0, 0, 0, 3.5]
    logits = np.array([strong, weak, weak], dtype=np.float32)
    assert as_tuples(Decoder.of(IOB, aggregation).spans(encoded, logits, encoder)) == expected


def test_two_begins_in_one_word(encoder_of: Any) -> None:
    encoder = encoder_of(word_piece())
    encoded = encoder.encode(["kidneys"])[0]
    logits = forced(IOB, ["B-NAME", "B-NAME"])
    assert as_tuples(Decoder.of(IOB, "simple").spans(encoded, logits, encoder)) == [(0, 6, "NAME"), (6, 7, "NAME")]
    for aggregation in ("first", "average", "max"):
        assert as_tuples(Decoder.of(IOB, aggregation).spans(encoded, logits, encoder)) == [(0, 7, "NAME")]


def test_score_is_the_mean_probability(encoder_of: Any) -> None:
    encoder = encoder_of(word_piece())
    encoded = encoder.encode(["left kidney"])[0]
    logits = np.log(np.array([[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.05, 0.8, 0.03, 0.02]], dtype=np.float32))
    (span,) = Decoder.of(IOB, "simple").spans(encoded, logits, encoder)
    assert span.score == pytest.approx(0.7)


# Viterbi

SCHEMES = {
    "iob": IOB,
    "iobes": ("O", *(f"{prefix}-{label}" for label in ("X", "Y") for prefix in "BIES")),
    "io": ("O", "I-X", "I-Y"),
}


@pytest.mark.parametrize("labels", SCHEMES.values(), ids=SCHEMES)
@given(data=st.data())
def test_viterbi_is_the_best_of_all_allowed_sequences(labels: tuple[str, ...], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4 if len(labels) < 9 else 3))
    seed = data.draw(st.integers(0, 2**32 - 1))
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(len(labels)), count).astype(np.float32)
    decoder = Decoder.of(labels, "viterbi")
    assert decoder.constraints is not None
    found = best_path(probabilities, decoder.constraints).tolist()

    def allowed(path: tuple[int, ...]) -> bool:
        tags = ["O", *(labels[i] for i in path), "O"]
        four = any(tag.startswith("E-") for tag in labels)
        begins = any(tag.startswith("B-") for tag in labels)
        for before, after in pairwise(tags):
            continues = before[0] in "BI" and after[0] in "IE" and before[1:] == after[1:]
            if after[0] in "IE" and begins and not continues:
                return False
            if four and before[0] in "BI" and not continues:
                return False
        return True

    def weight(path: tuple[int, ...]) -> float:
        return float(sum(np.log(probabilities[i, tag]) for i, tag in enumerate(path)))

    best = max((path for path in product(range(len(labels)), repeat=count) if allowed(path)), key=weight)
    assert allowed(tuple(found))
    assert weight(tuple(found)) == pytest.approx(weight(best), abs=1e-4)


def test_viterbi_without_an_allowed_sequence_takes_the_likeliest() -> None:
    constraints = Constraints.of([("B", "X"), ("E", "X")])
    assert best_path(np.array([[0.3, 0.7]], dtype=np.float32), constraints).tolist() == [1]
    assert best_path(np.zeros((0, 2), dtype=np.float32), constraints).tolist() == []
