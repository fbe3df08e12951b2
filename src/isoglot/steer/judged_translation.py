"""Judged token translation: which means, sentences and dictionaries are used, what is refused, and the scores.

:func:`translate_judged` is ``isoglot steer translate`` and :func:`sweep_judged` is ``isoglot steer sweep``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.retrieve.leaks import KnownWords, LeakCheck, training_provenance
from isoglot.steer.bleu import why_no_bleu
from isoglot.steer.language_files import KnownLanguages, choose_shifts, languages_known
from isoglot.steer.masked_decoding import MaskedLanguages, masked_languages
from isoglot.steer.shift_choice import FALLBACK_ALPHAS, FALLBACK_LAYER, ShiftChoice, UsedShift, shift_to_use
from isoglot.steer.shifted_decoding import DEFAULT_TRANSLATION, TranslationOptions, check_alphas, check_softmax
from isoglot.steer.sweep import Sweep, sweep_shifts
from isoglot.text.formats.dictionary import Entry, read_dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoglot.model import EncoderLike
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.steer.means import LanguageMeans


class DirectedSentences(NamedTuple):
    """Sentences to translate from one language to another, with their references."""

    codes: tuple[str, str]
    sentences: list[str]
    references: list[str] | None = None


def directions_between(sets: Sequence[ParallelSet], directions: Literal["both", "there"]) -> list[DirectedSentences]:
    """From the first language of each set to its others; ``both``: then also back."""
    there, back = [], []
    for one in sets:
        # All Tatoeba sets are with English, which comes first as in the papers.
        first, *others = sorted(one.sentences, key=lambda code: code != "en") if len(sets) > 1 else list(one.sentences)
        for other in others:
            own, their = list(one.sentences[first]), list(one.sentences[other])
            there.append(DirectedSentences((first, other), own, their))
            back.append(DirectedSentences((other, first), their, own))
    return [*there, *back] if directions == "both" else there


def sentences_between(sets: Sequence[ParallelSet], source: str, target: str) -> DirectedSentences:
    """Sentences of two languages in the first set that has both.

    Raises:
        ConfigError: No set has both.
    """
    for one in sets:
        if source in one.sentences and target in one.sentences:
            return DirectedSentences((source, target), list(one.sentences[source]), list(one.sentences[target]))
    found = sorted({code for one in sets for code in one.sentences})
    missing = next((code for code in (source, target) if code not in found), f"{source} with {target}")
    problem = f"no parallel sentences of {missing}, only of {', '.join(found)}"
    raise ConfigError(problem, f"add a file of {missing}", "missing-data")


class JudgingDictionaries:
    """Dictionaries that translations are judged by: files for pairs of languages, or the built-in ones.

    Args:
        files: Files by source and target language. The opposite direction is read from them if it has no file.
        builtin: Whether to use built-in dictionaries for pairs without a file.
        known_words: What to do with words that training was given; built-in dictionaries leave them out instead of
            raising an error.
        seed: Random seed of the built-in dictionaries.

    Attributes:
        remarks: What a reader of the scores should know, filled in by :meth:`entries`.
        left_out: Number of source words left out, by direction.
        leak_check: The last leak check as a JSON object.
    """

    def __init__(
        self,
        files: Mapping[tuple[str, str], Sequence[Path]],
        *,
        builtin: bool = False,
        known_words: KnownWords = "refuse",
        seed: int = 0,
    ) -> None:
        self.files, self.builtin, self.known_words, self.seed = files, builtin, known_words, seed
        self.remarks: list[str] = []
        self.left_out: dict[str, int] = {}
        self.leak_check: dict[str, Any] | None = None
        self._read: dict[tuple[str, str], list[Entry] | None] = {}

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for paths in self.files.values() for path in paths]

    def read(self, source: str, target: str) -> list[Entry] | None:
        """All entries from one language to another; None without a dictionary of the two.

        Raises:
            ConfigError: There is no built-in dictionary of the two.
            InputError: A file is malformed or empty.
            StorageError: A file cannot be read.
        """
        codes = source, target
        if codes not in self._read:
            self._read[codes] = self._read_once(codes)
        return self._read[codes]

    def _read_once(self, codes: tuple[str, str]) -> list[Entry] | None:
        files = self._files(codes)
        if files:
            entries = [entry for path in files for entry in read_dictionary(path)]
            if not entries:
                remedy = "write a source word, a blank and a target word per line"
                raise InputError("the dictionary has no entries", remedy, "empty", file=files[0])
            if codes in self.files:
                return entries
            self.remarks.append("{0} to {1}: by the dictionary of {1} to {0}, reversed".format(*codes))
            return [Entry(one.target, one.source, one.weight) for one in entries]
        if self.builtin:
            from isoglot.languages.builtin import builtin_dictionary

            return builtin_dictionary(*codes, seed=self.seed)
        return None

    def entries(self, source: str, target: str, encoder: EncoderLike) -> list[Entry] | None:
        """Entries that an encoder may be judged by, in lower case; None if there are none, with a remark.

        Raises:
            ConfigError: There is no built-in dictionary of the two.
            InputError: A file is malformed, contains words that training was given and these are refused, or contains
                no others.
            StorageError: A file cannot be read.
        """
        entries = self.read(source, target)
        if entries is None:
            return None
        check = LeakCheck(training_provenance([encoder]), allowed=self.known_words == "allow")
        self.leak_check = check.facts()
        if str(check) not in self.remarks:
            self.remarks.append(str(check))
        if self.known_words == "allow":
            return entries
        lower = [replace(entry, source=entry.source.lower()) for entry in entries]
        files, name = self._files((source, target)), f"{source}-{target}"
        try:
            kept, words = check.judging(
                lower,
                source,
                ", ".join(map(str, files)) if files else "",
                leave_out=not files or self.known_words == "leave-out",
            )
        except InputError as error:
            if files:
                raise
            self.remarks.append(f"{name}: {error.problem}; to judge, give a dictionary or allow the leak")
            return None
        if words:
            self.left_out[name] = words
            self.remarks.append(f"{name}: {counted(words, 'source words')} left out: known from training")
        return kept

    def _files(self, codes: tuple[str, str]) -> Sequence[Path]:
        return self.files.get(codes) or self.files.get(codes[::-1]) or ()


# --- translation and sweep ---


SWEEP_ALPHAS = (0.0, 1.0, 2.0, 3.0)
"""The alphas of Liu et al. (2020), and 0: what is decoded without a shift."""
FILE_SENTENCES = 500
"""Default number of sentences of a sweep that are taken from files."""
BUILTIN_SENTENCES = 25
"""Default number of built-in sentences of a sweep: all layers and alphas of isoglot-mini's languages in a minute."""


@dataclass(frozen=True, kw_only=True)
class SteerConfig:
    """Which language means are used, and how sentences are shifted, decoded and judged.

    Args:
        model: Name or folder of the encoder, by which its stored means are found.
        means: What ``isoglot steer fit`` wrote. Default: what is stored with the model, else built-in text.
        learn_from: Built-in sentences of each language to estimate means from, even if the model has means of its own.
        threshold: Occurrences from which on a token counts as one of a language.
        options: Kind of shift, positions, input, decoded positions, and the tokens that BLEU-1 counts.
        dictionaries: Word translations that switched tokens are judged by.
        seed: Random seed of built-in text and of masked positions.
    """

    model: str = "isoglot-mini"
    means: Path | None = None
    learn_from: int | None = None
    threshold: int | None = None
    options: TranslationOptions = DEFAULT_TRANSLATION
    dictionaries: JudgingDictionaries
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class JudgedSweeps:
    """Translations with some layers and alphas between one or more pairs of languages, with scores.

    Attributes:
        sweeps: One for each direction.
        depth: Depth of the encoder.
        known: Means and token sets that were used.
        remarks: What a reader of the scores should know, without what ``masked`` says.
        about: Model, means and leak check, as a JSON object.
        references: References of the first direction, if there are any, even if BLEU-1 is not available.
        used: How layer and alphas were chosen, if by :func:`translate_judged`.
        masked: Languages of predicted masked tokens, without a shift, by source language.
        choices: Layers and alphas that were stored with the means, by direction.
    """

    sweeps: list[Sweep]
    depth: int
    known: KnownLanguages
    remarks: list[str]
    about: dict[str, Any]
    references: Sequence[str] | None
    used: UsedShift | None = None
    masked: dict[str, MaskedLanguages] = field(default_factory=dict)
    choices: dict[str, ShiftChoice] = field(default_factory=dict)

    @property
    def sets(self) -> dict[str, Any]:
        """Threshold, text sizes, set sizes and overlaps of the token sets of the swept languages."""
        codes = dict.fromkeys(code for each in self.sweeps for code in (each.source, each.target))
        return self.known.sets.about(codes)


def _sweep_and_judge(
    encoder: EncoderLike,
    texts: Sequence[DirectedSentences],
    config: SteerConfig,
    layers: Layers,
    alphas: Sequence[float],
    *,
    choose: Callable[[LanguageMeans], UsedShift] | None = None,
    progress: Progress,
) -> JudgedSweeps:
    """Sweep each direction and score it; ``choose`` returns layer and alphas, given the means."""
    check_softmax(encoder)
    check_alphas(alphas)
    numbers = chosen_layers(layers, encoder.depth)
    entries = [config.dictionaries.entries(*text.codes, encoder) for text in texts]
    known = languages_known(
        encoder,
        config.means,
        list(dict.fromkeys(code for text in texts for code in text.codes)),
        model=config.model,
        layers=numbers,
        learn_from=config.learn_from,
        threshold=config.threshold,
        seed=config.seed,
        progress=progress,
    )
    used = None if choose is None else choose(known.means)
    if used is not None:
        numbers, alphas = chosen_layers([used.layer], encoder.depth), used.alphas
    no_bleu = None if texts[0].references is None else why_no_bleu()
    sweeps = [
        sweep_shifts(
            encoder,
            text.sentences,
            *text.codes,
            known.means,
            layers=numbers,
            alphas=alphas,
            sets=known.sets,
            references=None if no_bleu else text.references,
            dictionary=judges,
            options=config.options,
            progress=progress,
        )
        for text, judges in zip(texts, entries, strict=True)
    ]
    about = {"model": config.model, "means": known.origin, "left_out_known": config.dictionaries.left_out}
    return JudgedSweeps(
        sweeps=sweeps,
        depth=encoder.depth,
        known=known,
        remarks=[*config.dictionaries.remarks, *([no_bleu] if no_bleu else [])],
        about=about | {"leak_check": config.dictionaries.leak_check},
        references=sweeps[0].references or texts[0].references,  # a sweep's references of pairs are without labels
        used=used,
    )


def translate_judged(
    encoder: EncoderLike,
    text: DirectedSentences,
    config: SteerConfig,
    *,
    layer: int | None = None,
    alphas: Sequence[float] | None = None,
    progress: Progress = SILENT,
) -> JudgedSweeps:
    """Translate sentences of one language token by token, and score the result.

    Args:
        encoder: Any encoder with a language modeling head.
        text: The sentences, their languages, and references if there are any.
        config: Means, options and dictionaries.
        layer: Layer of the shift. Default: as measured with the means, else the last but one.
        alphas: Lengths of the shift. Default: as measured with the means, else 1 and 2.
        progress: Reports progress.

    Raises:
        ConfigError: A language has no mean, a layer does not exist, an alpha is given twice, or the dictionaries do not
            have these languages.
        InputError: A sentence is empty, or a dictionary contains words that training was given.
    """
    if config.dictionaries.files and config.dictionaries.read(*text.codes) is None:
        pair = "-".join(text.codes)
        raise ConfigError(f"no dictionary of {pair}", f"give one of {pair}", "missing-data")

    def choose(means: LanguageMeans) -> UsedShift:
        return shift_to_use(means, *text.codes, kind=config.options.shift.kind, layer=layer, alphas=alphas)

    layers, given = [FALLBACK_LAYER if layer is None else layer], FALLBACK_ALPHAS if alphas is None else alphas
    return _sweep_and_judge(encoder, [text], config, layers, given, choose=choose, progress=progress)


def sweep_judged(
    encoder: EncoderLike,
    texts: Sequence[DirectedSentences],
    config: SteerConfig,
    *,
    layers: Layers = "all",
    alphas: Sequence[float] | None = None,
    save_choice: str | None = None,
    progress: Progress = SILENT,
) -> JudgedSweeps:
    """Translate with every layer and alpha in each direction, and score every cell.

    Args:
        encoder: Any encoder with a language modeling head.
        texts: Sentences of each direction with their references.
        config: Means, options and dictionaries.
        layers: Layers of the shift, one at a time.
        alphas: Lengths of the shift. Default: :data:`SWEEP_ALPHAS`.
        save_choice: Store the best layer and alpha of each direction with the means; a description of the sentences.
        progress: Reports progress.

    Raises:
        ConfigError: A language has no mean, a layer does not exist, an alpha is given twice, or a choice cannot be
            stored.
        InputError: A sentence is empty, or a dictionary contains words that training was given.
    """
    if save_choice is not None and config.means is None:
        problem = "a choice is stored with means, and none are given"
        raise ConfigError(problem, "name the folder that isoglot steer fit wrote", "missing-option")
    found = _sweep_and_judge(
        encoder, texts, config, layers, SWEEP_ALPHAS if alphas is None else alphas, progress=progress
    )
    masked = {}
    for text in texts if encoder.depth else ():  # static vectors predict nothing from the context
        lines, code = [line.partition("\t")[0] for line in text.sentences], text.codes[0]
        masked[code] = masked_languages(encoder, lines, code, found.known.sets, seed=config.seed, progress=progress)
    if save_choice is None or config.means is None:
        return replace(found, masked=masked)
    choices, without = choose_shifts(found.sweeps, text=save_choice, folder=config.means)
    return replace(found, masked=masked, choices=choices, remarks=[*found.remarks, *without])
