"""``isoglot vocab``: train a subword vocabulary, and look at one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.inputs import parse_named, parse_pairs
from isoglot.cli.options import MAX_LINE, MaxLine, Out, Seed, verb
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.core.errors import ConfigError, shown
from isoglot.core.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from isoglot.vocab import Grading, Vocabulary

app = typer.Typer(
    help="Subword vocabularies that share as much between languages as they are told to.", no_args_is_help=True
)

Texts = Annotated[
    list[str],
    typer.Option("--text", metavar="LANG=FILE", help="Text of a language, a sentence a line. May be repeated."),
]
Dictionaries = Annotated[
    list[str] | None,
    typer.Option("--dictionary", metavar="L1-L2=FILE", help="A dictionary in MUSE's layout. May be repeated."),
]
VocabOption = Annotated[str, typer.Option("--vocab", metavar="VOCAB", help="A vocabulary's folder, or any tokenizer.")]


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
        str | None,
        typer.Option("--band", metavar="FIRST-LAST", help="Graded by band: ranks of anchors, most frequent first."),
    ] = None
    dictionary: Dictionaries = None

    def grading(self) -> Grading | None:
        """What the options ask for."""
        from isoglot.vocab import Grading

        first, _, last = (self.band or "0-0").partition("-")
        if self.keep is None and (self.band or self.dictionary):
            raise ConfigError(
                "--band and --dictionary belong to --keep",
                remedy="say what to keep, or leave them out",
                code="config.conflicting-options",
            )
        if not (first.isdecimal() and last.isdecimal()):
            remedy = "write it as --band 1-1000"
            raise ConfigError(
                f"--band {shown(self.band)} is not first-last", remedy=remedy, code="config.malformed-option"
            )
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
        typer.Option(
            "--segment",
            metavar="[LANG=]METHOD",
            help="Segment text into words first, here and wherever the vocabulary is used: none, auto, unicode, moses, "
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
            remedy="name another --out, or delete the folder",
            code="config.run-exists",
        )
    with recorded(out, (path for paths in texts.values() for path in paths), seed=config.seed) as run:
        vocabulary = train_vocabulary(texts, config, progress=output.progress)
        vocabulary.save(run.folder)
    output.result(vocabulary.facts(), _shown(vocabulary))


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
    vocab: Annotated[
        str | None, typer.Option("--vocab", metavar="VOCAB", help="The same, as other verbs take it.")
    ] = None,
    encode: Annotated[str | None, typer.Option("--encode", metavar="TEXT", help="Show how a text is cut.")] = None,
    lang: Annotated[str | None, typer.Option("--lang", metavar="CODE", help="The language of that text.")] = None,
    output: Output,
) -> None:
    """Show what a vocabulary holds, which languages share how much of it, and how it cuts a text."""
    from rich.console import Group

    if (folder is None) == (vocab is None):
        problem = "no vocabulary is named" if folder is None else "VOCAB and --vocab are both given"
        raise ConfigError(problem, remedy="give one: isoglot vocab inspect isoglot-mini", code="config.missing-option")
    vocabulary = open_vocabulary(folder or vocab or "")
    facts, parts = vocabulary.facts(), [_shown(vocabulary)]
    if encode is not None:
        ids = vocabulary.encode(encode, lang)
        facts["encoded"] = [{"id": index, "piece": vocabulary.pieces[index]} for index in ids]
        cut = " ".join(f"{vocabulary.pieces[index]}/{index}" for index in ids)
        parts.append(f"\n{cut}\ndecoded: {vocabulary.decode(ids)}")
    output.result(facts, Group(*parts))


def open_vocabulary(name: str) -> Vocabulary:
    """A vocabulary of ours by its folder, that of an encoder of ours (isoglot-mini among them), or any tokenizer."""
    from isoglot.core.artifact import is_stored
    from isoglot.model.folder import VOCABULARY
    from isoglot.model.load import encoder_folder
    from isoglot.vocab import Vocabulary
    from isoglot.vocab.vocabulary import INDEX

    folder = Path(name)
    if not is_stored(folder / INDEX) and (encoder := encoder_folder(name)) is not None:
        folder = encoder / VOCABULARY
    return Vocabulary.load(folder) if is_stored(folder / INDEX) else Vocabulary.from_tokenizer(name)


def _shown(vocabulary: Vocabulary) -> RenderableType:
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
