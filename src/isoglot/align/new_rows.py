"""Embeddings of new subwords from static vectors that are aligned with the embeddings of an encoder.

Static vectors (GloVe) of the new language are trained on its own text. Subwords that the encoder knows already have a
vector in both spaces; a ridge regression on them maps the vectors of the others into the encoder's table. The penalty
is chosen by cross-validation. If the map explains no variance of held-out subwords, it is not used, and the rows are
the mean of the table.

Reference: Artetxe et al. 2020, "On the cross-lingual transferability of monolingual representations"; Minixhofer et al.
2022, "WECHSEL: Effective initialization of subword embeddings".

Shapes: ``V`` vocabulary, ``O`` old rows, ``A`` known subwords with a static vector, ``S`` dimensions of static vectors,
``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from isoglot.align.maps.closed_form import Ridge
from isoglot.core.progress import SILENT, Progress
from isoglot.pretrain.new_language import add_language, mean_rows
from isoglot.static.config import GloveConfig
from isoglot.static.train import train_static

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.model import Encoder
    from isoglot.pretrain.new_language import Added, AddLanguageConfig
    from isoglot.vocab import Shards, Vocabulary

LEAST_ANCHORS = 20
_FOLDS = 5
_PENALTIES = tuple(10.0**power for power in range(-2, 4))
GLOVE = GloveConfig(dimensions=100, window=5, min_count=3, epochs=25)
"""Settings of the static vectors, for texts of a few megabytes and more."""


@dataclass
class AlignedRows:
    """New rows from static vectors; call it with a table and the number of rows.

    Args:
        vectors_VS: Static vectors of the ids of the extended vocabulary.
        known_V: Which ids have one.
        seed: Random seed of the noise.
        noise: Standard deviation of the noise as a share of the table's.

    Attributes:
        explained: Share of the variance of held-out known subwords that the map explains, for each table.

    >>> import torch
    >>> vectors_VS = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    >>> rows = AlignedRows(vectors_VS, torch.ones(40, dtype=torch.bool))
    >>> table_OD = torch.cat([vectors_VS[:30], vectors_VS[:30]], dim=1)
    >>> rows(table_OD, 10).shape, round(rows.explained[0], 1)
    (torch.Size([10, 6]), 1.0)
    """

    vectors_VS: torch.Tensor
    known_V: torch.Tensor
    seed: int = 0
    noise: float = 0.1
    explained: list[float] = field(default_factory=list)

    def __call__(self, table_OD: torch.Tensor, count: int) -> torch.Tensor:
        """Return the rows that follow those of a table (count x D); ids without a vector are at its mean."""
        old = len(table_OD)
        rows_ND = mean_rows(self.seed, self.noise)(table_OD, count)
        anchors = self.known_V[:old].nonzero().squeeze(1)
        if len(anchors) < LEAST_ANCHORS:
            self.explained.append(0.0)
            return rows_ND
        scaled_VS = self.vectors_VS / self.vectors_VS[self.known_V].norm(dim=1).mean()
        center_S, center_D = scaled_VS[anchors].mean(0), table_OD[anchors].mean(0)
        x_AS, y_AD = scaled_VS[anchors] - center_S, table_OD[anchors] - center_D
        penalty, explained = best_penalty(x_AS, y_AD)
        self.explained.append(explained)
        if explained > 0:
            new = self.known_V[old:].nonzero().squeeze(1)
            mapped = Ridge(penalty=penalty).fit(x_AS, y_AD).transform(scaled_VS[old + new] - center_S)
            rows_ND[new] += mapped + center_D - table_OD.mean(0)
        return rows_ND


def best_penalty(x_AS: torch.Tensor, y_AD: torch.Tensor) -> tuple[float, float]:
    """The penalty of ridge regression with the lowest error in five-fold cross-validation, and its share explained."""
    folds_A = torch.arange(len(x_AS)) % _FOLDS
    found = []
    for penalty in _PENALTIES:
        error = 0.0
        for fold in range(_FOLDS):
            out = folds_A == fold
            guess = Ridge(penalty=penalty).fit(x_AS[~out], y_AD[~out]).transform(x_AS[out])
            error += float((guess - y_AD[out]).square().sum())
        found.append((1 - error / float(y_AD.square().sum()), penalty))
    explained, penalty = max(found)
    return penalty, explained


def aligned_rows(
    shards: Shards,
    vocabulary: Vocabulary,
    folder: Path,
    *,
    seed: int = 0,
    noise: float = 0.1,
    progress: Progress = SILENT,
) -> AlignedRows:
    """Train static vectors on the text of a new language, for :class:`AlignedRows`.

    Args:
        shards: The text of the new language.
        vocabulary: The extended vocabulary.
        folder: Folder of the static vectors; a run that was interrupted is resumed.
        seed: Random seed of vectors and noise.
        noise: Standard deviation of the noise as a share of the table's.
        progress: Progress reporter.

    Returns:
        Rows for the new subwords, for ``add_language(rows=…)``.

    Raises:
        ConfigError: The shards do not fit the vocabulary, or the folder holds another run.
        InputError: There is no text to train on.
        StorageError: The folder cannot be written to.
    """
    config = GLOVE.model_copy(update={"seed": seed})
    learned = train_static(config, {shards.language: shards}, vocabulary, folder, resume=True, progress=progress)
    assert learned is not None  # noqa: S101 - no stop_after is given
    return AlignedRows(learned.table.weight, learned.table.known, seed, noise)


def add_aligned_language(
    config: AddLanguageConfig,
    encoder: Encoder,
    texts: Mapping[str, Sequence[Path]],
    out: Path,
    *,
    progress: Progress = SILENT,
    **options: Any,  # noqa: ANN401 - those of add_language
) -> Added:
    """Add a language to an encoder, its new rows as the config says: from aligned static vectors, or the mean row.

    Args:
        config: All settings.
        encoder: The encoder.
        texts: Files of the new language, and of others that are trained too.
        out: The folder of the run.
        progress: Progress reporter.
        **options: Further options of :func:`isoglot.pretrain.new_language.add_language`.
    """
    rows = partial(aligned_rows, seed=config.seed, noise=config.language.noise, progress=progress)
    own = rows if config.language.rows == "aligned" else None
    return add_language(config, encoder, texts, out, rows=own, progress=progress, **options)
