"""What tests of pages use: a real browser, Chromium, where the machine has one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoglot.steer.bleu import Bleu
from isoglot.steer.scores import Scores
from isoglot.steer.shifted_decoding import Cell, Seconds
from isoglot.steer.sweep import Sweep
from isoglot.steer.token_sets import TokenSets
from isoglot.steer.token_translation import Translation
from isoglot.vocab import train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoglot.report.page import Page

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Seen:
    """An open page, what it wrote to the console and what it asked the world for."""

    def __init__(self, browser: Any, address: str, width: int, scheme: str) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.console: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def drawn(self) -> None:
        """Wait until all figures are drawn, those in closed parts too."""
        self.page.wait_for_selector("body[data-ready]")
        self.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        self.page.wait_for_function(
            "[...document.querySelectorAll('.figure')].every(one => one.querySelector('svg, canvas'))"
        )


@pytest.fixture
def look(browser: Any, tmp_path: Path) -> Iterator[Callable[[str | Page, int, str], Seen]]:
    """Open a page, or HTML, so many pixels wide, in a color scheme."""
    opened: list[Seen] = []

    def open_page(page: str | Page, width: int = 1280, scheme: str = "light") -> Seen:
        folder = tmp_path / f"page-{len(opened)}"
        folder.mkdir()
        if isinstance(page, str):
            (folder / "index.html").write_text(page, encoding="utf-8")
        else:
            page.write(folder)
        opened.append(Seen(browser, (folder / "index.html").as_uri(), width, scheme))
        return opened[-1]

    yield open_page
    for one in opened:
        one.context.close()


@pytest.fixture(params=[(1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")])
def seen(request: pytest.FixtureRequest, look: Callable[..., Seen]) -> Callable[[Page], None]:
    """Holds a page to what holds for all: nothing sticks out, nothing fails, nothing is asked of the world."""

    def hold(page: Page, *, fits: bool = True) -> None:
        width, scheme = request.param
        found = look(page, width, scheme)
        found.drawn()
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        assert len(found.page.inner_text("main")) > 200
        assert found.console == []
        assert [url for url in found.asked if not url.startswith(("file:", "data:"))] == []
        wide = "[...document.querySelectorAll('.figure')].filter(b => b.scrollWidth > b.clientWidth + 1).length"
        assert not fits or found.page.evaluate(wide) == 0

    return hold


@pytest.fixture(scope="session")
def small_sweep(small_texts: Any) -> Sweep:
    """English to French in two layers at four alphas: the larger alpha, the more words become the French one."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=400, coverage=1.0)
    english, french = (np.array(vocabulary.encode(text)) for text in (" the man <sees> it", " le homme & voit"))
    counts = {code: np.zeros(len(vocabulary), dtype=int) for code in ("en", "fr")}
    counts["en"][english] = 1
    counts["fr"][french[~np.isin(french, english)]] = 1
    sets = TokenSets(counts, threshold=1)
    only = np.flatnonzero(counts["fr"])
    scores, translations = {}, {}
    for layer in (0, 1, 2):
        for alpha in (0.0, 1.0, 2.0, 3.0):
            made = english.copy()
            share = int(alpha) * (layer + 1)
            made[:share] = only[0]
            cell = Cell(layer, alpha)
            translations[cell] = Translation("en", "fr", layer, alpha, "mean", [english], [made], vocabulary, sets)
            scores[cell] = Scores(
                tokens=len(english),
                switched=share,
                convert_rate=share / 10,
                neither=0.0,
                distinct=None if not share else 1 / share,
                precision=None if not share else 0.5,
                coverage=None if not share else 0.25,
                judged=10 * share,
                headline=share / 20,
                bleu=Bleu(5.0 + share * (3 - layer), "BLEU-1|test"),
            )
    return Sweep(
        "en",
        "fr",
        "mean",
        (0, 1, 2),
        (0.0, 1.0, 2.0, 3.0),
        scores,
        translations,
        Seconds(),
        references=["le homme voit"],
        source_bleu=Bleu(4.0, "BLEU-1|test"),
    )
