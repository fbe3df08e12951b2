"""Judged token translation with isoglot's defaults: which means, sentences and dictionaries, and what is refused.

:func:`translate_judged` is ``isoglot steer translate``, :func:`sweep_judged` is ``isoglot steer sweep`` and
:func:`compare_erasers` is ``isoglot steer erase``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, check_name
from isoglot.core.progress import SILENT
from isoglot.represent.layer_pass import chosen_layers
from isoglot.steer.bleu import why_no_bleu
from isoglot.steer.decoding_protocol import DEFAULT_TRANSLATION
from isoglot.steer.language_files import choose_shifts, languages_known
from isoglot.steer.masked_decoding import masked_languages
from isoglot.steer.shift_choice import FALLBACK_LAYER, shift_to_use
from isoglot.steer.shifted_pass import check_alphas, check_softmax
from isoglot.steer.sweep import sweep_shifts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.represent.layer_pass import Layers
    from isoglot.steer.decoding_protocol import TranslationOptions
    from isoglot.steer.erasers.eraser import Eraser
    from isoglot.steer.erasers.trade_off import TradeOff
    from isoglot.steer.judging import DirectedSentences, JudgingDictionaries
    from isoglot.steer.language_files import KnownLanguages
    from isoglot.steer.masked_decoding import MaskedLanguages
    from isoglot.steer.shift_choice import ShiftChoice, UsedShift
    from isoglot.steer.sweep import Sweep

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

    def known(
        self, encoder: EncoderLike, languages: Sequence[str], layers: Layers, progress: Progress
    ) -> KnownLanguages:
        """Means and token sets of some languages."""
        return languages_known(
            encoder,
            self.means,
            languages,
            model=self.model,
            layers=layers,
            learn_from=self.learn_from,
            threshold=self.threshold,
            seed=self.seed,
            progress=progress,
        )

    def judging(self, known: KnownLanguages) -> dict[str, Any]:
        """What results were judged by, as a JSON object."""
        return {
            "model": self.model,
            "means": known.origin,
            "left_out_known": self.dictionaries.left_out,
            "leak_check": self.dictionaries.leak_check,
        }


@dataclass(frozen=True, kw_only=True)
class JudgedTranslation:
    """Sentences translated with one or more alphas, with scores.

    Attributes:
        sweep: Translations and scores by alpha.
        references: Reference translations, if there are any, even if BLEU-1 is not available.
        known: Means and token sets that were used.
        used: Layer and alphas, and how they were chosen.
        remarks: What a reader of the scores should know.
        about: Model, means and leak check, as a JSON object.
    """

    sweep: Sweep
    references: Sequence[str] | None
    known: KnownLanguages
    used: UsedShift
    remarks: list[str]
    about: dict[str, Any]


def translate_judged(
    encoder: EncoderLike,
    text: DirectedSentences,
    config: SteerConfig,
    *,
    layer: int | None = None,
    alphas: Sequence[float] | None = None,
    progress: Progress = SILENT,
) -> JudgedTranslation:
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
    check_softmax(encoder)
    check_alphas([0.0] if alphas is None else alphas)
    chosen_layers([FALLBACK_LAYER if layer is None else layer], encoder.depth)
    if config.dictionaries.files and config.dictionaries.read(*text.codes) is None:
        pair = "-".join(text.codes)
        raise ConfigError(f"no dictionary of {pair}", remedy=f"give one of {pair}", code="config.missing-data")
    entries = config.dictionaries.entries(*text.codes, encoder)
    known = config.known(encoder, text.codes, [FALLBACK_LAYER if layer is None else layer], progress)
    used = shift_to_use(known.means, *text.codes, kind=config.options.shift.kind, layer=layer, alphas=alphas)
    no_bleu = None if text.references is None else why_no_bleu()
    sweep = sweep_shifts(
        encoder,
        text.sentences,
        *text.codes,
        known.means,
        layers=[used.layer],
        alphas=used.alphas,
        sets=known.sets,
        references=None if no_bleu else text.references,
        dictionary=entries,
        options=config.options,
        progress=progress,
    )
    return JudgedTranslation(
        sweep=sweep,
        references=sweep.references or text.references,  # a sweep's references of pairs are without labels
        known=known,
        used=used,
        remarks=[*config.dictionaries.remarks, *([no_bleu] if no_bleu else [])],
        about=config.judging(known),
    )


@dataclass(frozen=True, kw_only=True)
class JudgedSweeps:
    """Sweeps over layers and alphas between several languages, with scores.

    Attributes:
        sweeps: One for each direction.
        depth: Depth of the encoder.
        masked: Languages of predicted masked tokens, without a shift, by source language.
        choices: Layers and alphas that were stored with the means, by direction.
        known: Means and token sets that were used.
        remarks: What a reader of the scores should know, without what ``masked`` says.
        about: Model, means and leak check, as a JSON object.
    """

    sweeps: list[Sweep]
    depth: int
    masked: dict[str, MaskedLanguages]
    choices: dict[str, ShiftChoice] = field(default_factory=dict)
    known: KnownLanguages
    remarks: list[str]
    about: dict[str, Any]

    @property
    def sets(self) -> dict[str, Any]:
        """Threshold, text sizes, set sizes and overlaps of the token sets of the swept languages."""
        codes = dict.fromkeys(code for each in self.sweeps for code in (each.source, each.target))
        return self.known.sets.about(codes)


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
        raise ConfigError(
            "a choice is stored with means, and none are given",
            remedy="name the folder that isoglot steer fit wrote",
            code="config.missing-option",
        )
    alphas = SWEEP_ALPHAS if alphas is None else alphas
    check_softmax(encoder)
    check_alphas(alphas)
    numbers = chosen_layers(layers, encoder.depth)
    entries = [config.dictionaries.entries(*text.codes, encoder) for text in texts]
    codes = list(dict.fromkeys(code for text in texts for code in text.codes))
    known = config.known(encoder, codes, list(numbers), progress)
    no_bleu = why_no_bleu()
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
    masked = {}
    for text in texts if encoder.depth else ():  # static vectors predict nothing from the context
        lines = [line.partition("\t")[0] for line in text.sentences]
        code = text.codes[0]
        masked[code] = masked_languages(encoder, lines, code, known.sets, seed=config.seed, progress=progress)
    choices = {}
    if save_choice is not None and config.means is not None:
        choices = choose_shifts(sweeps, text=save_choice, folder=config.means)
    return JudgedSweeps(
        sweeps=sweeps,
        depth=encoder.depth,
        masked=masked,
        choices=choices,
        known=known,
        remarks=[*config.dictionaries.remarks, *([no_bleu] if no_bleu else [])],
        about=config.judging(known),
    )


EraserName = Literal["best", "mean-removal", "lir", "lsar", "leace"]
"""``best``: the one with the best harmonic mean, with the least change among ties."""
_ERASERS = {"mean-removal": "mean removal", "lir": "LIR", "lsar": "LSAR", "leace": "LEACE"}


@dataclass(frozen=True, kw_only=True)
class EraserComparison:
    """Trade-offs of all erasers in each layer, and the eraser to use.

    Attributes:
        layers: The trade-off in each layer.
        best: That of the best layer.
        name: The eraser to use in that layer.
        eraser: The eraser, fitted on all sentences.
    """

    layers: list[TradeOff]
    best: TradeOff
    name: str
    eraser: Eraser


def compare_erasers(
    vectors: Mapping[str, Representations],
    *,
    eraser: EraserName = "best",
    alphas: Sequence[float] = (1.0,),
    pivot: str | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Progress = SILENT,
) -> EraserComparison:
    """Measure the trade-off of all erasers in each layer, and fit one in the best layer.

    Args:
        vectors: Parallel sentences in two languages or more, from :func:`isoglot.represent.extract`.
        eraser: Which one to fit.
        alphas: Lengths of the shift that erasers are compared with.
        pivot: The language that the shift moves all others to. Default: the first.
        folds: Number of cross-validation folds.
        seed: Random seed of the folds.
        progress: Reports progress.

    Raises:
        ConfigError: The eraser or pivot does not exist, or there is only one language.
        InputError: The languages have different numbers of sentences, or too few.
    """
    from isoglot.steer.erasers.trade_off import default_erasers, labeled, trade_offs

    check_name("eraser", eraser, ("best", *_ERASERS))
    found = trade_offs(vectors, alphas=alphas, pivot=pivot, folds=folds, seed=seed, progress=progress)
    best = max(found, key=lambda each: each.best.rank)
    names = _ERASERS.values() if eraser == "best" else [_ERASERS[eraser]]
    name = max(names, key=lambda name: best.of(name).rank)
    layer = next(iter(vectors.values())).layers[found.index(best)]
    rows = {code: each[layer] for code, each in vectors.items()}
    return EraserComparison(layers=found, best=best, name=name, eraser=default_erasers()[name].fit(*labeled(rows)))
