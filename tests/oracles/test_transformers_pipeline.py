"""Parity with transformers' token-classification pipeline: the four aggregations, on three kinds of tokenizers.

Spans are compared after white space is trimmed off the pipeline's, which keeps the space that byte-level and
Metaspace tokens begin with. Texts have single spaces, since a token that is all white space has a tag of its own there.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from make_golden import ENCODER, build, spread
from runtime.tiny_models import LABELS, WORDS, byte_bpe, deberta_unigram, unigram, word_piece
from tokenizers import Tokenizer

from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.spans import trimmed

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # on models this small its threads only wait for each other
transformers = pytest.importorskip("transformers")

VOICE = [
    *(word for word in WORDS if not word.startswith("##")),
    "nephritis",
    "nephrectomy",
    "kidneys",
    "lungs",
    "crème",
    "Öz",
    "腎臓",
]
PIECES = [f"▁{word}" for word in VOICE] + ["▁", "▁neph", *"abcdefghijklmnopqrstuvwxyz.,-57", "itis", "ney"]


def texts(count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    drawn = [
        [rng.choice(VOICE) + rng.choice(["", "", "", ",", ".", "-7"]) for _ in range(rng.randint(1, 14))] for _ in range(count)
    ]
    return [" ".join(words) for words in drawn]


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "wordpiece": word_piece,
    "wordpiece-cased": lambda: word_piece(lowercase=False),
    "byte-bpe-trimmed": lambda: byte_bpe(texts(300, 9), size=700, trim=True),
    "byte-bpe-untrimmed": lambda: byte_bpe(texts(300, 9), size=700, trim=False),
    "byte-bpe-prefix-space": lambda: byte_bpe(texts(300, 9), size=700, trim=True, pre_space=True, post_space=True),
    "metaspace": lambda: unigram(PIECES),
    "deberta-v3": lambda: deberta_unigram(PIECES),
    "mdeberta": lambda: deberta_unigram(PIECES, multilingual=True),
}
UNKNOWN = dict.fromkeys(("wordpiece", "wordpiece-cased", "deberta-v3", "mdeberta"), "[UNK]")

# Trap 6 wants B-X I-Y on the pieces of one word; IO and unprefixed labels join where IOB ones do not.
LABEL_SETS = {
    "iob": LABELS,
    "io": ("O", "I-ANATOMY", "I-NAME", "I-AGE", "I-DATE"),
    "unprefixed": ("O", "ANATOMY", "NAME", "AGE", "DATE"),
}


def model_folder(folder: Path, kind: str, label_set: str) -> Path:
    tokenizer = TOKENIZERS[kind]()
    size = tokenizer.get_vocab_size()
    model = build("Bert", {**ENCODER, "max_position_embeddings": 256}, 21)
    model.resize_token_embeddings(size)
    spread(model, 22)
    model.config.id2label = dict(enumerate(LABEL_SETS[label_set]))
    model.config.label2id = {label: number for number, label in model.config.id2label.items()}
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": UNKNOWN.get(kind, "<unk>")}
    (folder / "tokenizer_config.json").write_text(json.dumps(named), "utf-8")
    return folder


def pipeline_spans(folder: Path, strategy: str, documents: list[str]) -> list[list[tuple[int, int, str, float]]]:
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.model_max_length = 512  # it may be less than the model takes, and the pipeline cuts there in silence
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder, dtype="float32")
    run = transformers.pipeline("ner", model=model, tokenizer=tokenizer, device="cpu", aggregation_strategy=strategy)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text, entities in zip(documents, run(documents), strict=True):
            rows = [(*trimmed(text, e["start"], e["end"]), e["entity_group"], float(e["score"])) for e in entities]
            found.append([row for row in rows if row[0] < row[1]])
    return found


def assert_same_spans(folder: Path, strategy: str, documents: list[str]) -> int:
    model = TokenClassifier.load(folder, engine="numpy", aggregation=strategy)
    assert all(start < end for encoded in model.encoder.encode(documents) for start, end in encoded.offsets)
    expected = pipeline_spans(folder, strategy, documents)
    found = list(model.predict(documents))
    for mine, theirs in zip(found, expected, strict=True):
        assert [(span.start, span.end, span.label) for span in mine] == [row[:3] for row in theirs]
        assert [span.score for span in mine] == pytest.approx([row[3] for row in theirs], abs=1e-5)
    return sum(map(len, expected))


@pytest.mark.parametrize("label_set", LABEL_SETS)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_four_aggregations_give_the_spans_of_the_pipeline(tmp_path: Path, kind: str, label_set: str) -> None:
    folder = model_folder(tmp_path, kind, label_set)
    for strategy in ("simple", "first", "average", "max"):
        assert assert_same_spans(folder, strategy, texts(40)) > 30


def sentences_of(path: Path, count: int) -> list[str]:
    """The first sentences of a file of token<TAB>tag lines, tokens joined with one space."""
    sentences: list[list[str]] = [[]]
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            sentences[-1].append(line.split("\t")[0])
        elif sentences[-1]:
            sentences.append([])
    return [" ".join(tokens) for tokens in sentences if tokens][:count]


def test_real_checkpoint_on_real_sentences(shared: Callable[[str], Path]) -> None:
    folder = shared("models/anatem-minilm")
    documents = sentences_of(shared("corpora/anatem/devel.tsv"), 150)
    encoded = TokenClassifier.load(folder, engine="numpy").encoder.encode(documents)
    short = [text for text, tokens in zip(documents, encoded, strict=True) if len(tokens.ids) <= 510]
    assert len(short) > 140  # the pipeline cannot take the others whole
    assert assert_same_spans(folder, "simple", short) > 50


def test_a_sentence_longer_than_the_real_model_is_covered_whole(shared: Callable[[str], Path]) -> None:
    folder = shared("models/anatem-minilm")
    model = TokenClassifier.load(folder, engine="numpy")
    documents = sentences_of(shared("corpora/anatem/devel.tsv"), 10**6)
    longest = max(documents, key=lambda text: len(text))
    encoded, logits = model.logits(longest)
    assert len(encoded.ids) > model.window
    assert len(logits) == len(encoded.ids)
    assert encoded.offsets[0][0] == 0
    assert encoded.offsets[-1][1] == len(longest)
    covered = set().union(*(range(start, end) for start, end in encoded.offsets))
    assert all(longest[i].isspace() for i in set(range(len(longest))) - covered)
    tail = " the biopsy of the left kidney and the liver ."
    (spans,) = model.predict([longest + tail])
    assert "kidney" in {(longest + tail)[span.start : span.end].split()[-1] for span in spans if span.start > len(longest)}
