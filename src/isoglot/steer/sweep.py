"""Sweep of a shift over layers and alphas, with scores of every cell.

The layers below a shift are computed once for all alphas, each layer from the one before it. A cell equals exactly what
:func:`translate_tokens` and :func:`score_translation` give for it alone.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from isoglot.core.display import Displayed
from isoglot.core.errors import ConfigError, check_name
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.steer.bleu import Bleu, bleu_1, bleu_of_parts, bleu_parts, check_references
from isoglot.steer.scores import MIN_JUDGED, Dictionary, Judge, Scores, scored
from isoglot.steer.shifted_decoding import (
    DEFAULT_TRANSLATION,
    PROTOCOLS,
    Cell,
    Seconds,
    TranslationOptions,
    TranslationProtocol,
    two_columns,
)
from isoglot.steer.token_translation import Translation, known_sets, translate_grid, unknown_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Kind
    from isoglot.steer.token_sets import TokenSets

Figure = Literal["convert_rate", "bleu", "headline", "precision", "begun", "neither", "distinct", "kept", "harmonic"]
"""A score of a cell; see :class:`Scores`."""
ALPHAS = (1.0, 2.0, 3.0)
"""The alphas of Liu et al. (2020)."""
_OF_JUDGED = ("precision", "begun", "headline")
_RESAMPLES = 1000


@dataclass(frozen=True, repr=False)
class Sweep(Displayed):
    """Result of a sweep.

    Args:
        source: The language of the sentences.
        target: The language they were shifted to.
        kind: Kind of shift.
        layers: The layers, ascending.
        alphas: The alphas, as given.
        scores: Scores of each cell.
        translations: Decoded sentences of each cell.
        seconds: Time by stage.
        references: Reference translations, if given.
        source_bleu: BLEU-1 of the unchanged source.
        protocol: Input, decoded positions, and the tokens that BLEU-1 counts.
    """

    source: str
    target: str
    kind: Kind
    layers: tuple[int, ...]
    alphas: tuple[float, ...]
    scores: dict[Cell, Scores]
    translations: dict[Cell, Translation] = field(repr=False)
    seconds: Seconds
    references: Sequence[str] | None = field(default=None, repr=False)
    source_bleu: Bleu | None = None
    protocol: TranslationProtocol = PROTOCOLS["default"]

    def __repr__(self) -> str:
        layers, alphas = (", ".join(f"{one:g}" for one in each) for each in (self.layers, self.alphas))
        return f"Sweep({self.source} to {self.target}; layers {layers}; alphas {alphas})"

    def value(self, figure: Figure, layer: int, alpha: float) -> float | None:
        """A score of a cell; None if unknown.

        Raises:
            ConfigError: The score or cell does not exist.
        """
        check_name("figure", figure, get_args(Figure))
        cell = Cell(layer, float(alpha))
        if cell not in self.scores:
            problem = f"no cell of layer {layer} and alpha {alpha:g}"
            raise ConfigError(problem, f"layers are {list(self.layers)}, alphas {list(self.alphas)}", "unknown-layer")
        found = self.scores[cell]
        if figure == "bleu":
            return None if found.bleu is None else found.bleu.score
        value: float | None = getattr(found, figure)
        return value

    def grid(self, figure: Figure) -> np.ndarray:
        """A score of all cells (layers × alphas); ``nan`` if unknown."""
        rows = [[self.value(figure, layer, alpha) for alpha in self.alphas] for layer in self.layers]
        return np.array([[np.nan if value is None else value for value in row] for row in rows])

    def best(self, figure: Figure) -> tuple[Cell, float] | None:
        """The cell with the highest score, the first among ties; None if no score is above 0.

        For ``precision``, ``begun`` and ``headline``, cells with fewer than :data:`MIN_JUDGED` judged tokens are
        skipped.
        """
        known = [
            (cell, value)
            for cell, scores in self.scores.items()
            if (value := self.value(figure, cell.layer, cell.alpha))
            and (figure not in _OF_JUDGED or (scores.judged or 0) >= MIN_JUDGED)
        ]
        return max(known, key=lambda one: one[1], default=None)

    def has(self, figure: Figure) -> bool:
        """Whether any cell has a score."""
        return any(self.value(figure, cell.layer, cell.alpha) is not None for cell in self.scores)

    def interval(self, figure: Literal["convert_rate", "bleu"], layer: int, alpha: float) -> tuple[float, float] | None:
        """Bootstrap 95 % confidence interval of a score over sentences; None if unknown."""
        if self.value(figure, layer, alpha) is None:
            return None
        translation = self.translations[Cell(layer, float(alpha))]
        draws_MN = random_stream(0, "sweep intervals").integers(len(translation), size=(_RESAMPLES, len(translation)))
        if figure == "bleu":
            texts, tokens = (translation.texts, self.references or (), self.target), self.protocol.bleu_tokens
            parts_N3 = bleu_parts(*texts, tokens=tokens, vocabulary=translation.vocabulary)
            values_M = bleu_of_parts(parts_N3[draws_MN].sum(axis=1))
        else:
            switched_M, all_M = self.converted(layer, alpha)[draws_MN].sum(axis=1).T
            values_M = switched_M / np.maximum(all_M, 1)
        low, high = np.percentile(values_M, (2.5, 97.5))
        return float(low), float(high)

    def converted(self, layer: int, alpha: float) -> np.ndarray:
        """Number of target-only tokens and of tokens not shared by both languages, per sentence (N × 2).

        The convert rate is the ratio of their sums.
        """
        source_V, target_V = self._masks()
        return self._counts(layer, alpha, target_V & ~source_V, ~(source_V & target_V))

    def outside(self, layer: int, alpha: float) -> np.ndarray:
        """Number of tokens of neither language and of all tokens, per sentence (N × 2)."""
        source_V, target_V = self._masks()
        return self._counts(layer, alpha, ~(source_V | target_V), np.ones_like(source_V))

    def _masks(self) -> tuple[np.ndarray, np.ndarray]:
        first = next(iter(self.translations.values()))
        assert first.sets is not None  # noqa: S101 - a sweep has them
        return first.sets.mask(first.source), first.sets.mask(first.target)

    def _counts(self, layer: int, alpha: float, *masks: np.ndarray) -> np.ndarray:
        """Tokens of each sentence in two masks, without special tokens."""
        translation = self.translations[Cell(layer, float(alpha))]
        special = sorted(set(translation.vocabulary.special.values()) - {translation.vocabulary.unknown_id})
        counted_V2 = np.stack(masks, axis=1)
        counted_V2[special] = False
        return np.array([counted_V2[made].sum(axis=0) for made in translation.made], dtype=np.float64)

    @property
    def signature(self) -> str | None:
        """Signature of BLEU-1; None without references."""
        bleu = next(iter(self.scores.values())).bleu
        return None if bleu is None else bleu.signature

    def about_sets(self) -> dict[str, Any]:
        """Threshold, text size, sizes and overlap of the token sets."""
        sets = next(iter(self.translations.values())).sets
        return {} if sets is None else sets.about((self.source, self.target))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the translations as a JSON object."""
        best = {}
        for figure in ("convert_rate", "bleu", "headline", "harmonic"):
            found = self.best(figure)
            if found is not None:
                best[figure] = {"layer": found[0].layer, "alpha": found[0].alpha, "value": found[1]}
        first = next(iter(self.translations.values()))
        return {
            "source": self.source,
            "target": self.target,
            "kind": self.kind,
            "sentences": len(first),
            "cut": first.cut,
            "layers": list(self.layers),
            "alphas": list(self.alphas),
            "token_sets": self.about_sets(),
            "protocol": asdict(self.protocol),
            "bleu_signature": self.signature,
            "source_bleu": None if self.source_bleu is None else self.source_bleu.score,
            "best": best,
            "cells": [{**cell._asdict(), **found.as_dict()} for cell, found in self.scores.items()],
            "seconds": asdict(self.seconds),
        }


def sweep_shifts(
    encoder: EncoderLike,
    sentences: Sentences,
    source: str,
    target: str,
    means: LanguageMeans,
    *,
    layers: Layers = "all",
    alphas: Sequence[float] = ALPHAS,
    sets: TokenSets | None = None,
    references: Sequence[str] | None = None,
    dictionary: Dictionary | None = None,
    options: TranslationOptions = DEFAULT_TRANSLATION,
    progress: Progress = SILENT,
) -> Sweep:
    """Translate sentences with every layer and alpha, and score each.

    Args:
        encoder: Any encoder with a language modeling head.
        sentences: Texts, or a file with one per line.
        source: Their language.
        target: The language to shift to.
        means: Language means of the encoder.
        layers: Layers at which states are shifted, one at a time; 0 is the embeddings.
        alphas: Lengths of the shift; negative ones shift away from the target.
        sets: Tokens of each language. Default: by the text the vocabulary was trained on.
        references: Translations of the sentences, for BLEU-1.
        dictionary: Word translations from source to target, for precision and headline.
        options: Kind of shift, positions, input, decoded positions, and the tokens that BLEU-1 counts.
        progress: Reports progress.

    Returns:
        Scores of every cell, with the translations.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> given = encoder, ["The house is old."], "en", "de", isoglot.bundled_means()
    >>> sweep = sweep_shifts(*given, layers=[7], alphas=[1, 2])
    >>> sweep
    Sweep(en to de; layers 7; alphas 1, 2)
    >>> sweep.grid("convert_rate").shape
    (1, 2)

    Raises:
        ConfigError: As :func:`translate_tokens`; or the tokens of each language are not known.
        InputError: There is no sentence, one is empty, the dictionary is empty, or the number of references differs.
        MissingPartError: There are references and sacrebleu is not installed.
    """
    if known_sets(encoder.vocabulary, sets, source, target) is None:
        raise unknown_tokens()
    if references is not None and not isinstance(sentences, str) and hasattr(sentences, "__len__"):
        check_references(len(sentences), len(references))
    given = encoder, sentences, source, target, means
    translations, seconds = translate_grid(
        *given, layers=layers, alphas=alphas, sets=sets, options=options, progress=progress
    )
    first = next(iter(translations.values()))
    begin = time.perf_counter()
    protocol = options.protocol
    source_bleu, counted = None, protocol.bleu_tokens
    if references is not None:
        if protocol.reads == "pairs":
            references = [" ".join(two_columns(line) or [line]) for line in references]
        source_bleu = bleu_1(first.sources, references, first.target, tokens=counted, vocabulary=first.vocabulary)
    judge = None if dictionary is None else Judge(first.vocabulary, first.given, dictionary, first.target)
    with progress.task("score", total=len(translations), unit="cells") as task:
        scores = {}
        for cell, translation in translations.items():
            scores[cell] = scored(translation, judge=judge, references=references, bleu_tokens=counted)
            task.advance()
    seconds.scoring = time.perf_counter() - begin
    return Sweep(
        first.source,
        first.target,
        first.kind,
        tuple(dict.fromkeys(cell.layer for cell in scores)),
        tuple(dict.fromkeys(cell.alpha for cell in scores)),
        scores,
        translations,
        seconds,
        references,
        source_bleu,
        protocol,
    )
