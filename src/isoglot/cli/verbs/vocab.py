"""``isoglot vocab``, ``isoglot shards`` and ``isoglot anchors``.

Subword vocabularies, text as token shards, and how much languages share: in types, in tokens, and in words that a
dictionary knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.declaration import argument, command, option, verb
from isoglot.cli.inputs import Files, files_of, parse_named, parse_pairs, refuse_beside
from isoglot.cli.options import MAX_LINE, MaxLine, OptionalOut, Out, Seed
from isoglot.cli.output import Output
from isoglot.cli.run_files import publish, recorded
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.report.results import Rendering

app = typer.Typer()
shards = typer.Typer()
Texts = Annotated[list[str], option("LANG=FILE", "Text of a language, one sentence per line. May be repeated.")]
Dictionaries = Annotated[Files, option("FROM-TO=FILE", "A dictionary in MUSE's layout. May be repeated.")]
VocabOption = Annotated[str, option("VOCAB", "A vocabulary's folder, or any tokenizer.")]
Folders = Annotated[list[Path], argument("SHARDS", "Folders of shards.")]


@dataclass(frozen=True)
class Learned:
    """Settings of :class:`isoglot.vocab.train.VocabularyConfig`.

    Options:
        mode: joint: one for all text; the others: one for each language, where equal strings share an id (union),
            nothing is shared (disjoint), or chosen strings are (graded).
        size: Size: of the whole if joint, else of each language.
        count: What --size counts: all subwords, or BPE merges (the papers' 80k codes).
        coverage: Share of the text whose characters get a subword each.
        normalization: Unicode normalization form of the text.
    """

    mode: Literal["joint", "union", "disjoint", "graded"] = "joint"
    size: Annotated[int, option(min=1, max=10_000_000)] = 32_000
    count: Literal["subwords", "merges"] = "subwords"
    model: Annotated[
        Literal["bpe", "wordpiece", "unigram"], option(text="How subwords are learned and applied.", name="--algorithm")
    ] = "bpe"
    exponent: Annotated[float, option(text="Joint: text is sampled in proportion to share^this.", min=0, max=1)] = 0.7
    coverage: Annotated[float, option(min=0.5, max=1)] = 0.9995
    normalization: Literal["nfc", "nfkc", "none"] = "nfc"
    sentences: Annotated[int | None, option(text="Use the first N lines of each language.", min=1)] = None
    seed: Seed = 0


@dataclass(frozen=True)
class Graded:
    """Which anchors stay shared.

    Options:
        keep: Graded: which anchors stay shared.
    """

    keep: Literal["band", "true-friends", "false-friends"] | None = None
    band: Annotated[str | None, option("FIRST-LAST", "Graded by band: ranks of anchors, most frequent first.")] = None
    dictionary: Dictionaries = None


@verb(app, "train", example="vocab train --text en=en.txt --text fr=fr.txt --mode joint --out vocab/")
def train(
    *,
    text: Texts,
    out: Out,
    learned: Learned,
    unknown: Literal["auto", "bytes", "unk"] = "auto",
    segment: Annotated[Files, option("[LANG=]METHOD")] = None,
    graded: Graded,
    max_line: MaxLine = MAX_LINE,
    output: Output,
) -> None:
    """Learn a vocabulary from text and write it to a folder that transformers can open, too.

    Options:
        unknown: Other characters become bytes or [UNK]; auto: bytes where the model can.
        segment: Segment text into words first, here and wherever the vocabulary is used: none, auto, unicode, moses,
            jieba, thai or characters, for all languages or for one. Repeat for several. Text made by isoglot text
            segment is known to be segmented.
    """
    from isoglot.core.artifact import is_stored
    from isoglot.report.terminal.vocabulary import vocabulary_result
    from isoglot.vocab.sharing import parse_grading
    from isoglot.vocab.train import VocabularyConfig, parse_segmentation, train_vocabulary
    from isoglot.vocab.vocabulary import INDEX

    texts = parse_named(text)
    config = VocabularyConfig(
        **vars(learned),
        unknown=None if unknown == "auto" else unknown,
        segmentation=parse_segmentation(segment or [], texts),
        grading=parse_grading(graded.keep, graded.band, parse_pairs(graded.dictionary)),
    )
    if is_stored(out / INDEX):
        problem = f"{out} holds a vocabulary already, and what was made with it would not fit another"
        raise ConfigError(problem, "name another --out, or delete the folder", "run-exists")

    def work(folder: Path | None) -> Rendering:
        vocabulary = train_vocabulary(texts, config, progress=output.progress)
        vocabulary.save(folder or out)
        return vocabulary_result(vocabulary)

    publish(output, out, work, bare=True, inputs=files_of(text), seed=config.seed)


@verb(app, "inspect", example="vocab inspect vocab/ --encode 'The cat sleeps.' --lang en")
def inspect(
    *,
    folder: Annotated[str | None, argument("VOCAB")] = None,
    vocab: Annotated[str | None, option("VOCAB", "The same, as other verbs take it.")] = None,
    encode: Annotated[str | None, option("TEXT", "Show how a text is split into subwords.")] = None,
    lang: Annotated[str | None, option("LANG", "The language of that text.")] = None,
    output: Output,
) -> None:
    """Show what a vocabulary holds, which languages share how much of it, and how it splits a text.

    Options:
        folder: A vocabulary's folder, an encoder's, isoglot-mini, or any tokenizer: a file or a hub name.
    """
    from isoglot.model.load import open_vocabulary
    from isoglot.report.terminal.vocabulary import vocabulary_result

    if (folder is None) == (vocab is None):
        problem = "no vocabulary is named" if folder is None else "VOCAB and --vocab are both given"
        raise ConfigError(problem, "give one: isoglot vocab inspect isoglot-mini", "missing-option")
    output.print(vocabulary_result(open_vocabulary(folder or vocab or ""), encode, lang))


# --- shards ---


@dataclass(frozen=True)
class Built:
    """Settings of :func:`isoglot.vocab.build_shards`.

    Options:
        workers: Number of processes. Default: by size.
    """

    window: Annotated[int, option(text="Ids in a window, unless training asks otherwise.", min=1)] = 256
    domain: Annotated[str | None, option("NAME", "Where the text is from, such as wiki; recorded for recipes.")] = None
    sentences: Annotated[int | None, option(text="The first N; a prefix of a larger build.", min=1)] = None
    dev_share: Annotated[float, option(text="Share of the documents set apart for dev.", min=0, max=0.99)] = 0.01
    workers: Annotated[int | None, option("N", min=1, max=256)] = None
    seed: Seed = 0


@verb(shards, "build", example="shards build --text en=en.txt --vocab vocab/ --out shards/en")
def build(
    *,
    text: Texts,
    vocab: VocabOption,
    out: Out,
    built: Built,
    restart: Annotated[bool, option(text="Start over, whatever is in the folder.")] = False,
    max_line: MaxLine = MAX_LINE,
    output: Output,
) -> None:
    """Encode text and write it as shards; an interrupted build resumes.

    With one language the shards go to the folder itself, with several to a folder in it for each.
    """
    from isoglot.model.load import open_vocabulary
    from isoglot.report.terminal.vocabulary import shards_table
    from isoglot.vocab import build_shards

    texts = parse_named(text)
    vocabulary = open_vocabulary(vocab)
    found = []
    with recorded(out, files_of(text), seed=built.seed, kind="in place") as run:
        for code, paths in texts.items():
            folder = out if len(texts) == 1 else out / code
            how = {**vars(built), "resume": not restart, "progress": output.progress}
            found.append(build_shards(paths, vocabulary, code, folder, **how))
            for name in (*found[-1].index["files"], "index.json"):
                run.add_output(folder / name)
    output.result([shards.facts() for shards in found], shards_table(found))


@verb(shards, "check", example="shards check shards/en --vocab vocab/")
def check(
    *,
    folders: Folders,
    vocab: Annotated[str | None, option("VOCAB", "Also: were they made with this vocabulary?")] = None,
    output: Output,
) -> None:
    """Verify that no file of the shards has changed."""
    from isoglot.model.load import open_vocabulary
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
    from isoglot.report.terminal.vocabulary import shards_table
    from isoglot.vocab import Shards

    opened = [Shards.open(folder, check="sizes") for folder in folders]
    output.result([{**shards.facts(), "types": shards.types()} for shards in opened], shards_table(opened))


# --- anchors ---


@command("anchors --vocab vocab/ --shards en=shards/en --shards fr=shards/fr --out anchors/")
def anchors(
    *,
    vocab: VocabOption,
    shards: Annotated[Files, option("LANG=DIR", "Shards to count tokens in, which is fast. May be repeated.")] = None,
    text: Annotated[Files, option("LANG=FILE", "Text to count tokens in, instead of shards. May be repeated.")] = None,
    dictionary: Dictionaries = None,
    at_least: Annotated[int, option(text="Occurrences in each language that make an id an anchor.", min=1)] = 1,
    top: Annotated[int, option(text="Number of examples to show.", min=0, max=1000)] = 20,
    out: OptionalOut = None,
    output: Output,
) -> None:
    """Report the tokens that languages share: types, counts by direction and frequency, true and false friends.

    Without --shards and --text: as the vocabulary counted, in all of a small text, in an even sample of a large one.
    """
    from isoglot.model.load import open_vocabulary
    from isoglot.report.terminal.vocabulary import anchors_result
    from isoglot.vocab.anchors import anchor_report, count_shards, count_tokens

    refuse_beside({"--text": shards and text}, "--shards", remedy="count in the one or in the other")
    vocabulary, counts = open_vocabulary(vocab), None
    if text:
        named = parse_named(text)
        counts = {code: count_tokens(vocabulary, code, each, progress=output.progress) for code, each in named.items()}
    elif shards:
        counts = {code: count_shards(vocabulary, code, each) for code, each in parse_named(shards, "--shards").items()}

    how: dict[str, Any] = {"dictionaries": parse_pairs(dictionary), "at_least": at_least, "top": top}
    report = anchor_report(vocabulary, counts, **how)
    inputs = files_of(dictionary)
    publish(output, out, lambda _: anchors_result(report), "anchors.json", bare=True, inputs=inputs, seed=0)
