"""``isoglot anchors``: how much two languages share, in types, in tokens, and in words a dictionary knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import parse_named, parse_pairs
from isoglot.cli.options import OptionalOut
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import recorded
from isoglot.cli.vocab import Dictionaries, VocabOption, open_vocabulary
from isoglot.core.errors import ConfigError
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from isoglot.vocab.anchors import AnchorReport

EXAMPLE = "Example: isoglot anchors --vocab vocab/ --shards en=shards/en --shards fr=shards/fr --out anchors/"


def anchors(
    *,
    vocab: VocabOption,
    shards: Annotated[
        list[str] | None,
        typer.Option("--shards", metavar="LANG=DIR", help="Shards to count in, which is quick. May be repeated."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="LANG=FILE", help="Text to count in instead. May be repeated."),
    ] = None,
    dictionary: Dictionaries = None,
    at_least: Annotated[
        int, typer.Option("--at-least", min=1, help="Occurrences in each language that make an id an anchor.")
    ] = 1,
    top: Annotated[int, typer.Option("--top", min=0, max=1000, help="How many examples to name.")] = 20,
    out: OptionalOut = None,
    output: Output,
) -> None:
    """Report what languages share: types, tokens by direction and frequency, true and false friends.

    Without --shards and --text: as the vocabulary counted, in all of a small text, in an even sample of a large one.
    """
    from isoglot.core.files import write_json
    from isoglot.report.transfer import anchor_page
    from isoglot.vocab.anchors import anchor_report, count_shards, count_tokens

    if shards and text:
        raise ConfigError(
            "--shards and --text together", remedy="count in the one or in the other", code="config.conflicting-options"
        )
    vocabulary, counts = open_vocabulary(vocab), None
    if text:
        named = parse_named(text)
        counts = {code: count_tokens(vocabulary, code, each, progress=output.progress) for code, each in named.items()}
    elif shards:
        counts = {code: count_shards(vocabulary, code, each) for code, each in parse_named(shards, "--shards").items()}
    pairs = parse_pairs(dictionary or [])
    report = anchor_report(vocabulary, counts, dictionaries=pairs, at_least=at_least, top=top)
    with recorded(out, (path for paths in pairs.values() for path in paths), seed=0) as run:
        if run is not None:
            write_json(run.folder / "anchors.json", report.to_json())
            anchor_page(report, facts=page_facts()).write(run.folder)
    output.result(report.to_json(), _shown(report))


def _shown(report: AnchorReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    often = "" if report.at_least == 1 else f" {report.at_least} times or more"
    for pair in report.pairs:
        first, second = pair.languages
        shares = [f"{100 * pair.tokens[code]:.1f} %" for code in pair.languages]
        what = f"{first}-{second}: {pair.anchors:,} anchors (pieces met in text of both{often}); "
        parts.append(Text(f"{what}{shares[0]} of the tokens of {first}, {shares[1]} of {second}", "bold"))
        columns = [Column("ranks", align="right"), Column("types"), Column("anchors")]
        columns += [Column(code, title=f"% of {code}", scale=100, format=".1f") for code in pair.languages]
        bands = [
            {"ranks": f"{band.first:,}-{band.last:,}", "types": band.types, "anchors": band.anchors, **band.tokens}
            for band in pair.bands
        ]
        parts.append(Table.from_rows(bands, columns))
        for kind, friends in (("true", pair.true_friends), ("false", pair.false_friends)) if pair.friends else ():
            words = " ".join(friend.word for friend in friends) or "none"
            parts.append(f"{kind} friends {pair.friends[kind]:,}: {words}")
        parts.append("")
    return Group(*parts, report.looked_at())
