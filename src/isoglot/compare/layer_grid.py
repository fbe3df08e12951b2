"""CKA of every layer of one encoder with every layer of another, in one pass over any number of rows.

The three linear forms are functions of the same sums (:mod:`isoglot.compare.layer_sums`), so only sums are kept: D × E
numbers per pair of layers. The rows of all layers stand side by side: one product gives a layer against all layers of
the other side, and a layer's product with itself, which every pair needs, is computed once.

Rows are collected into chunks of a fixed size whatever the batches. Float32 rows are multiplied in float32, a chunk at
a time about a point near their mean, and chunks are summed in float64: within 1e-6 of float64 throughout.
:func:`stream_layer_cka` runs the encoders too, so that memory does not grow with the number of sentences.

Shape legend: ``B`` rows of a batch or chunk, ``D`` columns of a layer of X, ``E`` of Y, ``S`` columns of all layers of
a side, ``L`` layers of a side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import islice
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import torch

from isoglot.compare.layer_sums import CHUNK, PairSums, Scratch, SideSums, zeros
from isoglot.compare.measures.cka import FORMS, CKAGrid, Form
from isoglot.compare.measures.measure import FEWEST_ROWS, refuse_vanished
from isoglot.compare.parallel_sentences import language_for
from isoglot.core.errors import InputError, check_counts, check_name, check_range
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.represent import Representations, extract
from isoglot.represent.layer_pass import Layers, chosen_layers

if TYPE_CHECKING:
    from isoglot.core.arrays import Array
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool

__all__ = ["FORMS", "CKAFitter", "CKAGrid", "Form", "Precision", "layer_cka"]

_SAME = 1e-26  # of ‖K‖²: what centering leaves of equal rows
_VANISHED = 1e-13  # of ‖K‖²: only rounding is left of a self-similarity

Precision = Literal["given", "float64"]
"""Type in which rows are multiplied: ``given``, their own; ``float64`` always."""


class CKAFitter:
    """Fitter of the CKA of all pairs of layers that takes one batch after another, of any size.

    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> fitter = CKAFitter([0, 1], [7])
    >>> for start in range(0, 50, 20):
    ...     rows = X[start : start + 20]
    ...     _ = fitter.update({0: rows, 1: rows[:, :3]}, {7: 5 - rows[:, ::-1]})
    >>> fitter.result().centered.round(2).tolist()
    [[1.0], [0.73]]

    Args:
        layers_x: Layers of X that every batch has.
        layers_y: Layers of Y.
        precision: ``given`` multiplies float32 rows in float32, ``float64`` everything in float64.
        chunk: Rows multiplied at a time: more take memory, fewer take time.

    Raises:
        ConfigError: No layers, a layer twice, an unknown precision, or a chunk of no rows.
    """

    def __init__(
        self, layers_x: Sequence[int], layers_y: Sequence[int], *, precision: Precision = "given", chunk: int = CHUNK
    ) -> None:
        check_name("precision", precision, ("given", "float64"))
        check_range("chunk", chunk, 1)
        self.precision: Precision = precision
        self.chunk = chunk
        self._sides = (SideSums("X", layers_x), SideSums("Y", layers_y))
        self._counted = 0
        self._waiting = 0

    @property
    def layers_x(self) -> tuple[int, ...]:
        """Layers of X."""
        return self._sides[0].layers

    @property
    def layers_y(self) -> tuple[int, ...]:
        """Layers of Y."""
        return self._sides[1].layers

    @property
    def count(self) -> int:
        """Number of rows so far."""
        return self._counted + self._waiting

    def update(self, X: Mapping[int, Array] | Representations, Y: Mapping[int, Array] | Representations) -> Self:
        """Add items: for each layer their rows, B × D in X and B × E in Y.

        Raises:
            ConfigError: A layer is missing, or has another width than before.
            InputError: A row is not finite, or the layers have different numbers of rows.
        """
        taken = [side.take(batch) for side, batch in zip(self._sides, (X, Y), strict=True)]
        rows, others = (len(next(iter(layers.values()))) for layers in taken)
        check_counts("rows", {"X": rows, "Y": others}, "give the same items in the same order on both sides")
        self._make_room(taken)
        start = 0
        while start < rows:
            stop = min(rows, start + self.chunk - self._waiting)
            for side, layers in zip(self._sides, taken, strict=True):
                side.put(self._waiting, {layer: rows_BD[start:stop] for layer, rows_BD in layers.items()})
            self._waiting += stop - start
            start = stop
            if self._waiting == self.chunk:
                self._add_up()
        return self

    def result(self) -> CKAGrid:
        """CKA of all pairs of layers, in three forms.

        Raises:
            InputError: Fewer than 4 rows, or a layer that is the same in all rows.
        """
        if self.count < FEWEST_ROWS:
            problem = f"{counted(self.count, 'rows')} to compare"
            raise InputError(problem, f"give at least {FEWEST_ROWS} items", "too-few")
        self._add_up()
        values = {name: np.empty((len(self.layers_x), len(self.layers_y))) for name in FORMS}
        own = [[self._norms(n, place) for place in range(len(side.layers))] for n, side in enumerate(self._sides)]
        for row, column in np.ndindex(len(self.layers_x), len(self.layers_y)):
            products = self._products((0, row), (1, column), self._pair(row, column))
            for name, product in products.items():
                cosine = product / own[0][row][name] / own[1][column][name]
                values[name][row, column] = max(-1.0, min(1.0, cosine))
        return CKAGrid(layers_x=self.layers_x, layers_y=self.layers_y, count=self.count, **values)

    # --- chunks ---

    def _make_room(self, taken: list[dict[int, torch.Tensor]]) -> None:
        """Allocate a chunk of the widest float type so far."""
        tensors = [rows_BD for layers in taken for rows_BD in layers.values()]
        wide = self.precision == "float64" or any(rows_BD.dtype == torch.float64 for rows_BD in tensors)
        first = self._sides[0]
        if first.waiting_BS is not None and not (wide and first.waiting_BS.dtype == torch.float32):
            return
        device = tensors[0].device
        if first.waiting_BS is None and not self._counted:
            self._make_sums(taken, torch.device("cpu") if device.type == "mps" else device)  # MPS has no float64
        self._add_up()
        for side in self._sides:
            side.make_room(self.chunk, torch.float64 if wide else torch.float32, self._device)

    def _make_sums(self, taken: list[dict[int, torch.Tensor]], device: torch.device) -> None:
        self._device = device
        for side, layers in zip(self._sides, taken, strict=True):
            side.make_sums({layer: rows_BD.shape[1] for layer, rows_BD in layers.items()}, device)
        x, y = self._sides
        self._cross_SS = zeros(device, x.total, y.total)
        self._x_by_y_LS = zeros(device, len(y.layers), x.total)
        self._y_by_x_LS = zeros(device, len(x.layers), y.total)
        self._squares_LL = zeros(device, len(x.layers), len(y.layers))
        self._scratch = Scratch()

    def _add_up(self) -> None:
        """Add the waiting rows to the sums."""
        if not self._waiting:
            return
        rows = [side.chunk(self._waiting) for side in self._sides]
        lengths = [side.lengths(rows_BS) for side, rows_BS in zip(self._sides, rows, strict=True)]
        (x_BS, y_BS), (x_BL, y_BL) = rows, lengths
        self._x_by_y_LS += y_BL.T @ x_BS
        self._y_by_x_LS += x_BL.T @ y_BS
        self._squares_LL += x_BL.T @ y_BL
        for columns in self._sides[0].columns:
            layer_BD = x_BS[:, columns]
            place_DS = self._scratch.place(layer_BD.shape[1], y_BS.shape[1], layer_BD)
            self._scratch.add(self._cross_SS[columns], torch.mm(layer_BD.T, y_BS, out=place_DS))
        for side, rows_BS, lengths_BL in zip(self._sides, rows, lengths, strict=True):
            side.add_own(rows_BS, lengths_BL, self._scratch)
        self._counted += self._waiting
        self._waiting = 0

    # --- sums ---

    def _pair(self, row: int, column: int) -> PairSums:
        """Sums of a pair of layers, as views."""
        x, y = self._sides[0].columns[row], self._sides[1].columns[column]
        return PairSums(
            self._cross_SS[x, y], self._x_by_y_LS[column, x], self._y_by_x_LS[row, y], self._squares_LL[row, column]
        )

    def _norms(self, number: int, place: int) -> dict[Form, float]:
        """‖K‖ of a layer's kernel matrix in each form."""
        side = self._sides[number]
        layer = f"layer {side.layers[place]} of {side.name}"
        products = self._products((number, place), (number, place), side.own(place))
        if not all(map(math.isfinite, products.values())):
            problem = f"the values of {layer} are too large to be squared"
            raise InputError(problem, "divide them by the largest", "too-large")
        if products["centered"] <= _SAME * products["paper"]:
            raise InputError(f"{layer} is the same in all {self.count} rows", "remove that layer", "constant")
        refuse_vanished(products["debiased"], products["centered"], layer, _VANISHED)
        return {name: math.sqrt(product) for name, product in products.items()}

    def _products(self, one: tuple[int, int], other: tuple[int, int], pair: PairSums) -> dict[Form, float]:
        """⟨K, L⟩ of two layers, each given as its side and place, in each form."""
        x, y = (self._sides[side].layer(place, self._counted) for side, place in (one, other))
        zero_x, zero_y = (self._sides[side].shift_of(place) for side, place in (one, other))
        return pair.products(x, y, zero_x, zero_y)


def layer_cka(
    one: Representations, other: Representations, *, precision: Precision = "given", progress: Progress = SILENT
) -> CKAGrid:
    """CKA of all layers of two sets of representations of the same items, in three forms, in one pass.

    Args:
        one: Representations by one encoder; its layers are the rows of the grid.
        other: Representations of the same items, or of their translations, by the other.
        precision: ``given`` multiplies float32 rows in float32, ``float64`` everything in float64.
        progress: Progress in rows.

    Returns:
        A value for each pair of layers, in three forms.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> text = {"en": ["He sleeps.", "It is old.", "Yes.", "No."], "de": ["Er schläft.", "Es ist alt.", "Ja.", "Nein."]}
    >>> english, german = (isoglot.extract(encoder, text[code], layers=[0, 8], language=code) for code in text)
    >>> layer_cka(english, german).layers_x
    (0, 8)

    Raises:
        InputError: Unequal numbers of rows, fewer than 4, a row that is not finite, or a constant layer.
    """
    check_counts("rows", {"X": len(one), "Y": len(other)}, "give the same items in the same order on both sides")
    fitter = CKAFitter(one.layers, other.layers, precision=precision)
    with progress.task("compare layers", total=len(one), unit="rows") as task:
        for start in range(0, len(one), CHUNK):
            rows = slice(start, start + CHUNK)
            sides = ({layer: side[layer][rows] for layer in side.layers} for side in (one, other))
            fitter.update(*sides)
            task.advance(len(range(len(one))[rows]))
    return fitter.result()


SENTENCES = 4096
"""Sentences per chunk: their vectors of all layers are in memory at once."""


def stream_layer_cka(
    encoder_a: EncoderLike,
    encoder_b: EncoderLike,
    sentences_a: Iterable[str],
    sentences_b: Iterable[str],
    languages: tuple[str, str],
    *,
    layers: Layers = "all",
    pool: Pool = "mean",
    chunk: int = SENTENCES,
    progress: Progress = SILENT,
) -> CKAGrid:
    """CKA of every layer of one encoder with every layer of another, in three forms, for any number of sentences.

    Equals :func:`layer_cka` of what :func:`~isoglot.represent.extract` returns, up to rounding.

    Args:
        encoder_a: Encoder of the first sentences; its layers are the rows of the grid.
        encoder_b: Encoder of the others; it may be the same.
        sentences_a: Sentences of the first language, from any iterable.
        sentences_b: Their translations, in the same order.
        languages: The two languages.
        layers: ``all``, or layer numbers that both encoders have; negative ones count from the last of each.
        pool: Sentence pooling.
        chunk: Sentences read at a time: more take memory, fewer take time.
        progress: Progress in sentences.

    Returns:
        A value for each pair of layers, in three forms.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> english = ["The house is old.", "It rains.", "We read a book.", "She has two dogs."]
    >>> german = ["Das Haus ist alt.", "Es regnet.", "Wir lesen ein Buch.", "Sie hat zwei Hunde."]
    >>> grid = stream_layer_cka(encoder, encoder, english, german, ("en", "de"), layers=[0, 8], chunk=2)
    >>> grid.count, grid.form("debiased").shape
    (4, (2, 2))

    Raises:
        ConfigError: A layer or language does not exist, or the chunk is empty.
        InputError: Unequal numbers of sentences, fewer than 4, an empty one, or hidden states that are not finite or
            the same for all.
    """
    check_range("chunk", chunk, 1)
    encoders = (encoder_a, encoder_b)
    chosen = [chosen_layers(layers, encoder.depth) for encoder in encoders]
    codes = [language_for(encoder, code) for encoder, code in zip(encoders, languages, strict=True)]
    fitter = CKAFitter(*chosen)
    given = iter(sentences_a), iter(sentences_b)
    total = len(sentences_a) if isinstance(sentences_a, Sized) else None
    with progress.task("compare all layers", total=total, unit="sentences") as task:
        while any(texts := [list(islice(side, chunk)) for side in given]):
            counts = {name: fitter.count + len(side) for name, side in zip("AB", texts, strict=True)}
            check_counts("sentences", counts, "give the same sentences in the same order on both sides")
            X, Y = (
                extract(encoder, side, layers=list(own), pool=pool, language=code)
                for encoder, side, own, code in zip(encoders, texts, chosen, codes, strict=True)
            )
            fitter.update(X, Y)
            task.advance(len(texts[0]))
    return fitter.result()
