"""``isoglot vocab``, ``isoglot shards`` and ``isoglot anchors``.

Subword vocabularies, text as token shards, and how much languages share: in types, in tokens, and in words that a
dictionary knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.inputs import open_vocabulary, option, parse_named, parse_pairs
from isoglot.cli.options import MAX_LINE, MaxLine, OptionalOut, Out, Seed, verb
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import recorded
from isoglot.core.errors import ConfigError, shown
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from isoglot.vocab import Grading, Shards, Vocabulary
    from isoglot.vocab.anchors import AnchorReport

app = typer.Typer(
    help="Subword vocabularies that share as much between languages as they are told to.", no_args_is_help=True
)
shards = typer.Typer(help="Token shards: text as ids that training reads straight from the disk.", no_args_is_help=True)
EXAMPLE = "Example: isoglot anchors --vocab vocab/ --shards en=shards/en --shards fr=shards/fr --out anchors/"
"""The example of ``isoglot anchors``."""

Texts = Annotated[list[str], option("--text", "LANG=FILE", "Text of a language, a sentence a line. May be repeated.")]
Dictionaries = Annotated[
    list[str] | None, option("--dictionary", "L1-L2=FILE", "A dictionary in MUSE's layout. May be repeated.")
]
VocabOption = Annotated[str, option("--vocab", "VOCAB", "A vocabulary's folder, or any tokenizer.")]
Folders = Annotated[list[Path], typer.Argument(metavar="SHARDS", help="Folders of shards.")]


@dataclass(frozen=True)
class Learned:
    """Settings of :class:`isoglot.vocab.train.VocabularyConfig`."""

    mode: Annotated[
        Literal["joint", "union", "disjoint", "graded"],
        typer.Option(
            "--mode",
            help="joint: one for all text; the others: one for each language, where equal strings share an id "
            "(union), nothing is shared (disjoint), or chosen strings are (graded).",
        ),
    ] = "joint"
    size: Annotated[
        int, typer.Option("--size", min=1, max=10_000_000, help="Size: of the whole if joint, else of each language.")
    ] = 32_000
    count: Annotated[
        Literal["subwords", "merges"],
        typer.Option("--count", help="What --size counts: all subwords, or BPE merges (the papers' 80k codes)."),
    ] = "subwords"
    model: Annotated[
        Literal["bpe", "wordpiece", "unigram"], typer.Option("--model", help="How pieces are learned and applied.")
    ] = "bpe"
    exponent: Annotated[
        float, typer.Option("--exponent", min=0, max=1, help="Joint: text is sampled in proportion to share^this.")
    ] = 0.7
    coverage: Annotated[
        float, typer.Option("--coverage", min=0.5, max=1, help="Share of the text whose characters get a piece each.")
    ] = 0.9995
    normalization: Annotated[
        Literal["nfc", "nfkc", "none"], typer.Option("--normalization", help="The Unicode form text is brought to.")
    ] = "nfc"
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="Use the first N lines of each language.")
    ] = None
    seed: Seed = 0


@dataclass(frozen=True)
class Graded:
    """Which anchors stay shared."""

    keep: Annotated[
        Literal["band", "true-friends", "false-friends"] | None,
        typer.Option("--keep", help="Graded: which anchors stay shared."),
    ] = None
    band: Annotated[
        str | None, option("--band", "FIRST-LAST", "Graded by band: ranks of anchors, most frequent first.")
    ] = None
    dictionary: Dictionaries = None

    def grading(self) -> Grading | None:
        """What the options ask for."""
        from isoglot.vocab import Grading

        first, _, last = (self.band or "0-0").partition("-")
        if self.keep is None and (self.band or self.dictionary):
            raise ConfigError(
                "--band and --dictionary belong to --keep", "say what to keep, or leave them out", "conflicting-options"
            )
        if not (first.isdecimal() and last.isdecimal()):
            remedy = "write it as --band 1-1000"
            raise ConfigError(f"--band {shown(self.band)} is not first-last", remedy, "malformed-option")
        if self.keep is None:
            return None
        ranks = (int(first), int(last)) if self.band else None
        return Grading(keep=self.keep, band=ranks, dictionaries=parse_pairs(self.dictionary or []))


@verb(app, "train", example="vocab train --text en=en.txt --text fr=fr.txt --mode joint --out vocab/")
def train(
    *,
    text: Texts,
    out: Out,
    learned: Learned,
    unknown: Annotated[
        Literal["auto", "bytes", "unk"],
        typer.Option("--unknown", help="Other characters become bytes or [UNK]; auto: bytes where the model can."),
    ] = "auto",
    segment: Annotated[
        list[str] | None,
        option(
            "--segment",
            "[LANG=]METHOD",
            "Segment text into words first, here and wherever the vocabulary is used: none, auto, unicode, moses, "
            "jieba, thai or characters, for all languages or for one. Repeat for several. Text made by isoglot text "
            "segment is known to be segmented.",
        ),
    ] = None,
    graded: Graded,
    max_line: MaxLine = MAX_LINE,
    output: Output,
) -> None:
    """Learn a vocabulary from text and write it to a folder that transformers can open, too."""
    from isoglot.core.artifact import is_stored
    from isoglot.vocab.train import VocabularyConfig, parse_segmentation, train_vocabulary
    from isoglot.vocab.vocabulary import INDEX

    texts = parse_named(text)
    config = VocabularyConfig(
        **vars(learned),
        unknown=None if unknown == "auto" else unknown,
        segmentation=parse_segmentation(segment or [], texts),
        grading=graded.grading(),
    )
    if is_stored(out / INDEX):
        raise ConfigError(
            f"{out} holds a vocabulary already, and what was made with it would not fit another",
            "name another --out, or delete the folder",
            "run-exists",
        )
    with recorded(out, (path for paths in texts.values() for path in paths), seed=config.seed) as run:
        vocabulary = train_vocabulary(texts, config, progress=output.progress)
        vocabulary.save(run.folder)
    output.result(vocabulary.facts(), _vocabulary_shown(vocabulary))


@verb(app, "inspect", example="vocab inspect vocab/ --encode 'The cat sleeps.' --lang en")
def inspect(
    *,
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="VOCAB",
            help="A vocabulary's folder, an encoder's, isoglot-mini, or any tokenizer: a file or a hub name.",
        ),
    ] = None,
    vocab: Annotated[str | None, option("--vocab", "VOCAB", "The same, as other verbs take it.")] = None,
    encode: Annotated[str | None, option("--encode", "TEXT", "Show how a text is cut.")] = None,
    lang: Annotated[str | None, option("--lang", "CODE", "The language of that text.")] = None,
    output: Output,
) -> None:
    """Show what a vocabulary holds, which languages share how much of it, and how it cuts a text."""
    from rich.console import Group

    if (folder is None) == (vocab is None):
        problem = "no vocabulary is named" if folder is None else "VOCAB and --vocab are both given"
        raise ConfigError(problem, "give one: isoglot vocab inspect isoglot-mini", "missing-option")
    vocabulary = open_vocabulary(folder or vocab or "")
    facts, parts = vocabulary.facts(), [_vocabulary_shown(vocabulary)]
    if encode is not None:
        ids = vocabulary.encode(encode, lang)
        facts["encoded"] = [{"id": index, "piece": vocabulary.pieces[index]} for index in ids]
        cut = " ".join(f"{vocabulary.pieces[index]}/{index}" for index in ids)
        parts.append(f"\n{cut}\ndecoded: {vocabulary.decode(ids)}")
    output.result(facts, Group(*parts))


def _vocabulary_shown(vocabulary: Vocabulary) -> RenderableType:
    from rich.console import Group

    head = f"{vocabulary.mode} vocabulary, {len(vocabulary):,} pieces, {vocabulary.hash[:12]}"
    if not vocabulary.languages:
        return head
    rows = []
    for code in vocabulary.languages:
        others = [other for other in vocabulary.languages if other != code]
        shared = [f"{other} {len(vocabulary.anchors(code, other)):,}" for other in others]
        processing = vocabulary.processing(code)
        said = str(processing) if processing else "read as written"
        rows.append([code, f"{len(vocabulary.ids_of(code)):,}", said, "  ".join(shared)])
    table = Table.from_cells(["language", "pieces", "text is", "shared with"], rows, align="lrl")
    meaning = "Shared pieces have one id for both; isoglot anchors counts those that are met in text of both."
    return Group(head, table, *([meaning] if len(rows) > 1 else []))


# --- shards ---


@dataclass(frozen=True)
class Built:
    """Settings of :func:`isoglot.vocab.build_shards`."""

    window: Annotated[int, typer.Option("--window", min=1, help="Ids in a window, unless training asks otherwise.")] = (
        256
    )
    domain: Annotated[
        str | None, option("--domain", "NAME", "Where the text is from, such as wiki; recorded for recipes.")
    ] = None
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="The first N; a prefix of a larger build.")
    ] = None
    dev_share: Annotated[
        float, typer.Option("--dev-share", min=0, max=0.99, help="Share of the documents set apart for dev.")
    ] = 0.01
    workers: Annotated[
        int | None, option("--workers", "N", "Processes that share the work. Default: by size.", min=1, max=256)
    ] = None
    seed: Seed = 0


@verb(shards, "build", example="shards build --text en=en.txt --vocab vocab/ --out shards/en")
def build(
    *,
    text: Texts,
    vocab: VocabOption,
    out: Out,
    built: Built,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew, whatever is in the folder.")] = False,
    max_line: MaxLine = MAX_LINE,
    output: Output,
) -> None:
    """Encode text and write it as shards; a build that was cut short goes on where it was.

    With one language the shards go to the folder itself, with several to a folder in it for each.
    """
    from isoglot.vocab import build_shards

    texts = parse_named(text)
    vocabulary = open_vocabulary(vocab)
    read = (path for paths in texts.values() for path in paths)
    found = []
    with recorded(out, read, seed=built.seed, kind="in place") as run:
        for code, paths in texts.items():
            folder = out if len(texts) == 1 else out / code
            how = {**vars(built), "resume": not restart, "progress": output.progress}
            found.append(build_shards(paths, vocabulary, code, folder, **how))
            for name in (*found[-1].index["files"], "index.json"):
                run.add_output(folder / name)
    output.result([shards.facts() for shards in found], _shards_shown(found))


@verb(shards, "check", example="shards check shards/en --vocab vocab/")
def check(
    *,
    folders: Folders,
    vocab: Annotated[str | None, option("--vocab", "VOCAB", "Also: were they made with this vocabulary?")] = None,
    output: Output,
) -> None:
    """Verify that every file of the shards is what was written."""
    from isoglot.vocab import Shards

    sound = [Shards.open(folder) for folder in folders]
    if vocab is not None:
        vocabulary = open_vocabulary(vocab)
        for shards in sound:
            shards.check_vocabulary(vocabulary)
    tokens = [sum(counts["tokens"] for counts in shards.index["counts"].values()) for shards in sound]
    lines = [f"{shards.folder}: sound, {count:,} tokens" for shards, count in zip(sound, tokens, strict=True)]
    output.result([shards.facts() for shards in sound], "\n".join(lines))


@verb(shards, "stats", example="shards stats shards/en shards/fr")
def stats(*, folders: Folders, output: Output) -> None:
    """Count what the shards hold: documents, sentences, tokens, types, windows."""
    from isoglot.vocab import Shards

    opened = [Shards.open(folder, check="sizes") for folder in folders]
    output.result([{**shards.facts(), "types": shards.types()} for shards in opened], _shards_shown(opened))


def _shards_shown(opened: list[Shards]) -> Table:
    head = ["shards", "lang", "split", "documents", "sentences", "tokens", "windows", "types"]
    rows = []
    for shards in opened:
        for split, counts in shards.index["counts"].items():
            windows = f"{-(-counts['tokens'] // shards.window):,} x {shards.window}"
            types = f"{shards.types():,}" if split == "train" else ""
            numbers = [f"{counts[key]:,}" for key in ("documents", "sentences", "tokens")]
            rows.append([str(shards.folder), shards.language, split, *numbers, windows, types])
    return Table.from_cells(head, rows, align="lllr")


# --- anchors ---


def anchors(
    *,
    vocab: VocabOption,
    shards: Annotated[
        list[str] | None, option("--shards", "LANG=DIR", "Shards to count in, which is quick. May be repeated.")
    ] = None,
    text: Annotated[
        list[str] | None, option("--text", "LANG=FILE", "Text to count in instead. May be repeated.")
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
        raise ConfigError("--shards and --text together", "count in the one or in the other", "conflicting-options")
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
    output.result(report.to_json(), _anchors_shown(report))


def _anchors_shown(report: AnchorReport) -> RenderableType:
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
