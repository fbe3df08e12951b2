"""Base class of erasers, which remove language identity from rows.

An eraser needs only the mean, covariance and number of rows of each language. It can be fitted on all rows (``fit``),
batch by batch (``update``) or from language means (``from_means``), with equal results.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` removed directions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from isoglot.align.maps.estimator import Estimator
from isoglot.core.arrays import Array, ArrayT, give_back, refuse_large, take_rows
from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.represent.moments import LanguageStatistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.model.protocol import Change
    from isoglot.steer.means import LanguageMeans


class MomentsByLanguage(NamedTuple):
    """Counts, means and covariances of the rows of each language, in float64."""

    languages: tuple[str, ...]
    counts_K: torch.Tensor
    means_KD: torch.Tensor
    covariances: list[torch.Tensor]
    """D × D for each, divided by ``count - 1``"""


@dataclass(eq=False, kw_only=True)
class Eraser(Estimator):
    """Base class of :class:`MeanRemoval`, :class:`LIR`, :class:`LSAR`, :class:`INLP` and :class:`LEACE`.

    Learns ``languages_`` and ``width_``; subclasses add their own.

    >>> import numpy as np
    >>> from isoglot.steer import LEACE
    >>> X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0, 0, 0], [3, 0, 0]], 20, axis=0)
    >>> found = LEACE().fit(X, ["en"] * 20 + ["de"] * 20).transform(X)
    >>> bool(np.allclose(found[:20].mean(axis=0), found[20:].mean(axis=0)))
    True
    """

    _file: ClassVar[str] = "eraser.safetensors"
    _package: ClassVar[str] = "isoglot.steer"
    needs_language: ClassVar[bool] = False
    """whether ``transform`` needs the language of every row"""

    languages_: tuple[str, ...] = field(init=False, repr=False)
    width_: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._statistics: dict[str, LanguageStatistics] = {}
        self._like: Array | None = None

    # --- learning ---

    def fit(self, X: Array, languages: Sequence[str]) -> Self:
        """Fit on rows, each with the code of its language.

        Raises:
            ConfigError: An option is invalid, there is only one language, or a code is invalid.
            InputError: The rows are invalid, or the number of codes differs.
        """
        self._clear_learned()
        self._statistics = {}
        self._take(X, languages)
        self._learn_from_statistics()
        return self

    def update(self, X: Array, languages: Sequence[str]) -> Self:
        """Add more rows; the result equals that of ``fit`` on all rows, up to rounding.

        Raises:
            ConfigError: A code is invalid, or the eraser was loaded from a file or made from means.
            InputError: The rows are invalid, or the number of codes differs.
        """
        if not self._statistics and super().learned():
            raise ConfigError("an eraser from a file or from means cannot be updated", "fit a new one", "not-supported")
        self._take(X, languages)
        self._clear_learned()
        return self

    @classmethod
    def from_means(
        cls,
        means: LanguageMeans,
        layer: int,
        *,
        languages: Sequence[str] | None = None,
        **options: Any,  # noqa: ANN401 - those of the class
    ) -> Self:
        """Fit from language means, as if on all of their tokens.

        Args:
            means: Language means of the encoder.
            layer: The layer.
            languages: Languages to use. Default: all.
            **options: Options of the eraser.

        Raises:
            ConfigError: A language or the layer has no mean, or there is only one language.
        """
        codes = means.languages if languages is None else tuple(dict.fromkeys(map(language_code, languages)))
        found = {code: (means.count(code), means.mean(code, layer), means.covariance(code, layer)) for code in codes}
        return cls.from_moments(found, **options)

    @classmethod
    def from_moments(
        cls,
        moments: Mapping[str, tuple[int, np.ndarray, np.ndarray]],
        **options: Any,  # noqa: ANN401 - those of the class
    ) -> Self:
        """Fit from the number of rows, mean (D) and covariance (D × D) of each language, in float64.

        Raises:
            ConfigError: There is only one language.
        """
        eraser = cls(**options)
        eraser._learn_from(moments, np.empty(0))
        return eraser

    def learned(self) -> dict[str, Any]:
        """Learned attributes by name; after ``update`` they are computed here."""
        if self._statistics and not super().learned():
            self._learn_from_statistics()
        return super().learned()

    # --- use ---

    def transform(self, X: ArrayT, languages: Sequence[str] | str | None = None) -> ArrayT:
        """Remove language identity from rows; returns the type that was given.

        Args:
            X: N × D.
            languages: Code of each row, or one for all; required by MeanRemoval and LIR.

        Raises:
            ConfigError: Languages are required and missing, or one was not in the training data.
            InputError: The rows are invalid, or the number of codes differs.
            NotFittedError: It is not fitted.
        """
        self._check_fitted()
        rows_ND = take_rows(X, width=self.width_)
        return give_back(self._apply(rows_ND, self._language_numbers(languages, len(rows_ND))), X)

    def fit_transform(self, X: ArrayT, languages: Sequence[str]) -> ArrayT:
        """Fit, then transform."""
        return self.fit(X, languages).transform(X, languages)

    def score(self, X: Array, languages: Sequence[str]) -> float:
        """Negative share of the variance of erased rows between languages; 0 is best.

        At 0 all languages have the same mean, and no linear probe can tell them apart.
        """
        self._check_fitted()
        rows_ND = take_rows(X, width=self.width_)
        of_N, codes = _codes(languages, len(rows_ND))
        Z_ND = self._apply(rows_ND, self._language_numbers(languages, len(rows_ND))).double()
        center_D = Z_ND.mean(dim=0)
        total = float((Z_ND - center_D).square().sum())
        between = 0.0
        for number in range(len(codes)):
            its_ND = Z_ND[of_N.to(Z_ND.device) == number]
            between += len(its_ND) * float((its_ND.mean(dim=0) - center_D).square().sum())
        return -between / total if total else 0.0

    def change(self, language: str | None = None) -> Change:
        """An edit that erases every position of an encoder: ``with encoder.edited(layer, eraser.change("de"))``.

        Raises:
            ConfigError: The language is required and missing, or was not in the training data.
            NotFittedError: It is not fitted.
        """
        self._check_fitted()
        which_1 = self._language_numbers(language, 1)

        def erase(hidden_BTD: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            rows_ND = hidden_BTD.flatten(0, 1)
            exact_ND = rows_ND if rows_ND.dtype == torch.float64 else rows_ND.float()
            which_N = None if which_1 is None else which_1.expand(len(rows_ND))
            return self._apply(exact_ND, which_N).to(rows_ND.dtype).view_as(hidden_BTD)

        return erase

    # --- inside ---

    def _take(self, X: Array, languages: Sequence[str]) -> None:
        self.check_options()
        rows_ND = take_rows(X)
        refuse_large(rows_ND)
        of_N, codes = _codes(languages, len(rows_ND))
        known = next(iter(self._statistics.values())).result().means_LD.shape[1] if self._statistics else None
        if known is not None and known != rows_ND.shape[1]:
            problem = f"X has {rows_ND.shape[1]} columns, earlier rows had {known}"
            raise InputError(problem, "give rows of the same width", "shape")
        for number, code in enumerate(codes):
            statistics = self._statistics.setdefault(code, LanguageStatistics([0]))
            statistics.update({0: rows_ND[of_N.to(rows_ND.device) == number]})
        self._like = X[:0]

    def _clear_learned(self) -> None:
        for name in super().learned():
            delattr(self, name)

    def _learn_from_statistics(self) -> None:
        """Compute the learned attributes from the statistics."""
        results = {code: self._statistics[code].result() for code in sorted(self._statistics)}
        found = {code: (each.count, each.means_LD[0], each.covariance(0)) for code, each in results.items()}
        assert self._like is not None  # noqa: S101 - for the type checker
        self._learn_from(found, self._like)

    def _learn_from(self, found: Mapping[str, tuple[int, np.ndarray, np.ndarray]], like: Array) -> None:
        """Compute the learned attributes from the count, mean and covariance of each language."""
        self.check_options()
        if len(found) < 2:
            only = f"only {next(iter(found))}" if found else "no language"
            raise ConfigError(f"{only} to learn from", "give rows of two languages or more", "missing-data")
        counts, means, covariances = zip(*found.values(), strict=True)
        spread = MomentsByLanguage(
            tuple(found),
            torch.tensor(counts, dtype=torch.float64),
            torch.from_numpy(np.stack(means)),
            [torch.from_numpy(each) for each in covariances],
        )
        width = spread.means_KD.shape[1]
        self._keep({"languages_": spread.languages, "width_": width, **self._learn(spread)}, like)

    def _language_numbers(self, languages: Sequence[str] | str | None, rows: int) -> torch.Tensor | None:
        """Index of the language of each row; None if not needed."""
        if not self.needs_language:
            return None
        if languages is None:
            problem = f"{type(self).__name__} needs the language of every row"
            raise ConfigError(problem, "give their codes", "missing-data")
        of_N, codes = _codes([languages] * rows if isinstance(languages, str) else languages, rows)
        for code in codes:
            if code not in self.languages_:
                problem = f"{shown(code)} was not in the training data"
                raise ConfigError(problem, nearest_name(code, self.languages_), "unknown-name")
        numbers = torch.tensor([self.languages_.index(code) for code in codes])
        return numbers[of_N]

    @abstractmethod
    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        """Learned attributes by name."""

    @abstractmethod
    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        """The erased rows."""


def _codes(languages: Sequence[str], rows: int) -> tuple[torch.Tensor, list[str]]:
    """Index of the language of each row, and the canonical codes."""
    if isinstance(languages, str) or len(languages) != rows:
        count = 1 if isinstance(languages, str) else len(languages)
        raise InputError(f"{rows} rows with {count} languages", "give the code of each row", "row-count")
    numbers: dict[str, int] = {}
    of_N = [numbers.setdefault(language_code(str(language)), len(numbers)) for language in languages]
    return torch.tensor(of_N), list(numbers)
