"""Token translation: shift the hidden states of a sentence to another language and decode every position.

Liu et al. (2020) call it unsupervised token translation. Nothing is masked, and only two means are estimated.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from isoglot.core.display import Displayed
from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.steer.language_files import KnownLanguages, languages_known
from isoglot.steer.shift_choice import shift_to_use
from isoglot.steer.shifted_decoding import DEFAULT_TRANSLATION, Cell, Seconds, TranslationOptions, decode_shifted
from isoglot.steer.token_sets import TokenSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Kind
    from isoglot.vocab import Vocabulary

Belongs = Literal["source", "target", "both", "neither", "unknown"]
"""The language of a token: one only, both, or neither; unknown without token sets."""
_BELONGS: tuple[Belongs, ...] = ("neither", "source", "target", "both")


class Token(NamedTuple):
    """One position of a sentence."""

    given: str
    """the input token"""
    made: str
    """the decoded token"""
    begins: bool
    """whether it begins a word"""
    switched: bool
    """whether it is a token of the target and not of the source; without token sets, whether it changed"""
    belongs: Belongs


@dataclass(frozen=True, repr=False)
class Translation(Displayed):
    """Sentences decoded after a shift.

    Args:
        source: The language of the sentences.
        target: The language they were shifted to.
        layer: The layer of the shift.
        alpha: Length of the shift.
        kind: Kind of shift.
        given: Input ids of each sentence, without special tokens unless these are decoded.
        made: Decoded ids at the same positions.
        vocabulary: The vocabulary of the ids.
        sets: Tokens of each language; None if unknown.
        cut: Number of sentences truncated to the encoder's maximum length.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "text.txt"
    ...     _ = file.write_text("the house das Haus " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [file]}, mode="joint", size=300)
    >>> given, made = (np.array(vocabulary.encode(text)) for text in ("the house", "das Haus"))
    >>> Translation("en", "de", 7, 2.0, "mean", [given], [made], vocabulary)
    Translation(en to de, layer 7, alpha 2, 1 sentence: 'das Haus')
    """

    source: str
    target: str
    layer: int
    alpha: float
    kind: Kind
    given: list[np.ndarray]
    made: list[np.ndarray]
    vocabulary: Vocabulary
    sets: TokenSets | None = None
    cut: int = 0

    def __len__(self) -> int:
        return len(self.given)

    def __str__(self) -> str:
        """The translations, one per line."""
        return "\n".join(self.texts)

    def __repr__(self) -> str:
        first = textwrap.shorten(self.texts[0], 60, placeholder=" …") if self.given else ""
        way = f"{self.source} to {self.target}, layer {self.layer}, alpha {self.alpha:g}"
        return f"Translation({way}, {counted(len(self), 'sentences')}: {first!r})"

    @property
    def sources(self) -> list[str]:
        """The input, decoded by the vocabulary."""
        return [self.vocabulary.decode(ids) for ids in self.given]

    @cached_property
    def texts(self) -> list[str]:
        """The output as text."""
        return [self.vocabulary.decode(ids) for ids in self.made]

    @cached_property
    def switched(self) -> list[np.ndarray]:
        """Whether each decoded token is of the target only; without token sets, whether it changed."""
        if self.sets is None:
            return [made != given for given, made in zip(self.given, self.made, strict=True)]
        only_V = self.sets.only(self.target, but_not=self.source)
        return [only_V[made] for made in self.made]

    def tokens(self, sentence: int) -> list[Token]:
        """One sentence, position by position, for display."""
        vocabulary, made = self.vocabulary, self.made[sentence]
        if self.sets is None:
            whose: list[Belongs] = ["unknown"] * len(made)
        else:
            numbers = self.sets.mask(self.source)[made] + 2 * self.sets.mask(self.target)[made].astype(int)
            whose = [_BELONGS[number] for number in numbers.tolist()]
        return [
            Token(*pair)
            for pair in zip(
                (vocabulary.decode([index]) for index in self.given[sentence]),
                (vocabulary.decode([index]) for index in made),
                vocabulary.starts[made].tolist(),
                self.switched[sentence].tolist(),
                whose,
                strict=True,
            )
        ]


def translate(
    text: str | Sequence[str],
    source: str,
    target: str,
    *,
    model: str = "isoglot-mini",
    alpha: float | None = None,
    layer: int | None = None,
    device: str = "auto",
) -> Translation:
    """Translate token by token: shift the hidden states to another language and decode every position.

    The model and its language means are loaded once and kept for later calls. For other means, token sets or kinds of
    shift see :func:`translate_tokens`.

    >>> print(translate("The government must protect all citizens.", "en", "de"))
    Die Regierung muss Schutz alle Bürger.

    Args:
        text: A sentence, or several.
        source: Their language.
        target: The language to shift to.
        model: ``isoglot-mini``, a folder or a hub name. Means that are not stored with it are estimated from built-in
            text.
        alpha: Length of the shift as a multiple of the difference of the means; default: as measured for these
            languages, else 1.
        layer: Layer at which states are shifted; default: as measured for these languages, else the last but one.
        device: Device to compute on.

    Returns:
        The texts, with the shift that was applied; ``str`` of it is the first text.

    Raises:
        ConfigError: A language has no mean and no built-in text, or the layer does not exist.
        InputError: A sentence is empty.
        StorageError: The model cannot be read.
    """
    encoder = _loaded(model, device)
    known = _known(model, device, frozenset((language_code(source), language_code(target))))
    sentences = [text] if isinstance(text, str) else list(text)
    return translate_tokens(encoder, sentences, source, target, known.means, alpha=alpha, layer=layer, sets=known.sets)


@lru_cache(maxsize=2)
def _loaded(model: str, device: str) -> EncoderLike:
    from isoglot.model import load_encoder

    return load_encoder(model, device=device)


@lru_cache(maxsize=16)
def _known(model: str, device: str, languages: frozenset[str]) -> KnownLanguages:
    return languages_known(_loaded(model, device), None, sorted(languages), model=model)


def translate_tokens(
    encoder: EncoderLike,
    sentences: Sentences,
    source: str,
    target: str,
    means: LanguageMeans,
    *,
    alpha: float | None = None,
    layer: int | None = None,
    sets: TokenSets | None = None,
    options: TranslationOptions = DEFAULT_TRANSLATION,
    progress: Progress = SILENT,
) -> Translation:
    """Shift sentences to another language and decode every position: one cell of :func:`translate_grid`.

    Args:
        encoder: Any encoder with a language modeling head.
        sentences: Texts, or a file with one per line.
        source: Their language.
        target: The language to shift to.
        means: Language means of the encoder.
        alpha: Length of the shift as a multiple of the difference of the means; negative values shift away from the
            target. Default: as measured for these languages (:attr:`LanguageMeans.choices`), else 1.
        layer: Layer at which states are shifted; negative numbers count from the end. Default: as measured, else the
            last but one, the paper's 11 of 12.
        sets: Tokens of each language. Default: by the text the vocabulary was trained on, if that is recorded.
        options: Kind of shift, positions, input and decoded positions.
        progress: Reports progress.

    Returns:
        The texts and their tokens, with the layer and alpha.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> means = isoglot.bundled_means()
    >>> found = translate_tokens(encoder, ["The house is old."], "en", "de", means)
    >>> len(found.texts)
    1

    Raises:
        ConfigError: A language has no mean or no token set, a layer does not exist, or an option is invalid.
        InputError: There is no sentence, or one is empty.
        StorageError: The file cannot be read.
    """
    asked = None if alpha is None else [alpha]
    used = shift_to_use(means, source, target, kind=options.shift.kind, layer=layer, alphas=asked, fallback=[1.0])
    given = encoder, sentences, source, target, means
    found, _ = translate_grid(
        *given, layers=[used.layer], alphas=used.alphas, sets=sets, options=options, progress=progress
    )
    (translation,) = found.values()
    return translation


def translate_grid(
    encoder: EncoderLike,
    sentences: Sentences,
    source: str,
    target: str,
    means: LanguageMeans,
    *,
    layers: Layers,
    alphas: Sequence[float],
    sets: TokenSets | None = None,
    options: TranslationOptions = DEFAULT_TRANSLATION,
    progress: Progress = SILENT,
) -> tuple[dict[Cell, Translation], Seconds]:
    """Translate with every layer and alpha; arguments are those of :func:`translate_tokens`.

    Returns:
        The translations by layer and alpha, and the time they took.
    """
    sets = known_sets(encoder.vocabulary, sets, source, target)
    if options.shift.shared_alpha is not None and options.shift.shared is None:
        if sets is None:
            raise unknown_tokens()
        options = replace(options, shift=replace(options.shift, shared=sets.shared(source, target).tolist()))
    given = encoder, sentences, source, target, means
    decoded = decode_shifted(*given, layers=layers, alphas=alphas, options=options, progress=progress)
    about = language_code(source), language_code(target)
    translations = {
        cell: Translation(*about, *cell, options.shift.kind, decoded.given, made, encoder.vocabulary, sets, decoded.cut)
        for cell, made in decoded.made.items()
    }
    return translations, decoded.seconds


def known_sets(vocabulary: Vocabulary, sets: TokenSets | None, source: str, target: str) -> TokenSets | None:
    """The token sets to use: those given, else the vocabulary's if it has both languages, else None.

    Raises:
        ConfigError: Given token sets lack a language, have no token of one, or belong to another vocabulary.
    """
    if sets is None:
        found = TokenSets.from_vocabulary(vocabulary)
        both = found is not None and {language_code(source), language_code(target)} <= set(found.languages)
        return found if both else None
    sets.check_vocabulary(vocabulary)
    sets.check_known((source, target))
    return sets


def unknown_tokens() -> ConfigError:
    """The error where token sets are needed and missing."""
    return ConfigError("the tokens of each language are not known", "give token sets", "missing-data")
