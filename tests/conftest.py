"""What all tests share: the public corpora and models that lie beside the repository, where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

# A shared runner's clock says nothing about the code; the speed tests measure on purpose, and elsewhere.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """`shared("corpora/anatem/devel.tsv")`: that path, or the test is skipped."""

    def find(relative: str) -> Path:
        path = SHARED / relative
        if not path.exists():
            pytest.skip("the folder of public corpora and models is not beside the repository")
        return path

    return find
