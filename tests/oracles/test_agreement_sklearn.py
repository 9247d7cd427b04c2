"""scikit-learn's cohen_kappa_score; where all items are of one category it gives nan, this program None."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.agreement import cohen_kappa

sklearn = pytest.importorskip("sklearn.metrics")


@given(st.lists(st.tuples(st.sampled_from("ABO"), st.sampled_from("ABO")), min_size=1, max_size=40))
def test_kappa_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    value = cohen_kappa({pair: pairs.count(pair) for pair in pairs})
    if len({category for pair in pairs for category in pair}) == 1:
        assert value is None
    else:
        assert value == pytest.approx(sklearn.cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-9)
