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
PATIENCE = 120_000  # milliseconds, on a machine that is busy with other tests
expect.set_options(timeout=PATIENCE)
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
    context.set_default_timeout(PATIENCE)
    page, problems = context.new_page(), []
    own = address.partition("?")[0]
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url.startswith((own, "data:", "blob:")) else problems.append(asked.url)
    )
    page.goto(address)
    page.wait_for_selector("[role=tab][aria-selected=true]")  # it is alive
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
        page.wait_for_selector("#turn-tokens .token")
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung")
        page.fill("#turn-alpha", "0")
        expect(page.locator("#turn-tokens .made").nth(1)).to_have_text(re.compile("government"))
        for step in range(100):  # a hand on the slider
            page.evaluate(
                f"(() => {{ const s = document.getElementById('turn-alpha'); s.value = {step % 50 / 10}; s.dispatchEvent(new Event('input')); }})()"
            )
        page.fill("#turn-alpha", "2.5")
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung")
        for method in ("transport", "leace", "mean"):  # the first two take a while: each replaces the one before
            page.select_option("#turn-method", method)
            assert page.locator("#turn-alpha").is_disabled() == (method == "leace")
        expect(page.locator("#turn[aria-busy]")).to_have_count(0)
        expect(page.locator("#turn-tokens")).to_contain_text("Regierung")
        page.hover("#turn-tokens .token:nth-child(2)")
        assert page.locator("#turn-candidates li").count() == 5
        first = page.locator("#turn-candidates li").first
        for alpha, word in (("0", "government"), ("2.5", "Regierung")):  # they follow the slider
            page.fill("#turn-alpha", alpha)
            expect(first).to_contain_text(word)
        assert "Regierung" in texts_of(saved_figure(page, tmp_path))
        page.fill("#turn-text", HOSTILE)
        expect(page.locator("#turn-tokens .token").nth(10)).to_be_visible()
        assert page.evaluate("window.hacked") is None
        page.locator("#tab-turn").press("ArrowRight")
        for key in ("ArrowRight", "Enter"):
            page.keyboard.press(key)
        page.wait_for_selector("#lens-table td")
        assert page.locator("#lens-table tr").count() == 10
        page.locator("#lens-table td[tabindex='0']").press("ArrowDown")
        assert page.locator("#lens-candidates li").count() == 5
        assert page.inner_text("#lens-candidates p").startswith("Layer 7, ")
        assert len(texts_of(saved_figure(page, tmp_path))) > 80


def test_the_space_and_two_models_are_used(browser, tmp_path):
    with served() as (address, _), page_at(browser, address, viewport={"width": 1280, "height": 900}) as page:
        page.click("#tab-space")
        page.wait_for_selector("#space-plot circle")
        assert page.locator("#space-plot circle").count() == 500
        page.fill("#space-own-text", HOSTILE)
        page.click("#space-own button:has-text('Add')")
        expect(page.locator("#space-plot circle")).to_have_count(501)
        page.click("#space-space button:has-text('centered')")
        expect(page.locator("#space[aria-busy]")).to_have_count(0)
        page.locator("#space-plot circle").last.dispatch_event("click")  # one's own sentence has neighbors too
        assert page.locator("#space-point p").count() == 5
        page.click("#space-table summary")
        page.locator("#space-table button").nth(6).press("Enter")
        assert page.locator("#space-plot circle.on").count() == 5
        seventh = page.locator("#space-table tr").nth(7).locator("td").first.inner_text()
        assert page.locator("#space-point p").first.inner_text() == f"en {seventh}"
        for count in (401, 501):  # one's own sentence goes with its language
            page.locator("#space-languages button").last.click()
            expect(page.locator("#space-plot circle")).to_have_count(count)
        assert {"en", "de", "zh"} <= set(texts_of(saved_figure(page, tmp_path)))
        page.click("#tab-compare")
        page.wait_for_selector("#compare-plot rect")
        page.locator("#compare-plot rect").nth(40).click()
        page.wait_for_selector("#compare-cell li")
        title = page.inner_text("#compare-cell h2")
        page.locator("#compare-plot rect.cell:focus").press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page.locator("#compare-cell h2")).not_to_have_text(title)
        title = page.inner_text("#compare-cell h2")
        page.click("#compare-table summary")
        expect(page.locator("#compare-table td")).to_have_count(81)
        page.wait_for_timeout(500)  # the address follows
        assert page.evaluate("window.hacked") is None
        link = page.url
        with page_at(browser, link) as again:  # a link restores the view, and the cell
            again.wait_for_selector("#compare-cell li")
            assert again.inner_text("#compare-cell h2") == title


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(browser, scheme):
    with served() as (address, _):
        options = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
        with page_at(browser, address, **options) as page:
            page.wait_for_selector("#turn-tokens .token")
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
        expect(page.locator("#turn-tokens .token").first).to_be_visible()
        running.kill()
        running.wait()
        expect(page.locator("#status")).to_contain_text("gone")  # seen by itself
        page.fill("#turn-alpha", "0")
    with served(*options, "two"):
        expect(page.locator("#status")).to_contain_text("another token")
    with served(*options, "one"):
        expect(page.locator("#status")).to_be_hidden()
        expect(page.locator("#turn-tokens")).to_contain_text("must")
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


def test_training_as_an_animation(browser, checkpoints):
    with served(*map(str, checkpoints)) as (address, _), page_at(browser, address) as page:
        page.click("#tab-compare")
        expect(page.locator("#compare-frame-shown")).to_have_text("step 4")
        page.check("#compare-both")
        for code in ("en", "fr"):
            expect(page.locator("#compare-plot")).to_contain_text(f"layer of step 4, {code}")
        page.click("#compare-play")
        for step in (2, 4):
            expect(page.locator("#compare-plot")).to_contain_text(f"layer of step {step}, en")
        assert page.locator("#compare-plot rect.cell").count() == 9
