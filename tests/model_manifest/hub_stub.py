"""A Hub on loopback: what huggingface_hub asks for a model at a commit, with faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """A repository. files: by path. cut: requests for a file's content that end in its middle, by path; altered: paths that
    are served with another last byte than is listed. asked: (method, path, Range) of every request."""

    repository: str
    files: dict[str, bytes]
    commit: str = COMMIT
    answered_commit: str | None = None
    cut: dict[str, int] = field(default_factory=dict)
    altered: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    address: str = ""

    def listing(self) -> dict[str, Any]:
        siblings = []
        for name, data in self.files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            row: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob}
            if name.endswith(".safetensors"):
                row["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            siblings.append(row)
        commit = self.answered_commit or self.commit
        return {
            "id": self.repository,
            "modelId": self.repository,
            "sha": commit,
            "siblings": siblings,
            "private": False,
            "tags": [],
        }

    def contents(self) -> list[str]:
        """The files whose content was asked for, in order."""
        return [path.rpartition("/")[2] for method, path, _ in self.asked if method == "GET" and "/resolve/" in path]


def hub_of(directory: Path, repository: str, **more: Any) -> Hub:
    return Hub(repository, {path.name: path.read_bytes() for path in sorted(directory.iterdir())}, **more)


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append((self.command, path, self.headers.get("Range")))
            if path in (f"/api/models/{hub.repository}/revision/{name}" for name in ("main", hub.commit)):
                self._send(200, json.dumps(hub.listing()).encode(), {"Content-Type": "application/json"}, body)
                return
            start = f"/{hub.repository}/resolve/{hub.commit}/"
            name = path.removeprefix(start)
            if not path.startswith(start) or name not in hub.files:
                self._send(404, b"", {"X-Error-Code": "RepoNotFound"}, body)
                return
            self._file(name, body)

        def _file(self, name: str, body: bool) -> None:
            data = hub.files[name]
            etag = hashlib.sha256(data).hexdigest()
            if name in hub.altered:
                data = data[:-1] + bytes([data[-1] ^ 1])
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": hub.commit, "Accept-Ranges": "bytes"}
            asked, status = self.headers.get("Range"), 200
            if asked and asked.startswith("bytes=") and asked.endswith("-"):
                first, status = int(asked[6:-1]), 206
                headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
                data = data[first:]
            cut = body and hub.cut.get(name, 0) > 0
            if cut:
                hub.cut[name] -= 1
            self._send(status, data, headers, body, len(data) // 2 if cut else None)

        def _send(self, status: int, data: bytes, headers: dict[str, str], body: bool, only: int | None = None) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(data[:only])
            if only is not None:
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
