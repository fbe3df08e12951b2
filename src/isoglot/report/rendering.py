"""Figures as files: SVG, PNG and PDF by vl-convert (extra ``report``); HTML and specifications without it."""

from __future__ import annotations

import re
import textwrap
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError, MissingPartError, nearest_name, shown
from isoglot.core.files import as_json, read_json, writable_folder, write_bytes
from isoglot.core.optional import import_part
from isoglot.report.figures.charts import respaced
from isoglot.report.figures.theme import LETTER, config, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

Format = Literal["svg", "png", "pdf"]
SPECS = "figures"
"""Folder beside a page with the specifications of its figures."""
SUFFIX = ".vl.json"
_PIXELS = {"px": 1.0, "pt": 96 / 72, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "": 1.0}
_VEGA_LITE = "6.4"  # of vl-convert and of vega/vega.js
_RENDERED = (".svg", ".png", ".pdf")


@dataclass(frozen=True, kw_only=True)
class Style:
    """How figures are drawn as files.

    Attributes:
        width: Total width: a number with px, pt, mm, cm or in.
        font_size: Font size in points; 9 points are 12 pixels.
        titles: Draw title and caption. Without, the figure is bare, for a paper that has its own caption.
        scale: Pixels of a PNG per pixel of the drawing.
    """

    width: str = "720px"
    font_size: float = 9.0
    titles: bool = True
    scale: float = 2.0

    @property
    def pixels(self) -> float:
        """The width in pixels.

        Raises:
            ConfigError: It is not a length, or out of range.
        """
        found = re.fullmatch(r"([0-9.]+) ?(px|pt|mm|cm|in|)", self.width.strip())
        try:
            pixels = float(found[1]) * _PIXELS[found[2]] if found else 0.0
        except ValueError:
            pixels = 0.0
        if not 80 <= pixels <= 10_000 or not 3 <= self.font_size <= 40:
            raise ConfigError(
                f"{shown(self.width)} with a font of {self.font_size:g} points: out of range",
                "give a width such as 84mm, 240pt or 720px, of at least 80 pixels, and a font of 3 to 40 points",
                "invalid-value",
            )
        return pixels


def styled(
    spec: dict[str, Any], *, width: float = 720.0, font_size: float = 12.0, titles: bool = True
) -> dict[str, Any]:
    """A specification with the theme, at a width and a font size in pixels."""
    made = fitted(spec, width, font_size)
    made["config"] = config(font_size=font_size)
    if isinstance(made.get("height"), int):
        made["height"] = round(made["height"] * min(1.0, max(0.5, width / 600)))
        respaced(made, font_size)
    for holder in (made, made.get("spec", {})):
        if isinstance(step := holder.get("height"), dict):
            holder["height"] = {"step": round(step["step"] * font_size / 12, 1)}
    title = made.pop("title", None)
    if titles and isinstance(title, dict):
        wide = (made.get("width") or width) - 4 * font_size  # titles begin where the axis does
        made["title"] = {
            "text": _wrapped(title["text"], wide, 1.3 * font_size * 1.06),
            "subtitle": _wrapped(title.get("subtitle", ""), wide, font_size),
        }
    return made


def _wrapped(text: str, width: float, font_size: float) -> list[str]:
    return textwrap.wrap(text, max(20, int(width / (LETTER * 0.95 * font_size))), break_on_hyphens=False)


def rendered(spec: dict[str, Any], kind: Format, style: Style = Style()) -> bytes:  # noqa: B008 - frozen
    """A specification as an image.

    Raises:
        MissingPartError: vl-convert is not installed.
        ConfigError: The width is not a length.
    """
    convert = import_part("vl_convert")
    made = styled(deepcopy(spec), width=style.pixels, font_size=style.font_size * 96 / 72, titles=style.titles)
    svg = str(convert.vegalite_to_svg(made, vl_version=_VEGA_LITE))
    excess = _width(svg) - style.pixels
    if "facet" in made and abs(excess) > 1:  # the room that axes and headers take is known only once they are drawn
        made["spec"]["width"] = max(60.0, made["spec"]["width"] - excess / made["columns"])
        svg = str(convert.vegalite_to_svg(made, vl_version=_VEGA_LITE))
    if kind == "svg":
        ids = {name: f"id{at}" for at, name in enumerate(dict.fromkeys(re.findall(r'id="(\w+\d)"', svg)))}
        svg = re.sub(r"(?<=[\"#])(clip|gradient_)\d+", lambda found: ids[found[0]], svg)  # Vega counts across figures
        return (svg.rstrip("\n") + "\n").encode()
    if kind == "pdf":
        return bytes(convert.svg_to_pdf(svg))
    return bytes(convert.svg_to_png(svg, scale=style.scale))


def _width(svg: str) -> float:
    found = re.search(r'<svg[^>]* width="([0-9.]+)"', svg)
    return float(found[1]) if found else 0.0


def save_figure(spec: dict[str, Any], path: str | Path, style: Style = Style()) -> Path:  # noqa: B008 - frozen
    """Write a figure in the format of the file's suffix: .svg, .png, .pdf, .html or .json.

    Raises:
        InputError: Another suffix.
        MissingPartError: An image without vl-convert.
        StorageError: The file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in _RENDERED:
        try:
            write_bytes(path, rendered(spec, ending[1:], style))  # type: ignore[arg-type]
        except MissingPartError as error:
            raise MissingPartError(
                f"{path.name}: images need vl-convert-python, which is not installed",
                f"pip install 'isoglot[report]', or name {path.with_suffix('.html').name}, which needs nothing",
            ) from error
    elif ending == ".html":
        from isoglot.report.page import Page, Section

        title = spec.get("title", {})
        figure = _read(spec, path.stem)
        page = Page(title=title.get("text", path.stem), lead="", sections=[Section(title="", body=[figure])])
        write_bytes(path, page.html(inline=True).encode())
    elif ending == ".json":
        write_bytes(path, as_json(spec))
    else:
        raise InputError(
            f"figures cannot be written as {shown(ending)}",
            nearest_name(ending, [*_RENDERED, ".html", ".json"]),
            "unknown-format",
            file=path,
        )
    return path


def _read(spec: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - a Figure
    from isoglot.report.figures import Figure

    title = spec.get("title", {})
    bare = {key: value for key, value in spec.items() if key not in ("title", "$schema", "description")}
    return Figure(name=name, spec=bare, title=title.get("text", name), caption=title.get("subtitle", ""))


def render_folder(folder: Path, kind: Format, style: Style = Style()) -> Iterator[Path]:  # noqa: B008 - frozen
    """Draw every figure whose specification is in a result folder; yields the files.

    Raises:
        ConfigError: The folder has no specifications.
        MissingPartError: vl-convert is not installed.
        StorageError: A file cannot be written.
    """
    found = sorted((folder / SPECS).glob(f"*{SUFFIX}"))
    if not found:
        raise ConfigError(
            f"{folder} has no figures",
            f"name the --out of a command that wrote index.html and {SPECS}/",
            "missing-file",
        )
    style.pixels  # noqa: B018 - a bad width is refused before anything is drawn
    writable_folder(folder / SPECS)
    for path in found:
        yield save_figure(read_json(path), path.with_name(path.name.removesuffix(SUFFIX) + f".{kind}"), style)
