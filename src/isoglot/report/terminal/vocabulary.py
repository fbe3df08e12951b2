"""Vocabularies, token shards and anchors on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.table import Column, Table
from isoglot.report.results import Rendering
from isoglot.report.transfer import anchor_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.vocab import Shards, Vocabulary
    from isoglot.vocab.anchors import AnchorReport


def vocabulary_result(vocabulary: Vocabulary, text: str | None = None, language: str | None = None) -> Rendering:
    """What a vocabulary holds, which languages share how much of it, and how it splits a text into subwords."""
    from rich.console import Group

    facts, parts = vocabulary.facts(), [_vocabulary_shown(vocabulary)]
    if text is not None:
        ids = vocabulary.encode(text, language)
        facts["encoded"] = [{"id": index, "piece": vocabulary.pieces[index]} for index in ids]
        split = " ".join(f"{vocabulary.pieces[index]}/{index}" for index in ids)
        parts.append(f"\n{split}\ndecoded: {vocabulary.decode(ids)}")
    return Rendering(facts, Group(*parts))


def _vocabulary_shown(vocabulary: Vocabulary) -> RenderableType:
    from rich.console import Group

    head = f"{vocabulary.mode} vocabulary, {len(vocabulary):,} subwords, {vocabulary.hash[:12]}"
    if not vocabulary.languages:
        return head
    rows = []
    for code in vocabulary.languages:
        others = [other for other in vocabulary.languages if other != code]
        shared = [f"{other} {len(vocabulary.anchors(code, other)):,}" for other in others]
        processing = vocabulary.processing(code)
        said = str(processing) if processing else "read as written"
        rows.append([code, f"{len(vocabulary.ids_of(code)):,}", said, "  ".join(shared)])
    table = Table.from_cells(["language", "subwords", "text is", "shared with"], rows, align="lrl")
    meaning = "Shared subwords have one id in both; isoglot anchors counts those that occur in text of both."
    return Group(head, table, *([meaning] if len(rows) > 1 else []))


def shards_table(opened: Sequence[Shards]) -> Table:
    """Counts of documents, sentences, tokens, windows and types by split."""
    head = ["shards", "lang", "split", "documents", "sentences", "tokens", "windows", "types"]
    rows = []
    for shards in opened:
        for split, counts in shards.index["counts"].items():
            windows = f"{-(-counts['tokens'] // shards.window):,} x {shards.window}"
            types = f"{shards.types():,}" if split == "train" else ""
            numbers = [f"{counts[key]:,}" for key in ("documents", "sentences", "tokens")]
            rows.append([str(shards.folder), shards.language, split, *numbers, windows, types])
    return Table.from_cells(head, rows, align="lllr")


def anchors_result(report: AnchorReport) -> Rendering:
    """Anchors of every pair of languages."""
    return Rendering(report.to_json(), _anchors_shown(report), lambda facts: anchor_page(report, facts=facts).files())


def _anchors_shown(report: AnchorReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    often = "" if report.at_least == 1 else f" {report.at_least} times or more"
    for pair in report.pairs:
        first, second = pair.languages
        shares = [f"{100 * pair.tokens[code]:.1f} %" for code in pair.languages]
        what = f"{first}-{second}: {pair.anchors:,} anchors (subwords that occur in text of both{often}); "
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
