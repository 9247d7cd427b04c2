"""A language model on this machine through mlx-lm: loaded once, prompted in fixed batches, its shared prompt computed once.

The batches depend on the documents alone, and each is seeded by its number, so a run that was killed and resumed gives the
answers of one that was not. mlx's streams belong to a thread: everything here must be called from one.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ModelError, UsageError
from ..runtime.artifact import read_object, sha256
from .answering import Answer, is_complete
from .rendering import Prompt

_STEP = 512
"""Tokens of the shared prompt computed at a time."""
_TAIL = 24
"""Tokens in which a closing `</response>` is looked for."""
_MISSING = "mlx-lm is not installed – pip install 'openmed-mlx-eval[mlx-cpu]' (on Apple silicon it comes along)"
_NOT_KNOWN = (
    "mlx-lm has no architecture of this model's type – it runs causal language models; "
    "a token classifier is scored with `openmed-mlx-eval run`"
)


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to be made. ordinal: the document's. ids: the whole prompt. limit: most tokens to write."""

    ordinal: int
    ids: list[int]
    limit: int


class LanguageModel:
    """A model directory that mlx-lm can load, quantised or not, with or without a LoRA adapter."""

    def __init__(self, model: Any, tokenizer: Any, config: dict[str, Any], directory: Path, adapter: Path | None) -> None:
        self.model, self.tokenizer, self.config = model, tokenizer, config
        self.directory, self.adapter = directory, adapter
        self.has_template = bool(getattr(tokenizer, "has_chat_template", False) or getattr(tokenizer, "chat_template", None))
        self.window = config.get("max_position_embeddings")

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, adapter: str | os.PathLike[str] | None = None) -> LanguageModel:
        """Raises UsageError for a folder that is not there, ModelError for one that mlx-lm cannot load."""
        root = Path(directory)
        folder = None if adapter is None else Path(adapter)
        for place, option in ((root, "--model"), (folder, "--adapter")):  # mlx-lm would take the name to a model hub
            if place is not None and not place.is_dir():
                raise UsageError(f"{option}: no such folder – models are read from disk, not from a hub")
        config = read_object(root / "config.json")
        _check_type(config)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            os.environ.setdefault(name, "1")
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        try:
            from mlx_lm import load
        except ImportError:
            raise ModelError(_MISSING) from None
        try:
            model, tokenizer, *_ = load(
                str(root), tokenizer_config={"trust_remote_code": False}, adapter_path=None if folder is None else str(folder)
            )
        except Exception as error:  # of any library below; its message may hold a path
            if not _is_known(config["model_type"]):
                raise ModelError(_NOT_KNOWN) from None
            raise ModelError(
                f"mlx-lm cannot load this model ({type(error).__name__}) – it needs config.json, safetensors and a tokenizer "
                "of a causal language model, unquantised or as mlx_lm.convert writes it"
            ) from None
        return cls(model, tokenizer, config, root, folder)

    def block(self) -> dict[str, Any]:
        """The report's `model`."""
        from mlx.utils import tree_flatten
        from mlx_lm.utils import get_total_parameters

        tensors = [value for _, value in tree_flatten(self.model.parameters())]
        kinds = sorted({str(t.dtype).rpartition(".")[2] for t in tensors if "float" in str(t.dtype)})
        said = self.config.get("quantization") or self.config.get("quantization_config")
        quantization = None
        if isinstance(said, dict) and type(said.get("bits")) is int:
            quantization = {"bits": said["bits"], "group_size": said.get("group_size")}
        files = {path.name: sha256(path) for path in sorted(self.directory.iterdir()) if _is_model_file(path)}
        if self.adapter is not None:
            files |= {f"adapter/{path.name}": sha256(path) for path in sorted(self.adapter.iterdir()) if _is_model_file(path)}
        return {
            "name": self.directory.resolve().name,
            "family": self.config.get("model_type") if isinstance(self.config.get("model_type"), str) else None,
            "parameters": get_total_parameters(self.model),
            "dtype": "/".join(kinds) or None,
            "quantization": quantization,
            "adapter": self.adapter is not None,
            "files": files,
        }

    def device(self) -> str:
        """metal, cuda or cpu: where mlx computes."""
        import mlx.core as mx

        if mx.default_device() == mx.Device(mx.cpu):
            return "cpu"
        return "metal" if mx.metal.is_available() else "cuda"

    def encode(self, prompt: Prompt, *, raw: bool) -> list[int]:
        """Token ids of a prompt. raw: the text itself; else through the model's chat template. Raises ModelError."""
        try:
            if raw:
                ids = self.tokenizer.encode(prompt.raw)
            else:
                ids = self.tokenizer.apply_chat_template(prompt.messages(), add_generation_prompt=True, tokenize=True)
                ids = ids["input_ids"] if hasattr(ids, "keys") else ids
        except Exception as error:  # a template is a program of the model's maker, and its message may quote the prompt
            what = "chat template" if not raw else "tokenizer"
            raise ModelError(f"the model's {what} failed on a prompt ({type(error).__name__}) – try --raw-prompt") from None
        return [int(token) for token in ids]

    def count(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def answers(
        self,
        batches: Sequence[Sequence[Job]],
        prefix: Sequence[int],
        *,
        temperature: float = 0.0,
        seed: int = 0,
        wanted: Callable[[int], bool] = lambda batch: True,
        advance: Callable[[int, int], Any] = lambda answers, tokens: None,
    ) -> Iterator[list[tuple[int, Answer]]]:
        """The answers of each wanted batch, as (ordinal, answer).

        prefix: ids with which every prompt begins, and none ends. advance: called with answers and tokens as they are done.
        """
        import mlx.core as mx
        from mlx_lm.sample_utils import make_sampler

        sampler = make_sampler(temp=temperature)
        cache = None
        for number, batch in enumerate(batches):
            if not wanted(number):
                continue
            cache = cache or self._prefilled(prefix)
            mx.random.seed(seed + number)
            together = len(batch) > 1 and _can_batch(cache)
            made = (
                self._together(batch, cache, len(prefix), sampler)
                if together
                else self._alone(batch, cache, len(prefix), sampler)
            )
            for _, answer in made:
                advance(1, answer.tokens or 0)
            yield made

    def _prefilled(self, prefix: Sequence[int]) -> list[Any]:
        import mlx.core as mx
        from mlx_lm.models.cache import make_prompt_cache

        cache: list[Any] = make_prompt_cache(self.model)
        for start in range(0, len(prefix), _STEP):
            self.model(mx.array([list(prefix[start : start + _STEP])]), cache=cache)
            mx.eval([layer.state for layer in cache])
        return cache

    def _alone(self, batch: Sequence[Job], cache: list[Any], skip: int, sampler: Any) -> list[tuple[int, Answer]]:
        """One after another, for a batch of one and for models whose caches cannot be batched."""
        from mlx_lm import stream_generate

        made = []
        for job in batch:
            started = time.perf_counter()
            writing = _Writing(self.tokenizer, job, self._begun(job))
            settings = {"max_tokens": job.limit, "sampler": sampler, "prompt_cache": copy.deepcopy(cache)}
            for response in stream_generate(self.model, self.tokenizer, job.ids[skip:], **settings):
                ends = response.finish_reason == "stop"
                if writing.add(None if ends else response.token, time.perf_counter() - started) or ends:
                    break
            made.append((job.ordinal, writing.answer(time.perf_counter() - started)))
        return made

    def _together(self, batch: Sequence[Job], cache: list[Any], skip: int, sampler: Any) -> list[tuple[int, Answer]]:
        """All at once: what mlx-lm's batch_generate does, but that each answer ends with its response."""
        from mlx_lm.generate import BatchGenerator

        started = time.perf_counter()
        generator = BatchGenerator(
            self.model,
            stop_tokens=[[token] for token in self.tokenizer.eos_token_ids],
            sampler=sampler,
            completion_batch_size=len(batch),
            prefill_batch_size=len(batch),
        )
        try:
            uids = generator.insert(
                [job.ids[skip:] for job in batch],
                [job.limit for job in batch],
                caches=[copy.deepcopy(cache) for _ in batch],
            )
            writings = {uid: _Writing(self.tokenizer, job, self._begun(job)) for uid, job in zip(uids, batch, strict=True)}
            while responses := generator.next_generated():
                seconds = time.perf_counter() - started
                for response in responses:
                    stopped = response.finish_reason == "stop"
                    done = writings[response.uid].add(None if stopped else int(response.token), seconds)
                    if done and response.finish_reason is None:
                        generator.remove([response.uid])
        finally:
            generator.close()
        share = (time.perf_counter() - started) / len(batch)
        return [(job.ordinal, writings[uid].answer(share)) for uid, job in zip(uids, batch, strict=True)]

    def _begun(self, job: Job) -> str:
        """A mark of reasoning that the chat template opens at the end of the prompt belongs to the answer."""
        tail = self.tokenizer.decode(job.ids[-8:]).rstrip()
        return next((mark for mark in ("<think>", "[THINK]", "<thinking>") if tail.endswith(mark)), "")


class _Writing:
    """One answer while it is written."""

    def __init__(self, tokenizer: Any, job: Job, begun: str) -> None:
        self._tokenizer, self._job, self._begun = tokenizer, job, begun
        self._tokens: list[int] = []
        self._first: float | None = None
        self._complete = False

    def add(self, token: int | None, seconds: float) -> bool:
        """A token (None: the model ended) after so many seconds; whether the answer is complete with it."""
        if self._first is None:
            self._first = seconds
        if token is None:
            self._complete = True
            return True
        self._tokens.append(token)
        if "</response>" in self._tokenizer.decode(self._tokens[-_TAIL:]).lower():
            self._complete = is_complete(self._text())
        return self._complete

    def _text(self) -> str:
        text: str = self._begun + self._tokenizer.decode(self._tokens)
        return text

    def answer(self, seconds: float) -> Answer:
        cut = not self._complete and len(self._tokens) >= self._job.limit
        return Answer(self._text(), len(self._job.ids), len(self._tokens), seconds, self._first, cut)


def shared_prefix(prompts: Sequence[list[int]]) -> list[int]:
    """The ids with which all prompts begin; the last token of each is left out of it."""
    if not prompts:
        return []
    low, high = min(prompts), max(prompts)
    most = min(map(len, prompts)) - 1
    same = next((n for n, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), most)
    return low[: min(same, most)]


def _check_type(config: dict[str, Any]) -> None:
    """Raise ModelError where this cannot be a language model for mlx-lm: said before anything is loaded."""
    if find_spec("mlx_lm") is None:
        raise ModelError(_MISSING)
    if not isinstance(config.get("model_type"), str):
        raise ModelError("config.json: model_type is missing – is this a language model?")


def _is_known(kind: str) -> bool:
    """Whether mlx-lm has an architecture of that name."""
    kind = getattr(import_module("mlx_lm.utils"), "MODEL_REMAPPING", {}).get(kind, kind)
    return kind.isidentifier() and find_spec(f"mlx_lm.models.{kind}") is not None


def _can_batch(cache: Sequence[Any]) -> bool:
    """Whether this mlx-lm, and this model's caches, can answer several prompts at once after a shared one."""
    generator = getattr(import_module("mlx_lm.generate"), "BatchGenerator", None)
    return hasattr(generator, "next_generated") and all(hasattr(layer, "merge") for layer in cache)


def _is_model_file(path: Path) -> bool:
    return path.is_file() and path.suffix in (".json", ".safetensors", ".model", ".jinja", ".tiktoken")
