"""What tests of figures and pages use: a real browser, Chromium, where the machine has one."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=2000 --enable-logging=stderr"
).split()
_FRAME = """<!doctype html><meta charset='utf-8'><iframe id='page' width='{width}' height='900' style='border:0'
srcdoc="{page}" onload="const e = document.getElementById('page').contentDocument.documentElement;
document.body.dataset.widest = e.scrollWidth; document.body.dataset.text = e.innerText.length;
const cut = box => box.querySelector('svg') && box.scrollWidth > box.clientWidth;
document.body.dataset.cut = [...e.querySelectorAll('.scroll')].filter(cut).length;
const asked = document.getElementById('page').contentWindow.performance.getEntriesByType('resource');
document.body.dataset.asked = asked.map(one => one.name).filter(name => !name.startsWith('data:')).join(' ');"></iframe>"""


class Seen:
    """What the browser made of a page.

    Attributes:
        widest: How many pixels the page is wide; more than it was given means that it scrolls sideways.
        letters: How many letters are to be seen.
        cut: How many figures are wider than their place, and scroll.
        console: Lines the page wrote to the console.
        asked: What it asked the world for.
    """

    def __init__(self, dom: str, log: str) -> None:
        self.widest = int(re.findall(r'data-widest="(\d+)"', dom)[0])
        self.letters = int(re.findall(r'data-text="(\d+)"', dom)[0])
        self.cut = int(re.findall(r'data-cut="(\d+)"', dom)[0])
        self.console = re.findall(r"CONSOLE.*", log)
        self.asked = re.findall(r'data-asked="([^"]*)"', dom)[0].split()


@pytest.fixture
def look(tmp_path: Path) -> Callable[[str, int], Seen]:
    """Open a page so many pixels wide."""
    if not CHROMIUM:
        pytest.skip("no Chromium on this machine")

    def opened(page: str, width: int) -> Seen:
        frame = tmp_path / f"frame.{width}.html"
        frame.write_text(_FRAME.format(width=width, page=html.escape(page)), encoding="utf-8")
        command = [CHROMIUM, *_QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", frame.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return Seen(done.stdout, done.stderr)

    return opened


@pytest.fixture(params=[1280, 390])
def seen(request: pytest.FixtureRequest, look: Callable[[str, int], Seen]) -> Callable[[str], None]:
    """Holds a page to what holds for all: nothing sticks out, nothing fails, nothing is asked of the world."""

    def hold(page: str) -> None:
        found = look(page, request.param)
        assert found.widest <= request.param
        assert found.letters > 200
        assert found.console == []
        assert found.asked == []

    return hold
