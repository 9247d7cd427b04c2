"""Journals that a run resumes from, files of answers made elsewhere, and the loopback rule of the endpoint."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.errors import EvaluationError, InputError, ModelError, UsageError
from openmed_mlx_eval.generative.answering import Answer, is_complete
from openmed_mlx_eval.generative.endpoint import Endpoint, is_loopback
from openmed_mlx_eval.generative.journal import Journal, load_answers
from openmed_mlx_eval.generative.rendering import Prompt

ANSWERS = [(0, Answer("<response>ä\ud83e</response>", 5, 3, 0.5, 0.1)), (2, Answer("", cut=True))]
DOCUMENTS = [Document("a", "x"), Document("b", "y"), Document("7", "z")]


def test_a_journal_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    Journal(path, "key", 3).write(ANSWERS)
    again = Journal(path, "key", 3)
    assert again.answers == dict(ANSWERS) and not again.dropped
    assert load_answers(path, DOCUMENTS).answers == (ANSWERS[0][1], None, ANSWERS[1][1])


@pytest.mark.skipif(os.name == "nt", reason="umask is POSIX's")
def test_a_journal_has_the_rights_that_the_umask_gives(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Journal(tmp_path / "answers.jsonl", "key", 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "answers.jsonl").stat().st_mode) == 0o600


def test_a_journal_cut_anywhere_keeps_its_whole_answers_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    journal = Journal(path, "key", 3)
    journal.write(ANSWERS)
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        resumed = Journal(path, "key", 3)
        kept = max(0, sum(end <= size for end in ends) - 1)
        assert list(resumed.answers.items()) == ANSWERS[:kept]
        assert resumed.dropped == (size not in (0, *ends))
        resumed.write(ANSWERS[kept:])
        assert path.read_bytes() == whole


def test_a_journal_of_another_run_or_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    Journal(path, "key", 3).write(ANSWERS)
    with pytest.raises(UsageError, match="another run"):
        Journal(path, "other", 3)
    with pytest.raises(InputError, match="line 3"):
        Journal(path, "key", 2)
    path.write_bytes(b'{"document": 0}\n')
    with pytest.raises(UsageError):
        Journal(path, "key", 3)
    path.write_bytes(b"\xff\x00\n")
    with pytest.raises(InputError, match="line 1"):
        Journal(path, "key", 3)
    with pytest.raises(EvaluationError):
        Journal(tmp_path, "key", 3)


def written(folder: Path, rows: list[Any]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_answers_meet_documents_by_id_ordinal_or_order(tmp_path: Path) -> None:
    for rows in (
        [{"id": "b", "answer": "B"}, {"id": 7, "answer": "C"}, {"id": "a", "answer": "A"}],
        [{"document": 1, "answer": "B"}, {"document": 2, "answer": "C"}, {"document": 0, "answer": "A"}],
        [{"answer": "A"}, {"response": "B"}, {"output": "C"}],
    ):
        made = load_answers(written(tmp_path, rows), DOCUMENTS)
        assert [answer.text for answer in made.answers if answer] == ["A", "B", "C"]
        assert made.warnings == ()


def test_answers_that_do_not_fit_are_warned_of(tmp_path: Path) -> None:
    made = load_answers(written(tmp_path, [{"id": "b", "answer": None}, {"id": "x", "answer": ""}]), DOCUMENTS)
    assert made.answers == (None, Answer(""), None)
    assert [(warning.code, warning.count) for warning in made.warnings] == [("missing_answers", 2), ("unknown_documents", 1)]
    assert load_answers(written(tmp_path, [{"id": "b", "answer": "B"}]), DOCUMENTS, scored=1).answers == (None,)


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "a"}],
        [{"id": "a", "answer": 3}],
        [{"document": "0", "answer": ""}],
        [{"document": True, "answer": ""}],
        [{"id": "a", "answer": ""}, {"id": "a", "answer": ""}],
        [{"answer": ""}],
        ["a"],
        [[]],
    ],
)
def test_rows_that_are_no_answers_are_refused_by_line(tmp_path: Path, rows: list[Any]) -> None:
    with pytest.raises(InputError):
        load_answers(written(tmp_path, rows), DOCUMENTS)


def test_an_answer_never_meets_another_document(tmp_path: Path) -> None:
    """The faults of predictions files in their other reader: ids from 0, an id beside another ordinal, documents left out."""
    numbered = tuple(replace(document, fixture_id=str(n)) for n, document in enumerate(DOCUMENTS, start=1))
    with pytest.raises(InputError, match="count from 0"):
        load_answers(written(tmp_path, [{"id": n, "answer": ""} for n in range(3)]), numbered)
    with pytest.raises(InputError, match="line 1: a row whose"):
        load_answers(written(tmp_path, [{"id": "b", "document": 0, "answer": ""}]), DOCUMENTS)
    whole = written(tmp_path, [{"document": n, "answer": str(n)} for n in range(4)])
    made = load_answers(whole, DOCUMENTS, skipped=[1])
    assert [answer.text for answer in made.answers if answer] == ["1", "2", "3"]
    assert made.warnings == ()


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with pytest.raises(UsageError):
        load_answers(path, DOCUMENTS)
    for data in (b"\xff\xfe\x00", bytes(range(256)) * 4000, b'{"id": "a", "answer": "half', b"[" * 100_000):
        path.write_bytes(data)
        with pytest.raises(InputError):
            load_answers(path, DOCUMENTS)


def test_a_response_is_complete_outside_of_reasoning_alone() -> None:
    assert is_complete("<response>x</response>") and is_complete("<think>a</think> <Response>x</Response >\n</response>")
    for text in ("<response>x", "x</response>", "<think><response>x</response>", "</think><response>", ""):
        assert not is_complete(text)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/v1",
        "http://10.0.0.1:8080/v1",
        "http://0.0.0.0:8080/v1",
        "http://localhost.example.org/v1",
        "http://localhost@example.org/v1",
        "http://user:word@127.0.0.1/v1",
        "http://127.0.0.1.example.org/v1",
        "http://127.1/v1",
        "http://2130706433/v1",
        "http://0x7f000001/v1",
        "http://[::2]/v1",
        "http://[::ffff:10.0.0.1]/v1",
        "https://127.0.0.1/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "127.0.0.1:8080",
        "http://127.0.0.1:notaport/v1",
        "http://[::1/v1",
        " http://127.0.0.1/v1",
        "http:///v1",
        "",
    ],
)
def test_an_endpoint_that_is_not_loopback_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="only this machine"):
        Endpoint.of(url)


def test_loopback_endpoints_are_taken() -> None:
    assert Endpoint.of("http://127.0.0.1:8080/v1/") == Endpoint("127.0.0.1", 8080, "/v1")
    assert Endpoint.of("http://LOCALHOST/v1", "m") == Endpoint("localhost", 80, "/v1", "m")
    assert Endpoint.of("http://[::1]:9/") == Endpoint("::1", 9, "")
    assert is_loopback("127.9.9.9") and not is_loopback(None)


class Server(BaseHTTPRequestHandler):
    """What an OpenAI-compatible server says, by the path it is asked at."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **body})
        kind = self.path.split("/")[1]
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", "http://example.org/v1/chat/completions")
            self.end_headers()
        elif kind == "broken":
            self.send_response(500)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())
        elif kind == "whole":
            self.said(
                "application/json", json.dumps({"choices": [{"message": {"content": "<response>x"}, "finish_reason": "length"}]})
            )
        elif kind == "junk":
            self.said("application/json", "[" * 10_000)
        else:
            texts = ["<res", "ponse>x</response>", " and so on"] * (1 if kind == "stream" else 1000)
            key = (
                (lambda text: {"text": text})
                if self.path.endswith("/v1/completions")
                else (lambda text: {"delta": {"content": text}})
            )
            rows = [{"choices": [key(text)]} for text in texts] + [
                {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8}}
            ]
            self.said(
                "text/event-stream", ": hello\n\n" + "".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n"
            )

    def said(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Server.asked.clear()
    running = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


def ask(url: str, **more: Any) -> Answer:
    return Endpoint.of(url).ask(Prompt("the text", "the rules"), max_tokens=5, temperature=0.0, seed=1, **more)


def test_a_streamed_answer_ends_with_its_response(server: str) -> None:
    for raw in (False, True):
        answer = ask(f"{server}/stream/v1", raw=raw)
        assert answer.text == "<response>x</response>"
        assert answer.tokens == 2 and answer.first_token_s is not None and not answer.cut
    chat, completion = Server.asked
    assert [message["role"] for message in chat["messages"]] == ["system", "user"]
    assert completion["prompt"] == "the rules\n\nthe text"
    assert (chat["max_tokens"], chat["temperature"], chat["seed"]) == (5, 0.0, 1)


def test_a_whole_answer_is_taken_too(server: str) -> None:
    answer = ask(f"{server}/whole/v1")
    assert (answer.text, answer.cut, answer.prompt_tokens) == ("<response>x", True, None)


@pytest.mark.parametrize("kind", ["moved", "broken", "junk"])
def test_a_redirect_an_error_and_junk_are_refused_without_what_they_say(server: str, kind: str) -> None:
    with pytest.raises(ModelError) as error:
        ask(f"{server}/{kind}/v1")
    assert "the text" not in str(error.value) and "example" not in str(error.value)
    assert len(Server.asked) == 1


def test_no_server_is_named(server: str) -> None:
    with pytest.raises(ModelError, match="cannot be reached"):
        ask("http://127.0.0.1:9/v1")


def test_a_proxy_of_the_environment_is_not_used(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask(f"{server}/stream/v1").text
