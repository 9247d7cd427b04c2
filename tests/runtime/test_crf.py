"""The linear chain against every sequence there is: its best, and the probability of each label of each token."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.crf import marginals, transitions_of
from openmed_mlx_eval.runtime.decoding import Decoder, softmax
from openmed_mlx_eval.runtime.safetensors import StoredTensor
from openmed_mlx_eval.runtime.viterbi import Transitions, best_sequence
from openmed_mlx_eval.runtime.weights import Checkpoint

SIZES = st.tuples(st.integers(1, 4), st.integers(1, 5))


def chain(rng: np.random.Generator, labels: int, scale: float = 1.0) -> Transitions:
    return Transitions(*(rng.normal(0, scale, shape) for shape in ((labels,), (labels, labels), (labels,))))


def score(path: tuple[int, ...], scores: np.ndarray, transitions: Transitions) -> float:
    """As pytorch-crf defines it."""
    total = transitions.first[path[0]] + transitions.last[path[-1]]
    total += sum(transitions.step[before, after] for before, after in pairwise(path))
    return float(total + sum(scores[token, label] for token, label in enumerate(path)))


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 30.0]))
def test_best_sequence_and_probabilities_are_those_of_all_sequences(size: tuple[int, int], seed: int, scale: float) -> None:
    labels, tokens = size
    rng = np.random.default_rng(seed)
    scores, transitions = rng.normal(0, scale, (tokens, labels)).astype(np.float32), chain(rng, labels, scale)
    paths = list(product(range(labels), repeat=tokens))
    totals = np.array([score(path, scores, transitions) for path in paths])
    weights = np.exp(totals - totals.max())
    expected = np.zeros((tokens, labels))
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        expected[np.arange(tokens), path] += weight
    assert np.abs(marginals(scores, transitions) - expected).max() < 1e-5
    assert score(tuple(best_sequence(scores, transitions)), scores, transitions) == pytest.approx(totals.max(), abs=1e-4)


@given(labels=st.integers(1, 6), tokens=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
def test_a_chain_without_scores_of_its_own_is_softmax(labels: int, tokens: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(0, 3, (tokens, labels)).astype(np.float32)
    nothing = Transitions(np.zeros(labels), np.zeros((labels, labels)), np.zeros(labels))
    assert np.abs(marginals(scores, nothing) - softmax(scores)).max() < 1e-6
    assert np.array_equal(best_sequence(scores, nothing), scores.argmax(axis=-1))


def test_what_must_not_be_is_not_however_long_the_document() -> None:
    rng = np.random.default_rng(5)
    scores, transitions = rng.normal(0, 20, (5000, 3)).astype(np.float32), chain(rng, 3)
    transitions.step[0, 1] = transitions.first[2] = transitions.last[1] = -10000
    path, probabilities = best_sequence(scores, transitions), marginals(scores, transitions)
    assert not ((path[:-1] == 0) & (path[1:] == 1)).any()
    assert path[0] != 2
    assert path[-1] != 1
    assert np.isfinite(probabilities).all()
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-5
    assert max(probabilities[0, 2], probabilities[-1, 1]) < 1e-30


def test_a_document_that_forces_what_must_not_be() -> None:
    """Every sequence takes a forbidden step: still numbers, and a sequence."""
    step = np.full((2, 2), -10000.0)
    transitions = Transitions(np.zeros(2), step, np.zeros(2))
    scores = np.array([[0, 3], [5, 0], [0, 1]], dtype=np.float32)
    assert best_sequence(scores, transitions).tolist() == [1, 0, 1]
    assert np.abs(marginals(scores, transitions) - softmax(scores)).max() < 1e-6
    forbidden = Transitions(np.zeros(2), np.full((2, 2), -np.inf), np.zeros(2))
    assert best_sequence(scores, forbidden).tolist() == [1, 0, 1]
    assert np.isfinite(marginals(scores, forbidden)).all()


def test_direction_of_a_transition_is_from_row_to_column() -> None:
    step = np.zeros((2, 2))
    step[0, 1] = 5.0
    transitions = Transitions(np.zeros(2), step, np.zeros(2))
    assert best_sequence(np.zeros((2, 2), dtype=np.float32), transitions).tolist() == [0, 1]


@given(seed=st.integers(0, 2**32 - 1), tokens=st.integers(1, 5))
def test_viterbi_takes_the_best_of_the_sequences_the_scheme_allows(seed: int, tokens: int) -> None:
    labels = ("O", "B-X", "I-X")
    rng = np.random.default_rng(seed)
    scores, transitions = rng.normal(0, 1, (tokens, 3)).astype(np.float32), chain(rng, 3)
    both = Decoder.of(labels, "viterbi", chain=transitions).chain
    assert both is not None
    allowed = [
        path
        for path in product(range(3), repeat=tokens)
        if path[0] != 2 and all((before, after) != (0, 2) for before, after in pairwise(path))
    ]
    best = max(score(path, scores, transitions) for path in allowed)
    found = tuple(best_sequence(scores, both).tolist())
    assert found in allowed
    assert score(found, scores, transitions) == pytest.approx(best, abs=1e-4)
    assert Decoder.of(labels, "simple", chain=transitions).chain is transitions


@pytest.mark.parametrize("name", ["transitions", "start_transitions", "end_transitions"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(name: str, value: float) -> None:
    shapes = {"transitions": (2, 2), "start_transitions": (2,), "end_transitions": (2,)}
    arrays = {key: np.zeros(shape, dtype=np.float32) for key, shape in shapes.items()}
    arrays[name].flat[1] = value
    tensors = {f"crf.{key}": StoredTensor(key, "F32", array) for key, array in arrays.items()}
    with pytest.raises(ModelError, match=rf"crf\.{name}: a score is not finite"):
        transitions_of(Checkpoint(tensors, None), "crf")
