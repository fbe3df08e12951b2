"""What ``isoglot steer`` shows: sentences with the switched tokens coloured, and figures below them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.steer_tables import (
    about_sets,
    before_note,
    judged_note,
    readable,
    row_texts,
    runs,
    score_table,
    table_2,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement
    from rich.text import Text

    from isoglot.report.steer_tables import Look
    from isoglot.steer import LanguageMeans
    from isoglot.steer.erasers.trade_off import TradeOff
    from isoglot.steer.sweep import Sweep

# Bold and underlined too, so that it is seen without colours as well.
STYLES: dict[Look, str] = {
    "plain": "",
    "switched": "bold underline green",
    "shared": "green",
    "neither": "italic magenta",
}
_MARKS: dict[Look, tuple[str, str]] = {
    "plain": ("", ""),
    "switched": ("[", "]"),
    "shared": ("(", ")"),
    "neither": ("{", "}"),
}
KEYS: dict[Look, str] = {
    "switched": "a token that only {target} has",
    "shared": "another token, which both have",
    "neither": "one that neither has",
}


@dataclass(frozen=True)
class Marked:
    """A sentence whose switched tokens stand out: by colour on a terminal, in brackets elsewhere."""

    runs: Sequence[tuple[str, Look]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        yield self._text(console)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """No wider than it is, so that a table does not fill the line with blanks."""
        from rich.measure import Measurement

        return Measurement.get(console, options, self._text(console))

    def _text(self, console: Console) -> Text:
        from rich.text import Text

        text = Text()
        for words, look in self.runs:
            bare = words.rstrip() if look != "plain" else words
            if bare and console.color_system is None:  # a token may be a blank alone
                before, after = _MARKS[look]
                text.append(f"{before}{bare}{after}")
            else:
                text.append(bare, style=STYLES[look])
            text.append(words[len(bare) :])
        return text


def key(target: str) -> Marked:
    """What the looks of tokens mean, in those looks."""
    parts: list[tuple[str, Look]] = []
    for look, meaning in KEYS.items():
        parts += [(meaning.format(target=target), look), ("; ", "plain")]
    return Marked(parts[:-1])


def fitted_table(value: dict[str, Any], means: LanguageMeans) -> RenderableType:
    """What was learned: a line for each language."""
    from rich.console import Group
    from rich.text import Text

    first = means.languages[0]
    shared = value["token_sets"]["shared"]
    rows: list[tuple[Any, ...]] = []
    for code, facts in value["languages"].items():
        count = next((shared[pair] for pair in (f"{first}-{code}", f"{code}-{first}") if pair in shared), None)
        rows.append((code, facts["sentences"], facts["tokens"], facts["token_set"], count))
    names = ("sentences", "tokens", "token set", f"shared with {first}")
    table = Table((Column("language"), *(Column(name, kind="integer") for name in names)), tuple(rows))
    layers = value["layers"]
    where = f"layers {layers[0]} to {layers[-1]}" if len(layers) > 1 else f"layer {layers[0]}"
    return Group(table, Text(f"\nMeans and covariances of {where}, and token sets, are in {value['out']}"))


def translation_view(
    swept: Sweep,
    references: Sequence[str] | None,
    *,
    origin: str,
    show: int,
    used: str = "",
    remarks: Sequence[str] = (),
) -> RenderableType:
    """The source and every output below it, then the figures of each alpha."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    translations = list(swept.translations.values())
    parts: list[RenderableType] = []
    for number, source in enumerate(translations[0].sources[:show]):
        grid = RichTable.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        grid.add_row(swept.source, Text(readable(source)))
        for one in translations:
            grid.add_row(f"{swept.target}, α = {one.alpha:g}", Marked(runs(one, number)))
        if references is not None:
            grid.add_row("reference", Text(readable(references[number])))
        parts += [grid, Text()]
    left = len(translations[0]) - show
    if left > 0:
        parts += [Text(f"… and {counted(left, 'more sentences')}"), Text()]
    table = Table.from_cells(*score_table(swept))
    layer, cut = translations[0].layer, translations[0].cut
    notes = [
        f"Shifted at layer {layer}, {swept.kind}. {used}".rstrip(),
        about_sets(swept.about_sets(), origin),
        before_note(swept),
        judged_note(swept),
        f"{cut:,} sentence{'s were' if cut != 1 else ' was'} longer than the encoder takes, and cut." if cut else "",
        swept.signature or "",
        *remarks,
    ]
    return Group(*parts, table, Text("\n" + "\n".join(note for note in notes if note)))


def sweep_view(
    sweeps: Sequence[Sweep], depth: int, *, sets: dict[str, Any], origin: str, remarks: Sequence[str] = ()
) -> RenderableType:
    """The convert rate of every cell, then the paper's Table 2 with its figures in brackets."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.report.steer import about_paper, arrow, sweep_finding, sweep_words

    parts: list[RenderableType] = []
    for sweep in sweeps:
        rows = [
            [str(layer), *(_cell(sweep, layer, alpha) for alpha in sweep.alphas)] for layer in reversed(sweep.layers)
        ]
        grid = Table.from_cells(["layer", *(f"α = {alpha:g}" for alpha in sweep.alphas)], rows)
        said = [sweep_finding(sweep), *(text for text in sweep_words(sweep, depth) if text)]
        parts += [Text(f"{arrow(sweep)}: {_CELL[sweep.has('headline')]}", style="bold"), grid]
        parts += [Text("\n".join(["", *said, ""]))]
    lines = [[row.name, *row_texts(row)] for row in table_2(sweeps, depth)]
    beside = Table.from_cells(["", *(arrow(sweep) for sweep in sweeps)], lines)
    parts += [Text("As in the second paper's Table 2, with 95 % intervals over sentences", style="bold"), beside]
    signatures = dict.fromkeys(sweep.signature for sweep in sweeps if sweep.signature)
    notes = ["", about_paper(sweeps, depth), about_sets(sets, origin), *signatures, *remarks]
    return Group(*parts, Text("\n".join(["", *(note for note in notes if note)])))


ERASERS = {"mean-removal": "mean removal", "lir": "LIR", "lsar": "LSAR", "leace": "LEACE"}
"""Erasers as they are typed, and as they are called."""


def erase_view(found: Sequence[TradeOff], shown: TradeOff) -> RenderableType:
    """The best way of every layer, then all ways in one layer."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.report.steer_erase import HEAD, erase_finding, figures, way_name

    parts: list[RenderableType] = []
    if len(found) > 1:
        percent: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}
        columns = [Column("layer", align="left"), Column("found before", **percent), Column("best way", align="right")]
        columns += [Column("language told", **percent), Column("translations found", **percent)]
        lines = [
            (one.layer, one.before.retrieval, way_name(one.best), one.best.probe, one.best.retrieval) for one in found
        ]
        parts += [Table(tuple(columns), tuple(lines)), Text()]
    best = tuple(place for place, row in enumerate(shown.rows) if row.name == shown.best.name)
    head = [f"layer {shown.layer}", *HEAD[1:]]
    ways = Table.from_cells(head, [figures(row) for row in shown.rows], bold_rows=best)
    return Group(*parts, ways, Text(f"\n{erase_finding(shown)}"))


_CELL = {True: "convert rate / headline", False: "convert rate"}


def _cell(sweep: Sweep, layer: int, alpha: float) -> str:
    values = [sweep.value("convert_rate", layer, alpha)]
    if sweep.has("headline"):
        values.append(sweep.value("headline", layer, alpha))
    return " / ".join("–" if value is None else f"{value:.2f}" for value in values)
