"""``isoglot anchors``: how much two languages share, in types, in tokens, and in words a dictionary knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.inputs import parse_named, parse_pairs
from isoglot.cli.options import Debug, Json, OptionalOut, Quiet
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.vocab import Dictionaries, open_vocabulary
from isoglot.core.table import Cell, Column, Table

if TYPE_CHECKING:
    import numpy as np
    from rich.console import RenderableType

    from isoglot.core.progress import Progress
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.anchors import AnchorReport, Friend

EXAMPLE = "Example: isoglot anchors --vocab vocab/ --shards en=shards/en --shards fr=shards/fr --out anchors/"


def anchors(
    vocab: Annotated[str, typer.Option("--vocab", metavar="VOCAB", help="A vocabulary's folder, or any tokenizer.")],
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
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Report what languages share: types, tokens by direction and frequency, true and false friends.

    Without --shards and --text: as the vocabulary counted, in all of a small text, in an even sample of a large one.
    """
    from isoglot.core.files import write_json, write_text
    from isoglot.report.anchors import anchor_svg
    from isoglot.vocab import anchor_report

    output = Output(json=json, quiet=quiet)
    vocabulary = open_vocabulary(vocab)
    counts = _counts(vocabulary, shards, text, output.progress)
    dictionaries = parse_pairs(dictionary or [])
    report = anchor_report(vocabulary, counts, dictionaries=dictionaries, at_least=at_least, top=top)
    with recorded(out, (path for paths in dictionaries.values() for path in paths), seed=0) as run:
        if run is not None:
            write_json(run.folder / "anchors.json", report.to_json())
            write_text(run.folder / "anchors.svg", anchor_svg(report))
    output.result(report.to_json(), _shown(report))


def _counts(
    vocabulary: Vocabulary, shards: list[str] | None, text: list[str] | None, progress: Progress
) -> dict[str, np.ndarray] | None:
    from isoglot.core.errors import ConfigError
    from isoglot.vocab import Shards
    from isoglot.vocab.anchors import count_tokens

    if shards and text:
        raise ConfigError(
            "--shards and --text together", remedy="count in the one or in the other", code="config.conflicting-options"
        )
    if text:
        return {
            code: count_tokens(vocabulary, code, paths, progress=progress) for code, paths in parse_named(text).items()
        }
    if not shards:
        return None
    counts: dict[str, np.ndarray] = {}
    for code, folders in parse_named(shards, option="--shards").items():
        for folder in folders:
            opened = Shards.open(folder, check="sizes")
            opened.check_vocabulary(vocabulary)
            if opened.language != code:
                raise ConfigError(
                    f"--shards {code}={folder} are {opened.language}",
                    remedy="name their own language",
                    code="config.other-language",
                )
            found = opened.counts()
            counts[code] = counts[code] + found if code in counts else found
    return counts


def _shown(report: AnchorReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    often = "" if report.at_least == 1 else f" {report.at_least} times or more"
    for pair in report.pairs:
        first, second = pair.languages
        shares = [f"{100 * pair.tokens[code]:.1f} %" for code in pair.languages]
        parts.append(
            Text(
                f"{first}-{second}: {pair.anchors:,} anchors (pieces met in text of both{often}); {shares[0]} of "
                f"the tokens of {first}, {shares[1]} of {second}",
                "bold",
            )
        )
        columns = [Column("ranks", align="right"), Column("types"), Column("anchors")]
        columns += [Column(code, title=f"% of {code}", scale=100, format=".1f") for code in pair.languages]
        bands: list[tuple[Cell, ...]] = [
            (f"{band.first:,}-{band.last:,}", band.types, band.anchors, *(band.tokens[code] for code in pair.languages))
            for band in pair.bands
        ]
        parts.append(Table(tuple(columns), tuple(bands)))
        if pair.friends:
            parts.append(Text(f"true friends {pair.friends['true']:,}: {_words(pair.true_friends)}"))
            parts.append(Text(f"false friends {pair.friends['false']:,}: {_words(pair.false_friends)}"))
        parts.append(Text())
    return Group(*parts, Text(report.looked_at()))


def _words(friends: tuple[Friend, ...]) -> str:
    return " ".join(friend.word for friend in friends) or "none"
