"""A language as its representations are spread: mean and covariance in every layer, from one streaming pass.

Sums are float64 and centered as they go (Chan, Golub and LeVeque 1983): adding up in parts, in any parts, gives what
the whole gives.

Shapes: ``N`` rows, ``D`` hidden size, ``L`` layers, ``K`` items of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from isoglot.core.artifact import load_arrays, save_arrays
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT
from isoglot.represent.encoder_hash import hashing
from isoglot.represent.extraction import description
from isoglot.represent.layer_pass import LayerPass, check_finite
from isoglot.represent.sentences import in_chunks, survey
from isoglot.represent.token_rows import RowMaker
from isoglot.vocab.line_encoder import ahead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers, Precision
    from isoglot.represent.representations import Representations
    from isoglot.represent.sentences import Sentences

_KIND = "moments of a language"


@dataclass(frozen=True)
class LanguageMoments:
    """Mean and covariance of a language in some layers.

    Args:
        layers: Which layers.
        count: How many rows they were learned from.
        means_LD: The mean of each layer, float64.
        covariances_LDD: The covariance of each layer, divided by ``count - 1``; all 0 for a single row. None: left out.
        about: Where they come from: encoder, language, sentences.
    """

    layers: tuple[int, ...]
    count: int
    means_LD: np.ndarray
    covariances_LDD: np.ndarray | None
    about: dict[str, Any]

    def mean(self, layer: int) -> np.ndarray:
        """The mean in a layer (D), float64."""
        return np.asarray(self.means_LD[self._at(layer)], dtype=np.float64)

    def covariance(self, layer: int) -> np.ndarray:
        """The covariance in a layer (D x D), float64.

        Raises:
            ConfigError: Covariances were left out.
        """
        return np.asarray(self.spreads_LDD()[self._at(layer)], dtype=np.float64)

    def spreads_LDD(self) -> np.ndarray:  # noqa: N802 - a shape, as in all names of arrays
        """The covariances of all layers.

        Raises:
            ConfigError: They were left out.
        """
        if self.covariances_LDD is None:
            raise ConfigError("these are means without covariances", remedy="learn both from text")
        return self.covariances_LDD

    def merge(self, other: LanguageMoments, about: Mapping[str, Any] | None = None) -> LanguageMoments:
        """What the rows of both together give, such as of two parts of a text; as learned at once, but for rounding.

        Raises:
            ConfigError: It has other layers or another width.
        """
        fitter = LanguageStatistics.continued(self)
        fitter.merge(LanguageStatistics.continued(other))
        return fitter.result(self.about if about is None else about)

    def _at(self, layer: int) -> int:
        if layer not in self.layers:
            raise ConfigError(f"layer {layer} is not here", remedy=f"choose one of {', '.join(map(str, self.layers))}")
        return self.layers.index(layer)

    def save(self, path: str | Path) -> None:
        """Write to a ``.safetensors`` file.

        Raises:
            StorageError: It cannot be written.
        """
        facts = {"layers": list(self.layers), "count": self.count, "about": self.about}
        arrays = {"means": self.means_LD, "covariances": self.spreads_LDD()}
        save_arrays(path, _KIND, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> LanguageMoments:
        """Read what :meth:`save` wrote.

        Raises:
            CorruptFileError: The file is not what was written.
            InputError: It is something else.
            StorageError: There is no such file.
        """
        facts, arrays = load_arrays(path, _KIND, remedy="make it again")
        return cls(tuple(facts["layers"]), facts["count"], arrays["means"], arrays["covariances"], facts["about"])


class LanguageStatistics:
    """Learns mean and covariance from batch after batch.

    >>> fitter = LanguageStatistics([0])
    >>> fitter.update({0: np.array([[1.0, 2.0]])})
    >>> fitter.update({0: np.array([[3.0, 2.0]])})
    >>> fitter.result().mean(0).tolist(), fitter.result().covariance(0).tolist()
    ([2.0, 2.0], [[2.0, 0.0], [0.0, 0.0]])

    Args:
        layers: The layers that every batch will have.
    """

    def __init__(self, layers: Sequence[int]) -> None:
        self.layers = tuple(layers)
        self.count = 0
        self._means: list[torch.Tensor] = []
        self._scatters: list[torch.Tensor] = []

    @classmethod
    def continued(cls, moments: LanguageMoments) -> LanguageStatistics:
        """One that goes on from what was learned before."""
        fitter = cls(moments.layers)
        means = list(torch.from_numpy(np.array(moments.means_LD)))
        scatters = list(torch.from_numpy(moments.spreads_LDD() * max(moments.count - 1, 1)))
        fitter._add(moments.count, means, scatters)
        return fitter

    def update(self, batch: Mapping[int, np.ndarray | torch.Tensor] | Representations) -> None:
        """Take in some rows: an N x D matrix for each layer.

        Raises:
            ConfigError: A layer is missing, or the layers have different numbers of rows or another width than before.
            InputError: Something is not a number.
        """
        missing = [layer for layer in self.layers if layer not in batch]
        if missing:
            raise ConfigError(f"a batch without layer {missing[0]}", remedy="give every batch the same layers")
        means, scatters, counts = [], [], set()
        for layer in self.layers:
            X_ND = _float64(batch[layer])
            if X_ND.dim() != 2:
                raise ConfigError(f"a batch of shape {tuple(X_ND.shape)}", remedy="give rows of vectors, N x D")
            counts.add(len(X_ND))
            if not len(X_ND):
                continue
            mean_D = X_ND.mean(dim=0)
            if not bool(torch.isfinite(mean_D).all()):
                raise InputError(f"a row of layer {layer} is not finite", remedy="leave it out")
            centered_ND = X_ND - mean_D
            means.append(mean_D)
            scatters.append(centered_ND.T @ centered_ND)
        if len(counts) > 1:
            raise ConfigError(
                f"layers with {min(counts):,} and {max(counts):,} rows", remedy="give each layer the same rows"
            )
        self._add(counts.pop() if counts else 0, means, scatters)

    def merge(self, other: LanguageStatistics) -> None:
        """Take in all that another has learned, such as on another part of the text.

        Raises:
            ConfigError: It has other layers or another width.
        """
        if other.layers != self.layers:
            raise ConfigError(
                f"layers {list(other.layers)} cannot join {list(self.layers)}", remedy="learn the same layers"
            )
        self._add(other.count, other._means, other._scatters)

    def _add(self, count: int, means: list[torch.Tensor], scatters: list[torch.Tensor]) -> None:
        if not count:
            return
        if not self.count:
            self.count = count
            self._means = [mean_D.clone() for mean_D in means]
            self._scatters = [scatter_DD.clone() for scatter_DD in scatters]
            return
        if means[0].shape != self._means[0].shape:
            raise ConfigError(
                f"rows of width {len(means[0])} where there were {len(self._means[0])}", remedy="use one encoder"
            )
        total = self.count + count
        for at, (mean_D, scatter_DD) in enumerate(zip(means, scatters, strict=True)):
            apart_D = mean_D.to(self._means[at].device) - self._means[at]
            between_DD = torch.outer(apart_D, apart_D) * (self.count * count / total)
            self._scatters[at] += scatter_DD.to(apart_D.device) + between_DD
            self._means[at] += apart_D * (count / total)
        self.count = total

    def result(self, about: Mapping[str, Any] | None = None) -> LanguageMoments:
        """What was learned so far.

        Raises:
            ConfigError: Nothing was.
        """
        if not self.count:
            raise ConfigError("no rows to learn from", remedy="update with at least one")
        means_LD = torch.stack(self._means).cpu().numpy()
        covariances_LDD = torch.stack(self._scatters).cpu().numpy() / max(self.count - 1, 1)
        return LanguageMoments(self.layers, self.count, means_LD, covariances_LDD, dict(about or {}))


def language_statistics(
    encoder: EncoderLike,
    sentences: Sentences,
    *,
    of: Literal["tokens", "sentences"] = "tokens",
    layers: Layers = "all",
    language: str | None = None,
    length: int | None = None,
    batch_tokens: int | None = None,
    precision: Precision = "float32",
    special: Literal["exclude", "include"] = "exclude",
    chunk: int = 4096,
    name: str = "",
    progress: Progress = SILENT,
) -> LanguageMoments:
    """Mean and covariance of a language over its tokens or its mean-pooled sentences.

    Nothing is kept but the sums. Options are those of :func:`isoglot.represent.extract`; ``special`` says whether
    ``[CLS]`` and ``[SEP]`` count as tokens.

    Raises:
        ConfigError: An option asks for what the encoder does not have.
        InputError: A sentence is empty, or the encoder gives something that is no number.
        StorageError: The file cannot be read.
    """
    facts = survey(sentences, "text")
    through = LayerPass(
        encoder,
        layers=layers,
        pooling="mean" if of != "tokens" else "tokens" if special == "exclude" else "all-tokens",
        language=language,
        length=length,
        batch_tokens=batch_tokens,
        precision=precision,
    )
    maker = RowMaker(encoder.vocabulary, through.language, "text", through.length)
    fitter = LanguageStatistics(through.layers)
    work = progress.task("encode", total=facts.sentences, unit="sentences")
    with hashing(encoder) as hashed, through.ready(), work as task:
        for rows in ahead(maker.rows, in_chunks(sentences, "text", chunk)):
            for group, (_, vectors_LKD) in through.run(rows):
                check_finite(vectors_LKD, through.layers)
                fitter.update(dict(zip(through.layers, vectors_LKD, strict=True)))
                task.advance(len(group))
        about = description(through, name, hashed.result())
    about |= {"of": of, "special": special, "sentences": facts.sentences, "sentences_sha256": facts.sha256}
    return fitter.result(about)


def _float64(X: np.ndarray | torch.Tensor) -> torch.Tensor:
    tensor = X if isinstance(X, torch.Tensor) else torch.from_numpy(np.array(X, dtype=np.float64))
    tensor = tensor.detach()
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()  # MPS has no float64
