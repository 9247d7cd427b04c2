"""Where answers come from: a model here, a server here, or a file. All give the same thing, `Made`."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..corpora.document import Document
from ..evaluation import Warning
from ..reporting.environment import environment, package_version
from .answering import Answer, token_limit
from .endpoint import Endpoint
from .journal import Journal
from .language_model import Job, LanguageModel, shared_prefix
from .protocol import Protocol
from .rendering import prompt_of

Advance = Callable[[int, int], Any]
Progress = Callable[[int], AbstractContextManager[Advance]]
"""Called with the number of answers to come, gives what is called with (answers, tokens) just made."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. key: what else the answers depend on (the corpus); a journal of another run is refused by it.

    keep: the file to keep answers in, and to resume from. say: takes a line for the user.
    """

    protocol: Protocol
    system_role: bool = False
    raw_prompt: bool = False
    max_tokens: int | None = None
    temperature: float = 0.0
    seed: int = 0
    batch_size: int = 8
    key: str = ""
    keep: Path | None = None
    progress: Progress | None = None
    say: Callable[[str], Any] = lambda line: None

    def journal(self, made_by: dict[str, Any], documents: int) -> Journal | None:
        if self.keep is None:
            return None
        settings = (self.system_role, self.raw_prompt, self.max_tokens, self.temperature, self.seed, self.batch_size)
        prompt = prompt_of(self.protocol, "", system_role=self.system_role).raw
        said = json.dumps([prompt, settings, self.key, documents, made_by], sort_keys=True)
        journal = Journal(self.keep, hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest(), documents)
        self.say(
            f"{self.keep.name} in the output folder keeps the answers, and with them the documents' text; "
            "it is made with the rights your umask gives"
        )
        if journal.answers or journal.dropped:
            half = ", half an answer at its end dropped" if journal.dropped else ""
            self.say(f"resuming: {len(journal.answers):,} of {documents:,} answers are there{half}")
        return journal

    def started(self, total: int) -> AbstractContextManager[Advance]:
        return (self.progress or (lambda total: nullcontext(lambda answers, tokens: None)))(total)


@dataclass(frozen=True, slots=True)
class Made:
    """answers: one a document, None where there is none. model, environment: the report's blocks. load_s: seconds until the
    model could be asked, None where nothing was loaded."""

    answers: Sequence[Answer | None]
    model: dict[str, Any]
    environment: dict[str, Any]
    load_s: float | None = None
    warnings: Sequence[Warning] = field(default_factory=tuple)


def nameless(name: str) -> dict[str, Any]:
    """A `model` block for answers whose maker is not known."""
    return {"name": name, "family": None, "parameters": None, "dtype": None, "quantization": None, "files": {}}


def ask_model(directory: str, adapter: str | None, documents: Sequence[Document], asking: Asking) -> Made:
    """Through mlx-lm, in this process and thread. Raises UsageError or ModelError."""
    started = time.perf_counter()
    model = LanguageModel.load(directory, adapter=adapter)
    block = model.block()
    load_s = time.perf_counter() - started
    raw = asking.raw_prompt or not model.has_template
    prompts = [prompt_of(asking.protocol, document.text, system_role=asking.system_role) for document in documents]
    jobs = [
        Job(ordinal, model.encode(prompt, raw=raw), asking.max_tokens or token_limit(model.count(document.text)))
        for ordinal, (prompt, document) in enumerate(zip(prompts, documents, strict=True))
    ]
    size = asking.batch_size
    ordered = sorted(jobs, key=lambda job: (len(job.ids), job.ordinal))
    batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    versions = {name: package_version(name) for name in ("mlx", "mlx-lm")}
    journal = asking.journal({"files": block["files"], "device": model.device(), **versions}, len(documents))
    answers: dict[int, Answer] = {}
    if journal is not None:
        for batch in batches:  # a batch is taken as a whole or made again, so that its numbers are those of an unbroken run
            known = {job.ordinal: journal.answers[job.ordinal] for job in batch if job.ordinal in journal.answers}
            answers |= known if len(known) == len(batch) else {}
    with asking.started(len(jobs) - len(answers)) as advance:
        made = model.answers(
            batches,
            shared_prefix([job.ids for job in jobs]),
            temperature=asking.temperature,
            seed=asking.seed,
            wanted=lambda number: batches[number][0].ordinal not in answers,
            advance=advance,
        )
        _collect(made, answers, journal)
    dtype = block["dtype"] if block["dtype"] in ("float32", "float16", "bfloat16") else None
    return Made(
        [answers.get(ordinal) for ordinal in range(len(documents))],
        block,
        {**environment("mlx", model.device(), dtype), "mlx_lm": package_version("mlx-lm")},
        load_s,
        list(_model_warnings(model, jobs, raw and not asking.raw_prompt)),
    )


def ask_endpoint(endpoint: Endpoint, documents: Sequence[Document], asking: Asking) -> Made:
    """A server on this machine, one document after another. Raises ModelError."""
    journal = asking.journal({"endpoint": endpoint.path, "model": endpoint.model}, len(documents))
    answers = {} if journal is None else dict(journal.answers)
    todo = [(ordinal, document) for ordinal, document in enumerate(documents) if ordinal not in answers]
    with asking.started(len(todo)) as advance:
        for ordinal, document in todo:
            answer = endpoint.ask(
                prompt_of(asking.protocol, document.text, system_role=asking.system_role),
                max_tokens=asking.max_tokens or token_limit(len(document.text) // 2),  # tokens of two characters, to be safe
                temperature=asking.temperature,
                seed=asking.seed,
                raw=asking.raw_prompt,
            )
            _collect([[(ordinal, answer)]], answers, journal)
            advance(1, answer.tokens or 0)
    made = [answers[ordinal] for ordinal in range(len(documents))]
    return Made(made, nameless(endpoint.model or "endpoint"), environment())


def _collect(made: Iterable[list[tuple[int, Answer]]], answers: dict[int, Answer], journal: Journal | None) -> None:
    for several in made:
        if journal is not None:
            journal.write(several)
        answers.update(several)


def _model_warnings(model: LanguageModel, jobs: Sequence[Job], no_template: bool) -> Iterable[Warning]:
    if no_template:
        what = "the model has no chat template: its prompts are the protocol's text alone, as with --raw-prompt"
        yield Warning("no_chat_template", 1, what)
    if isinstance(model.window, int):
        past = sum(len(job.ids) + 1 > model.window for job in jobs)
        if past:
            yield Warning("prompt_past_window", past, f"prompts longer than the model's window of {model.window:,} tokens")
