"""`--model openai_files`: what `openai` asks in fewer bytes, every pixel the same, and what a failing server costs."""

from __future__ import annotations

import base64
import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmms_scoring.reply import request_failed
from lmms_tasks import pictures
from tests import small_hub
from tests.chat_server import ChatServer, Request
from tests.running import command, environment

SAMPLE = "slake,medxpertqa,vlms_are_biased"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "sent", False)
    monkeypatch.setattr(pictures, "as_files", False)


def asked(requests: list[Request]) -> list[tuple[Any, ...]]:
    """Every request as settings, roles, texts and pixels, in an order of their own."""

    def shown(part: dict[str, Any]) -> object:
        if part["type"] == "text":
            return part["text"]
        image = opened(part["image_url"]["url"])[1].convert("RGB")
        return image.size, hash(image.tobytes())

    found = []
    for request in requests:
        rest = {name: value for name, value in request.items() if name not in {"messages", "stream"}}
        turns = [(turn["role"], *map(shown, turn["content"])) for turn in request["messages"]]
        found.append((json.dumps(rest, sort_keys=True), *turns))
    return sorted(found, key=repr)


def opened(address: str) -> tuple[str, Image.Image]:
    head, _, data = address.partition(",")
    image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    return head, image


def urls(requests: list[Request]) -> Iterator[str]:
    for request in requests:
        for turn in request["messages"]:
            for part in turn["content"]:
                if part["type"] == "image_url":
                    yield part["image_url"]["url"]


def by_text(request: Request) -> str:
    texts = [part["text"] for turn in request["messages"] for part in turn["content"] if part["type"] == "text"]
    return "ANSWER: B" if sum(map(len, texts)) % 3 else "Yes"


@pytest.mark.parametrize("images", ["files", "png"])
def test_a_run_asks_and_scores_as_with_openai(tmp_path: Path, images: str) -> None:
    runs, requests = {}, {}
    for model, options in (("openai", "timeout=60"), ("openai_files", f"images={images}")):
        with ChatServer(by_text) as server:
            folder = tmp_path / model
            runs[model] = command(
                "lmms-eval", "--model", model, "--model_args",
                f"model_version=m,base_url={server.url},api_key=none,num_concurrent=4,{options}",
                "--tasks", SAMPLE, "--limit", "3", "--output_path", str(folder), "--log_samples",
                cwd=tmp_path, env=environment(LMMS_TASKS_DATA="sample"),
            )  # fmt: skip
            assert runs[model].status == 0, runs[model].output
            runs[model].folder = folder
            requests[model] = server.requests
    assert len(requests["openai"]) > 20
    assert asked(requests["openai_files"]) == asked(requests["openai"])
    kinds = {opened(url)[0] + " " + str(opened(url)[1].format) for url in urls(requests["openai_files"])}
    jpeg, png = "data:image/jpeg;base64 JPEG", "data:image/png;base64 PNG"
    assert kinds == ({jpeg, png} if images == "files" else {png})
    mine, theirs = (runs[model].results()["results"] for model in ("openai_files", "openai"))
    assert mine == theirs
    assert len(mine) > 12
    for name in ("slake_en_open", "vlms_are_biased_main"):
        of_each = [[(s["filtered_resps"], s["token_counts"]) for s in runs[model].samples(name)] for model in runs]
        assert of_each[0] == of_each[1]


def _jpeg(mode: str = "RGB", **options: Any) -> bytes:
    values = np.random.default_rng(1).integers(0, 256, (23, 37, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(values).convert(mode).save(out, "JPEG", **options)
    return out.getvalue()


def _turned() -> bytes:
    exif = Image.Exif()
    exif[274] = 6
    return _jpeg(exif=exif)


FILES = {
    "colour": (_jpeg(), "image/jpeg"),
    "grey": (_jpeg("L"), "image/jpeg"),
    "progressive": (_jpeg(progressive=True), "image/jpeg"),
    "with a comment": (_jpeg(comment=b"Adobe Exif"), "image/jpeg"),
    "with a colour profile": (_jpeg(icc_profile=b"made up" * 99), "image/jpeg"),
    "turned by EXIF": (_turned(), "image/png"),
    "CMYK": (_jpeg("CMYK"), "image/png"),
    "PNG": (small_hub.picture("PNG"), "image/png"),
    "WebP": (small_hub.picture("WEBP"), "image/png"),
}


@pytest.mark.parametrize(("data", "kind"), FILES.values(), ids=FILES)
def test_only_a_file_that_every_server_shows_alike_goes_as_it_is(
    data: bytes, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_tasks import subsets

    expected = Image.open(io.BytesIO(data)).convert("RGB").tobytes()
    decoded = pictures.Picture(Image.open(io.BytesIO(data)).convert("RGB"), lambda: data)  # type: ignore[arg-type]
    monkeypatch.setattr(pictures, "sent", True)
    monkeypatch.setattr(pictures, "as_files", True)
    undecoded = subsets._picture(data, "a picture")
    for picture in (decoded, undecoded):
        written, told = picture.file()
        assert told == kind
        assert Image.open(io.BytesIO(written)).convert("RGB").tobytes() == expected
        assert (written == data) == (kind == "image/jpeg") or data.startswith(b"\x89PNG")
    assert (undecoded._im is None) == (kind == "image/jpeg" or data.startswith(b"\x89PNG"))
    assert undecoded.tobytes() == expected


def test_a_changed_picture_goes_as_changed() -> None:
    picture = pictures.Picture(Image.open(io.BytesIO(_jpeg())).convert("RGB"), _jpeg)  # type: ignore[arg-type]
    picture.putpixel((3, 4), (1, 2, 3))
    written, kind = picture.file()
    assert kind == "image/png"
    assert Image.open(io.BytesIO(written)).tobytes() == picture.tobytes()


def test_jpegs_that_are_cut_anywhere_are_no_plain_ones() -> None:
    data = _jpeg()
    for end in range(len(data) - 1):
        assert not pictures.is_plain_jpeg(data[:end])
    assert pictures.is_plain_jpeg(data)


# --- a failing server -----------------------------------------------------------------------------------------------


def model(server: ChatServer | str, **options: Any) -> Any:
    from lmms_tasks.models.openai_files import OpenAIFiles

    url = server if isinstance(server, str) else server.url
    made = OpenAIFiles(model_version="m", base_url=url, api_key="none", retry_backoff_s=0.01, **options)
    made.task_dict["task"] = {"test": [{"text": f"question {number} \ud800 “…”"} for number in range(40)]}
    return made


def requests(count: int, **settings: Any) -> list[Any]:
    def doc_to_messages(doc: dict[str, str]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": doc["text"]}]}]

    return [
        SimpleNamespace(args=("", doc_to_messages, settings, number, "task", "test"), task_name="task")
        for number in range(count)
    ]


def number(request: Request) -> int:
    return int(request["messages"][0]["content"][0]["text"].split()[1])


def failing_at_first(what: int | bytes) -> Callable[[Request], str | int | bytes]:
    """Answers each question with its number, and the first time with something else."""
    seen: set[int] = set()
    lock = threading.Lock()

    def answer(request: Request) -> str | int | bytes:
        with lock:
            new = number(request) not in seen
            seen.add(number(request))
        return what if new else f"reply {number(request)}"

    return answer


@pytest.mark.parametrize("what", [429, 500, 503, b"<html>busy</html>", b'{"error": "busy"}', b"[1", b"null"])
def test_what_passes_is_asked_again_and_replies_keep_their_order(what: int | bytes) -> None:
    with ChatServer(failing_at_first(what)) as server:
        replies = model(server, num_concurrent=8).generate_until(requests(30))
    assert [reply.text for reply in replies] == [f"reply {number}" for number in range(30)]
    assert len(server.requests) == 60
    counts = replies[0].token_counts
    assert (counts.input_tokens, counts.output_tokens) == (10, 5)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_is_not_asked_again_and_costs_its_own_row(status: int) -> None:
    with ChatServer(lambda request: status if number(request) % 2 else "yes") as server:
        replies = model(server, num_concurrent=4).generate_until(requests(10))
    assert len(server.requests) == 10
    assert [request_failed(reply.text) for reply in replies] == [bool(place % 2) for place in range(10)]
    assert f"HTTP {status}" in replies[1].text
    assert "refused" in replies[1].text


def test_a_server_that_never_recovers_costs_its_rows_and_no_more() -> None:
    with ChatServer(lambda request: 503) as server:
        replies = model(server, num_concurrent=4, max_retries=3).generate_until(requests(5))
    assert len(server.requests) == 15
    assert all(request_failed(reply.text) and "after 3 retries" in reply.text for reply in replies)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_address_or_name_ends_the_run_before_the_first_reply_and_not_after(status: int) -> None:
    with ChatServer(lambda request: status) as server, pytest.raises(SystemExit) as stopped:
        model(server, num_concurrent=2).generate_until(requests(30))
    assert f"HTTP {status}" in str(stopped.value)
    assert "model m" in str(stopped.value)
    assert "api_key" in str(stopped.value)
    assert len(server.requests) <= 6
    with ChatServer(lambda request: status if number(request) == 7 else "yes") as server:
        replies = model(server, num_concurrent=1).generate_until(requests(10))
    assert [place for place, reply in enumerate(replies) if request_failed(reply.text)] == [7]


def test_no_server_ends_the_run_with_its_address() -> None:
    with ChatServer(lambda request: "yes") as server:
        url = server.url
    with pytest.raises(SystemExit, match="does not answer") as stopped:
        model(url, max_retries=2).generate_until(requests(3))
    assert url in str(stopped.value)


def test_a_server_that_is_silent_is_given_up_in_time() -> None:
    free = threading.Event()
    with ChatServer(lambda request: str(free.wait(20))) as server:
        replies = model(server, timeout=0.2, max_retries=1).generate_until(requests(2))
        free.set()
    assert all("no reply within 0.2 s" in reply.text for reply in replies)


def test_settings_go_as_with_openai() -> None:
    with ChatServer(lambda request: "yes") as server:
        given = {
            "max_new_tokens": 7,
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 3,
            "n": 1,
            "until": ["\n\n"],
            "do_sample": 1,
        }
        asking = model(server)
        asking.generate_until(requests(1, **given))
        asking.enable_thinking_kwarg = "False"
        asking.generate_until(requests(1))
        asking.model_version = "openai/gpt-5-mini"
        asking.generate_until(requests(1, max_new_tokens=9, temperature=0))
    sent = [{name: value for name, value in body.items() if name != "messages"} for body in server.requests]
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert sent == [
        {"model": "m", "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "n": 1},
        {"model": "m", "max_tokens": 1024, "temperature": 0, **off},
        {"model": "openai/gpt-5-mini", "max_completion_tokens": 9, **off},
    ]


@pytest.mark.parametrize(
    ("options", "said"), [({"images": "jpeg"}, "files or png"), ({"azure_openai": True}, "--model openai has")]
)
def test_an_argument_that_cannot_be_ends_the_run(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        model("http://127.0.0.1:9/v1", **options)


def test_other_media_are_refused() -> None:
    (request,) = requests(1)
    messages = [{"role": "user", "content": [{"type": "video", "url": "a.mp4"}]}]
    request.args = ("", lambda doc: messages, *request.args[2:])
    asking = model("http://127.0.0.1:9/v1")
    with pytest.raises(SystemExit, match="no video"):
        asking.generate_until([request])


def test_a_damaged_archive_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_hub.write_hub(tmp_path)
    archive = next(tmp_path.rglob("imgs.zip"))
    with zipfile.ZipFile(archive) as whole:
        info = next(member for member in whole.infolist() if member.filename.endswith("source.jpg"))
    data = bytearray(archive.read_bytes())
    data[info.header_offset + 60 + info.compress_size // 2] ^= 0xFF
    archive.write_bytes(data)
    with ChatServer(lambda request: "yes") as server:
        run = command(
            "lmms-eval", "--model", "openai_files", "--model_args",
            f"model_version=m,base_url={server.url},api_key=none", "--tasks", "slake",
            cwd=tmp_path, env=environment(LMMS_TASKS_DATA=str(tmp_path)),
        )  # fmt: skip
    assert run.status == 1
    assert "imgs.zip" in run.output
    assert "Traceback" not in run.output.splitlines()[-1]
