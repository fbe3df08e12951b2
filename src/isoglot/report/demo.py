"""The page of ``isoglot demo``: small encoders that find translations nobody showed them, and isoglot-mini."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from isoglot.core.language_codes import language_name
from isoglot.core.progress import listed
from isoglot.core.table import Column, Table
from isoglot.model.config import SharingPlan
from isoglot.report.figures import Figure, Line, lines, plan_figure
from isoglot.report.page import PAGE, Page, Section, escape, markup
from isoglot.report.results import Marked, Rendering, key
from isoglot.report.steer import LOOKS, colored
from isoglot.report.steer_tables import runs
from isoglot.study.demo.thumbnail import ARMS, ArmResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from isoglot.study.demo.real_languages import RealLanguages
    from isoglot.study.demo.thumbnail import ThumbnailSize


WELCOME = """\
isoglot shows how languages come to share one space inside a masked language model. The bundled model,
isoglot-mini, was trained on text in five languages and on translated sentences. Add the difference between
the mean hidden states of two languages to every token of an English sentence, decode the most likely token
at every position, and many tokens change language, while the word order stays:
"""
BUILTIN = """
For experiments there are small built-in versions of the same five languages, with gold word alignment:
"""
TRAINING = """\
Now small encoders learn two languages each by masked language modeling: English and its twin, a copy in a
private script. Which of them match a sentence with its twin, although they never see the two side by side?
"""
_EMERGES = "A shared space emerges while the model learns to fill in blanks"


def thumbnail_page(
    results: Sequence[ArmResult], *, tested: int, more: Sequence[Section] = (), facts: Sequence[str] = ()
) -> Page:
    """The page of the thumbnail study.

    Args:
        results: Result of each arm.
        tested: Number of test sentences.
        more: Further sections, after those of the arms.
        facts: Lines for its foot.
    """
    return Page(
        title="How two languages come to share one space",
        lead=lead(results, tested),
        sections=[
            _emergence(results, tested),
            _layers(results, 100 / tested),
            _arms(results, tested),
            *_drawings(results),
            *more,
            _next(),
        ],
        facts=facts,
    )


def lead(results: Sequence[ArmResult], tested: int) -> str:
    """What was found, whatever it was: the best first, chance last."""
    ranked = sorted(results, key=lambda result: -result.best)
    said = [f"“{_title(result)}” {_percent(result.best)}" for result in ranked]
    return (
        f"Nobody showed these encoders a translation. Asked for the twins of {tested:,} sentences they had never read, "
        f"they found: {'; '.join(said)}. Chance is {_percent(1 / tested)}."
    )


def emergence_figure(results: Sequence[ArmResult], *, tested: int) -> Figure:
    """How often each encoder finds twins while it learns."""
    return lines(
        [
            Line(
                name=_title(result),
                points=[(moment.tokens / 1e6, 100 * max(moment.centered)) for moment in result.moments],
            )
            for result in results
        ],
        name="emergence",
        title=_EMERGES,
        caption=f"Share of {tested:,} held-out sentences whose nearest neighbor in the other language is their twin; "
        "best layer, each language's mean removed, estimated on other sentences.",
        x="text seen, million tokens",
        y="right twin found (P@1), %",
        levels={"chance": 100 / tested},
    )


def _emergence(results: Sequence[ArmResult], tested: int) -> Section:
    best = max(results, key=lambda result: result.best)
    return Section(
        title=_EMERGES,
        body=[
            "Each encoder only ever reads text of one language at a time and guesses masked words.",
            "Every now and then it is asked: which held-out sentence of the other language is nearest to this one?",
            f"At the end: “{_title(best)}” {_percent(best.best)}.",
            emergence_figure(results, tested=tested),
        ],
    )


def _layers(results: Sequence[ArmResult], chance: float) -> Section:
    title = "Where in the model the languages meet"
    figure = lines(
        [
            Line(name=_title(result), points=[(float(n), 100 * p) for n, p in enumerate(result.centered)])
            for result in results
        ],
        name="layers",
        title=title,
        caption="P@1 of every layer after training; means are estimated on other sentences than the query.",
        x="layer",
        y="P@1, means removed, %",
        levels={"chance": chance},
        whole=True,
    )
    rows = [
        {"encoder": _title(result), "vectors": note, **{f"layer {n}": value for n, value in enumerate(values)}}
        for result in results
        for note, values in (("as it is", result.raw), ("means removed", result.centered))
    ]
    numbers = [Column(f"layer {n}", unit="%", scale=100, format=".1f", best="max") for n in range(len(results[0].raw))]
    return Section(
        title=title,
        body=[
            "Layer 0 is the embedding of the words; each further layer has mixed in more of the context.",
            "Taking each language's mean away, one vector a language, lets the two clouds of sentences meet.",
            figure,
            Table.from_rows(rows, [Column("encoder"), Column("vectors"), *numbers], caption="P@1 by layer"),
        ],
    )


def _arms(results: Sequence[ArmResult], tested: int) -> Section:
    rows = []
    for result in results:
        arm = ARMS[result.name]
        low, high = wilson(result.best, tested)
        rows.append(
            {
                "encoder": arm.title,
                "meaning": arm.meaning,
                "anchors": result.anchors,
                "tokens": result.tokens / 1e6,
                "perplexity": " / ".join(f"{value:.1f}" for value in result.perplexity.values()),
                "p1": {"value": result.best, "low": low, "high": high},
            }
        )
    columns = [
        Column("encoder"),
        Column("meaning", "what it shares"),
        Column("anchors", "shared subwords"),
        Column("tokens", unit="M", format=".1f"),
        Column("perplexity", "dev perplexity, en / twin", align="right"),
        Column("p1", "best P@1", unit="%", scale=100, format=".1f", best="max"),
    ]
    return Section(
        title="What was compared",
        body=[
            "English here is a small built-in language, and its twin is the same language in a private script.",
            "So what translates what is known, and yet the two texts the encoder reads never say the same thing.",
            Table.from_rows(rows, columns, caption="The encoders, with 95 % intervals"),
        ],
    )


def _drawings(results: Sequence[ArmResult]) -> list[Section]:
    """The plan of the arm that is not all shared."""
    if "separated" not in {result.name for result in results}:
        return []
    depth = len(results[0].raw) - 1
    plan = SharingPlan.parse(f"emb,pos,1-{depth - 1},transform,softmax", depth)
    figure = plan_figure(plan, ("en", "twin"), depth=depth)
    return [Section(title="What separated means", body=[f"{figure.title}.", figure])]


def _next() -> Section:
    return Section(
        title="What to try next",
        body=(
            "isoglot languages twin makes a twin of any text.",
            "isoglot pretrain trains an encoder with any plan, vocabulary and languages.",
            "isoglot retrieve and isoglot align measure any encoder, layer by layer.",
        ),
    )


def _title(result: ArmResult) -> str:
    return ARMS[result.name].title


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of so many.

    >>> tuple(round(end, 3) for end in wilson(0.5, 100))
    (0.404, 0.596)
    """
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


# --- isoglot-mini on real sentences; its words suit no other encoder ---

_WORDS = (
    "isoglot-mini, the encoder that comes with isoglot, has read real text of {languages}; unlike the small encoders "
    "above, it has seen translated sentences too. To every token of a sentence in {source} the difference of two "
    "languages’ means is added, {alpha:g} times, in layer {layer}; then the model’s best token is read off at every "
    "position. Nobody translates: word order stays as it was, some tokens do not turn, and some turn into a third "
    "language."
)


def real_sections(seen: RealLanguages) -> list[Section]:
    """The sentences with a vector added, and how many translations were found.

    Args:
        seen: By isoglot-mini: the page says what that encoder has read.
    """
    return [_shifted(seen), *([_found(seen)] if seen.found else [])]


def _shifted(seen: RealLanguages) -> Section:
    first = next(iter(seen.shifted.values()))
    blocks = []
    for number, source in enumerate(first.sources):
        rows = _row(first.source, escape(source), kind="reference")
        rows += "".join(_row(code, colored(made, number)) for code, made in seen.shifted.items())
        blocks.append(
            f"<div class='table outputs'><div class='scroll'><table><tbody>{rows}</tbody></table></div></div>"
        )
    names = [language_name(code) for code in (first.source, *seen.shifted)]
    words = _WORDS.format(languages=listed(names), source=names[0], alpha=first.alpha, layer=first.layer)
    return Section(
        title="A language is a direction: add it, and a sentence turns towards another language",
        body=[words, LOOKS, markup("".join(blocks))],
    )


def _row(code: str, text: str, *, kind: str = "") -> str:
    return f"<tr class='{kind}'><td>{escape(language_name(code))}</td><td lang='{escape(code)}'>{text}</td></tr>"


def _found(seen: RealLanguages) -> Section:
    rows = [
        {"language": language_name(code), "raw": raw, "centered": centered}
        for code, (raw, centered) in seen.found.items()
    ]
    source = language_name(next(iter(seen.shifted.values())).source)
    words = (
        f"How often is the nearest of {seen.tested} built-in sentences in the other language the translation? "
        "Both directions, last layer of isoglot-mini; means are estimated on other sentences than the query. "
        f"Chance is {100 / seen.tested:.1f}\u00a0%."
    )
    columns = [
        Column("language", f"{source} and"),
        Column("raw", "as it is", unit="%", scale=100, format=".0f"),
        Column("centered", "means removed", unit="%", scale=100, format=".0f"),
    ]
    return Section(
        title="Translations lie near each other, nearer without the languages’ means",
        body=[words, Table.from_rows(rows, columns, caption="P@1 by language")],
    )


# --- the same on a terminal ---


def thumbnail_result(
    results: Sequence[ArmResult], real: RealLanguages, size: ThumbnailSize, tested: int, out: Path
) -> Rendering:
    """Both parts of the demo as JSON, and how many twins each encoder found."""
    note = "twins found (P@1), each language's mean removed, estimated on other sentences"
    head = ["encoder", *(f"layer {layer}" for layer in range(len(results[0].centered)))]
    rows = [[_title(result), *(f"{100 * value:.1f} %" for value in result.centered)] for result in results]
    value = {
        "page": str(out / PAGE),
        "real_languages": real.as_dict(),
        "size": asdict(size),
        "arms": {result.name: asdict(result) for result in results},
    }
    return Rendering(value, Table.from_cells(head, rows, footnotes=(note,)), notes=[lead(results, tested)])


def shifted_sentences(real: RealLanguages) -> RenderableType:
    """Each sentence with what it becomes in every language, and the legend."""
    from rich.console import Group
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2, 0, 0))
    for number, sentence in enumerate(next(iter(real.shifted.values())).sources):
        grid.add_row("en", sentence)
        for code, made in real.shifted.items():
            grid.add_row(code, Marked(runs(made, number)))
        grid.add_row()
    return Group(grid, key("the new language"))


def found_in_words(real: RealLanguages) -> str:
    """How many translations isoglot-mini finds, with each language's mean and without."""
    found = ", ".join(
        f"{code} {100 * raw:.0f} → {100 * centered:.0f} %" for code, (raw, centered) in real.found.items()
    )
    return (
        f"How often is the nearest of {real.tested} sentences the translation? As the model has them → with each\n"
        f"language's mean taken away: {found}. Chance is {100 / real.tested:.1f} %."
    )
