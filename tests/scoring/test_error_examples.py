"""Examples: drawn fairly and repeatably, and holding nothing of what they are examples of."""

from __future__ import annotations

import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.error_examples import COLUMNS, Draw, ErrorSpanExample, ExampleOptions, example_of, keyed_hash
from openmed_mlx_eval.scoring.errors import Finding

KEY = b"k" * 32
Corpus = list[tuple[str, list[Finding]]]


def corpus(documents: int = 40, most: int = 6) -> Corpus:
    rng = random.Random(5)
    made = []
    for number in range(documents):
        places = [rng.randrange(200) for _ in range(rng.randrange(most))]
        findings = [Finding((place, place + 3, rng.choice("AB")), None) for place in places]
        findings += [Finding(None, (place + 4, place + 6, "A")) for place in places]
        made.append((f"note {number} " + "word " * 50, findings))
    return made


def drawn(texts: Corpus, **options: int) -> list[tuple[str, Finding]]:
    draw = Draw(ExampleOptions(**options))
    for number, (text, findings) in enumerate(texts):
        draw.add(number, text, findings)
    return [(texts[number][0], finding) for number, finding in draw.drawn()]


def test_of_each_label_and_kind_at_most_the_cap():
    for cap in (0, 1, 5, 1000):
        chosen = drawn(corpus(), cap=cap)
        for label, kind in (("A", "missed"), ("B", "missed"), ("A", "spurious")):
            known = [f for _, findings in corpus() for f in findings if (f.span[2], f.kind) == (label, kind)]
            assert sum((f.span[2], f.kind) == (label, kind) for _, f in chosen) == min(cap, len(known))


@given(st.integers(), st.randoms(use_true_random=False))
def test_the_draw_depends_on_the_seed_and_not_on_the_order(seed, rng):
    texts = corpus(12)
    chosen = drawn(texts, cap=3, seed=seed)
    assert sorted(map(repr, drawn(rng.sample(texts, len(texts)), cap=3, seed=seed))) == sorted(map(repr, chosen))
    assert seed == 7 or chosen != drawn(texts, cap=3, seed=7)


def test_every_place_is_drawn_equally_often():
    """5 of 50 errors under 400 seeds: each is drawn 40 times, give or take six standard deviations."""
    texts = [(f"text {number} " + "x" * 80, [Finding((10, 15, "A"), None), Finding((40, 45, "A"), None)]) for number in range(25)]
    times: dict[tuple[str, int], int] = {}
    for seed in range(400):
        for text, finding in drawn(texts, seed=seed):
            times[text, finding.span[0]] = times.get((text, finding.span[0]), 0) + 1
    assert len(times) == 50
    assert all(4 < count < 76 for count in times.values())


def test_findings_of_equal_texts_are_all_kept():
    assert len(drawn([("same text", [Finding((0, 4, "A"), None)])] * 4, cap=5)) == 4


TEXT = "Dr. Ødegård-7, born 1950-02-03\nПетров saw\n\n  the left lung  \n" + "x" * 40


def described(start: int, end: int, **more: object) -> ErrorSpanExample:
    options = {"key": KEY, "context_window": 6, **more}
    return example_of(Finding((start, end, "A"), None), 3, TEXT, **options)


def test_an_example_says_where_and_what_like():
    example = example_of(
        Finding((4, 13, "A"), (0, 13, "B"), True, False), 3, TEXT, key=KEY, context_window=6, seams=(2, 30)
    ).to_dict()
    assert example.pop("document_hash") == keyed_hash(KEY, "document", TEXT)
    assert example.pop("text_hash") == keyed_hash(KEY, "span", "Ødegård-7")
    assert example.pop("matched_text_hash") == keyed_hash(KEY, "span", "Dr. Ødegård-7")
    assert example == {
        "kind": "label_confusion",
        "document": 3,
        "label": "A",
        "start": 4,
        "end": 13,
        "context_start": 0,
        "context_end": 19,
        "matched_label": "B",
        "matched_start": 0,
        "matched_end": 13,
        "length": 9,
        "script": "Latin",
        "has_digits": True,
        "decile": 0,
        "seam_distance": 2,
        "at_line_edge": False,
        "fragmented": True,
        "merged": False,
    }
    spurious = example_of(Finding(None, (4, 13, "B")), 0, TEXT, key=KEY, context_window=0)
    assert (spurious.kind, spurious.label, spurious.matched_label, spurious.matched_text_hash) == ("spurious", "B", None, None)
    assert (spurious.context_start, spurious.context_end, spurious.seam_distance) == (4, 13, None)


def test_the_features_of_a_place():
    cyrillic = TEXT.index("П")
    assert described(cyrillic, cyrillic + 6).script == "Cyrillic"
    assert described(20, 30).script == "Unknown"  # digits and hyphens
    assert [described(20, 30, seams=seams).seam_distance for seams in ((), (25,), (20,), (0, 33))] == [None, 0, 0, 3]
    assert [described(n, n + 1).decile for n in (0, (len(TEXT) + 1) // 2, len(TEXT) - 1)] == [0, 5, 9]
    lung = TEXT.index("lung")
    edges = {(0, 3): True, (4, 13): False, (20, 30): True, (cyrillic, cyrillic + 6): True, (lung, lung + 4): True}
    edges |= {(cyrillic + 7, cyrillic + 9): False, (lung - 5, lung - 1): False, (lung - 9, lung + 4): True}
    assert {place: described(*place).at_line_edge for place in edges} == edges


def test_hashes_need_the_key():
    assert keyed_hash(KEY, "span", "1950-02-03") != keyed_hash(b"x" * 32, "span", "1950-02-03")
    assert keyed_hash(KEY, "span", "a") != keyed_hash(KEY, "document", "a")
    assert hashlib.sha256(b"1950-02-03").hexdigest()[:32] != keyed_hash(KEY, "span", "1950-02-03")
    assert len(keyed_hash(KEY, "span", "half a pair \ud83e")) == 32


@given(st.text(min_size=1, max_size=30), st.data())
def test_any_text_gives_an_example_that_is_json_without_it(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    example = example_of(Finding((start, end, "A"), None), 0, text, key=KEY, context_window=4)
    assert json.loads(json.dumps(example.to_dict())) == example.to_dict()
    assert 0 <= example.context_start <= start < end <= example.context_end <= len(text)
    assert tuple(example.to_dict()) == COLUMNS


@pytest.mark.parametrize("seed", [0, -1, 10**90])
def test_any_seed_will_do(seed):
    assert len(drawn(corpus(3), seed=seed)) > 0
