"""Training of vocabularies: one from the text of all languages, or one for each language, with controlled sharing.

Text repeats itself, so each distinct chunk between blanks is split into words only once. ``tokenizers`` does not accept
counts, so chunks are passed to the trainer with their count before them, and the pre-tokenizer :class:`Repeated`
repeats each word that often. By the contract of :mod:`.subword_scheme` the trainer's counts, and so the vocabulary, are
the same.

Memory is bounded: if a text has too many distinct chunks, every second line is read, or every fourth, until they fit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from isoglot.core.errors import ConfigError, InputError, check_name, nearest_name
from isoglot.core.files import file_hash
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.processing import Segmentation, TextProcessing, processing_left, recorded_processing
from isoglot.text.cleaning.segmentation import segmenter, word_method
from isoglot.text.provenance import Provenance, derived, merged
from isoglot.vocab.sharing import Grading, Type, choose_anchors, disjoint, friends_of, graded, lay_out, union
from isoglot.vocab.subword_scheme import (
    BYTES,
    CONTINUES,
    MARK,
    SPECIAL,
    ModelName,
    Normalization,
    Unknown,
    assemble,
    empty_model,
    normal_form,
    normalizer,
    word_splitter,
)
from isoglot.vocab.survey import Survey, alphabet, blocks, sampling_rates, survey, text_lines, thinned
from isoglot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from tokenizers import Tokenizer


HELD: dict[ModelName, int] = {"bpe": 7_200_000, "wordpiece": 7_200_000, "unigram": 5_000_000}
"""Maximum characters of all distinct chunks. Trainers need up to 180 bytes for each, Unigram up to 250."""
_BLOCK = 16  # lines counted at once, few enough for the cache of the CPU
_COPIES = 100_000  # characters of a text with its words repeated; each takes about fifty bytes


def count_chunks(lines: Callable[[], Iterator[str]], held: int) -> tuple[Counter[str], int]:
    """Count the chunks between blanks, in every line or in every 2nd, 4th, ….

    Args:
        lines: Returns an iterator over the lines; may be called again.
        held: Maximum characters of all distinct chunks, within 2.5 %.

    Returns:
        The counts, and N if one of every N lines was read: the smallest power of two for which the chunks fit.

    >>> counts, every = count_chunks(lambda: iter(["a b", "a c"]), held=100)
    >>> sorted(counts.items()), every
    ([('a', 2), ('b', 1), ('c', 1)], 1)
    """
    every = 1
    while (counts := _counted(islice(lines(), 0, None, every), held)) is None:
        every *= 2
    return counts, every


def _counted(lines: Iterator[str], held: int) -> Counter[str] | None:
    """The counts, or None if there are too many."""
    counts: Counter[str] = Counter()
    unchecked = held  # characters to read before the size is checked again
    while block := list(islice(lines, _BLOCK)):
        counts.update(" ".join(block).split(" "))
        unchecked -= sum(map(len, block))
        if unchecked < 0:
            found = sum(map(len, counts))
            if found > held:
                return None
            unchecked = max(held - found, held // 40)
    return counts


def only(letters: Iterable[str], counts: Mapping[str, int]) -> Counter[str]:
    """The counts of chunks without characters outside the alphabet.

    >>> sorted(only("ab", {"a-b": 2, "ab": 1, "-": 1}).items())
    [('', 1), ('ab', 3)]
    """
    other = re.compile(f"[^{re.escape(''.join(letters))}]+")
    kept: Counter[str] = Counter()
    for chunk, count in counts.items():
        kept[other.sub("", chunk)] += count
    return kept


def grouped(counts: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Join chunks with the same count to texts, each with the count.

    Chunks of more than a hundred thousand characters are truncated, and very frequent ones occur several times.

    >>> list(grouped({"a": 2, "b": 1, "c": 2}))
    [(2, 'a c'), (1, 'b')]
    """
    groups: dict[int, list[str]] = {}
    for chunk, count in counts.items():
        most = _COPIES // (len(chunk) + 1) or 1
        if count > most:
            groups.setdefault(most, []).extend([chunk] * (count // most))
            count %= most  # noqa: PLW2901 - what is left of it
        if count:
            groups.setdefault(count, []).append(chunk)
    for count, chunks in groups.items():
        for text in blocks(chunks, size=_COPIES // count):
            yield count, text


class Repeated:
    """Custom pre-tokenizer that repeats words: the first word of a text is the number of repetitions.

    ``3 one two`` counts as ``one one one two two two``.
    """

    def pre_tokenize(self, text: Any) -> None:  # noqa: ANN401 - tokenizers has no public type for it
        """Repeat the words of a pre-tokenized text."""
        count = 0

        def times(place: int, word: Any) -> list[Any]:  # noqa: ANN401 - as above
            nonlocal count
            if place:
                return [word] * count
            count = int(word.normalized[1:])  # after the mark
            return []

        text.split(times)


TrainedMode = Literal["joint", "union", "disjoint", "graded"]
"""``joint``: trained on the text of all languages; the others are trained per language: ``union`` shares equal strings,
``disjoint`` shares nothing, ``graded`` shares chosen strings."""
Counted = Literal["subwords", "merges"]
"""What the size counts: all subwords, or the merges of BPE, as in the papers' "80k BPE codes"."""


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig:
    """Settings of a vocabulary.

    Args:
        mode: How languages share ids.
        size: The size of a joint vocabulary, or of each language (the first paper's 80k joint and 40k/40k).
        count: What the size counts: all subwords, including special tokens, bytes and characters; or the merges of BPE,
            to which these are added.
        model: The subword model.
        exponent: For joint: languages are sampled in proportion to their share of all lines, to this power.
        coverage: The alphabet has the most frequent characters that make up this share of each language's text.
        unknown: How other characters are encoded. Default: as bytes, except by WordPiece, which cannot.
        normalization: Unicode normalization form.
        segmentation: Word segmentation by language. Default: none. Text that is already segmented in this way is not
            segmented again.
        grading: For graded: which anchors stay shared.
        sentences: Use the first N lines of each language. Default: all.
        seed: Random seed of the sampling.

    Raises:
        ConfigError: An unknown name, or settings that exclude each other.
    """

    mode: TrainedMode
    size: int
    count: Counted = "subwords"
    model: ModelName = "bpe"
    exponent: float = 0.7
    coverage: float = 0.9995
    unknown: Unknown | None = None
    normalization: Normalization = "nfc"
    segmentation: Mapping[str, Segmentation] | None = None
    grading: Grading | None = None
    sentences: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.unknown is None:
            object.__setattr__(self, "unknown", "unk" if self.model == "wordpiece" else "bytes")
        for name, known in (("mode", TrainedMode), ("model", ModelName), ("unknown", Unknown), ("count", Counted)):
            check_name(name, getattr(self, name), get_args(known))
        if (self.mode == "graded") != (self.grading is not None):
            problem = f"mode {self.mode} {'takes' if self.grading is None else 'has no'} anchors to keep"
            remedy = "name the anchors to keep with mode graded, and only there"
            raise ConfigError(problem, remedy, "conflicting-options")
        if self.count == "merges" and self.model != "bpe":
            problem = f"{self.model} has no merges to count"
            raise ConfigError(problem, "count subwords, or choose model bpe", "conflicting-options")
        if self.model == "wordpiece" and self.unknown == "bytes":
            problem = "WordPiece cannot encode unknown characters as bytes"
            raise ConfigError(problem, "choose unknown unk, or another model", "conflicting-options")


def train_vocabulary(
    texts: Mapping[str, Sequence[str | Path]],
    config: VocabularyConfig | None = None,
    *,
    progress: Progress = SILENT,
    **settings: Any,  # noqa: ANN401 - the fields of the config
) -> Vocabulary:
    """Train a vocabulary.

    Args:
        texts: Files of each language, with one sentence or paragraph per line. If they were cleaned or segmented,
            according to their provenance, the vocabulary does the same to other text of the language.
        config: The settings.
        progress: Progress reporter.
        **settings: The settings as keyword arguments, instead of ``config``: see :class:`VocabularyConfig`.

    Returns:
        The vocabulary; ``save`` writes it to a folder.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    >>> vocabulary.languages
    ('en',)

    Raises:
        ConfigError: Conflicting options, dictionaries or texts, or a size that is too small.
        CorruptFileError: A text has changed since its record was written.
        InputError: A language has no text, or a file is not text.
        StorageError: A file cannot be read.
    """
    config = config or VocabularyConfig(**settings)
    if not texts:
        raise ConfigError("no text", "name a file for each language", "missing-data")
    paths = {language_code(code): [Path(path) for path in files] for code, files in texts.items()}
    if config.grading is not None:
        friends_of(config.grading, list(paths))  # checks the dictionaries before any work
    processing = processing_of(paths, config.segmentation or {})
    lines = {
        code: partial(text_lines, files, config.sentences, processing_left(files, processing[code]))
        for code, files in paths.items()
    }
    surveys = _surveyed(paths, lines, progress)
    learner = _Learner(config)
    recorded = ("model", "size", "count", "unknown", "normalization", "coverage", "exponent", "sentences", "seed")
    about: dict[str, Any] = {
        **{name: getattr(config, name) for name in recorded},
        "texts": {
            code: [{"file": path.name, "sha256": file_hash(path)} for path in files] for code, files in paths.items()
        },
        "provenance": derived(path for files in paths.values() for path in files).facts(),
        "sample": {code: {"lines": found.lines, "every": found.every} for code, found in surveys.items()},
    }
    if config.mode == "joint":
        rates = sampling_rates({code: found.lines for code, found in surveys.items()}, config.exponent)
        fields, every = learner.learn(
            lambda: chain.from_iterable(thinned(lines[code](), rates[code], config.seed, code) for code in paths),
            list(surveys.values()),
            label="all languages",
            progress=progress,
        )
        about["learned"] = {code: {"every": every} for code in paths}
        return _joint(assemble(config.model, config.normalization, fields), surveys, processing, about)
    about |= {"exponent": None, "learned": {}}
    learned: dict[str, dict[str, Any]] = {}
    for code in paths:
        learned[code], every = learner.learn(lines[code], [surveys[code]], label=code, progress=progress)
        about["learned"][code] = {"every": every}
    return _shared(config, learned, surveys, processing, about)


def _surveyed(
    paths: Mapping[str, Sequence[Path]], lines: Mapping[str, Callable[[], Iterable[str]]], progress: Progress
) -> dict[str, Survey]:
    """Survey the text of each language.

    Raises:
        InputError: A language has no text.
    """
    surveys: dict[str, Survey] = {}
    for code, files in paths.items():
        surveys[code] = survey(lines[code](), label=f"{code}: reading", progress=progress)
        if not surveys[code].lines:
            raise InputError(f"no text in {code}", "every line is blank: name another file", "empty", file=files[0])
    return surveys


def processing_of(
    paths: Mapping[str, Sequence[Path]], segmentation: Mapping[str, Segmentation]
) -> dict[str, TextProcessing]:
    """The text processing of each language, from the provenance of its texts and the options.

    Raises:
        ConfigError: Texts of a language were segmented in different ways or not as the option says, or a language of
            the option has no text.
    """
    asked = {language_code(code): method for code, method in segmentation.items()}
    for code in asked.keys() - paths.keys():
        raise ConfigError(f"segmentation of {code}, which has no text", nearest_name(code, paths), "unknown-name")
    found: dict[str, TextProcessing] = {}
    for code, files in paths.items():
        done = [recorded_processing(path, code) for path in files]
        method = asked.get(code, next((one.segmentation for one in done if one.segmentation != "none"), "none"))
        found[code] = TextProcessing(code, clean=any(one.clean for one in done), segmentation=method)
        if method != "none":
            segmenter(code, method)  # checks that the method supports the language
    return found


def parse_segmentation(values: Iterable[str], languages: Iterable[str]) -> dict[str, Segmentation]:
    """How each language is segmented: ``zh=jieba``, or a method for all languages that none is named for.

    >>> parse_segmentation(["zh=auto", "unicode"], ["en", "zh"])
    {'en': 'unicode', 'zh': 'jieba'}

    Raises:
        ConfigError: There is no such method or language.
    """
    found: dict[str, Segmentation] = {}
    for value in sorted(values, key=lambda value: "=" in value):
        name, _, method = value.rpartition("=")
        check_name("segmentation", method, (*get_args(Segmentation), "auto"))
        for code in [language_code(name)] if name else languages:
            found[code] = word_method(code) if method == "auto" else cast("Segmentation", method)
    return found


# --- learning ---


class _Learner:
    """Trainer of the subwords of a text, with ``tokenizers``."""

    def __init__(self, config: VocabularyConfig) -> None:
        self.config = config
        self.model = config.model
        self.bytes = BYTES if config.unknown == "bytes" else ()

    def learn(
        self, lines: Callable[[], Iterator[str]], surveys: Sequence[Survey], *, label: str, progress: Progress
    ) -> tuple[dict[str, Any], int]:
        """Train a model; returns its fields in ``tokenizer.json``, and N if one of every N lines was used.

        Args:
            lines: Returns an iterator over the lines.
            surveys: The surveys of the text.
            label: Label of the text in progress reports.
            progress: Progress reporter.
        """
        from tokenizers import Tokenizer, pre_tokenizers

        letters = self.letters(surveys)
        reserved = len(SPECIAL) + len(self.bytes)
        needed = reserved + len(letters) * (2 if self.model == "wordpiece" else 1)
        asked = self.config.size
        size = asked + (needed if self.config.count == "merges" else 0)
        if size <= needed:
            problem = f"size {asked} leaves no room beside {reserved} reserved subwords and {len(letters)} characters"
            raise ConfigError(problem, f"choose more than {needed}, or a lower coverage", "invalid-value")
        with progress.task(f"{label}: counting", total=None, unit="chunks") as task:
            counts, every = count_chunks(lines, HELD[self.model])
            task.advance(len(counts))
        if self.model == "unigram":  # its trainer adds every character of the text
            counts = only(letters, counts)
        tokenizer = Tokenizer(empty_model(self.model, "bytes" if self.bytes else "unk"))
        tokenizer.normalizer = normalizer(self.config.normalization)
        splitter = word_splitter(self.model)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([splitter, pre_tokenizers.PreTokenizer.custom(Repeated())])
        with progress.task(f"{label}: learning", total=None, unit="pieces") as task:
            texts = (f"{count} {text}" for count, text in grouped(counts))
            _interruptible(partial(tokenizer.train_from_iterator, texts, self.trainer(letters, size)))
            tokenizer.pre_tokenizer = splitter  # the other cannot be written
            fields: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
            task.advance(len(fields["vocab"]))
        return self.completed(fields), every

    def letters(self, surveys: Sequence[Survey]) -> list[str]:
        """The alphabet in normal form, with the mark."""
        form = normal_form(self.config.normalization)
        found: set[str] = set()
        for seen in surveys:
            marked = (MARK + form(text).replace(" ", MARK) for text in blocks(seen.sample))
            found.update(alphabet(marked, self.config.coverage))
        return sorted(found | {MARK})

    def trainer(self, letters: list[str], size: int) -> Any:  # noqa: ANN401 - tokenizers has no common public type
        from tokenizers import trainers

        if self.model == "unigram":
            return trainers.UnigramTrainer(
                vocab_size=size - len(self.bytes),
                special_tokens=list(SPECIAL),
                unk_token=SPECIAL[1],
                initial_alphabet=letters,
                show_progress=False,
            )
        kind = trainers.BpeTrainer if self.model == "bpe" else trainers.WordPieceTrainer
        reserved = [*SPECIAL, *self.bytes]
        if self.model == "wordpiece":  # first, so that their ids, which break ties, do not depend on a hash
            reserved += [CONTINUES + letter for letter in letters]
        return kind(
            vocab_size=size,
            special_tokens=reserved,
            initial_alphabet=letters,
            limit_alphabet=len(letters),
            show_progress=False,
        )

    def completed(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields in a deterministic order, with the bytes that the trainer of Unigram omits."""
        if self.model == "unigram":
            scores = settled(dict(fields["vocab"][len(SPECIAL) :]))
            extra = dict.fromkeys(self.bytes, min(scores.values()))
            fields["vocab"] = [*fields["vocab"][: len(SPECIAL)], *map(list, (extra | scores).items())]
            fields["byte_fallback"] = bool(self.bytes)
        return fields


def _interruptible(work: Callable[[], None]) -> None:
    """Run uninterruptible work in a daemon thread, so that Ctrl-C takes effect."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failures.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def settled(scores: Mapping[str, float]) -> dict[str, float]:
    """Unigram's scores made deterministic, the best first.

    The trainer gives unused characters the lowest scores, 0.0001 apart, in the order of a hash; here they are in the
    order of their codes. Other scores differ in their last digits between runs, by the order of summation.
    """
    lowest = min(scores.values())
    letters = [piece for piece in scores if len(piece) == 1]
    spare = sorted(piece for piece in letters if scores[piece] < lowest + 1e-4 * (len(letters) + 1))
    fixed = dict(scores) | {piece: lowest + 1e-4 * rank for rank, piece in enumerate(spare)}
    rounded = {piece: round(score, 6) for piece, score in fixed.items()}
    return dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))


# --- sharing ---


def _joint(
    whole: Tokenizer, surveys: Mapping[str, Survey], processing: Mapping[str, TextProcessing], about: dict[str, Any]
) -> Vocabulary:
    """A joint vocabulary; a language has the ids that occur in its sample."""
    counts = {code: count_ids(whole, found.sample) for code, found in surveys.items()}
    members = {code: count > 0 for code, count in counts.items()}
    for seen in members.values():
        seen[: len(SPECIAL)] = True
    return Vocabulary(
        mode="joint",
        languages=list(surveys),
        views={"": whole.to_str()},
        members=members,
        counts=counts,
        processing=processing.values(),
        about=about,
    )


def _shared(
    config: VocabularyConfig,
    learned: Mapping[str, Mapping[str, Any]],
    surveys: Mapping[str, Survey],
    processing: Mapping[str, TextProcessing],
    about: dict[str, Any],
) -> Vocabulary:
    """Combine the models of the languages to one vocabulary."""
    import numpy as np

    made = partial(assemble, config.model, config.normalization)
    grading = config.grading

    pieces = {code: _pieces(fields) for code, fields in learned.items()}
    counted: dict[str, dict[str, int]] = {}
    for code, fields in learned.items():
        counts = count_ids(made(fields), surveys[code].sample)
        counted[code] = dict(zip([*SPECIAL, *pieces[code]], counts.tolist(), strict=True))
    share = {"union": union, "disjoint": disjoint}.get(config.mode)
    if grading is not None:
        kept, friends = choose_anchors(grading, pieces, counted)
        share = graded(kept)
        graders = [used for found in friends for used in found.used]
        about |= {"keep": grading.keep, "band": grading.band}
        about["provenance"] = merged([Provenance.from_facts(about["provenance"])], graders).facts()
    assert share is not None  # noqa: S101 - the config has checked the mode
    types, ids = lay_out(pieces, share)
    members: dict[str, np.ndarray] = {}
    totals: dict[str, np.ndarray] = {}
    for code in pieces:
        members[code] = np.array([code in kind.languages for kind in types])
        totals[code] = np.zeros(len(types), dtype=np.int64)
        totals[code][list(ids[code].values())] = [counted[code][piece] for piece in ids[code]]
    views = {code: made(_view(fields, types, code)).to_str() for code, fields in learned.items()}
    return Vocabulary(
        mode=config.mode,
        languages=list(pieces),
        views=views,
        members=members,
        counts=totals,
        processing=processing.values(),
        about=about,
    )


def _pieces(fields: Mapping[str, Any]) -> list[str]:
    """The strings of a model by id, without special tokens."""
    vocab = fields["vocab"]
    ordered = [piece for piece, _ in vocab] if isinstance(vocab, list) else sorted(vocab, key=vocab.__getitem__)
    return ordered[len(SPECIAL) :]


def _view(fields: Mapping[str, Any], types: Sequence[Type], language: str) -> dict[str, Any]:
    """The model of a language with global ids: its own subwords by their strings, others by unreachable names."""
    names = [kind.name_for(language) for kind in types]
    if fields["type"] == "Unigram":
        scores = dict(fields["vocab"])
        lowest = min(scores.values())
        return {**fields, "vocab": [[name, scores.get(name, lowest)] for name in names]}
    return {**fields, "vocab": {name: index for index, name in enumerate(names)}}


def count_ids(tokenizer: Tokenizer, lines: Iterable[str], size: int | None = None) -> np.ndarray:
    """Count the ids of lines (V); the size of the vocabulary is the tokenizer's unless it is given."""
    import numpy as np

    size = tokenizer.get_vocab_size() if size is None else size
    totals = np.zeros(size, dtype=np.int64)
    texts = grouped(Counter(" ".join(lines).split(" ")))
    while batch := list(islice(texts, 8)):
        encodings = tokenizer.encode_batch_fast([text for _, text in batch], add_special_tokens=False)
        for (count, _), encoding in zip(batch, encodings, strict=True):
            totals += count * np.bincount(encoding.ids, minlength=size)
    return totals
