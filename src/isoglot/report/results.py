"""Results of verbs in every form: as JSON, as files with a page, and as tables on a terminal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.steer_tables import (
    about_sets,
    before_note,
    cell_rows,
    judged_note,
    readable,
    row_texts,
    runs,
    score_table,
    sweep_value,
    table_2,
    translation_rows,
    translation_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement
    from rich.text import Text

    from isoglot.compare.emergence import Emergence
    from isoglot.compare.encoders import Comparison, LayerMeasurement
    from isoglot.compare.figure7 import Figure7
    from isoglot.diagnose import Checkup, Finding
    from isoglot.diagnose.findings import Action
    from isoglot.report.steer_tables import Look
    from isoglot.steer.erasers.trade_off import EraserComparison, TradeOff
    from isoglot.steer.judged_translation import JudgedSweeps
    from isoglot.steer.language_files import KnownLanguages
    from isoglot.steer.sweep import Sweep


class Rendering(NamedTuple):
    """A result in every form.

    Attributes:
        value: As a JSON object.
        shown: On a terminal.
        files: Texts of its files by name; given the last lines of a page.
        notes: Sentences about it, printed below unless ``--quiet``.
        record: What only the work could tell of the run: its device, and facts beside its config.
    """

    value: Any
    shown: RenderableType
    files: Callable[[Sequence[str]], dict[str, str | bytes]] = lambda _: {}
    notes: Sequence[str] = ()
    record: Mapping[str, Any] = MappingProxyType({})


# --- steer ---

# Bold and underlined too, so that it is visible without colors.
STYLES: dict[Look, str] = {
    "plain": "",
    "switched": "bold underline green",
    "shared": "green",
    "neither": "italic magenta",
}
_MARKS: dict[Look, str] = {"switched": "[]", "shared": "()", "neither": "{}"}
KEYS: dict[Look, str] = {
    "switched": "a token that only {target} has",
    "shared": "another token, which both have",
    "neither": "one that neither has",
}


@dataclass(frozen=True)
class Marked:
    """A sentence whose switched tokens stand out: by color on a terminal, in brackets elsewhere."""

    runs: Sequence[tuple[str, Look]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render for rich."""
        yield self._text(console)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The width of the text, so that a table does not pad it to the width of the terminal."""
        from rich.measure import Measurement

        return Measurement.get(console, options, self._text(console))

    def _text(self, console: Console) -> Text:
        from rich.text import Text

        text = Text()
        for words, look in self.runs:
            bare = words.rstrip() if look != "plain" else words
            if bare and look in _MARKS and console.color_system is None:  # a token may be a single blank
                text.append(f"{_MARKS[look][0]}{bare}{_MARKS[look][1]}")
            else:
                text.append(bare, style=STYLES[look])
            text.append(words[len(bare) :])
        return text


def key(target: str) -> Marked:
    """Legend of the styles of tokens."""
    parts: list[tuple[str, Look]] = []
    for look, meaning in KEYS.items():
        parts += [(meaning.format(target=target), look), ("; ", "plain")]
    return Marked(parts[:-1])


def fitted_result(known: KnownLanguages) -> Rendering:
    """Means and token sets: one row per language."""
    value = known.as_dict()
    first, shared = known.means.languages[0], value["token_sets"]["shared"]
    rows = []
    for code, facts in value["languages"].items():
        both = next((shared[pair] for pair in (f"{first}-{code}", f"{code}-{first}") if pair in shared), None)
        rows.append((code, *facts.values(), both))
    names = ("sentences", "tokens", "token set", f"shared with {first}")
    return Rendering(value, Table((Column("language"), *(Column(name, kind="integer") for name in names)), tuple(rows)))


def translation_result(result: JudgedSweeps, *, show: int) -> Rendering:
    """Sentences with their translations and scores."""
    from isoglot.report.steer import translation_page

    (swept,), references, remarks = result.sweeps, result.references, result.remarks
    choice = None if result.used is None else result.used.choice
    about: dict[str, Any] = {"origin": result.known.origin, "used": "" if result.used is None else result.used.words()}
    chosen = None if choice is None else choice.as_dict()
    value = {**result.about, "chosen": chosen, "remarks": remarks, **translation_value(swept, references)}
    return Rendering(
        value,
        translation_view(swept, references, **about, show=show, remarks=remarks),
        lambda facts: {
            **translation_page(swept, references, **about, facts=[*remarks, *facts]).files(),
            "translations.tsv": "".join("\t".join(row) + "\n" for row in translation_rows(swept, references)),
        },
    )


def translation_view(
    swept: Sweep,
    references: Sequence[str] | None,
    *,
    origin: str,
    show: int,
    used: str = "",
    remarks: Sequence[str] = (),
) -> RenderableType:
    """The source and every output below it, then the scores of each alpha."""
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
    layer, cut = translations[0].layer, translations[0].cut
    notes = [
        f"Shifted at layer {layer}, {swept.kind}. {used}".rstrip(),
        about_sets(swept.about_sets(), origin),
        before_note(swept),
        judged_note(swept),
        f"{counted(cut, 'sentences')} {'was' if cut == 1 else 'were'} truncated to the maximum length." if cut else "",
        swept.signature or "",
        *remarks,
    ]
    return Group(*parts, Table.from_cells(*score_table(swept)), Text("\n" + "\n".join(filter(None, notes))))


def sweep_result(result: JudgedSweeps) -> Rendering:
    """Sweeps with the tables of Liu et al. (2020)."""
    from isoglot.report.steer import masked_words, sweep_page

    sweeps, depth, sets, origin = result.sweeps, result.depth, result.sets, result.known.origin
    remarks = [*map(masked_words, result.masked.values()), *result.remarks]
    value = {
        **result.about,
        "choices": {way: choice.as_dict() for way, choice in result.choices.items()},
        "masked": {code: each.as_dict() for code, each in result.masked.items()},
        "remarks": remarks,
        **sweep_value(sweeps, depth, sets),
    }
    return Rendering(
        value,
        sweep_view(sweeps, depth, sets=sets, origin=origin, remarks=remarks),
        lambda facts: {
            **sweep_page(sweeps, depth, sets=sets, origin=origin, facts=[*remarks, *facts]).files(),
            "sweep.csv": Table.from_rows(cell_rows(sweeps)).csv(),
        },
    )


def sweep_view(
    sweeps: Sequence[Sweep], depth: int, *, sets: dict[str, Any], origin: str, remarks: Sequence[str] = ()
) -> RenderableType:
    """The convert rate of every cell, then Table 2 of Liu et al. (2020) with the paper's numbers in brackets."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.report.steer import about_paper, arrow, sweep_finding, sweep_words

    def cell(sweep: Sweep, layer: int, alpha: float) -> str:
        values = [sweep.value("convert_rate", layer, alpha)]
        values += [sweep.value("headline", layer, alpha)] if sweep.has("headline") else []
        return " / ".join("–" if value is None else f"{value:.2f}" for value in values)

    parts: list[RenderableType] = []
    for sweep in sweeps:
        rows = [
            [str(layer), *(cell(sweep, layer, alpha) for alpha in sweep.alphas)] for layer in reversed(sweep.layers)
        ]
        grid = Table.from_cells(["layer", *(f"α = {alpha:g}" for alpha in sweep.alphas)], rows)
        said = [sweep_finding(sweep), *(text for text in sweep_words(sweep, depth) if text)]
        title = f"{arrow(sweep)}: convert rate{' / headline' if sweep.has('headline') else ''}"
        parts += [Text(title, style="bold"), grid, Text("\n".join(["", *said, ""]))]
    lines = [[row.name, *row_texts(row)] for row in table_2(sweeps, depth)]
    beside = Table.from_cells(["", *(arrow(sweep) for sweep in sweeps)], lines)
    parts += [Text("As in Table 2 of Liu et al. (2020), with 95 % intervals over sentences", style="bold"), beside]
    signatures = dict.fromkeys(sweep.signature for sweep in sweeps if sweep.signature)
    notes = ["", about_paper(sweeps, depth), about_sets(sets, origin), *signatures, *remarks]
    return Group(*parts, Text("\n".join(["", *filter(None, notes)])))


def erased_result(result: EraserComparison, file: str) -> Rendering:
    """Erasers compared in each layer; ``file`` is that of the fitted eraser."""
    from isoglot.report.steer import erase_page

    found, best = result.layers, result.best
    saved = f"{file} has {result.name}, learned from all sentences in layer {best.layer}."
    return Rendering(
        {"layer": best.layer, "eraser": result.name, "layers": [each.as_dict() for each in found]},
        erase_view(found, best),
        lambda facts: erase_page(found, best, saved=saved, facts=facts).files(),
    )


def erase_view(found: Sequence[TradeOff], shown: TradeOff) -> RenderableType:
    """The best eraser or shift of every layer, then all of them in one layer."""
    from rich.console import Group
    from rich.text import Text

    from isoglot.report.steer import HEAD, erase_finding, figures, way_name

    parts: list[RenderableType] = []
    if len(found) > 1:
        percent: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}
        columns = [
            Column("layer", align="left"),
            Column("found before", **percent),
            Column("best eraser", align="right"),
        ]
        columns += [Column("linear probe", **percent), Column("translations found", **percent)]
        lines = [
            (one.layer, one.before.retrieval, way_name(one.best), one.best.probe, one.best.retrieval) for one in found
        ]
        parts += [Table(tuple(columns), tuple(lines)), Text()]
    best = tuple(place for place, row in enumerate(shown.rows) if row.name == shown.best.name)
    head = [f"layer {shown.layer}", *HEAD[1:]]
    ways = Table.from_cells(head, [figures(row) for row in shown.rows], bold_rows=best)
    return Group(*parts, ways, Text(f"\n{erase_finding(shown)}"))


# --- compare ---


def comparison_result(result: Comparison) -> Rendering:
    """A comparison of two encoders."""
    from isoglot.report.compare import comparison_page, findings

    return Rendering(
        result.as_dict(),
        comparison_view(result),
        lambda facts: {
            **comparison_page(result, facts=facts).files(),
            "measures.csv": Table.from_rows([each.as_dict() for each in result.measured]).csv(),
        },
        [text for text in findings(result) if text],
    )


def comparison_view(result: Comparison) -> RenderableType:
    """Debiased CKA with its references, then every measure's value."""
    from rich.console import Group

    from isoglot.report.compare import main_measure, number

    def layers_of(each: LayerMeasurement) -> str:
        return str(each.layer) if each.layer == each.other_layer else f"{each.layer}, {each.other_layer}"

    main = main_measure(result)
    parts: list[RenderableType] = []
    if main:
        fields = {"low": "95 % interval", "null_mean": "random pairs", "floor": "floor", "ceiling": "ceiling"}
        fields |= {"place": "place", "without_top": f"without top {result.top}"}
        measured = result.of(main)
        fields = {
            field: name for field, name in fields.items() if all(getattr(each, field) is not None for each in measured)
        }
        rows = []
        for each in measured:
            cells = {field: number(getattr(each, field)) for field in fields}
            if "low" in cells:
                cells["low"] += f" to {number(each.high)}"
            rows.append([layers_of(each), number(each.value), *cells.values()])
        title = next(measure.title for measure in result.measures if measure.name == main)
        parts.append(Table.from_cells(["layer", title, *fields.values()], rows))
    others = [measure for measure in result.measures if measure.name != main]
    if others:
        rows = [
            [layers_of(row[0]), *("saturated" if each.saturated else number(each.value) for each in row)]
            for row in zip(*(result.of(measure.name) for measure in others), strict=True)
        ]
        second = Table.from_cells(["layer", *(measure.title for measure in others)], rows)
        parts += ["", second] if main else [second]
    return Group(*parts)


def figure7_result(figure: Figure7) -> Rendering:
    """Figure 7 of Wu et al. (2020), with verdicts on its claims."""
    from isoglot.compare.figure7 import ROWS, paper_pair
    from isoglot.compare.figure7_claims import claims
    from isoglot.report.compare import (
        averages_table,
        cut_words,
        figure7_finding,
        figure7_page,
        paper_average,
        untold_words,
    )

    found = claims(figure)
    value = figure.as_dict() | {"claims": [claim.as_dict() for claim in found]}
    for facts, column in zip(value["columns"], figure.columns, strict=True):
        facts["paper_average"] = {row: paper_average(paper_pair(column.languages), row) for row in ROWS}
    empty = [f"{column}, {row} is empty: {why}" for (column, row), why in figure.empty.items()]
    return Rendering(
        value,
        averages_table(figure),
        lambda facts: {
            **figure7_page(figure, found, facts=facts).files(),
            "figure7.csv": Table.from_rows(figure.as_rows()).csv(),
        },
        [*empty, *untold_words(figure), *cut_words(figure), figure7_finding(figure, found)],
    )


def emergence_result(result: Emergence) -> Rendering:
    """Measures over the checkpoints of a run."""
    from isoglot.compare.emergence import KEEP_ALL
    from isoglot.report.compare import emergence_finding, emergence_page
    from isoglot.represent.extraction import cut_in_words

    curves = [(name, layer) for name in result.measures for layer in result.layers]
    columns = [Column(f"{name} {layer}", title=f"layer {layer}", above=name, format=".3f") for name, layer in curves]
    rows = [(moment.step, *(moment.values[name][layer] for name, layer in curves)) for moment in result.moments]
    notes = [emergence_finding(result)]
    notes += cut_in_words(zip(result.languages, result.cut, strict=True), result.sentences)
    if len(result.moments) == 2:
        notes.append(f"The run has kept two checkpoints; it keeps more with isoglot pretrain … {KEEP_ALL}")
    return Rendering(
        result.as_dict(),
        Table((Column("step", align="left"), *columns), tuple(rows)),
        lambda facts: {
            **emergence_page(result, facts=facts).files(),
            "emergence.csv": Table.from_rows(result.as_rows()).csv(),
        },
        notes,
    )


# --- diagnose ---


def diagnosis_result(found: Checkup, device: str, command: Callable[[Action], str | None] | None = None) -> Rendering:
    """A check-up: findings in words with the command that acts on each, and a row of figures for every layer.

    Args:
        found: The check-up.
        device: Where it was made.
        command: The command of an action; None where it cannot be given.
    """
    import torch
    from rich.console import Group
    from rich.text import Text

    from isoglot import __version__
    from isoglot.diagnose import all_findings
    from isoglot.report.diagnosis import WAY_NAMES, diagnosis_page, mexa_words, top_words

    said = all_findings(found)
    commands = [None if command is None or each.action is None else command(each.action) for each in said]
    facts_of = [asdict(each) | {"command": typed} for each, typed in zip(said, commands, strict=True)]
    words = _findings_shown(said, commands)
    columns = [Column("layer"), *(Column(name, title=name, scale=100, format=".1f") for name in WAY_NAMES.values())]
    columns += [Column("MEXA", scale=100, format=".1f"), Column("CKA", kind="number", format=".2f")]
    columns += [Column("probe", scale=100, format=".1f")]
    rows = [
        (one.layer, *(one.found[way].value for way in WAY_NAMES), one.mexa.value, one.cka, one.probe.linear.value)
        for one in found.layers
    ]
    best = tuple(place for place, one in enumerate(found.layers) if one.layer == found.best.layer)
    figures = Table(tuple(columns), tuple(rows), bold_rows=best)
    note = f"P@1 in %, the mean over {counted(len(found.pairs), 'pairs')}; MEXA and the language probe in %"
    versions = f"isoglot {__version__}, torch {torch.__version__}, on {device}"
    return Rendering(
        found.as_dict() | {"findings": facts_of},
        Group(*words, Text(), figures, *map(Text, (note, top_words(found), mexa_words(found), *found.remarks))),
        lambda facts: diagnosis_page(found, commands, facts=[versions, *facts]).files(),
    )


def _findings_shown(said: Sequence[Finding], commands: Sequence[str | None]) -> list[RenderableType]:
    """Findings on a terminal, by topic; a command is a line of its own, however long, so that it can be copied."""
    from rich.table import Table as RichTable
    from rich.text import Text

    from isoglot.report.diagnosis import SIGNS, TOPICS

    width, topic, shown = max(map(len, TOPICS.values())), None, list[Any]()
    for each, command in zip(said, commands, strict=True):
        table = RichTable(box=None, padding=(0, 1, 0, 0), show_header=False)
        table.add_column(no_wrap=True, min_width=width)
        table.add_column()
        table.add_column(overflow="fold")
        table.add_row(Text("" if topic == each.topic else TOPICS[each.topic]), SIGNS[each.tone], Text(each.text))
        shown.append(table)
        if command is not None:
            shown.append(Text(f"{' ' * (width + 3)}{command}", no_wrap=True, overflow="ignore"))
        topic = each.topic
    return shown
