"""A small hub on loopback, with faults: serves folders `<org>/<name>` to huggingface_hub, datasets and modelscope.

In a test:

    with HubServer(folder) as hub:
        hub.fault(status=503, times=2)          # the next two answers
        hub.fault(drop=1000, path=r"imgs\\.zip")  # cut the connection after 1,000 bytes of each matching answer
        environ = hub.environ(home)             # HF_ENDPOINT, HF_HOME, … for a child process

As a script, `python hub_server.py FOLDER [--port N] [--fault status=503,times=2]…` prints its address and serves until
it is killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = b"<!DOCTYPE html><html><head><title>Sign in to the network</title></head><body>Please sign in.</body></html>"
LARGE = (".zip", ".parquet")
MODELSCOPE = {
    "evalscope/SLAKE": "BoKelvin/SLAKE",
    "evalscope/MedXpertQA": "TsinghuaC3I/MedXpertQA",
    "evalscope/vlms-are-biased": "anvo25/vlms-are-biased",
}
"""ModelScope's names of the repositories, served from the same folders."""


@dataclass
class Fault:
    """What goes wrong with answers whose path matches, `times` times (-1: always)."""

    path: str = ""
    method: str = ""
    times: int = -1
    status: int | None = None
    """Answer with this status and nothing else."""
    error: str = ""
    """The header X-Error-Code that goes with the status."""
    retry_after: str = ""
    drop: int | None = None
    """Close the connection after so many bytes of the body."""
    html: bool = False
    """Answer 200 with a web page that has none of a hub's headers."""
    body: bytes | None = None
    """Serve these bytes as the file, consistently (size, ETag), instead of its own."""
    delay: float = 0.0


class HubServer:
    """The server; `url` is its address, `requests` what it was asked: method, and path without its query."""

    def __init__(self, folder: Path | str, port: int = 0) -> None:
        self.folder = Path(folder)
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[tuple[str, int]] = []
        """File names and first bytes of the requests for a part of a file."""
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._digests: dict[tuple[Path, int, int], tuple[str, str]] = {}
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fault(self, **fields: object) -> Fault:
        """Switch a fault on; see Fault for the fields."""
        fault = Fault(**fields)  # type: ignore[arg-type]
        with self._lock:
            self.faults.append(fault)
        return fault

    def heal(self) -> None:
        """Switch all faults off."""
        with self._lock:
            self.faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The fault for this request, counted."""
        with self._lock:
            self.requests.append((method, path))
            for fault in self.faults:
                if fault.body is None and fault.times and re.search(fault.path, path) and fault.method in ("", method):
                    fault.times -= 1 if fault.times > 0 else 0
                    return fault
        return None

    def served(self, pattern: str, method: str = "GET") -> int:
        """How many requests matched so far."""
        with self._lock:
            return sum(1 for verb, path in self.requests if verb == method and re.search(pattern, path))

    def environ(self, home: Path | str, **more: str) -> dict[str, str]:
        """An environment for a child process that uses this hub and keeps everything below `home`."""
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HF_", "LMMS_TASKS_", "HUGGING", "MODELSCOPE"))
            and not key.lower().endswith("_proxy")
        }
        clean |= {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "MODELSCOPE_DOMAIN": self.url,
            "MODELSCOPE_CACHE": str(Path(home) / "modelscope"),
        }
        return clean | more

    def repository(self, name: str) -> Path | None:
        folder = self.folder / MODELSCOPE.get(name, name)
        return folder if folder.is_dir() else None

    def files(self, repository: Path) -> list[Path]:
        return sorted(path for path in repository.rglob("*") if path.is_file())

    def digest(self, path: Path) -> tuple[str, str]:
        """sha1 and sha256 of a file."""
        status = path.stat()
        key = path, status.st_mtime_ns, status.st_size
        if key not in self._digests:
            data = path.read_bytes()
            self._digests[key] = hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest()
        return self._digests[key]

    def commit(self, repository: Path) -> str:
        """The repository's one commit: a digest of its files."""
        digest = hashlib.sha1()
        for path in self.files(repository):
            digest.update(f"{path.relative_to(repository)} {self.digest(path)[0]}\n".encode())
        return digest.hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_hub: HubServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(send_body=False)

    def do_GET(self) -> None:
        self._answer(send_body=True)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(send_body=True)

    def _answer(self, send_body: bool) -> None:
        asked = urlsplit(self.path)
        path = unquote(asked.path)
        # ModelScope names the file in the query: a fault means one file there too, whichever is asked for first.
        file = parse_qs(asked.query).get("FilePath", [""])[0]
        fault = self.server_hub.take(self.command, f"{path}/{file}" if file else path)
        if fault and fault.delay:
            time.sleep(fault.delay)
        if fault and fault.status:
            headers = {"X-Error-Code": fault.error} if fault.error else {}
            if fault.retry_after:
                headers["Retry-After"] = fault.retry_after
            return self._send(fault.status, b"", headers, send_body)
        if fault and fault.html:
            return self._send(200, PAGE, {"Content-Type": "text/html"}, send_body)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/([^/]+))?", path):
            return self._info(match[1], match[2], send_body)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?", path):
            return self._tree(match[1], match[2], match[3] or "", send_body)
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._file(match[1], match[2], match[3], fault, send_body)
        if match := re.fullmatch(r"/api/v1/datasets/([^/]+/[^/]+)/repo(/tree)?", path):
            return self._modelscope(match[1], bool(match[2]), fault, send_body)
        return self._send(404, b"", {}, send_body)

    def _modelscope(self, repo: str, listing: bool, fault: Fault | None, send_body: bool) -> None:
        folder = self.server_hub.repository(repo)
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        if folder is None or query.get("Revision", "master") != "master":
            return self._json({"Code": 10010205001, "Message": "not found", "Success": False}, send_body, 404)
        if listing:
            files = []
            for path in self.server_hub.files(folder) if query.get("PageNumber", "1") == "1" else []:
                data = self._body(path)
                size = len(data) if data is not None else path.stat().st_size
                name = path.relative_to(folder).as_posix()
                sha256 = self._digests(path, data)[1]
                files.append({"Path": name, "Name": path.name, "Size": size, "Sha256": sha256, "Type": "blob"})
            return self._json({"Code": 200, "Success": True, "Data": {"Files": files}}, send_body)
        path = folder / query.get("FilePath", "")
        if ".." in Path(query.get("FilePath", "")).parts or not path.is_file():
            return self._json({"Code": 10010205001, "Message": "not found", "Success": False}, send_body, 404)
        self._content(path, {}, fault, send_body)

    def _known(self, repo: str, revision: str | None, send_body: bool) -> tuple[Path, str] | None:
        folder = self.server_hub.repository(repo)
        if folder is None:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"}, send_body)
            return None
        commit = self.server_hub.commit(folder)
        if revision not in (None, "main", commit):
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"}, send_body)
            return None
        return folder, commit

    def _info(self, repo: str, revision: str | None, send_body: bool) -> None:
        known = self._known(repo, revision, send_body)
        if known is None:
            return
        folder, commit = known
        siblings = [{"rfilename": path.relative_to(folder).as_posix()} for path in self.server_hub.files(folder)]
        info = {"_id": "1", "id": repo, "sha": commit, "private": False, "gated": False, "disabled": False, "tags": []}
        self._json({**info, "downloads": 0, "likes": 0, "siblings": siblings}, send_body)

    def _tree(self, repo: str, revision: str, below: str, send_body: bool) -> None:
        known = self._known(repo, revision, send_body)
        if known is None:
            return
        folder, _ = known
        top = folder / below
        if not top.is_dir():
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, send_body)
        recursive = "recursive=true" in urlsplit(self.path).query.lower()
        entries = []
        for path in sorted(top.rglob("*") if recursive else top.iterdir()):
            name = path.relative_to(folder).as_posix()
            if path.is_dir():
                entries.append(
                    {"type": "directory", "oid": hashlib.sha1(name.encode()).hexdigest(), "size": 0, "path": name}
                )
                continue
            data = self._body(path)
            sha1, sha256 = self._digests(path, data)
            size = len(data) if data is not None else path.stat().st_size
            entry = {"type": "file", "oid": sha1, "size": size, "path": name}
            if path.suffix in LARGE:
                entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 130}
            entries.append(entry)
        self._json(entries, send_body)

    def _body(self, path: Path) -> bytes | None:
        """What a fault serves in place of the file, or None."""
        for fault in self.server_hub.faults:
            if fault.body is not None and re.search(fault.path, path.as_posix()):
                return fault.body
        return None

    def _digests(self, path: Path, data: bytes | None) -> tuple[str, str]:
        if data is None:
            return self.server_hub.digest(path)
        return hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest()

    def _file(self, repo: str, revision: str, name: str, fault: Fault | None, send_body: bool) -> None:
        known = self._known(repo, revision, send_body)
        if known is None:
            return
        folder, commit = known
        path = folder / name
        if ".." in Path(name).parts or not path.is_file():
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, send_body)
        self._content(path, {"X-Repo-Commit": commit}, fault, send_body)

    def _content(self, path: Path, headers: dict[str, str], fault: Fault | None, send_body: bool) -> None:
        replaced = self._body(path)
        data = path.read_bytes() if replaced is None else replaced
        sha1, sha256 = self._digests(path, replaced)
        headers = headers | {"ETag": f'"{sha256 if path.suffix in LARGE else sha1}"', "Accept-Ranges": "bytes"}
        status, part = 200, data
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(asked[1]), int(asked[2] or len(data) - 1)
            self.server_hub.ranges.append((path.name, first))
            if first >= len(data):
                return self._send(416, b"", headers | {"Content-Range": f"bytes */{len(data)}"}, send_body)
            status, part = 206, data[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
        self._send(status, part, headers, send_body, drop=fault.drop if fault else None)

    def _json(self, value: object, send_body: bool, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json"}, send_body)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], send_body: bool, drop: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not send_body:
            return
        if drop is not None and drop < len(body):
            self.wfile.write(body[:drop])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        try:
            self.wfile.write(body)
        except OSError:  # the client went away
            self.close_connection = True


def _parsed(text: str) -> dict[str, object]:
    fields: dict[str, object] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name in ("times", "status", "drop"):
            fields[name] = int(value)
        elif name == "delay":
            fields[name] = float(value)
        elif name == "html":
            fields[name] = True
        elif name == "body":
            fields[name] = value.encode()
        else:
            fields[name] = value
    return fields


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a folder as a hub on loopback.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--fault", action="append", default=[], help="e.g. status=503,times=2 or path=imgs.zip,drop=1000"
    )
    given = parser.parse_args()
    with HubServer(given.folder, given.port) as hub:
        for fault in given.fault:
            hub.fault(**_parsed(fault))
        print(hub.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
