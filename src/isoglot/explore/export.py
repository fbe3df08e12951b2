"""Views that need no live model, the space and two models, as one page to publish."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoglot.core.progress import SILENT
from isoglot.explore.requests import CompareRequest, Space, SpaceRequest
from isoglot.explore.server import PAGE
from isoglot.explore.views import all_cells, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.progress import Progress
    from isoglot.explore.views import ExploredModel

_SPACES: tuple[Space, ...] = ("raw", "centered", "mapped")


def static_page(models: Sequence[ExploredModel], *, sentences: int = 100, progress: Progress = SILENT) -> str:
    """Return a page with the space of the first model, every model compared with the first, and each in two languages.

    Args:
        models: The models.
        sentences: Built-in sentences of each language.
        progress: Progress in views.
    """
    data: dict[str, Any] = {"models": [model.about() for model in models], "space": {}, "compare": [], "alone": []}
    with progress.task("views", total=len(_SPACES) + len(models), unit="views") as task:
        for space in _SPACES:
            data["space"][space] = models[0].space(SpaceRequest(space=space, sentences=sentences))
            task.advance(1)
        for number, model in enumerate(models):
            data["alone"].append(_compared(model, model, sentences))
            data["compare"].append(_compared(models[0], model, sentences) if number else None)
            task.advance(1)
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    style, script = ((PAGE / name).read_text(encoding="utf-8") for name in ("explore.css", "explore.js"))
    held = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = page.replace('<link rel="stylesheet" href="explore.css">', f"<style>{style}</style>")
    body = f'<script type="application/json" id="data">{held}</script><script>{script}</script>'
    return page.replace('<script src="explore.js" defer></script>', "").replace("</body>", f"{body}</body>")


def _compared(one: ExploredModel, other: ExploredModel, sentences: int) -> dict[str, Any]:
    asked = CompareRequest(sentences=sentences)
    return compare(one, other, asked) | {"behind": all_cells(one, other, asked)}
