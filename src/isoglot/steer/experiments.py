"""Judged token translation with isoglot's defaults: which means, sentences and dictionaries, and what is refused.

:func:`translate_judged` is ``isoglot steer translate``, :func:`sweep_judged` is ``isoglot steer sweep`` and
:func:`compare_erasers` is ``isoglot steer erase``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, check_name
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.steer.bleu import why_no_bleu
from isoglot.steer.decoding_protocol import DEFAULT_TRANSLATION, TranslationOptions
from isoglot.steer.language_files import KnownLanguages, choose_shifts, languages_known
from isoglot.steer.masked_decoding import MaskedLanguages, masked_languages
from isoglot.steer.shift_choice import FALLBACK_ALPHAS, FALLBACK_LAYER, ShiftChoice, UsedShift, shift_to_use
from isoglot.steer.shifted_pass import check_alphas, check_softmax
from isoglot.steer.sweep import Sweep, sweep_shifts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.steer.erasers.eraser import Eraser
    from isoglot.steer.erasers.trade_off import TradeOff, TradeOffConfig
    from isoglot.steer.judging import DirectedSentences, JudgingDictionaries
    from isoglot.steer.means import LanguageMeans

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


def _judged(
    encoder: EncoderLike,
    texts: Sequence[DirectedSentences],
    config: SteerConfig,
    layers: Layers,
    alphas: Sequence[float],
    *,
    choose: Callable[[LanguageMeans], UsedShift] | None = None,
    progress: Progress,
) -> JudgedSweeps:
    """Sweep each direction; ``choose`` gives the layer and alphas by the means, once these are known."""
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
    return _judged(encoder, [text], config, layers, given, choose=choose, progress=progress)


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
            "name the folder that isoglot steer fit wrote",
            "missing-option",
        )
    found = _judged(encoder, texts, config, layers, SWEEP_ALPHAS if alphas is None else alphas, progress=progress)
    masked = {}
    for text in texts if encoder.depth else ():  # static vectors predict nothing from the context
        lines, code = [line.partition("\t")[0] for line in text.sentences], text.codes[0]
        masked[code] = masked_languages(encoder, lines, code, found.known.sets, seed=config.seed, progress=progress)
    choices = {}
    if save_choice is not None and config.means is not None:
        choices = choose_shifts(found.sweeps, text=save_choice, folder=config.means)
    return replace(found, masked=masked, choices=choices)


EraserName = Literal["best", "mean-removal", "lir", "lsar", "inlp", "leace"]
"""``best``: the one with the best harmonic mean, with the least change among ties."""
_ERASERS = {"mean-removal": "mean removal", "lir": "LIR", "lsar": "LSAR", "inlp": "INLP", "leace": "LEACE"}


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
    config: TradeOffConfig,
    *,
    eraser: EraserName = "best",
    progress: Progress = SILENT,
) -> EraserComparison:
    """Measure the trade-off of all erasers in each layer, and fit one in the best layer.

    Args:
        vectors: Parallel sentences in two languages or more, from :func:`isoglot.represent.extract`.
        config: Shifts that erasers are compared with, folds and random seed.
        eraser: Which one to fit.
        progress: Reports progress.

    Raises:
        ConfigError: The eraser or pivot does not exist, or there is only one language.
        InputError: The languages have different numbers of sentences, or too few.
    """
    from isoglot.steer.erasers.trade_off import default_erasers, labeled, trade_offs

    check_name("eraser", eraser, ("best", *_ERASERS))
    found = trade_offs(vectors, config, progress=progress)
    best = max(found, key=lambda each: each.best.rank)
    names = _ERASERS.values() if eraser == "best" else [_ERASERS[eraser]]
    name = max(names, key=lambda name: best.of(name).rank)
    layer = next(iter(vectors.values())).layers[found.index(best)]
    rows = {code: each[layer] for code, each in vectors.items()}
    return EraserComparison(layers=found, best=best, name=name, eraser=default_erasers()[name].fit(*labeled(rows)))
