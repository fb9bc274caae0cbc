"""A model hub on this machine: the part of ModelScope's and Hugging Face's interfaces that a pull uses, with faults."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "5ea1c0de" * 5
LFS_FROM_BYTES = 2_000
"""Larger files are listed with a sha256, as LFS files are; smaller ones with Git's id only."""


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    start: int
    authorization: str | None
    agent: str


@dataclass
class Hub:
    """Serves `files` as one repository, whatever its name, in revision `main` and COMMIT.

    `faults[path]` holds what befalls the next requests for that file, in order: `cut:N` (N bytes, then silence and
    end), `stall` (headers, then nothing), `slow`, `damage`, `longer`, `no range`, `wrong range`, or a status as `503`.
    `listing` in place of a path befalls the listing. `elsewhere` sends downloads on to that address.
    """

    files: dict[str, bytes]
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    listed: list[dict[str, Any]] = field(default_factory=list)
    """Entries that are listed beside the files: (`path`, `size`)."""
    revisions: tuple[str, ...] = ("main", "master", COMMIT)
    elsewhere: str = ""
    piece_wait_s: float = 0.02
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        return {"MODELSCOPE_ENDPOINT": self.url, "HF_ENDPOINT": self.url}

    def starts(self, path: str) -> list[int]:
        """From which bytes on a file was asked for, in order."""
        return [asked.start for asked in self.asked if asked.path == path]


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

        def end_headers(self) -> None:
            self.send_header("Connection", "close")
            super().end_headers()

        def do_GET(self) -> None:
            self.close_connection = True
            address = urlsplit(self.path)
            query = parse_qs(address.query)
            parts = [unquote(part) for part in address.path.strip("/").split("/")]
            if parts[:3] == ["api", "v1", "models"]:
                self._modelscope(parts[3:], {key: values[0] for key, values in query.items()})
            elif parts[:2] == ["api", "models"]:
                self._huggingface_listing(parts[2:])
            elif len(parts) > 4 and parts[2] == "resolve":
                self._file(parts[3], "/".join(parts[4:]))
            else:
                self._file("main", "/".join(parts))

        def _modelscope(self, parts: list[str], query: dict[str, str]) -> None:
            if parts[2:] == ["repo"]:
                self._file(query["Revision"], query["FilePath"])
                return
            assert parts[2:] == ["repo", "files"] and query["Recursive"] == "true"
            self._note("listing", 0)
            if self._status_fault("listing"):
                return
            if query["Revision"] not in hub.revisions:
                self._json(404, {"Code": 10010205001, "Message": "no such revision", "Success": False})
                return
            folders = {path.rpartition("/")[0] for path in hub.files if "/" in path}
            entries = [{"Path": path, "Type": "tree", "Size": 0, "Sha256": ""} for path in folders] + [
                {"Path": path, "Type": "blob", "Size": len(content), "Sha256": hashlib.sha256(content).hexdigest()}
                for path, content in hub.files.items()
            ]
            entries += [{"Path": entry["path"], "Type": "blob", "Size": entry["size"]} for entry in hub.listed]
            self._json(200, {"Code": 200, "Data": {"Files": entries}, "Message": "success", "Success": True})

        def _huggingface_listing(self, parts: list[str]) -> None:
            self._note("listing", 0)
            if self._status_fault("listing"):
                return
            if parts[2:3] == ["revision"] and parts[3] not in hub.revisions:
                self._json(404, {"error": "Invalid rev id"}, {"X-Error-Code": "RevisionNotFound"})
                return
            siblings: list[dict[str, Any]] = []
            for path, content in hub.files.items():
                entry = {"rfilename": path, "size": len(content), "blobId": git_sha1(content)}
                if len(content) > LFS_FROM_BYTES:
                    sha256 = hashlib.sha256(content).hexdigest()
                    entry["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 134}
                siblings.append(entry)
            siblings += [{"rfilename": entry["path"], "size": entry["size"]} for entry in hub.listed]
            name = "/".join(parts[:2])
            self._json(200, {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": []})

        def _file(self, revision: str, path: str) -> None:
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
            self._note(path, start)
            if self._status_fault(path):
                return
            if path not in hub.files or revision not in hub.revisions:
                self._json(404, {"error": "Entry not found"})
                return
            if hub.elsewhere:
                self.send_response(302)
                self.send_header("Location", f"{hub.elsewhere}/{path}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._send(hub.files[path], start, hub.faults[path].pop(0) if hub.faults[path] else "")

        def _send(self, content: bytes, start: int, fault: str) -> None:
            if fault == "no range":
                start = 0
            rest = content[start:]
            if fault == "damage":
                rest = rest[:-1] + bytes([rest[-1] ^ 1])
            if fault == "longer":
                rest += b"more"
            self.send_response(206 if start else 200)
            if start:
                told = start + 1 if fault == "wrong range" else start
                self.send_header("Content-Range", f"bytes {told}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            if fault == "stall":
                time.sleep(2)
                return
            if fault.startswith("cut:"):
                self.wfile.write(rest[: int(fault.removeprefix("cut:"))])
                return
            step = len(rest) if fault != "slow" else max(1, len(rest) // 50)
            for begin in range(0, len(rest), max(1, step)):
                try:
                    self.wfile.write(rest[begin : begin + step])
                except OSError:  # the reader was killed
                    return
                time.sleep(hub.piece_wait_s if fault == "slow" else 0)

        def _note(self, path: str, start: int) -> None:
            agent = self.headers.get("User-Agent") or ""
            hub.asked.append(Asked(path, start, self.headers.get("Authorization"), agent))

        def _status_fault(self, path: str) -> bool:
            if not hub.faults[path] or not hub.faults[path][0].isdigit():
                return False
            status = int(hub.faults[path].pop(0))
            self._json(status, {"Message": f"status {status} as asked"}, {"Retry-After": "0"} if status == 503 else {})
            return True

        def _json(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
