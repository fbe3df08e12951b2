"""Where the mean of each language and the neighborhoods of CSLS come from: the test, other text, or fitted means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress
from isoglot.retrieve.estimates import FOLDS, Estimates, From, OtherText
from isoglot.retrieve.sentences import Layers, other_text
from isoglot.steer.language_files import MEANS
from isoglot.steer.means import LanguageMeans

if TYPE_CHECKING:
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool


@dataclass(frozen=True)
class EstimateSource:
    """The estimates of a search, and the text or folder of means they are taken from."""

    estimates: Estimates
    texts: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        paths = [path for paths in self.texts.values() for path in paths]
        return paths if self.folder is None else [*paths, _means_file(self.folder)]

    def others(
        self,
        encoder: EncoderLike,
        languages: Iterable[str],
        *,
        layers: Layers = "all",
        pool: Pool = "mean",
        progress: Progress = SILENT,
    ) -> dict[str, dict[int | None, OtherText]]:
        """Means, and sentences if there are any, of each language; nothing where the test itself is the source.

        Raises:
            ConfigError: A language has no text or mean, the means are of another encoder, or of tokens where a sentence
                is its first token.
        """
        if self.estimates.means != "given":
            return {}
        if self.folder is None:
            _check(languages, self.texts, "text: --means-from {}=FILE")
            return other_text(encoder, self.texts, layers=layers, pool=pool, progress=progress)
        if pool != "mean":
            takes = "takes one token of a sentence" if pool == "first" else "makes vectors of another kind"
            raise ConfigError(
                f"{self.folder} has means of tokens, and --pool {pool} {takes}",
                "name other text instead: --means-from en=FILE",
                "conflicting-options",
            )
        means = LanguageMeans.load(_means_file(self.folder))
        means.check_encoder(encoder, remedy="learn those of this one: isoglot steer fit MODEL --out means/")
        _check(languages, means.languages, "mean: isoglot steer fit MODEL --text {}=FILE … --out means/")
        return means.as_others()


def estimate_source(
    means: Literal["folds", "own"] | Path | Mapping[str, Sequence[Path]] = "folds",
    neighborhoods: Literal["folds", "own", "text"] = "folds",
    *,
    folds: int | None = None,
) -> EstimateSource:
    """Choose where a search takes its estimates from.

    >>> estimate_source("own").estimates.means
    'own'

    Args:
        means: Other folds of the test, the test itself, a folder of fitted means, or files of each language.
        neighborhoods: Other folds of the test, the test itself, or the sentences of those files.
        folds: Number of folds. Default: five.

    Raises:
        ConfigError: Neighborhoods of text without text.
    """
    texts = means if isinstance(means, Mapping) else {}
    folder = means if isinstance(means, Path) else None
    if neighborhoods == "text" and not texts:
        remedy = "name it: --means-from en=FILE --means-from de=FILE"
        raise ConfigError("--csls-from text needs text", remedy, "missing-option")
    origin = str(folder or "") or ", ".join(str(path) for paths in texts.values() for path in paths)
    source: From = means if isinstance(means, str) else "given"
    near: From = "given" if neighborhoods == "text" else neighborhoods
    return EstimateSource(
        Estimates(means=source, neighborhoods=near, folds=folds or FOLDS, origin=origin), texts, folder
    )


def _means_file(folder: Path) -> Path:
    return folder if folder.name == MEANS else folder / MEANS


def _check(languages: Iterable[str], known: Iterable[str], remedy: str) -> None:
    there = set(known)
    for code in (code for code in languages if code not in there):
        raise ConfigError(f"--means-from has nothing of {code}", f"give its {remedy.format(code)}", "missing-data")
