"""The scores of `metrics.generative`."""

from __future__ import annotations

from openmed_mlx_eval.generative.measures import token_scores


def test_texts_without_gold_and_without_answers_score_nought_as_in_seqeval() -> None:
    scores = token_scores([["O", "O"]], [["O", "O"]])
    assert (scores["precision"], scores["recall"], scores["f1"], scores["accuracy"]) == (0.0, 0.0, 0.0, 1.0)
    assert (scores["tokens"], scores["correct_tokens"]) == (2, 2)
