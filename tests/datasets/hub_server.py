"""A local stand-in for the Hugging Face hub: the part of its API that is needed to upload and
download a dataset and to download a model, over real HTTP. The client is huggingface_hub itself."""

import base64
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

import pytest
from huggingface_hub import constants

from research.chat_server import POLL

TOKEN = "hf_test"


@dataclass
class Repository:
    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)

    @property
    def sha(self) -> str:
        return hashlib.sha1(repr(self.commits).encode()).hexdigest()


@dataclass
class PublishedModel:
    """`large`: files that the hub stores by their SHA-256; the others are stored by git."""

    commit: str
    files: dict[str, bytes]
    large: tuple[str, ...] = ("model.safetensors", "pytorch_model.bin")

    def facts(self, name: str) -> dict[str, Any]:
        siblings: list[dict[str, Any]] = []
        for file, data in self.files.items():
            git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            fact: dict[str, Any] = {"rfilename": file, "size": len(data), "blobId": git}
            if file in self.large:
                sha = hashlib.sha256(data).hexdigest()
                fact["lfs"] = {"sha256": sha, "size": len(data), "pointerSize": 134}
            siblings.append(fact)
        return {"id": name, "sha": self.commit, "siblings": siblings, "private": False}


@dataclass
class Hub:
    url: str = ""
    models: dict[str, PublishedModel] = field(default_factory=dict)
    #: The connection breaks after this many bytes of a large file.
    breaks_after: int | None = None
    #: Whether the content of large files is replaced by other bytes.
    corrupts: bool = False
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    #: (file, first byte) of every answer with a model's file.
    ranges: list[tuple[str, int]] = field(default_factory=list)
    #: The next commit is answered with this status.
    fail_with: int | None = None


@contextmanager
def hub_server() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: Any = None, **headers: str) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def repository(self, name: str) -> Repository | None:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.answer(401, {"error": "no token"})
                return None
            if name not in hub.repositories:
                self.answer(404, {"error": "not found"}, X_Error_Code="RepoNotFound")
                return None
            return hub.repositories[name]

        def do_GET(self) -> None:  # the name that http.server calls
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            parts = path.strip("/").split("/")
            model = hub.models.get("/".join(parts[2:4] if parts[0] == "api" else parts[:2]))
            if model is not None:
                return self.send_model(model, parts)
            if parts[:2] == ["api", "models"]:
                return self.answer(404, {"error": "not found"}, X_Error_Code="RepoNotFound")
            if path == "/api/whoami-v2":
                known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
                return self.answer(200 if known else 401, {"name": "ada", "type": "user"})
            if parts[:2] == ["api", "datasets"]:
                name = "/".join(parts[2:4])
                repository = self.repository(name)
                if repository is None:
                    return
                if parts[4:5] == ["tree"]:
                    tree = [{"type": "file", "path": path, "size": len(data), "oid": "0" * 40}
                            for path, data in repository.files.items()]  # fmt: skip
                    return self.answer(200, tree)
                siblings = [{"rfilename": name} for name in repository.files]
                return self.answer(200, {"id": name, "sha": repository.sha, "siblings": siblings,
                                         "private": repository.private})  # fmt: skip
            if parts[0] == "datasets" and parts[3:4] == ["resolve"]:
                repository = self.repository("/".join(parts[1:3]))
                if repository is None:
                    return
                data = repository.files.get("/".join(parts[5:]))
                if data is None:
                    return self.answer(404, {}, X_Error_Code="EntryNotFound")
                etag = hashlib.sha1(data).hexdigest()
                return self.answer(200, data, ETag=f'"{etag}"', X_Repo_Commit=repository.sha)
            self.answer(404)

        def send_model(self, model: PublishedModel, parts: list[str]) -> None:
            if parts[0] == "api":
                known = parts[5] in ("main", model.commit)
                facts = model.facts("/".join(parts[2:4]))
                return self.answer(200 if known else 404, facts if known else {})
            name = "/".join(parts[4:])
            data = model.files[name]
            start = int(self.headers.get("Range", "bytes=0-").split("=")[1].split("-")[0])
            hub.ranges.append((name, start))
            body = b"x" * len(data) if hub.corrupts and name in model.large else data
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.end_headers()
            end = len(body)
            if name in model.large and hub.breaks_after is not None:
                end = min(end, start + hub.breaks_after)
            self.wfile.write(body[start:end])
            if end < len(body):
                self.close_connection = True

        def do_HEAD(self) -> None:  # the name that http.server calls
            self.do_GET()

        def do_POST(self) -> None:  # the name that http.server calls
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"POST {path}")
            content = self.body()
            if path == "/api/repos/create":
                fields = json.loads(content)
                name = f"{fields['organization']}/{fields['name']}"
                url = f"{hub.url}/datasets/{name}"
                if name in hub.repositories:
                    return self.answer(409, {"error": "exists", "url": url})
                private = bool(fields.get("private")) or fields.get("visibility") == "private"
                hub.repositories[name] = Repository(private)
                return self.answer(200, {"url": url})
            if path == "/api/validate-yaml":
                return self.answer(200, {"warnings": [], "errors": []})
            parts = path.strip("/").split("/")
            repository = self.repository("/".join(parts[2:4]))
            if repository is None:
                return
            if parts[4] == "preupload":
                modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                         for file in json.loads(content)["files"]]  # fmt: skip
                return self.answer(200, {"files": modes})
            if hub.fail_with is not None:
                return self.answer(hub.fail_with, {"error": "Out of storage."})
            for line in map(json.loads, content.decode().splitlines()):
                value = line["value"]
                if line["key"] == "header":
                    repository.commits.append(value["summary"])
                elif line["key"] == "file":
                    repository.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    del repository.files[value["path"]]
            url = f"{hub.url}/datasets/{'/'.join(parts[2:4])}/commit/{repository.sha}"
            self.answer(200, {"success": True, "commitOid": repository.sha, "commitUrl": url})

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use_hub(monkeypatch: pytest.MonkeyPatch, url: str, cache: Path) -> None:
    """Let huggingface_hub use the hub at this address, and this folder as its cache."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", url)
