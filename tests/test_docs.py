"""The pages under docs/ are true: links lead somewhere, commands run, the help is the program's own."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.demo import corpus_path, model_path
from openmed_mlx_eval.gates import load_gates
from openmed_mlx_eval.generative.protocol import load_protocol
from openmed_mlx_eval.generative.rendering import gold_answers

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
GLINER = {"GLINER": ROOT / "tests" / "data" / "gliner" / "deberta-plain", "labels.txt": "left kidney,fever"}
NEEDS_MORE = {"--adapter", "--endpoint", "LLM"}
"""Words of commands that take a language model or a server: they are parsed, with --help at their end."""


def lines(page: Path) -> list[str]:
    """The commands shown in a page."""
    blocks = re.findall(r"^```text\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("openmed-mlx-eval ")]


COMMANDS = [line for page in PAGES if page.name != "commands.md" for line in lines(page)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands name: a corpus, perfect answers, an artifact."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "devel.tsv").write_text("The\tO\nleft\tB-Anatomy\nlung\tI-Anatomy\n\nNo\tO\nkidney\tB-Anatomy\n", "utf-8")
    answers = gold_answers(load_corpus(folder / "devel.tsv"), load_protocol("anat_em"))
    (folder / "ANSWERS.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers), "utf-8")
    call(["convert", str(model_path()), "ARTIFACT"], folder)
    return folder


def call(words: list[str], folder: Path, codes: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, "-m", "openmed_mlx_eval", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode in codes, done.stderr
    return done.stdout


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_pages_run(line: str, place: Path, tmp_path: Path) -> None:
    _, *words = shlex.split(line)
    if NEEDS_MORE & set(words):
        call([*words, "--help"], tmp_path)
        return
    if "mlx" in line.replace("openmed-mlx-eval", ""):
        pytest.importorskip("mlx.core")
    names = {"SRC": model_path(), "ANSWERS.jsonl": place / "ANSWERS.jsonl", "devel.tsv": place / "devel.tsv", **GLINER}
    if words[0] == "parity":
        names["OUT"] = place / "ARTIFACT"
    if "--certify" in words:
        names["devel.tsv"] = corpus_path()
    # A certificate, or the bounds of a parity with half precision, may be refused; that is an answer too.
    call([str(names.get(word, word)) for word in words], tmp_path, (0, 3) if words[0] in ("convert", "parity") else (0,))


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_and_named_files_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)\)", text) if "://" not in target]
    assert all((page.parent / target).exists() for target in targets)
    named = re.findall(r"`((?:openmed_mlx_eval|tests|scripts|benchmarks|docs)/[\w./]+\.\w+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"(docs/{page.name})" in readme for page in PAGES)


def test_rules_shown_are_rules(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", (ROOT / "docs" / "reports.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "gates.toml").write_text(block, "utf-8")
    assert load_gates(tmp_path / "gates.toml")


def test_help_in_the_pages_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import command_help

    def words(text: str) -> str:  # click breaks lines elsewhere from version to version
        return " ".join(text.split())

    written = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert words(command_help.page()) == words(written), "run python scripts/command_help.py --write"


def test_the_night_of_benchmarks_shown_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", (ROOT / "docs" / "scale.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    block = re.sub('"(models/small|models/large)"', f'"{model_path().as_posix()}"', block).replace("cold-start = 5\n", "")
    block = block.replace("notes.jsonl", corpus_path().as_posix()).replace("limit = 500", "limit = 1\nbootstrap = 0")
    (tmp_path / "devel.tsv").write_text("Amy B-NAME\nsmiles O\n", encoding="utf-8")
    (tmp_path / "night.toml").write_text(block, encoding="utf-8")
    assert call(["bench", "night.toml", "--output", "out"], tmp_path).count("anatomy") == 2
