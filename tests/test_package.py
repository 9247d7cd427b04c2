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


def top_level(code: str) -> set[str]:
    """Names of the packages outside the standard library that a fresh process has imported after the code."""
    after = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{after}"], capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines()[-1].split() if not name.startswith(("_", "sitecustomize"))}


def test_a_cold_run_imports_what_it_needs_and_nothing_else() -> None:
    run = (
        "import os, sys; from openmed_mlx_eval.cli.main import main\n"
        "try: main(['run', '--engine', 'numpy', '--bootstrap', '0', '--json'])\n"
        "except SystemExit as left: assert not left.code"
    )
    allowed = {"openmed_mlx_eval", "numpy", "tokenizers", "threadpoolctl", "click", "regex"}
    found = top_level(run)
    assert {"numpy", "tokenizers"} <= found
    assert found - top_level("pass") <= allowed
    only_when_asked = ("openmed_mlx_eval.latency.cold", "openmed_mlx_eval.generative")
    assert top_level(f"{run}\nassert not set({only_when_asked!r}) & set(sys.modules)")


def test_a_fresh_process_of_the_cold_start_imports_no_command_line() -> None:
    probe = (
        "import json, sys; from openmed_mlx_eval.demo import model_path; from openmed_mlx_eval.latency.probe import main\n"
        "sys.argv.append(json.dumps({'directory': str(model_path()), 'engine': 'numpy'})); main()"
    )
    found = top_level(probe)
    assert "tokenizers" in found
    assert found - top_level("pass") <= {"openmed_mlx_eval", "numpy", "tokenizers", "threadpoolctl"}
