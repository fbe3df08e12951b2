"""Language means: the mean and covariance of the tokens of a language in each layer of an encoder (Liu et al. 2020).

Special tokens are left out by default.

Shapes: ``L`` layers, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from isoglot.core.artifact import load_arrays, save_arrays
from isoglot.core.errors import ConfigError, CorruptFileError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.represent.moments import LanguageMoments, language_statistics
from isoglot.represent.representations import no_layer
from isoglot.retrieve.estimates import OtherText
from isoglot.steer.shift_choice import ShiftChoice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import PassOptions
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.shifted_decoding import Special

_KIND = "language means"
_OF_ENCODER = ("name", "encoder_sha256", "vocabulary_sha256", "depth", "hidden_size", "precision", "special")


@dataclass(frozen=True, repr=False)
class LanguageMeans:
    """Means, counts and optionally covariances of the tokens of each language, in some layers of an encoder.

    Args:
        moments: Moments by canonical language code, all of the same layers.
        about: Hashes of the encoder and its vocabulary, depth and hidden size.
        choices: Measured layer and alpha by direction (``en-de``).

    >>> from isoglot.model import load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> means = LanguageMeans.fit(encoder, {"en": ["He sleeps."], "de": ["Er schläft."]}, layers=[8])
    >>> means.languages
    ('en', 'de')
    """

    moments: dict[str, LanguageMoments]
    about: dict[str, Any]
    choices: dict[str, ShiftChoice] = field(default_factory=dict)

    def __repr__(self) -> str:
        model = self.about.get("name") or "an encoder"
        return f"LanguageMeans({', '.join(self.languages)}; layers {self.layers[0]} to {self.layers[-1]} of {model})"

    @classmethod
    def fit(
        cls,
        encoder: EncoderLike,
        texts: Mapping[str, Sentences],
        *,
        special: Special = "exclude",
        name: str = "",
        progress: Progress = SILENT,
        **options: Unpack[PassOptions],
    ) -> LanguageMeans:
        """Estimate the means from sentences, in one streaming pass per language.

        Args:
            encoder: Any encoder.
            texts: Sentences of each language, or a file with one per line.
            special: Whether ``[CLS]`` and ``[SEP]`` count as tokens of a language.
            name: Name of the encoder, stored with the means.
            progress: Reports progress.
            options: ``layers``, ``length``, ``batch_tokens`` and ``precision`` of the pass through the encoder
                (:class:`isoglot.represent.layer_pass.PassOptions`); sums are float64.

        Raises:
            ConfigError: There is no language, a duplicate, or a layer or language that the encoder does not have.
            InputError: A sentence is empty, or hidden states are not finite.
            StorageError: A file cannot be read.
        """
        if not texts:
            raise ConfigError("no language to estimate the mean of", "give sentences of at least one", "missing-data")
        moments: dict[str, LanguageMoments] = {}
        for given, sentences in texts.items():
            code = language_code(given)
            if code in moments:
                problem = f"the language {code} is given twice"
                raise ConfigError(problem, "give all of its sentences at once", "duplicate")
            options["language"] = code
            moments[code] = language_statistics(
                encoder, sentences, special=special, name=name, progress=progress, **options
            )
        first = next(iter(moments.values()))
        return cls(moments, {key: first.about[key] for key in _OF_ENCODER})

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages with a mean."""
        return tuple(self.moments)

    @property
    def layers(self) -> tuple[int, ...]:
        """Layers with means."""
        return next(iter(self.moments.values())).layers

    def choice(self, source: str, target: str) -> ShiftChoice | None:
        """Measured layer and alpha from one language to another; None if not measured."""
        return self.choices.get(f"{language_code(source)}-{language_code(target)}")

    def with_choices(self, choices: Mapping[str, ShiftChoice]) -> LanguageMeans:
        """Add measured layers and alphas."""
        return replace(self, choices={**self.choices, **choices})

    def count(self, language: str) -> int:
        """Number of tokens of a language."""
        return self._of(language).count

    def mean(self, language: str, layer: int) -> np.ndarray:
        """Mean of a language in a layer (D), float64.

        Raises:
            ConfigError: The language or layer has no mean.
        """
        return self._at(language, layer).mean(layer)

    def as_others(self) -> dict[str, dict[int | None, OtherText]]:
        """Means by language and layer, as estimates for retrieval (:mod:`isoglot.retrieve.estimates`)."""
        return {code: {layer: OtherText(self.mean(code, layer)) for layer in self.layers} for code in self.languages}

    def covariance(self, language: str, layer: int) -> np.ndarray:
        """Covariance of a language in a layer (D × D), float64.

        Raises:
            ConfigError: The language or layer has no mean, or covariances were not stored.
        """
        return self._at(language, layer).covariance(layer)

    def difference(self, source: str, target: str, layer: int) -> np.ndarray:
        """The target's mean minus the source's in a layer (D).

        Raises:
            ConfigError: A language or the layer has no mean.
        """
        difference_D: np.ndarray = self.mean(target, layer) - self.mean(source, layer)
        return difference_D

    def _at(self, language: str, layer: int) -> LanguageMoments:
        """Moments of a language, which have the layer."""
        moments = self._of(language)
        if layer not in self.layers:
            raise no_layer(layer, self.layers)
        return moments

    def check_encoder(
        self, encoder: EncoderLike, *, remedy: str = "estimate the means of this encoder, or allow those of another"
    ) -> None:
        """Check that the means belong to an encoder with these weights.

        Args:
            encoder: The encoder to use them with.
            remedy: Remedy in the error message.

        Raises:
            ConfigError: It does not match.
        """
        self.check_shape(encoder)
        known = self.about.get("encoder_sha256")
        if known is not None and known != (found := encoder_hash(encoder)):
            problem = f"the means are of another encoder ({known[:8]}, not {str(found)[:8]})"
            raise ConfigError(problem, remedy, "other-encoder")

    def check_shape(self, encoder: EncoderLike) -> None:
        """Check that an encoder has the same depth and hidden size.

        Raises:
            ConfigError: It does not match.
        """
        for key, found in (("depth", encoder.depth), ("hidden_size", encoder.hidden_size)):
            known = self.about.get(key, found)
            if known != found:
                problem = f"the means are of an encoder of {key} {known}, not {found}"
                raise ConfigError(problem, "estimate the means of this encoder", "other-encoder")

    def without_covariances(self) -> LanguageMeans:
        """Means and counts only, in float32: all that shifts need, at a hundredth of the size."""
        moments = {
            code: replace(each, means_LD=each.means_LD.astype(np.float32), covariances_LDD=None)
            for code, each in self.moments.items()
        }
        return replace(self, moments=moments)

    def for_rounded(self, encoder: EncoderLike, *, name: str = "") -> LanguageMeans:
        """The same means for a packed encoder, whose weights differ by rounding only.

        The hash of the original encoder is stored as ``learned_with``.

        Args:
            encoder: The packed encoder.
            name: Its name, stored with the means.

        Raises:
            ConfigError: Its depth or hidden size differs.
        """
        self.check_shape(encoder)
        found = encoder_hash(encoder)
        learned_with = self.about.get("learned_with", self.about.get("encoder_sha256"))
        about = {**self.about, "name": name, "encoder_sha256": found, "learned_with": learned_with}
        own = {"name": name, "encoder_sha256": found}
        moments = {code: replace(each, about={**each.about, **own}) for code, each in self.moments.items()}
        return replace(self, moments=moments, about=about)

    def save(self, path: str | Path) -> None:
        """Write to a ``.safetensors`` file.

        Raises:
            StorageError: It cannot be written.
        """
        arrays, languages = {}, {}
        for code, moments in self.moments.items():
            arrays[f"{code}.means"] = moments.means_LD
            if moments.covariances_LDD is not None:
                arrays[f"{code}.covariances"] = moments.covariances_LDD
            languages[code] = {"count": moments.count, "about": moments.about}
        facts = {
            "encoder": self.about,
            "layers": list(self.layers),
            "order": list(self.moments),
            "languages": languages,
            "choices": {way: choice.as_dict() for way, choice in self.choices.items()},
        }
        save_arrays(path, _KIND, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> LanguageMeans:
        """Read a file written by :meth:`save`.

        Raises:
            CorruptFileError: The file is damaged.
            InputError: It has another format.
            StorageError: It cannot be read.
        """
        facts, arrays = load_arrays(path, _KIND, remedy="create it with isoglot steer fit")
        try:
            layers = tuple(facts["layers"])
            moments = {}
            for code in facts["order"]:
                known = facts["languages"][code]
                means_LD, covariances_LDD = arrays[f"{code}.means"], arrays.get(f"{code}.covariances")
                moments[code] = LanguageMoments(layers, known["count"], means_LD, covariances_LDD, known["about"])
            choices = {way: ShiftChoice(**known) for way, known in facts.get("choices", {}).items()}
            return cls(moments, facts["encoder"], choices)
        except KeyError as error:
            raise CorruptFileError(f"no {error} in the file", "make it again", file=path) from error

    def _of(self, language: str) -> LanguageMoments:
        code = language_code(language)
        if code not in self.moments:
            raise ConfigError(f"there is no mean of {shown(code)}", nearest_name(code, self.moments), "unknown-name")
        return self.moments[code]
