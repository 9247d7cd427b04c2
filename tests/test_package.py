"""The package's front: its public names are there, and importing it is light."""

from __future__ import annotations

import subprocess
import sys

import openmed_mlx_eval


def test_every_public_name_resolves() -> None:
    for name in openmed_mlx_eval.__all__:
        assert getattr(openmed_mlx_eval, name) is not None
    assert set(openmed_mlx_eval.__all__) <= set(dir(openmed_mlx_eval))


def test_importing_the_package_imports_no_heavy_module() -> None:
    heavy = ("numpy", "mlx", "mlx_lm", "transformers", "torch", "tokenizers", "click", "rich")
    code = f"import sys, openmed_mlx_eval; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_running_on_numpy_imports_neither_mlx_nor_transformers() -> None:
    code = (
        "import sys; from openmed_mlx_eval.demo import model_path; from openmed_mlx_eval import TokenClassifier;"
        "list(TokenClassifier.load(model_path(), engine='numpy').predict(['Dr. Quill']));"
        "print([m for m in ('mlx', 'mlx_lm', 'transformers', 'torch', 'rich', 'click') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
