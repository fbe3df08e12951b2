"""Streaming means and covariances: one accumulator, and the moments of a language in every layer.

Sums are float64 and centered as they go (Chan, Golub & LeVeque 1983), so that batches of any size, merged in any order,
give the result of one pass over all rows, and neither many rows nor a large mean costs digits.

Shape legend: ``N`` rows, ``D`` hidden size, ``L`` layers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack

import numpy as np
import torch

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.representations import Representations, no_layer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import PassOptions, Pooling
    from isoglot.represent.sentences import Sentences

Key = TypeVar("Key")


@dataclass
class StreamingMoments(Generic[Key]):
    """Row count, means and scatter matrices of named blocks of columns, accumulated batch by batch.

    >>> moments = StreamingMoments([("x", "y")])
    >>> for rows in ([[1.0], [2.0]], [[6.0]]):
    ...     moments.add({"x": torch.tensor(rows), "y": 2 * torch.tensor(rows)})
    >>> moments.count, moments.means["y"].tolist(), moments.scatters["x", "y"].tolist()
    (3, [6.0], [[28.0]])
    """

    pairs: Sequence[tuple[Key, Key]] = field(repr=False)
    """pairs of blocks whose scatter matrix is kept"""
    count: int = 0
    """rows so far"""
    means: dict[Key, torch.Tensor] = field(default_factory=dict, repr=False)
    """mean row of each block"""
    scatters: dict[tuple[Key, Key], torch.Tensor] = field(default_factory=dict, repr=False)
    """sums of products about the means: Σ (x - mean x)(y - mean y)ᵀ"""

    def add(self, rows: Mapping[Key, torch.Tensor]) -> None:
        """Add a batch: for each block, the same N rows, N × D."""
        means = {key: rows_ND.mean(dim=0) for key, rows_ND in rows.items()}
        centered = {key: rows_ND - means[key] for key, rows_ND in rows.items()}
        scatters = {(one, other): centered[one].T @ centered[other] for one, other in self.pairs}
        self.merge(len(next(iter(rows.values()))), means, scatters)

    def merge(
        self, count: int, means: Mapping[Key, torch.Tensor], scatters: Mapping[tuple[Key, Key], torch.Tensor]
    ) -> None:
        """Add the moments of other rows."""
        if not count:
            return
        if not self.count:
            self.count = count
            self.means = {key: mean_D.clone() for key, mean_D in means.items()}
            self.scatters = {pair: scatter.clone() for pair, scatter in scatters.items()}
            return
        total = self.count + count
        steps = {key: mean_D.to(self.means[key].device) - self.means[key] for key, mean_D in means.items()}
        for (one, other), scatter in scatters.items():
            between = torch.outer(steps[one], steps[other]) * (self.count * count / total)
            self.scatters[one, other] += scatter.to(between.device) + between
        for key, step_D in steps.items():
            self.means[key] += step_D * (count / total)
        self.count = total


@dataclass(frozen=True)
class LanguageMoments:
    """Mean and covariance of a language in some layers.

    Args:
        layers: The layers.
        count: Number of rows (tokens or sentences).
        means_LD: Mean of each layer, float64.
        covariances_LDD: Covariance of each layer, divided by ``count - 1``; zeros for a single row. None: not computed.
        about: Where the rows come from: encoder, language, sentences.

    >>> import numpy as np
    >>> moments = LanguageMoments((0, 8), 2, np.array([[1.0, 2.0], [3.0, 4.0]]), None, {})
    >>> moments.mean(8).tolist()
    [3.0, 4.0]
    """

    layers: tuple[int, ...]
    count: int
    means_LD: np.ndarray = field(repr=False)
    covariances_LDD: np.ndarray | None = field(repr=False)
    about: dict[str, Any] = field(repr=False)

    def mean(self, layer: int) -> np.ndarray:
        """Mean in a layer (D), float64."""
        return np.asarray(self.means_LD[self._at(layer)], dtype=np.float64)

    def covariance(self, layer: int) -> np.ndarray:
        """Covariance in a layer (D × D), float64.

        Raises:
            ConfigError: These moments have no covariances.
        """
        return np.asarray(self.spreads_LDD()[self._at(layer)], dtype=np.float64)

    def spreads_LDD(self) -> np.ndarray:  # noqa: N802 - a shape, as in all names of arrays
        """Covariances of all layers.

        Raises:
            ConfigError: These moments have no covariances.
        """
        if self.covariances_LDD is None:
            remedy = "estimate both from text, as isoglot steer fit does"
            raise ConfigError("the means are stored without covariances, which are needed", remedy, "missing-data")
        return self.covariances_LDD

    def _at(self, layer: int) -> int:
        if layer not in self.layers:
            raise no_layer(layer, self.layers)
        return self.layers.index(layer)


class LanguageStatistics:
    """Fitter of :class:`LanguageMoments` that takes one batch after another.

    >>> fitter = LanguageStatistics([0])
    >>> fitter.update({0: np.array([[1.0, 2.0]])})
    >>> fitter.update({0: np.array([[3.0, 2.0]])})
    >>> fitter.result().mean(0).tolist(), fitter.result().covariance(0).tolist()
    ([2.0, 2.0], [[2.0, 0.0], [0.0, 0.0]])

    Args:
        layers: Layers that every batch has.
    """

    def __init__(self, layers: Sequence[int]) -> None:
        self.layers = tuple(layers)
        self._sums = StreamingMoments([(layer, layer) for layer in self.layers])

    @property
    def count(self) -> int:
        """Number of rows so far."""
        return self._sums.count

    def update(self, batch: Mapping[int, np.ndarray | torch.Tensor] | Representations) -> None:
        """Add rows: an N × D matrix for each layer.

        Raises:
            ConfigError: A layer is missing, or the layers have different numbers of rows or another hidden size than
                before.
            InputError: A row is not finite.
        """
        for layer in self.layers:
            if layer not in batch:
                raise no_layer(layer, batch)
        rows = {layer: _float64(batch[layer]) for layer in self.layers}
        counts = [len(rows_ND) for rows_ND in rows.values()]
        if any(rows_ND.dim() != 2 for rows_ND in rows.values()) or min(counts) != max(counts):
            shapes = " and ".join(str(tuple(rows_ND.shape)) for rows_ND in rows.values())
            problem, remedy = f"layers of shape {shapes}", "give each layer the same rows, N x D"
            raise ConfigError(problem, remedy, "other-size")
        if not counts[0]:
            return
        for layer, rows_ND in rows.items():
            if not bool(torch.isfinite(rows_ND.sum(dim=0)).all()):
                raise InputError(f"a row of layer {layer} is not finite", "remove that row", "not-finite")
        self._check_width({layer: rows_ND.shape[1] for layer, rows_ND in rows.items()})
        self._sums.add(rows)

    def merge(self, other: LanguageStatistics) -> None:
        """Add all rows of another fitter.

        Raises:
            ConfigError: The other has different layers or another hidden size.
        """
        if other.layers != self.layers:
            problem = f"layers {list(other.layers)} cannot be merged into {list(self.layers)}"
            raise ConfigError(problem, "fit the same layers", "not-supported")
        self._check_width({layer: len(mean_D) for layer, mean_D in other._sums.means.items()})
        self._sums.merge(other.count, other._sums.means, other._sums.scatters)

    def _check_width(self, widths: Mapping[int, int]) -> None:
        for layer, mean_D in self._sums.means.items():
            if layer in widths and widths[layer] != len(mean_D):
                problem = f"hidden size {widths[layer]}, and {len(mean_D)} in the rows before"
                raise ConfigError(problem, "use one encoder", "other-size")

    def result(self, about: Mapping[str, Any] | None = None) -> LanguageMoments:
        """Moments of all rows so far.

        Raises:
            ConfigError: There are no rows.
        """
        if not self.count:
            raise ConfigError("no rows to compute moments of", "call update with at least one row", "missing-data")
        means_LD = torch.stack([self._sums.means[layer] for layer in self.layers]).cpu().numpy()
        scatters_LDD = torch.stack([self._sums.scatters[layer, layer] for layer in self.layers]).cpu().numpy()
        covariances_LDD = scatters_LDD / max(self.count - 1, 1)
        return LanguageMoments(self.layers, self.count, means_LD, covariances_LDD, dict(about or {}))


def language_statistics(
    encoder: EncoderLike,
    sentences: Sentences,
    *,
    of: Literal["tokens", "sentences"] = "tokens",
    special: Literal["exclude", "include"] = "exclude",
    chunk: int = 4096,
    name: str = "",
    progress: Progress = SILENT,
    **options: Unpack[PassOptions],
) -> LanguageMoments:
    """Mean and covariance of a language over its tokens or its mean-pooled sentences.

    Only sums are kept in memory. The options are those of :func:`isoglot.represent.extract`; ``special`` says whether
    ``[CLS]`` and ``[SEP]`` count as tokens.

    Args:
        encoder: Any encoder.
        sentences: Texts of one language.
        of: What a row is: ``tokens`` or ``sentences``.
        special: Whether special tokens count.
        chunk: Number of sentences that are sorted together.
        name: Name of the encoder in the header.
        progress: Progress in sentences.
        options: ``layers``, ``language``, ``length``, ``batch_tokens`` and ``precision``.

    Returns:
        Mean (D) and covariance (D × D) of every layer.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> found = language_statistics(encoder, ["He sleeps.", "It is old."], layers=[8], language="en")
    >>> found.layers
    (8,)

    Raises:
        ConfigError: The encoder does not have that layer or language.
        InputError: A sentence is empty, or a hidden state is not finite.
        StorageError: The file cannot be read.
    """
    from isoglot.represent.encoder_hash import hashing
    from isoglot.represent.extraction import description
    from isoglot.represent.layer_pass import LayerPass, check_finite
    from isoglot.represent.sentences import RowMaker, in_chunks, survey_sentences
    from isoglot.vocab.line_encoder import ahead

    facts = survey_sentences(sentences, "text")
    pooling: Pooling = "mean" if of != "tokens" else "tokens" if special == "exclude" else "all-tokens"
    through = LayerPass(encoder, pooling, **options)
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
