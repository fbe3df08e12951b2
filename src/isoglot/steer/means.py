"""What a language is in an encoder, to a first approximation: the mean of its tokens in each layer, and their spread.

Liu et al. 2020 call it the mean of language. Special tokens are no tokens of a language and left out, unless asked for.

Shapes: ``L`` layers, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.artifact import load_arrays, save_arrays
from isoglot.core.errors import ConfigError, CorruptFileError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.represent.moments import LanguageMoments, language_statistics
from isoglot.retrieve.estimates import OtherText
from isoglot.steer.measured_shifts import ShiftChoice, read_choices

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers, Precision
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.decoding_protocol import Special

_KIND = "language means"
_OF_ENCODER = ("name", "encoder_sha256", "vocabulary_sha256", "depth", "hidden_size", "precision", "special")


@dataclass(frozen=True, repr=False)
class LanguageMeans:
    """Mean, number and, unless left out, covariance of the tokens of each language, in some layers of one encoder.

    Args:
        moments: Those of each language, under its canonical code; all of the same layers.
        about: The encoder: its hash, its vocabulary's, depth and width.
        choices: The layer and alpha that were measured to suit, from one language to another (``en-de``).
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
        layers: Layers = "all",
        length: int | None = None,
        batch_tokens: int | None = None,
        precision: Precision = "float32",
        special: Special = "exclude",
        name: str = "",
        progress: Progress = SILENT,
    ) -> LanguageMeans:
        """Learn from sentences of each language, in one streaming pass over each.

        Args:
            encoder: Any encoder.
            texts: The sentences of each language, or a file with one a line.
            layers: Which layers: ``all``, or numbers; 0 is the embeddings, -1 the last.
            length: Tokens of a row at most; by default the encoder's, and 512 at most.
            batch_tokens: Tokens of a batch, padding included; by default what suits the device.
            precision: What the encoder computes in; sums are float64.
            special: Whether ``[CLS]`` and ``[SEP]`` count as tokens of a language.
            name: The encoder's name, to be kept with them.
            progress: Shows how far it is.

        Raises:
            ConfigError: No language, one that is named twice, or what the encoder does not have.
            InputError: A sentence is empty, or the encoder gives something that is no number.
            StorageError: A file cannot be read.
        """
        if not texts:
            raise ConfigError(
                "no language to learn the mean of", remedy="give sentences of at least one", code="config.missing-data"
            )
        moments: dict[str, LanguageMoments] = {}
        for given, sentences in texts.items():
            code = language_code(given)
            if code in moments:
                raise ConfigError(
                    f"the language {code} is given twice",
                    remedy="give all of its sentences at once",
                    code="config.duplicate",
                )
            moments[code] = language_statistics(
                encoder,
                sentences,
                layers=layers,
                language=code,
                length=length,
                batch_tokens=batch_tokens,
                precision=precision,
                special=special,
                name=name,
                progress=progress,
            )
        first = next(iter(moments.values()))
        return cls(moments, {key: first.about[key] for key in _OF_ENCODER})

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have a mean."""
        return tuple(self.moments)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers they were learned in."""
        return next(iter(self.moments.values())).layers

    def choice(self, source: str, target: str) -> ShiftChoice | None:
        """The layer and alpha that were measured to suit from one language to another; None where none were."""
        return self.choices.get(f"{language_code(source)}-{language_code(target)}")

    def with_choices(self, choices: Mapping[str, ShiftChoice]) -> LanguageMeans:
        """The same means with what was chosen with them, beside what was chosen before."""
        return replace(self, choices={**self.choices, **choices})

    def count(self, language: str) -> int:
        """How many tokens the mean of a language is of."""
        return self._of(language).count

    def mean(self, language: str, layer: int) -> np.ndarray:
        """The mean of a language in a layer (D), float64.

        Raises:
            ConfigError: The language has no mean, or the layer was not learned.
        """
        moments = self._of(language)
        self.check_layer(layer)
        return moments.mean(layer)

    def as_others(self) -> dict[str, dict[int | None, OtherText]]:
        """The means by language and layer, to be removed in a search (:mod:`isoglot.retrieve.estimates`)."""
        return {code: {layer: OtherText(self.mean(code, layer)) for layer in self.layers} for code in self.languages}

    def covariance(self, language: str, layer: int) -> np.ndarray:
        """The covariance of a language in a layer (D x D), float64.

        Raises:
            ConfigError: The language has no mean, the layer was not learned, or covariances were left out.
        """
        moments = self._of(language)
        self.check_layer(layer)
        if moments.covariances_LDD is None:
            raise ConfigError(
                "the means came without covariances, which transport and erasers need",
                remedy="learn both from text: isoglot steer fit MODEL --out means/, then --means means/",
                code="config.missing-data",
            )
        return moments.covariance(layer)

    def difference(self, source: str, target: str, layer: int) -> np.ndarray:
        """The way from one language to another in a layer: the target's mean minus the source's (D).

        Raises:
            ConfigError: A language has no mean, or the layer was not learned.
        """
        difference_D: np.ndarray = self.mean(target, layer) - self.mean(source, layer)
        return difference_D

    def check_layer(self, layer: int) -> None:
        """Refuse a layer without means.

        Raises:
            ConfigError: With those that are there.
        """
        if layer not in self.layers:
            raise ConfigError(
                f"the means have no layer {layer}",
                remedy=f"choose one of {', '.join(map(str, self.layers))}",
                code="config.unknown-layer",
            )

    def check_encoder(
        self, encoder: EncoderLike, *, remedy: str = "learn the means of this encoder, or allow those of another"
    ) -> None:
        """Refuse an encoder that these are not the means of: another, or with other weights.

        Args:
            encoder: The one they are to be used with.
            remedy: What to do about it, for the message; not all that uses means can allow those of another.

        Raises:
            ConfigError: It is such.
        """
        self.check_shape(encoder)
        known = self.about.get("encoder_sha256")
        if known is not None and known != (found := encoder_hash(encoder)):
            raise ConfigError(
                f"the means are of another encoder ({known[:8]}, not {str(found)[:8]})",
                remedy=remedy,
                code="config.other-encoder",
            )

    def check_shape(self, encoder: EncoderLike) -> None:
        """Refuse an encoder of another depth or width.

        Raises:
            ConfigError: It is such.
        """
        for key, found in (("depth", encoder.depth), ("hidden_size", encoder.hidden_size)):
            known = self.about.get(key, found)
            if known != found:
                raise ConfigError(
                    f"the means are of an encoder of {key} {known}, not {found}",
                    remedy="learn the means of this encoder",
                    code="config.other-encoder",
                )

    def merge(self, other: LanguageMeans) -> LanguageMeans:
        """What both were learned from, together: more languages, or more text of the same.

        What was chosen with either is left out: the means are others now.

        Raises:
            ConfigError: They are of different encoders or layers.
        """
        for key in ("encoder_sha256", "vocabulary_sha256", "depth", "hidden_size"):
            if self.about.get(key) != other.about.get(key):
                raise ConfigError(
                    "means of different encoders cannot be merged",
                    remedy="learn them with one encoder",
                    code="config.other-encoder",
                )
        if self.layers != other.layers:
            raise ConfigError(
                f"means of layers {list(other.layers)} cannot join those of {list(self.layers)}",
                remedy="learn the same layers",
                code="config.unknown-layer",
            )
        moments = dict(self.moments)
        for code, more in other.moments.items():
            here = moments.get(code)
            moments[code] = more if here is None else here.merge(more, _joined(here.about, more.about))
        return LanguageMeans(moments, dict(self.about))

    def without_covariances(self) -> LanguageMeans:
        """Means and counts alone, in float32: all that shifts need, and a hundredth of the size or less."""
        moments = {
            code: replace(each, means_LD=each.means_LD.astype(np.float32), covariances_LDD=None)
            for code, each in self.moments.items()
        }
        return replace(self, moments=moments)

    def for_rounded(self, encoder: EncoderLike, *, name: str = "") -> LanguageMeans:
        """The same means, for an encoder whose weights are those of their own but for rounding, as packing leaves them.

        Whose they were stands under ``learned_with``.

        Args:
            encoder: The rounded one.
            name: Its name, to be kept with them.

        Raises:
            ConfigError: It has another depth or width.
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
        """Read what :meth:`save` wrote.

        Raises:
            CorruptFileError: The file is not what was written.
            InputError: It is something else.
            StorageError: It cannot be read.
        """
        facts, arrays = load_arrays(path, _KIND, remedy="make them with isoglot steer fit")
        try:
            layers = tuple(facts["layers"])
            moments = {}
            for code in facts["order"]:
                known = facts["languages"][code]
                means_LD, covariances_LDD = arrays[f"{code}.means"], arrays.get(f"{code}.covariances")
                moments[code] = LanguageMoments(layers, known["count"], means_LD, covariances_LDD, known["about"])
            return cls(moments, facts["encoder"], read_choices(facts.get("choices", {})))
        except KeyError as error:
            raise CorruptFileError(f"no {error} in the file", remedy="make it again", file=path) from error

    def _of(self, language: str) -> LanguageMoments:
        code = language_code(language)
        if code not in self.moments:
            raise ConfigError(
                f"there is no mean of {shown(code)}",
                remedy=nearest_name(code, self.moments),
                code="config.unknown-name",
            )
        return self.moments[code]


def _joined(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Any]:
    """Where the moments of two parts come from: their sentences together, the hashes of both."""
    hashes = [each for about in (one, two) for each in _listed(about.get("sentences_sha256"))]
    sentences = one.get("sentences", 0) + two.get("sentences", 0)
    return {**one, "sentences": sentences, "sentences_sha256": hashes}


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - one hash, several or none
    return value if isinstance(value, list) else [] if value is None else [value]
