"""Migration of an index of vectors to another model, without encoding its documents again.

A linear map from the old model's space to the new one's is fitted on a sample of documents whose vectors of both models
are known, and applied to all rows; queries are encoded by the new model. What is kept is measured by cross-fitting: for
each fold, the map is chosen and fitted on the others. Recall at k is the share of the k nearest documents by the new
model's own vectors that are among the k nearest mapped ones. Documents are those of the fold, queries each of them.

The maps are Procrustes with a scale (semi-orthogonal if the hidden sizes differ) and ridge regression, both with a
constant.

Shape legend: ``N`` documents of the sample, ``Q`` queries, ``K`` neighbors, ``D`` old and ``E`` new hidden size, ``B``
rows of a block, ``T`` rows of a tile.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from pydantic import Field

from isoglot.align.maps.closed_form import PairMoments, Ridge, rotation
from isoglot.align.maps.csls_maps import top
from isoglot.core.arrays import ArrayLike, take_same_rows
from isoglot.core.artifact import load_arrays, save_arrays
from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, InputError, check_counts, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import LARGEST_SEED, random_stream
from isoglot.represent.extraction import Pool, extract
from isoglot.represent.layer_pass import on_all_cores
from isoglot.represent.matrix_files import BLOCK, Block, Format, MatrixFile, open_matrix, write_matrix
from isoglot.retrieve.matrix_product import one_numpy_thread
from isoglot.retrieve.metrics import Interval, bootstrap
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.model.protocol import EncoderLike

_TILE = 1024  # rows of one matrix product; always the same, so that results do not depend on the size of blocks
_UNIT = 1e-3  # how far the lengths of vectors of unit length may be from 1
_UNREADABLE = 0.5  # share of unknown tokens from which on a text is refused
_CHECKED = 100  # documents whose tokens are counted
_KIND = "migration"
PROCRUSTES = "procrustes"


class MigrationConfig(Config):
    """How the map is chosen and scored."""

    penalties: tuple[float, ...] = (1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
    """Penalties of ridge regression to choose from, as multiples of the mean variance of the old vectors."""

    folds: int = Field(5, ge=2, le=100)
    """Folds of the cross-fitting."""

    neighbors: tuple[int, ...] = Field((1, 10, 100), min_length=1)
    """Numbers of neighbors that recall is reported at; those above half a fold are left out."""

    choose_at: int = Field(10, ge=1)
    """Number of neighbors that the map is chosen by."""

    most_documents: int = Field(2000, ge=2)
    """Documents of a fold that are searched and asked for, at most."""

    smallest: int = Field(500, ge=1)
    """First sample size of the learning curve; each is twice the one before."""

    resamples: int = Field(1000, ge=1, le=1_000_000)
    """Bootstrap resamples of the intervals."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """Random seed of folds and resamples."""


# --- the sample ---


class Sample(NamedTuple):
    """Texts of documents and the rows of the index that they belong to."""

    rows_N: np.ndarray
    texts: list[str]


def read_sample(path: str | Path) -> Sample:
    """Read the texts of a sample; texts that occur again are left out.

    Args:
        path: A text file whose line i is the document of row i − 1 of the index, blank where it is not in the sample;
            or a ``.tsv`` with a row number, from 0, and a text on each line.

    Raises:
        InputError: A line of a ``.tsv`` is malformed, a row comes twice, or there is no text.
        StorageError: It cannot be read.
    """
    is_table = ".tsv" in Path(path).suffixes
    found: dict[int, str] = {}
    for number, line in read_lines(path):
        row, tab, text = line.partition("\t") if is_table else (str(number - 1), "\t", line)
        if not tab or not (row.isascii() and row.isdecimal()):
            problem = f"{shown(line)} is not a row number from 0, a tab and a text"
            remedy = "correct the line, or give a .txt whose first line is the document of the first row"
            raise InputError(problem, remedy, "malformed-line", file=path, line=number)
        if int(row) in found:
            raise InputError(f"row {row} comes twice", "remove one", "duplicate", file=path, line=number)
        if text.strip():
            found[int(row)] = text.strip()
    firsts = {text: row for row, text in reversed(found.items())}
    if not firsts:
        raise InputError("no text", "give the text of a document on each line", "empty", file=path)
    texts = dict(sorted((row, text) for text, row in firsts.items()))
    return Sample(np.array(list(texts), dtype=np.int64), list(texts.values()))


def sample_vectors(
    old: MatrixFile, text: str | Path, encoder: EncoderLike, pool: Pool | None = None, progress: Progress = SILENT
) -> tuple[torch.Tensor, torch.Tensor]:
    """Old and new vectors of a sample (N × D and N × E).

    Args:
        old: The index.
        text: A file for :func:`read_sample`.
        encoder: The new model.
        pool: What a text's vector is, from the last layer. Default: as :func:`.extract`.
        progress: Progress in sentences.

    Raises:
        InputError: The text names a row that the index does not have, or is one that the tokenizer cannot spell.
    """
    sample = read_sample(text)
    old_ND = old.take(sample.rows_N)
    _check_spelling(encoder, sample.texts, text)
    found = extract(encoder, sample.texts, pool=pool, layers=[-1], progress=progress)
    return old_ND, torch.from_numpy(found[found.layers[0]])


def _check_spelling(encoder: EncoderLike, texts: Sequence[str], file: str | Path) -> None:
    """Refuse a text of which half of the tokens or more are unknown: its vectors say little of it."""
    unknown = encoder.vocabulary.special.get("[UNK]")
    ids = [index for one in encoder.vocabulary.encode_batch(texts[:_CHECKED]) for index in one]
    rate = sum(index == unknown for index in ids) / max(len(ids), 1)
    if rate >= _UNREADABLE:
        problem = f"the new model's tokenizer does not know {100 * rate:.0f} % of the tokens"
        raise InputError(problem, "choose a model whose vocabulary has this script", "no-match", file=file)


def file_vectors(old: MatrixFile, new: str | Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Old and new vectors of a sample, where the new ones are in a file, row by row those of the first rows of the old.

    Raises:
        InputError: There are more new vectors than old ones.
    """
    found = open_matrix(new)
    if found.rows > old.rows:
        remedy = "give new vectors of the first rows of the index, in their order"
        check_counts("vectors", {str(old.path): old.rows, str(found.path): found.rows}, remedy)
    rows_N = np.arange(found.rows)
    return old.take(rows_N), found.take(rows_N)


# --- the map ---


@dataclass(frozen=True)
class AffineMap:
    """Vectors times a matrix plus a constant, then divided by their length if the new model's vectors have length 1."""

    W_DE: torch.Tensor = field(repr=False)
    b_E: torch.Tensor = field(repr=False)
    unit_length: bool = False

    def apply(self, rows_BD: torch.Tensor) -> torch.Tensor:
        """Mapped rows, float32 (B × E)."""
        W_DE, b_E = self.W_DE.numpy(), self.b_E.numpy()
        mapped_BE = np.empty((len(rows_BD), W_DE.shape[1]), dtype=np.float32)
        with np.errstate(all="ignore"):  # rows that are not finite are the caller's to refuse
            for start in range(0, len(rows_BD), _TILE):
                tile_TD, tile_TE = rows_BD[start : start + _TILE].float().numpy(), mapped_BE[start : start + _TILE]
                if len(tile_TD) == _TILE:
                    np.matmul(tile_TD, W_DE, out=tile_TE)
                else:
                    tile_TE[:] = (np.pad(tile_TD, ((0, _TILE - len(tile_TD)), (0, 0))) @ W_DE)[: len(tile_TD)]
                tile_TE += b_E
                if self.unit_length:
                    tile_TE /= np.maximum(np.linalg.norm(tile_TE, axis=1, keepdims=True), 1e-30)
        return torch.from_numpy(mapped_BE)

    def save(self, path: Path) -> None:
        """Write to a safetensors file.

        Raises:
            StorageError: It cannot be written.
        """
        arrays = {"W": self.W_DE.numpy(), "b": self.b_E.numpy()}
        save_arrays(path, _KIND, {"unit_length": self.unit_length}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> AffineMap:
        """Read what :meth:`save` wrote.

        Raises:
            CorruptFileError: The file is damaged.
            InputError: It holds something else.
            StorageError: It cannot be read.
        """
        facts, arrays = load_arrays(path, _KIND, remedy="make it with isoglot align migrate")
        return cls(torch.from_numpy(arrays["W"]), torch.from_numpy(arrays["b"]), bool(facts["unit_length"]))


def map_file(
    old: MatrixFile,
    mapping: AffineMap,
    path: Path,
    format: Format | None = None,  # noqa: A002 - as the field
    *,
    block: int = BLOCK,
    progress: Progress = SILENT,
) -> MatrixFile:
    """Map all rows of a file into another, which appears when it is complete; memory is bounded by the blocks.

    Args:
        old: The file to map.
        mapping: The map.
        path: The file to write.
        format: Its format. Default: that of the old one.
        block: Rows that are read and written at a time; the result is the same for any number.
        progress: Progress in vectors.

    Raises:
        ConfigError: The map is for vectors of another size.
        InputError: A row is not finite, or too large for the type of the file.
        StorageError: A file cannot be read or written.
    """
    D, E = mapping.W_DE.shape
    if old.width != D:
        problem = f"{old.path} has vectors of {old.width:,} numbers, and the map takes {D:,}"
        raise ConfigError(problem, "use vectors of the model that the map was fitted for", "other-size")
    new = old.like(path, E, format)
    block = -(-block // _TILE) * _TILE

    def mapped(numbered: tuple[int, Block]) -> Block:
        number, (rows_BD, batch) = numbered
        mapped_BE = mapping.apply(rows_BD).to(new.dtype)
        _check_finite(mapped_BE, number * block, old.path)
        return Block(mapped_BE, batch)

    def blocks() -> Iterator[Block]:
        for made in on_all_cores(mapped, enumerate(old.blocks(block))):
            yield made
            task.advance(len(made.vectors_BD))

    with progress.task("map", total=old.rows, unit="vectors") as task, one_numpy_thread():
        write_matrix(new, blocks())
    return new


def _check_finite(mapped_BE: torch.Tensor, start: int, path: Path) -> None:
    # One number that is not finite makes the sum so; only then, or if the sum is too large, single rows are looked at.
    if torch.isfinite(mapped_BE.sum(dtype=torch.float32)):
        return
    is_bad_B = ~torch.isfinite(mapped_BE).all(dim=1)
    if is_bad_B.any():
        row = start + int(is_bad_B.nonzero()[0])
        problem = f"row {row} is not finite, or too large for {mapped_BE.dtype} when mapped"
        raise InputError(problem, "remove such rows (rows count from 0)", "not-finite", file=path)


# --- choice and scores ---


def candidates(config: MigrationConfig) -> list[str]:
    """Names of the maps to choose from."""
    return [PROCRUSTES, *(f"ridge {penalty:g}" for penalty in config.penalties)]


def solve(moments: PairMoments, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrix and constant (D × E and E, float64) of a map by its name."""
    mean_D, mean_E = moments.means["x"], moments.means["y"]
    centered = PairMoments()
    zeros = {"x": torch.zeros_like(mean_D), "y": torch.zeros_like(mean_E)}
    centered.count, centered.means, centered.scatters = moments.count, zeros, moments.scatters
    gram_DD = centered.product("xx")
    if name == PROCRUSTES:
        W_DE, values = rotation(centered.product("xy"))
        W_DE = W_DE * (values.sum() / ((gram_DD @ W_DE) * W_DE).sum())
    else:
        penalty = float(name.split()[1]) * float(gram_DD.diagonal().mean())
        W_DE = torch.as_tensor(Ridge(penalty=penalty).fit_moments(centered).W_)
    return W_DE, mean_E - mean_D @ W_DE


def neighbors(queries_QE: torch.Tensor, documents_QE: torch.Tensor, k: int) -> torch.Tensor:
    """The ``k`` nearest documents by cosine to every query but its own, which is in the same row (Q × K)."""
    normal = torch.nn.functional.normalize
    found_QK = top(normal(queries_QE), normal(documents_QE), k + 1).indices_NK
    is_own_QK = found_QK == torch.arange(len(found_QK))[:, None]
    return found_QK.gather(1, is_own_QK.int().argsort(dim=1, stable=True)[:, :k])


def recall(found_QK: torch.Tensor, true_QK: torch.Tensor, k: int) -> np.ndarray:
    """Share of the ``k`` true neighbors of every query that are among the ``k`` found (Q)."""
    found_QK, true_QK = found_QK[:, :k].sort(dim=1).values, true_QK[:, :k].contiguous()
    places_QK = torch.searchsorted(found_QK, true_QK).clamp(max=k - 1)
    return (found_QK.gather(1, places_QK) == true_QK).double().mean(dim=1).numpy()


class _Fold(NamedTuple):
    """Pairs to fit on and documents to search, which are also the queries, with their true neighbors."""

    train_N: torch.Tensor
    X_QD: torch.Tensor
    Y_QE: torch.Tensor
    true_QK: torch.Tensor

    def shares(self, documents_QE: torch.Tensor, queries_QE: torch.Tensor, ks: list[int]) -> np.ndarray:
        """Recall of every query at every k, as columns."""
        found_QK = neighbors(queries_QE, documents_QE, max(ks))
        return np.stack([recall(found_QK, self.true_QK, k) for k in ks], axis=1)


@dataclass(frozen=True)
class CurvePoint:
    """Recall at every k after fitting on a number of documents."""

    documents: int
    recall: dict[int, Interval]


@dataclass(frozen=True)
class Migration:
    """A fitted map and what it keeps.

    Attributes:
        mapping: The map, fitted on the whole sample.
        name: Which map it is.
        chosen_at: Number of neighbors that it was chosen by.
        tried: Recall of every map at that number, on the part of the training data that was kept for choosing.
        curve: Recall by number of documents that were fitted on.
        old: Recall of the old vectors when queries are old ones, too: what the old model has in common with the new.
        queries: Number of queries that recall is a mean over.
        documents: Number of documents that each was searched among.
    """

    mapping: AffineMap
    name: str
    chosen_at: int
    tried: dict[str, float]
    curve: list[CurvePoint]
    old: dict[int, Interval]
    queries: int
    documents: int

    @property
    def recall(self) -> dict[int, Interval]:
        """Recall by number of neighbors, of the map fitted on all folds but one."""
        return self.curve[-1].recall

    @property
    def is_chance(self) -> bool:
        """Whether recall is about that of a random order, as if texts and rows did not belong together."""
        k = max(self.recall)
        return self.recall[k].low < 2 * k / self.documents

    def as_dict(self) -> dict[str, Any]:
        """Everything but the map, as JSON values."""
        facts = {key: value for key, value in asdict(self).items() if key != "mapping"}
        return {"hidden_sizes": list(self.mapping.W_DE.shape), "unit_length": self.mapping.unit_length, **facts}


def fit_migration(
    X: ArrayLike, Y: ArrayLike, config: MigrationConfig | None = None, *, progress: Progress = SILENT
) -> Migration:
    """Choose and fit a map from old vectors to new ones, and measure what a search among mapped documents finds.

    Args:
        X: Old vectors of the sample, N × D.
        Y: New vectors of the same documents, N × E.
        config: How to choose and score.
        progress: Progress in maps tried.

    Raises:
        InputError: The vectors are invalid, or fewer than a map needs.
    """
    config = MigrationConfig() if config is None else config
    X_ND, Y_NE = (each.float() for each in take_same_rows(X, Y))
    fewest = max(X_ND.shape[1], 4 * config.folds)
    if len(X_ND) < fewest:
        problem = f"{len(X_ND):,} documents for a map of vectors of {X_ND.shape[1]:,} numbers"
        raise InputError(problem, f"give at least {fewest:,}, better ten times as many", "too-few")
    order_N = torch.from_numpy(random_stream(config.seed, "migration folds").permutation(len(X_ND)))
    searched = min(len(X_ND) // config.folds, config.most_documents)
    ks = sorted({k for k in config.neighbors if 2 * k <= searched} or {1})
    folds = []
    for number in range(config.folds):
        test = order_N[number :: config.folds][:searched]
        train = order_N[torch.arange(len(order_N)) % config.folds != number]
        folds.append(_Fold(train, X_ND[test], Y_NE[test], neighbors(Y_NE[test], Y_NE[test], max(ks))))
    sizes = _sizes(max(config.smallest, 2 * config.folds), min(len(fold.train_N) for fold in folds))
    curve = []
    names = candidates(config)
    with progress.task("fit", total=len(sizes) * len(folds), unit="folds") as task:
        for size in sizes:
            tried: dict[str, list[float]] = defaultdict(list)
            shares = []
            for fold in folds:
                part = fold.train_N[:size]
                shares.append(_score(fold, X_ND[part], Y_NE[part], ks, config, tried))
                task.advance()
            curve.append(CurvePoint(size, _intervals(shares, ks, config)))
    means = {name: float(np.mean(tried[name])) for name in names}
    best = max(names, key=means.__getitem__)
    W_DE, b_E = solve(PairMoments().update(X_ND, Y_NE), best)
    unit_length = bool(((Y_NE.norm(dim=1) - 1).abs() < _UNIT).all())
    return Migration(
        AffineMap(W_DE.float().contiguous(), b_E.float(), unit_length),
        best,
        _choose_at(config, sizes[-1]),
        means,
        curve,
        _intervals([fold.shares(fold.X_QD, fold.X_QD, ks) for fold in folds], ks, config),
        searched * len(folds),
        searched,
    )


def _score(
    fold: _Fold,
    X_PD: torch.Tensor,
    Y_PE: torch.Tensor,
    ks: list[int],
    config: MigrationConfig,
    tried: dict[str, list[float]],
) -> np.ndarray:
    """Recall on a fold of the map that is best on a fifth of the training pairs; ``tried`` gets that of all maps."""
    kept = len(X_PD) - len(X_PD) // 5
    moments = PairMoments().update(X_PD[:kept], Y_PE[:kept])
    dev_D, dev_E = X_PD[kept:][: config.most_documents], Y_PE[kept:][: config.most_documents]
    k = _choose_at(config, len(X_PD))
    true_QK = neighbors(dev_E, dev_E, k)
    for name in candidates(config):
        W_DE, b_E = (each.float() for each in solve(moments, name))
        tried[name].append(float(recall(neighbors(dev_E, dev_D @ W_DE + b_E, k), true_QK, k).mean()))
    best = max(candidates(config), key=lambda name: tried[name][-1])
    W_DE, b_E = (each.float() for each in solve(moments.update(X_PD[kept:], Y_PE[kept:]), best))
    return fold.shares(fold.X_QD @ W_DE + b_E, fold.Y_QE, ks)


def _choose_at(config: MigrationConfig, pairs: int) -> int:
    """Number of neighbors that a map is chosen by, on a fifth of the pairs."""
    return max(1, min(config.choose_at, pairs // 5 // 2))


def _intervals(shares: list[np.ndarray], ks: list[int], config: MigrationConfig) -> dict[int, Interval]:
    values_QF = np.concatenate(shares)
    found = bootstrap(values_QF, np.ones_like(values_QF), resamples=config.resamples, seed=config.seed)
    return dict(zip(ks, found, strict=True))


def _sizes(smallest: int, most: int) -> list[int]:
    """Sample sizes of the learning curve: each twice the one before, then all.

    >>> _sizes(500, 3200)
    [500, 1000, 2000, 3200]
    """
    sizes = []
    while smallest < most:
        sizes.append(smallest)
        smallest *= 2
    return [*sizes, most]


def migrate_index(
    old: MatrixFile,
    folder: Path,
    to: EncoderLike | str | Path,
    text: Path | None = None,
    config: MigrationConfig | None = None,
    *,
    is_map: bool = False,
    pool: Pool | None = None,
    format: Format | None = None,  # noqa: A002 - as the field
    progress: Progress = SILENT,
) -> tuple[MatrixFile, Migration | None]:
    """Fit a map on a sample or load one, and write the map and the mapped index to a folder.

    Args:
        old: The index.
        folder: Where ``map.safetensors`` and ``vectors.FORMAT`` are written.
        to: The new model; or a file of its vectors, for :func:`file_vectors`; or of a map.
        text: The sample's texts, if ``to`` is a model.
        config: How to choose and score the map.
        is_map: Whether ``to`` is a file of :meth:`AffineMap.save`.
        pool: What a text's vector is.
        format: Format of the new vectors. Default: that of the old ones.
        progress: Progress in sentences, folds and vectors.

    Returns:
        The new file, and the fitted migration unless a map was given.

    Raises:
        ConfigError: The map is for vectors of another size.
        InputError: The sample does not fit the index, or is too small.
        StorageError: A file cannot be read or written.
    """
    found = None
    if is_map:
        mapping = AffineMap.load(str(to))
    else:
        if isinstance(to, str | Path):
            both = file_vectors(old, to)
        else:
            both = sample_vectors(old, str(text), to, pool, progress)
        found = fit_migration(*both, config, progress=progress)
        mapping = found.mapping
    mapping.save(folder / "map.safetensors")
    path = folder / f"vectors.{format or old.format}"
    return map_file(old, mapping, path, format, progress=progress), found
