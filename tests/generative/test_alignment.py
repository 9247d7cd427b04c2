"""The faithful alignment: gold fed back is itself, what was spoilt is recovered or counted, and nothing takes long."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generative import perturbing
from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.generative.alignment import align, most_specific
from openmed_mlx_eval.generative.outcome import LOST, REPAIRED, STATES, UNUSABLE, Outcome, tally
from openmed_mlx_eval.generative.rendering import tagged
from openmed_mlx_eval.generative.sequences import character_matches
from openmed_mlx_eval.spans import Span

LABELS = {"anatomy": "ANATOMY", "cell": "CELL"}
TAGS = {label: tag for tag, label in LABELS.items()}


def wrapped(text: str) -> str:
    return f"<response>{text}</response>"


def surfaces(outcome: Outcome, source: str) -> list[tuple[int, str]]:
    return [(span.start, source[span.start : span.end]) for span in outcome.spans]


CASES = {
    "trap 37, adjacent": (
        wrapped("<anatomy>left kidney</anatomy> <anatomy>right kidney</anatomy> biopsy"),
        "left kidney right kidney biopsy",
        "clean",
        [(0, "left kidney"), (12, "right kidney")],
        {},
    ),
    "trap 37, its own occurrence": (
        wrapped("the lung beside the other <anatomy>lung</anatomy>"),
        "the lung beside the other lung",
        "clean",
        [(26, "lung")],
        {},
    ),
    "trap 38, reasoning": (
        "<think>perhaps <response>the <anatomy>the</anatomy></think>\n" + wrapped("the <anatomy>lung</anatomy>"),
        "the lung",
        "clean",
        [(4, "lung")],
        {},
    ),
    "reasoning begun in the prompt": (
        "maybe <anatomy>x</anatomy></think>" + wrapped("the <anatomy>lung</anatomy>"),
        "the lung",
        "clean",
        [(4, "lung")],
        {},
    ),
    "reasoning in another model's marks": (
        "<|channel|>analysis<|message|>a lung?<|end|><|start|>assistant<|channel|>final<|message|>" + wrapped("a lung"),
        "a lung",
        "clean",
        [],
        {},
    ),
    "reasoning cut": ("<think>the <anatomy>lung</anatomy>", "the lung", "truncated", [], {}),
    "trap 38, cut by the limit": (
        "<response>the <anatomy>lung</anatomy> of",
        "the lung of a rat and of a mouse",
        "truncated",
        [],
        {"unusable_answer": 1},
    ),
    "cut inside a word": ("<response>the <anatomy>lung</anatomy> of a ra", "the lung of a rat", "truncated", [], {"unusable_answer": 1}),
    "only the end is missing": ("<response>the <anatomy>lung</anatomy>", "the lung", "unclosed", [(4, "lung")], {}),
    "no response, but the text": ("the <anatomy>lung</anatomy> is", "the lung is", "unwrapped", [(4, "lung")], {}),
    "no response and no text": ("I see <anatomy>a lung</anatomy> there.", "the lung is", "no_response", [], {"unusable_answer": 1}),
    "named before it is written": (
        "I use <response>...</response>: " + wrapped("the <anatomy>lung</anatomy>"),
        "the lung",
        "clean",
        [(4, "lung")],
        {},
    ),
    "entities alone": (wrapped("<anatomy>lung</anatomy>"), "the lung of a rat", "rewritten", [], {"unusable_answer": 1}),
    "another text": (wrapped("what a nice day it was"), "the lung of another rat", "rewritten", [], {}),
    "nothing": ("", "the lung", "empty", [], {}),
    "white space": (" \n", "the lung", "empty", [], {}),
    "an empty response": (wrapped("\n"), "the lung", "empty", [], {}),
    "text that looks like a tag": (
        wrapped("p <x> 0.05 , a < b and <anatomy>lung</anatomy> > c"),
        "p <x> 0.05 , a < b and lung > c",
        "clean",
        [(23, "lung")],
        {},
    ),
    "a stray tag": (wrapped("p <x> 0.05 in <anatomy>lung</anatomy>"), "p  0.05 in lung", "clean", [(11, "lung")], {"unknown_type": 1}),
    "the document speaks of tags": (
        wrapped("write <anatomy> in <response> for <anatomy>lung</anatomy>"),
        "write <anatomy> in <response> for lung",
        "clean",
        [(34, "lung")],
        {},
    ),
    "unknown types": (wrapped("a <organ>lung</organ><br>"), "a lung", "clean", [], {"unknown_type": 2}),
    "nested, innermost": (
        wrapped("<anatomy>left <cell>lung cell</cell></anatomy>"),
        "left lung cell",
        "clean",
        [(5, "lung cell")],
        {"overlapping": 1},
    ),
    "nested on one text, innermost": (wrapped("<anatomy><cell>cell</cell></anatomy>"), "cell", "clean", [(0, "cell")], {"overlapping": 1}),
    "crossing, shorter": (
        wrapped("<anatomy>left <cell>lung</anatomy> cell tissue</cell>"),
        "left lung cell tissue",
        "clean",
        [(0, "left lung")],
        {"overlapping": 1},
    ),
    "unclosed": (wrapped("the <anatomy>lung is"), "the lung is", "unclosed", [], {"unclosed": 1}),
    "unopened": (wrapped("the lung</anatomy> is"), "the lung is", "unclosed", [], {"unopened": 1}),
    "closed by another name": (wrapped("the <anatomy>lung</organ> is"), "the lung is", "unclosed", [(4, "lung")], {}),
    "tags in other spellings": (wrapped("the < Anatomy >lung</ANATOMY > is"), "the lung is", "clean", [(4, "lung")], {}),
    "a tag with an attribute": (wrapped('the <anatomy type="organ">lung</anatomy>'), "the lung", "clean", [(4, "lung")], {}),
    "around nothing": (wrapped("the<anatomy> </anatomy><anatomy/>lung"), "the lung", "clean", [], {"empty": 2}),
    "around white space too": (wrapped("the<anatomy> lung </anatomy>is"), "the lung is", "clean", [(4, "lung")], {}),
    "trap 38, a line end inside": (wrapped("the <anatomy>left\nlung</anatomy>"), "the left lung", "spacing", [(4, "left lung")], {}),
    "spaces gone": (wrapped("in<anatomy>leftlung</anatomy>now"), "in left lung now", "spacing", [(3, "left lung")], {}),
    "case": (wrapped("THE <anatomy>LEFT lung</anatomy>"), "the left  lung", "case", [(4, "left  lung")], {}),
    "a typing error": (wrapped("the <anatomy>left kidny</anatomy> now"), "the left kidney now", "characters", [(4, "left kidney")], {}),
    "a letter lost at the end": (wrapped("the <anatomy>kidney</anatomy> of now"), "the kidneys of now", "characters", [(4, "kidneys")], {}),
    "a letter replaced at the start": (wrapped("the <anatomy>xidney</anatomy> of"), "the kidney of", "characters", [(4, "kidney")], {}),
    "another word inside": (
        wrapped("the <anatomy>renal</anatomy> cortex of the hepatic lobe"),
        "the kidney cortex of the hepatic lobe",
        "characters",
        [],
        {"changed": 1},
    ),
    "words left out before a repeated mention": (
        wrapped("a lung and then <anatomy>lung</anatomy> tissue"),
        "a lung of a rat and then some lung tissue",
        "characters",
        [(30, "lung")],
        {},
    ),
    "a half of the words left out": (wrapped("the <anatomy>lung</anatomy> of"), "the lung of a rat which was old", "rewritten", [], {"unusable_answer": 1}),
    "letters that are two in capitals": (wrapped("GROSSE <anatomy>LUNGE</anatomy>"), "große lunge", "characters", [(6, "lunge")], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_of_an_answer(name: str) -> None:
    answer, source, state, expected, lost = CASES[name]
    outcome = align(answer, source, LABELS)
    assert (outcome.state, surfaces(outcome, source), dict(outcome.lost)) == (state, expected, lost)
    assert outcome.tags == len(outcome.spans) + sum(outcome.lost.values())


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        ("corpora/anatem/devel.tsv", None),
        ("corpora/anatem/brat-devel", None),
        ("corpora/bc5cdr/devel.pubtator.txt", None),
        ("corpora/ncbi-disease/brat-devel", None),
        ("corpora/meddocan/dev/brat", None),
    ],
)
def test_gold_fed_back_is_itself_and_clean(shared, path: str, labels) -> None:
    corpus = load_corpus(shared(path))
    names = sorted({span.label for document in corpus for span in document.gold_spans})
    tags = {name: f"t{number}" for number, name in enumerate(names)}
    for document in corpus:
        outcome = align(
            tagged(document.text, document.gold_spans, tags), document.text, {tag: name for name, tag in tags.items()}
        )
        assert (outcome.state, outcome.lost) == ("clean", {})
        assert list(outcome.spans) == sorted(document.gold_spans)


def spoilt(seed: int, *changes, rendering=tagged) -> tuple[str, str, list[Span]]:
    random_ = random.Random(seed)
    source, spans = perturbing.source(random_)
    answer = rendering(source, spans, TAGS)
    for change in changes:
        answer = change(answer, random_)
    return answer, source, spans


@pytest.mark.parametrize("changes", [(perturbing.spacing,), (perturbing.case,), (perturbing.spacing, perturbing.case)])
def test_spacing_and_case_lose_nothing_in_thousands_of_answers(changes) -> None:
    for seed in range(2000):
        answer, source, spans = spoilt(seed, *changes)
        outcome = align(answer, source, LABELS)
        assert outcome.state in ("clean", "spacing", "case"), seed
        assert list(outcome.spans) == spans, seed


def test_changed_characters_are_recovered_or_counted_in_thousands_of_answers() -> None:
    gold = right = wrong = lost = 0
    for seed in range(4000):
        answer, source, spans = spoilt(seed, perturbing.characters, perturbing.spacing)
        outcome = align(answer, source, LABELS)
        assert outcome.tags == perturbing.opened(answer) == len(outcome.spans) + sum(outcome.lost.values()), seed
        found = set(outcome.spans) & set(spans)
        gold, right, lost = gold + len(spans), right + len(found), lost + sum(outcome.lost.values())
        wrong += len(outcome.spans) - len(found)
    assert gold == right + wrong + lost
    assert right / gold > 0.97
    assert wrong / gold < 0.015


def test_spoilt_tags_are_recovered_or_counted_in_thousands_of_answers() -> None:
    for seed in range(4000):
        answer, source, _spans = spoilt(seed, perturbing.tags, *perturbing.CHANGES[: seed % 4])
        outcome = align(answer, source, LABELS)
        assert outcome.state in STATES
        assert set(outcome.lost) <= set(LOST)
        assert outcome.tags == len(outcome.spans) + sum(outcome.lost.values()), seed
        assert outcome.tags >= perturbing.opened(answer), seed
        for one, other in zip(outcome.spans, outcome.spans[1:], strict=False):
            assert one.end <= other.start
        if seed % 4 == 0:  # text unchanged: an entity whose two tags are untouched is found
            whole = re.sub(r"</?(?!response|/response)[a-zA-Z]+>", "", answer)
            assert whole == wrapped(source)
            assert outcome.state in ("clean", "unclosed")


PARTS = ["a", "b", " ", "<", "\n", "É", "ß", "<anatomy>", "</anatomy>", "<response>", "</response>", "<x>", "</think>", "<cell/>"]
texts = st.lists(st.sampled_from(PARTS), max_size=20).map("".join)


@given(texts, texts)
def test_any_answer_ends_in_one_state_with_every_tag_counted(answer: str, source: str) -> None:
    outcome = align(answer, source, LABELS)
    assert outcome.state in STATES
    assert outcome.tags == len(outcome.spans) + sum(outcome.lost.values())
    assert outcome.state not in UNUSABLE or not outcome.spans
    for span in outcome.spans:
        assert 0 <= span.start < span.end <= len(source)
        assert not source[span.start].isspace() and not source[span.end - 1].isspace()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12))
def test_what_is_kept_of_overlapping_mentions_does_not_overlap_and_is_the_most_specific(pieces) -> None:
    placed = [(start, start + size, order, "ANATOMY") for order, (start, size) in enumerate(pieces)]
    kept = most_specific(placed)
    assert all(one.end <= other.start for one, other in itertools.pairwise(kept))
    for start, end, _, _ in placed:
        assert any(k.start < end and start < k.end and k.end - k.start <= end - start for k in kept)


@given(st.text("ab c", max_size=30), st.text("ab c", max_size=30))
def test_matched_characters_are_equal_and_in_order(one: str, other: str) -> None:
    matching = character_matches(one, other)
    a, b = "".join(one.split()), "".join(other.split())
    pairs = [(i + k, j + k) for i, j, n in zip(matching.a, matching.b, matching.n, strict=True) for k in range(n)]
    assert all(a[i] == b[j] for i, j in pairs)
    assert pairs == sorted(pairs) and len({j for _, j in pairs}) == len(pairs) == matching.size
    known = dict(pairs)
    for place in range(len(a) + 1):
        assert matching.at_or_after(place) == min(((i, j) for i, j in pairs if i >= place), default=(len(a), len(b)))
        assert matching.last_before(place) == max(((i, j) for i, j in pairs if i < place), default=(-1, -1))
        assert matching.count(0, place) == sum(i < place for i in known)
    assert [matching.has_b(place) for place in range(len(b))] == [place in known.values() for place in range(len(b))]


def test_the_tally_adds_up() -> None:
    outcomes = [
        Outcome("clean", (Span(0, 1, "A"),), 2, {"empty": 1}),
        Outcome("empty"),
        Outcome("case", (Span(0, 1, "A"),), 1),
    ]
    block = tally(outcomes)
    assert (block["answers"], block["tags"], block["entities"], block["lost_tags"]) == (3, 3, 2, 1)
    assert block["usable_answer_rate"] == pytest.approx(2 / 3)
    assert {state for state, count in block["states"].items() if count} == {"clean", "empty", "case"}
    assert tally([])["usable_answer_rate"] is None
    assert set(STATES) == {"clean", *REPAIRED, *UNUSABLE}


def long_text(words: int, seed: int) -> str:
    random_ = random.Random(seed)
    return " ".join("".join(random_.choices("abcdefghij", k=random_.randint(2, 9))) for _ in range(words))


HOSTILE = {
    "1 MB of letters": "x" * 1_000_000,
    "1 MB of opening tags": "<anatomy>" * 110_000,
    "1 MB of reasoning": "<think>" * 140_000,
    "1 MB of responses": "<response>" * 100_000,
    "1 MB of <": "<" * 1_000_000,
    "1 MB of spaces after <": "<" + " " * 1_000_000,
    "1 MB of half tags": "<anatomy " * 110_000,
    "nested around the text": "<response>" + "<anatomy>" * 50_000 + long_text(500, 1)[5:] + "</anatomy>" * 50_000 + "</response>",
    "nested inside the text": wrapped(" ".join("<anatomy>" * 100 + word for word in long_text(480, 1).split()) + "</anatomy>" * 48_000),
    "binary junk": random.Random(3).randbytes(1_000_000).decode("utf-8", "replace"),
    "one word": wrapped("ok " * 300_000),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_named_in_little_time(name: str) -> None:
    for source in (long_text(500, 1), "ok " * 1000):
        started = time.process_time()
        outcome = align(HOSTILE[name], source, LABELS)
        assert time.process_time() - started < 10
        assert outcome.state in STATES
        assert outcome.tags == len(outcome.spans) + sum(outcome.lost.values())


def test_a_long_document_with_changes_takes_time_in_proportion() -> None:
    words = long_text(60_000, 5).split()
    answer = wrapped(
        " ".join(f"<anatomy>{word}</anatomy>" if n % 50 == 0 else word + "x" * (n % 97 == 0) for n, word in enumerate(words))
    )
    started = time.process_time()
    outcome = align(answer, " ".join(words), LABELS)
    assert time.process_time() - started < 20
    assert outcome.state == "characters"
    assert len(outcome.spans) == 1200
