"""`doctor`: what this machine can run, and what to install for more."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

import click


@click.command(help="Say what this machine can run, and what to install for more.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(as_json: bool) -> None:
    found = examine()
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for section in ("machine", "engines", "software"):
        click.secho(section, bold=True)
        for name, value in found[section].items():
            click.echo(f"  {name:<14}{'not installed' if value is None else value}")
    click.secho("advice", bold=True)
    for line in found["advice"] or ["nothing: this is all that this machine offers"]:
        click.echo(f"  {line}")


def examine() -> dict[str, Any]:
    """machine, engines (name → what it runs on, or why it does not), software versions, advice."""
    from ..reporting.environment import environment, package_version
    from ..runtime.engines import accelerator

    facts = environment()
    found = accelerator()
    mlx = package_version("mlx")
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    machine = {
        "chip": facts["chip"],
        "cores": facts["cores"],
        "memory (MiB)": facts["memory"],
        "system": facts["os"],
        "machine": facts["machine"],
        "python arch": f"{platform.machine()}, {platform.architecture()[0]}",
    }
    engines = {
        "numpy": "cpu",
        "mlx": ", ".join(filter(None, (found, "cpu"))) if mlx else "not installed",
        "auto chooses": f"mlx on {found}" if found else "numpy on cpu",
    }
    optional = ("numpy", "tokenizers", "mlx", "mlx-lm", "jinja2", "matplotlib", "huggingface-hub", "torch", "transformers")
    software = {"package": facts["package"], "python": facts["python"], **{name: package_version(name) for name in optional}}
    return {"machine": machine, "engines": engines, "software": software, "advice": _advice(apple, mlx, found)}


def _advice(apple: bool, mlx: str | None, found: str | None) -> list[str]:
    advice = []
    if sys.platform == "darwin" and not apple:
        advice.append(
            "this Python is built for Intel: on Apple silicon install an arm64 Python to use Metal; "
            "on an Intel Mac numpy is the engine"
        )
    if apple and not found:
        advice.append("Metal is not available to mlx: update macOS (14 or later) and `pip install -U mlx`")
    if sys.platform.startswith("linux") and mlx is None:
        advice.append("to check the mlx code path here: pip install 'openmed-mlx-eval[mlx-cpu]' (slower than numpy)")
        advice.append("with an NVIDIA GPU: pip install 'openmed-mlx-eval[mlx-cuda]'")
    return advice
