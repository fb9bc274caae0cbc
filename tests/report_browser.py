"""A real browser that opens a written report from the disk, as a person does, and what it did there."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import report_examples

from jobs.report import ItemRow, RunFacts, write_reports

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--mute-audio"),
)
FACTS = replace(report_examples.FACTS, counts={"done": 1}, warnings=("The embedded voice spoke everything.",))


def find_browser() -> str:
    named = os.environ.get("CHROMIUM")
    path = named or next((found for found in map(shutil.which, NAMES) if found), None)
    if path is None:
        pytest.fail(
            "no Chromium found: install Debian's package `chromium` (apt-get install chromium) "
            "or set CHROMIUM to the browser's path"
        )
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find_browser(), args=list(QUIET))
        yield opened
        opened.close()


class Opened:
    """A page from the disk, with everything that it did beyond showing itself."""

    def __init__(self, browser: Browser, report: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.may_complain = False
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self.refuse)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", self.forget_blocked)
        self.page.set_default_timeout(60_000)
        self.page.goto(report.as_uri())

    def forget_blocked(self, request: Request) -> None:
        """What the page's own policy stopped never went out."""
        if request.failure == "csp":
            self.requests.remove(request.url)

    def refuse(self, dialog: Dialog) -> None:
        self.complaints.append("dialog: " + dialog.message)
        dialog.dismiss()

    def ids(self) -> list[str]:
        return self.page.locator("#rows .more .id").all_text_contents()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Write a report and open it: `opened(rows, facts=…, **context_options)`. No page may complain or call out."""
    pages: list[Opened] = []

    def open_report(rows: list[ItemRow], facts: RunFacts = FACTS, **options: Any) -> Opened:
        _, _, report = write_reports(tmp_path, facts, lambda: iter(rows))
        pages.append(Opened(browser, report, **options))
        return pages[-1]

    yield open_report
    for page in pages:
        page.context.close()
        assert page.complaints == [] or page.may_complain
        assert [url for url in page.requests if not url.startswith("file:///")] == []


def until(page: Page, expression: str) -> None:
    """Wait for a JavaScript expression to hold; Playwright's own wait needs `eval`, which the page's policy bars."""
    deadline = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"never came true: {expression}"
        page.wait_for_timeout(20)
