"""Training of the demo tagger: a WordPiece vocabulary, then a small BERT, both from a fixed seed on the CPU.

Needs torch and transformers (the `parity` extra). It takes notes and gives bytes and weights; it writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np
import torch
from demo_grammar import LABELS, Note
from demo_scoring import Forward
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from transformers import BertConfig, BertForTokenClassification

WINDOW = 128
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TAGS = ("O", *(f"I-{label}" for label in LABELS))
"""IO: hardly two spans of a label touch, and a tagger this small would cut names in two where it need not tell B from I."""
IGNORED = -100


def make_tokenizer(texts: Sequence[str], size: int) -> Tokenizer:
    """Cased WordPiece without accents. Digits never merge, so that the length of a number can be seen.

    The alphabet goes in as special tokens, in order: the trainer otherwise numbers it in the order of a hash map,
    and the same texts would give another vocabulary in each process.
    """
    normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=False)
    splitter = pre_tokenizers.BertPreTokenizer()
    learner = Tokenizer(WordPiece(unk_token="[UNK]"))
    learner.normalizer = normalizer
    learner.pre_tokenizer = pre_tokenizers.Sequence([splitter, pre_tokenizers.Digits(individual_digits=True)])
    letters = sorted({letter for text in texts for letter in normalizer.normalize_str(text) if not letter.isspace()})
    alphabet = [*letters, *(f"##{letter}" for letter in letters if letter.isalnum())]
    trainer = WordPieceTrainer(vocab_size=size, min_frequency=3, special_tokens=[*SPECIALS, *alphabet], show_progress=False)
    learner.train_from_iterator(texts, trainer)

    tokenizer = Tokenizer(WordPiece(learner.get_vocab(with_added_tokens=True), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(list(SPECIALS))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    from tokenizers.decoders import WordPiece as Joiner

    tokenizer.decoder = Joiner(prefix="##", cleanup=False)
    return tokenizer


def tagged(note: Note, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """(token ids, tag ids) of a note, special tokens left out; each piece of a word has its own tag."""
    encoding = tokenizer.encode(note.text, add_special_tokens=False)
    tags, spans = [], list(note.spans)
    for start, end in encoding.offsets:
        while spans and spans[0][1] <= start:
            spans.pop(0)
        tags.append(TAGS.index(f"I-{spans[0][2]}") if spans and spans[0][0] < end else 0)
    return encoding.ids, tags


class Scrambler:
    """Makes words look unseen: a tagger that has seen each training word whole would take every unknown word for a name.

    share: of the words outside spans, cut into random pieces. mutation: of the letters in spans, replaced by others.
    """

    def __init__(self, tokenizer: Tokenizer, share: float, mutation: float) -> None:
        vocabulary = tokenizer.get_vocab()
        self.share, self.mutation = share, mutation
        self.pieces = {token: piece for piece, token in vocabulary.items()}
        self.vocabulary = vocabulary
        self.continues = torch.tensor([self.pieces[n].startswith("##") for n in range(len(vocabulary))])
        classes = (str.islower, str.isupper, str.isdigit)
        self.alike: dict[int, list[int]] = {}
        for mark in ("", "##"):
            for kind in classes:
                tokens = [vocabulary[mark + c] for c in map(chr, range(48, 123)) if kind(c) and mark + c in vocabulary]
                self.alike |= dict.fromkeys(tokens, tokens)

    def cut(self, word: str, rng: Random) -> list[int]:
        """The word in random pieces of the vocabulary, mostly short; single letters are always there."""
        tokens, at = [], 0
        while at < len(word):
            mark = "##" if at else ""
            sizes = [n for n in range(1, min(5, len(word) - at) + 1) if mark + word[at : at + n] in self.vocabulary]
            if not sizes:
                return []
            size = rng.choice(sizes)
            tokens.append(self.vocabulary[mark + word[at : at + size]])
            at += size
        return tokens

    def __call__(self, ids: list[int], tags: list[int], rng: Random) -> tuple[list[int], list[int]]:
        new_ids: list[int] = []
        new_tags: list[int] = []
        at = 0
        while at < len(ids):
            end = at + 1
            while end < len(ids) and self.pieces[ids[end]].startswith("##"):
                end += 1
            word = self.pieces[ids[at]] + "".join(self.pieces[token].removeprefix("##") for token in ids[at + 1 : end])
            tokens, marks = ids[at:end], tags[at:end]
            if not any(marks) and word.isalpha() and rng.random() < self.share:
                tokens = self.cut(word, rng) or tokens
                marks = [0] * len(tokens)
            elif any(marks) and rng.random() < 0.5:
                tokens = [rng.choice(self.alike[t]) if t in self.alike and rng.random() < self.mutation else t for t in tokens]
            new_ids += tokens
            new_tags += marks
            at = end
        return new_ids, new_tags


def batch(
    notes: Sequence[tuple[list[int], list[int]]], weights: Sequence[int], size: int, scramble: Scrambler, rng: Random
) -> list[torch.Tensor]:
    """(ids, mask, targets), each (size, longest): pieces of notes of up to a window, begun anywhere.

    weights: cumulative; long notes come up as often as they are long.
    """
    content = WINDOW - 2
    rows = []
    for ids, tags in rng.choices(notes, cum_weights=weights, k=size):
        start = 0 if rng.random() < 0.4 else rng.randrange(len(ids))
        start = start if len(ids) - start >= 8 else 0
        piece, marks = ids[start : start + content], tags[start : start + content]
        if rng.random() < 0.8:
            piece, marks = (row[:content] for row in scramble(piece, marks, rng))
        rows.append(([2, *piece, 3], [IGNORED, *marks, IGNORED]))
    longest = max(len(ids) for ids, _ in rows)
    padded = [(ids + [0] * (longest - len(ids)), tags + [IGNORED] * (longest - len(ids))) for ids, tags in rows]
    ids, targets = torch.tensor([ids for ids, _ in padded]), torch.tensor([tags for _, tags in padded])
    return [ids, (ids != 0).long(), targets]


def configuration(vocabulary: int) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=256,
        max_position_embeddings=WINDOW, type_vocab_size=2, hidden_act="gelu", hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, pad_token_id=0, initializer_range=0.08, id2label=dict(enumerate(TAGS)),
        label2id={tag: index for index, tag in enumerate(TAGS)},
    )  # fmt: skip


def begun(model: BertForTokenClassification, strength: float = 2.0, layers: int = 3) -> None:
    """Positions start as sinusoids and each head as a look at one neighbour (offsets −1, +1, −2, +2, …).

    From random positions a small post-norm BERT needs thousands of steps before it finds its neighbours at all;
    begun like this it learns from the first hundred. Training then moves all of it freely.
    """
    width, heads = model.config.hidden_size, model.config.num_attention_heads
    size = width // heads
    rates = torch.exp(-torch.arange(size // 2) / (size // 2) * float(np.log(64.0)))
    angles = torch.arange(WINDOW)[:, None] * rates[None, :]
    table = model.bert.embeddings.position_embeddings.weight.data
    table[:] = 0.0
    table[:, :size:2], table[:, 1:size:2] = 0.15 * torch.sin(angles), 0.15 * torch.cos(angles)
    offsets = (-1, 1, -2, 2, -3, 3, -4, 4)
    for number, layer in enumerate(model.bert.encoder.layer[:layers]):
        query, key = layer.attention.self.query.weight.data, layer.attention.self.key.weight.data
        for head in range(heads):
            shift = offsets[(number * heads + head) % len(offsets)] * rates
            rows = slice(head * size, (head + 1) * size)
            for weight, turn in ((query, shift), (key, torch.zeros_like(shift))):
                block = torch.zeros(size, width)
                for pair in range(size // 2):
                    c, d = float(torch.cos(turn[pair])), float(torch.sin(turn[pair]))
                    block[2 * pair, 2 * pair], block[2 * pair, 2 * pair + 1] = c, d
                    block[2 * pair + 1, 2 * pair], block[2 * pair + 1, 2 * pair + 1] = -d, c
                weight[rows] = 0.5 * weight[rows] + strength**0.5 * block


def disagreement(logits: torch.Tensor, continues: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """How far the pieces of a word are from what they say together: KL to their mean's distribution, a mean over pieces.

    The demo's spans are decoded piece by piece, where one piece of another mind breaks a name.
    """
    word = (~continues).cumsum(0) - 1
    sums = torch.zeros(int(word[-1]) + 1, logits.shape[1]).index_add(0, word, logits.detach())
    sizes = torch.zeros(len(sums)).index_add(0, word, torch.ones(len(word)))
    together = torch.log_softmax(sums / sizes[:, None], dim=1)[word]
    each = torch.nn.functional.kl_div(torch.log_softmax(logits, dim=1), together, reduction="none", log_target=True).sum(1)
    return each[counted].mean()


def train(
    notes: Sequence[tuple[list[int], list[int]]], tokenizer: Tokenizer, start: dict[str, torch.Tensor] | None = None, *,
    steps: int, seed: int, rate: float, agreement: float, rows: int = 16, share: float = 0.35, mutation: float = 0.5, strength: float = 2.0, layers: int = 3, say: Any = None,
) -> BertForTokenClassification:  # fmt: skip
    """A model trained for `steps` batches; AdamW, a short warm-up, cosine decay. The same seed gives the same bits.

    start: weights to go on from. agreement: the weight of `disagreement` beside the cross-entropy.
    """
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    model = BertForTokenClassification(configuration(tokenizer.get_vocab_size())).train()
    if start is None:
        begun(model, strength, layers)
    else:
        model.load_state_dict({name: weight.float() for name, weight in start.items()})
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    plain = [weight for weight in model.parameters() if weight.ndim == 1]
    groups = [{"params": decayed, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    warm = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, 0.5 + 0.5 * float(np.cos(np.pi * min(1.0, step / steps))))
    )
    rng, scramble = Random(seed), Scrambler(tokenizer, share, mutation)
    weights = list(accumulate(1 + len(ids) // (WINDOW - 2) for ids, _ in notes))
    for step in range(steps):
        ids, mask, targets = batch(notes, weights, rows, scramble, rng)
        logits = model(input_ids=ids, attention_mask=mask).logits.reshape(-1, len(TAGS))
        loss = torch.nn.functional.cross_entropy(logits, targets.reshape(-1), ignore_index=IGNORED)
        loss = loss + agreement * disagreement(logits, scramble.continues[ids.reshape(-1)], targets.reshape(-1) != IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if say and (step + 1) % 100 == 0:
            say(f"step {step + 1}/{steps}: loss {loss.item():.4f}")
    return model.eval()


def forward_of(model: BertForTokenClassification) -> Forward:
    def forward(ids: list[int]) -> np.ndarray:
        with torch.inference_mode():
            return model(input_ids=torch.tensor([ids])).logits[0].float().numpy()

    return forward


def half_precision(model: BertForTokenClassification) -> dict[str, torch.Tensor]:
    """The weights as float16, in the order of their names."""
    return {name: weight.detach().to(torch.float16).contiguous() for name, weight in sorted(model.state_dict().items())}


def mean_of(many: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each weight over several models that began as one; float16."""
    return {name: torch.stack([one[name].float() for one in many]).mean(0).to(torch.float16) for name in many[0]}


def config_json(model: BertForTokenClassification) -> str:
    """config.json with what defines the model and nothing about the library that trained it."""
    kept = (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
        "hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size",
        "initializer_range", "layer_norm_eps", "pad_token_id",
    )  # fmt: skip
    config = {"architectures": ["BertForTokenClassification"], "model_type": "bert", "torch_dtype": "float16"}
    config |= {name: getattr(model.config, name) for name in kept}
    config |= {
        "id2label": {str(index): tag for index, tag in enumerate(TAGS)},
        "label2id": {tag: index for index, tag in enumerate(TAGS)},
    }
    return json.dumps(config, indent=2) + "\n"
