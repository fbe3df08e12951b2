"""The explorer in a real browser, used as a person would."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from isoglot.explore.export import static_page

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
pytest.importorskip("uvicorn")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> \x1b[31m"


@contextmanager
def served(*options: str):
    command = [sys.executable, "-m", "isoglot", "explore", "--no-browser", "--json", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert running.stdout is not None
    printed = ""
    while "}" not in printed:
        line = running.stdout.readline()
        assert line, "the server ended"
        printed += line
    address = re.search(r'http[^"]+', printed)
    assert address is not None
    try:
        yield address[0], running
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def page_at(browser: Any, address: str, **options: Any):
    """A page that may print no error and ask nothing of anybody else."""
    context = browser.new_context(**options)
    page, problems = context.new_page(), []
    own = address.partition("?")[0]
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url.startswith((own, "data:", "blob:")) else problems.append(asked.url)
    )
    page.goto(address)
    yield page
    context.close()
    assert problems == []


def saved_figure(page: Any, folder: Path) -> ElementTree.Element:
    with page.expect_download() as saved:
        page.click("#save-figure")
    saved.value.save_as(folder / "saved.svg")
    return ElementTree.parse(folder / "saved.svg").getroot()  # noqa: S314 - made here


def texts_of(svg: ElementTree.Element) -> list[str]:
    assert svg.tag.endswith("}svg")
    assert "var(" not in ElementTree.tostring(svg, encoding="unicode")
    return [each.text or "" for each in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_used_as_a_person_would(browser, tmp_path):
    with served() as (address, _), page_at(browser, address, viewport={"width": 1280, "height": 900}) as page:
        page.wait_for_selector("#turn-tokens .token", timeout=60_000)
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung")
        page.fill("#turn-alpha", "0")
        expect(page.locator("#turn-tokens .made").nth(1)).to_have_text(re.compile("government"), timeout=20_000)
        for step in range(100):  # a hand on the slider
            page.evaluate(
                f"(() => {{ const s = document.getElementById('turn-alpha'); s.value = {step % 50 / 10}; s.dispatchEvent(new Event('input')); }})()"
            )
        page.fill("#turn-alpha", "2.5")
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung", timeout=20_000)
        for method in ("transport", "leace", "mean"):  # the first two take a while: each replaces the one before
            page.select_option("#turn-method", method)
            assert page.locator("#turn-alpha").is_disabled() == (method == "leace")
        expect(page.locator("#turn[aria-busy]")).to_have_count(0, timeout=60_000)
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung")
        page.hover("#turn-tokens .token:nth-child(2)")
        assert page.locator("#turn-candidates li").count() == 5
        assert "Regierung" in texts_of(saved_figure(page, tmp_path))
        page.fill("#turn-text", HOSTILE)
        expect(page.locator("#turn-tokens .token").nth(10)).to_be_visible(timeout=20_000)
        assert page.evaluate("window.hacked") is None
        page.click("#tab-lens")
        page.wait_for_selector("#lens-table td")
        assert page.locator("#lens-table tr").count() == 10
        assert len(texts_of(saved_figure(page, tmp_path))) > 80
        page.click("#tab-space")
        page.wait_for_selector("#space-plot circle", timeout=120_000)
        assert page.locator("#space-plot circle").count() == 500
        page.fill("#space-own-text", HOSTILE)
        page.click("#space-own button:has-text('Add')")
        expect(page.locator("#space-plot circle")).to_have_count(501, timeout=60_000)
        page.click("#space-space button:has-text('centered')")
        page.locator("#space-plot circle").first.dispatch_event("click")
        assert page.locator("#space-point p").count() == 5
        assert {"en", "de", "zh"} <= set(texts_of(saved_figure(page, tmp_path)))
        page.click("#tab-compare")
        page.wait_for_selector("#compare-plot rect", timeout=120_000)
        page.locator("#compare-plot rect").nth(40).click()
        page.wait_for_selector("#compare-cell li", timeout=60_000)
        title = page.inner_text("#compare-cell h2")
        assert page.evaluate("window.hacked") is None
        link = page.url
        with page_at(browser, link) as again:  # a link restores the view, and the cell
            again.wait_for_selector("#compare-cell li", timeout=120_000)
            assert again.inner_text("#compare-cell h2") == title


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(browser, scheme):
    with served() as (address, _):
        options = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
        with page_at(browser, address, **options) as page:
            page.wait_for_selector("#turn-tokens .token", timeout=60_000)
            for view in ("turn", "lens"):
                page.click(f"#tab-{view}")
                assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_server_that_is_killed_and_comes_back(browser):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = browser.new_context()
    page = context.new_page()
    options = "--port", str(port), "--token"
    with served(*options, "one") as (address, running):
        page.goto(address)
        expect(page.locator("#turn-tokens .token").first).to_be_visible(timeout=60_000)
        running.kill()
        running.wait()
        page.fill("#turn-alpha", "0")
        expect(page.locator("#status")).to_contain_text("gone")
    with served(*options, "two"):
        expect(page.locator("#status")).to_contain_text("another token", timeout=30_000)
    with served(*options, "one"):
        expect(page.locator("#status")).to_be_hidden(timeout=30_000)
        expect(page.locator("#turn-tokens")).to_contain_text("must", timeout=30_000)
    context.close()


def test_an_exported_page_needs_no_server(browser, mini, tmp_path: Path):
    file = tmp_path / "index.html"
    file.write_text(static_page([mini, mini], sentences=20), encoding="utf-8")
    with page_at(browser, file.as_uri()) as page:
        page.wait_for_selector("#space-plot circle")
        assert page.locator("#space-plot circle").count() == 100
        assert page.locator("#status").is_hidden()
        page.click("#space-space button:has-text('mapped')")
        page.click("#tab-compare")
        page.wait_for_selector("#compare-plot rect")
        page.locator("#compare-plot rect").nth(40).click()
        assert page.locator("#compare-cell li").count() == 10
        assert page.locator("[data-view=turn]").is_hidden()
