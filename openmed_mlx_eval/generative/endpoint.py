"""A language model behind an OpenAI-compatible server on this machine, such as `mlx_lm.server`. Loopback only.

Patients' text must not leave the machine: the host is checked before anything is sent, and so is the address that was
connected to; no proxy is used and no redirect followed. What a server says in an error is not repeated: it may quote the prompt.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from ..errors import ModelError, UsageError
from .answering import Answer, is_complete
from .rendering import Prompt

_REFUSED = (
    "--endpoint: only this machine is asked – give http://127.0.0.1:PORT/v1, http://[::1]:PORT/v1 or http://localhost:PORT/v1"
)
TIMEOUT = 600.0
"""Seconds without a byte after which a server is given up."""
_LONGEST = 8 * 2**20
"""Bytes of one answer."""


def is_loopback(host: str | None) -> bool:
    """127.0.0.0/8, ::1 or the name localhost; anything that must be guessed at (127.1, a host's own name) is not."""
    if host is None:
        return False
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """host, port, path: of the API's root (`/v1`). model: the name the server is asked for, None for its own."""

    host: str
    port: int
    path: str
    model: str | None = None

    @classmethod
    def of(cls, url: str, model: str | None = None) -> Endpoint:
        """Raises UsageError for a URL that is not http on loopback."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise UsageError(_REFUSED) from None
        plain = parts.scheme == "http" and not (parts.username or parts.password or parts.query or parts.fragment)
        if not plain or not is_loopback(host) or url != url.strip():
            raise UsageError(_REFUSED)
        return cls(host or "", port or 80, parts.path.rstrip("/"), model)

    def ask(self, prompt: Prompt, *, max_tokens: int, temperature: float, seed: int, raw: bool = False) -> Answer:
        """One prompt, one answer, streamed: it ends when its response is closed. Raises ModelError."""
        started = time.perf_counter()
        body: dict[str, Any] = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"prompt": prompt.raw} if raw else {"messages": prompt.messages()}),
            **({"model": self.model} if self.model else {}),
        }
        connection = HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.connect()
            if not is_loopback(connection.sock.getpeername()[0]):
                raise UsageError(_REFUSED)
            path = f"{self.path}/{'completions' if raw else 'chat/completions'}"
            connection.request("POST", path, json.dumps(body).encode("ascii"), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise ModelError(f"the endpoint answered with status {response.status} – is it an OpenAI-compatible server?")
            return _read(response, started)
        except (OSError, HTTPException) as error:
            what = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise ModelError(f"the endpoint cannot be reached, or broke off ({what}) – is the server running?") from None
        finally:
            connection.close()


def _read(response: HTTPResponse, started: float) -> Answer:
    pieces: list[str] = []
    first: float | None = None
    usage: Mapping[str, Any] = {}
    cut = False
    tail = ""
    for chunk in _chunks(response):
        usage = chunk["usage"] if isinstance(chunk.get("usage"), dict) else usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        piece, thought = _piece(choice)
        if first is None and (piece or thought):
            first = time.perf_counter() - started
        cut = cut or choice.get("finish_reason") == "length"
        if piece:
            pieces.append(piece)
            tail = (tail + piece)[-64:]
            if "</response>" in tail.lower() and is_complete("".join(pieces)):
                break
    text = "".join(pieces)
    written = usage.get("completion_tokens")
    return Answer(
        text,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        tokens=_count(written) if written is not None else len(pieces),
        seconds=time.perf_counter() - started,
        first_token_s=first,
        cut=cut,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _piece(choice: Mapping[str, Any]) -> tuple[str, str]:
    """(what was written, what was thought) in one choice, of a stream or whole, of chat or of completions."""
    said = next((choice[name] for name in ("delta", "message") if isinstance(choice.get(name), dict)), choice)
    written = said.get("content") if said is not choice else choice.get("text")
    thought = next((said[name] for name in ("reasoning", "reasoning_content") if isinstance(said.get(name), str)), "")
    return (written if isinstance(written, str) else ""), thought


def _chunks(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The objects of a server-sent stream, or the one of a server that does not stream."""
    if "event-stream" not in (response.getheader("Content-Type") or ""):
        data = response.read(_LONGEST + 1)
        yield _parsed(data)
        return
    read = 0
    while line := response.readline(_LONGEST):
        read += len(line)
        if read > 64 * _LONGEST:
            raise ModelError("the endpoint does not come to an end")
        name, _, value = line.partition(b":")
        if name == b"data" and value.strip() == b"[DONE]":
            return
        if name == b"data":
            yield _parsed(value)


def _parsed(data: bytes) -> dict[str, Any]:
    value = None
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
    if not isinstance(value, dict):
        raise ModelError("the endpoint's answer is not what an OpenAI-compatible server gives")
    return value
