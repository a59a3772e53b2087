"""The page in a real headless Chromium: no request, no error, working filters, and hostile text that stays text.

Needs Debian's packages chromium and chromium-driver; the driver's own protocol is spoken directly.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks.report import page, report_cli
from tests import report_runs
from tests.test_report import HOSTILE
from tests.test_report_data import record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs a browser: apt-get install chromium chromium-driver"
)
pytest.importorskip("matplotlib")


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Browser:
    """A session of chromedriver."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        options = {
            "binary": CHROMIUM,
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--window-size=1300,900",
            ],
        }
        capabilities = {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }  # fmt: skip
        session = self.post("/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        self.base += f"/session/{session}"

    def post(self, path: str, content: Any) -> Any:
        request = urllib.request.Request(
            self.base + path, json.dumps(content).encode(), {"Content-Type": "application/json"}
        )
        with _direct.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path) -> None:
        self.post("/se/log", {"type": "performance"})
        self.post("/url", {"url": path.as_uri()})

    def run(self, script: str) -> Any:
        return self.post("/execute/sync", {"script": script, "args": []})

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.post("/se/log", {"type": "performance"})]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def visible(self) -> int:
        return int(self.run("return document.querySelectorAll('.card:not([hidden])').length"))

    def choose(self, script: str) -> None:
        self.run(script + ";document.getElementById('filters').dispatchEvent(new Event('input'))")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert DRIVER is not None
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        port = next(
            int(found[1]) for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line))
        )
        started = Browser(port)
        yield started
        request = urllib.request.Request(started.base, method="DELETE")
        _direct.open(request, timeout=60).close()
    finally:
        driver.terminate()
        driver.wait(20)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    sizes = {"slake_en_open": 40, "medxpertqa_mm": 40, "vlms_are_biased_main": 84}
    report_runs.write(folder / "run", sizes, replies=HOSTILE)
    results = next((folder / "run").rglob("*_results.json"))
    content = json.loads(results.read_text())
    content["config"]["model_args"] = HOSTILE[0]
    results.write_text(json.dumps(content))
    path = folder / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        report_cli.write(page.report(report_cli.load([str(folder / "run")]), samples=60), path, "report")
    return path


def test_the_page_opens_without_a_request_or_an_error(browser: Browser, written: Path) -> None:
    browser.open(written)
    assert browser.run("return document.querySelectorAll('svg.chart').length") > 5
    assert browser.console() == []
    outside = [url for url in browser.requests() if not url.startswith("data:")]
    assert outside == [written.as_uri()]


def test_hostile_replies_are_shown_and_never_run(browser: Browser, written: Path) -> None:
    browser.open(written)
    assert browser.run("return typeof window.hit") == "undefined"
    assert browser.run("return document.scripts.length") == 1
    assert browser.run("return document.querySelectorAll('.card img:not([src^=\"data:\"])').length") == 0
    assert browser.run("return document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    text = browser.run("return document.getElementById('cards').textContent")
    assert "<script>window.hit = 1</script>" in text
    assert 'onerror="window.hit = 2"' in text


def test_even_injected_script_is_stopped_by_the_policy(browser: Browser, written: Path) -> None:
    browser.open(written)
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=\"window.hit = 7\">')")
    assert browser.run("return new Promise(done => setTimeout(() => done(typeof window.hit), 300))") == "undefined"
    browser.console()


def test_pictures_are_shown_without_a_request(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    path = tmp_path / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        for task in ("slake_en_open", "medxpertqa_mm", "vlms_are_biased_original"):
            record(tmp_path / "run", task, lambda index, _: f"ANSWER: {index}")
        report_cli.write(page.report(report_cli.load([str(tmp_path / "run")]), samples=30), path, "report")
    browser.open(path)
    # Pictures of no size would be ones that the page's policy forbids.
    sizes = browser.run("return [...document.querySelectorAll('.pictures img')].map(image => image.naturalWidth)")
    assert len(sizes) >= 30
    assert min(sizes) > 50
    assert browser.console() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [path.as_uri()]


def test_filters_show_the_cards_that_fit(browser: Browser, written: Path) -> None:
    browser.open(written)
    total = browser.visible()
    assert total == 60
    browser.choose("document.getElementById('filter-task').value = 'medxpertqa_mm'")
    assert (
        browser.visible() == browser.run("return document.querySelectorAll('[data-task=medxpertqa_mm]').length") == 20
    )
    browser.choose("document.getElementById('filter-task').value = ''")
    browser.choose("document.getElementById('filter-disagree').checked = true")
    disagreeing = browser.run("return document.querySelectorAll('[data-disagree]').length")
    assert 0 < browser.visible() == disagreeing < total
    assert browser.run("return document.getElementById('filter-count').textContent") == f"{disagreeing} of 60 shown"
    browser.choose("document.getElementById('filter-disagree').checked = false")
    browser.choose(
        "document.querySelectorAll('[name=outcome]').forEach(box => box.checked = box.value === 'unreadable')"
    )
    unreadable = browser.run("return document.querySelectorAll('.card .verdict.unreadable').length")
    assert 0 < browser.visible() == unreadable < total
    browser.choose("document.querySelectorAll('[name=outcome]').forEach(box => box.checked = true)")
    browser.choose("document.getElementById('filter-text').value = 'no such words anywhere'")
    assert browser.visible() == 0
    assert browser.run("return document.getElementById('no-cards').hidden") is False


def test_nothing_is_wider_than_a_phone(browser: Browser, written: Path) -> None:
    browser.open(written)
    browser.post("/window/rect", {"width": 500, "height": 900})
    wide = browser.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    browser.post("/window/rect", {"width": 1300, "height": 900})
    assert wide[0] <= wide[1]
