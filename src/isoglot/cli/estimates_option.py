"""The options ``--means-from`` and ``--csls-from``: where a search takes language means and neighborhoods."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.named_paths import is_path, parse_named
from isoglot.core.errors import ConfigError, nearest_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.retrieve.estimates import Estimates, From, Other
    from isoglot.retrieve.from_model import Layers, Pool

MeansFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--means-from",
        metavar="SOURCE",
        help="Where the mean of each language comes from: folds (other sentences of the set), own (the test itself), "
        "LANG=FILE (other text; repeated), or a folder of isoglot steer fit. Default: folds.",
    ),
]
CslsFrom = Annotated[
    Literal["folds", "own", "text"],
    typer.Option(
        "--csls-from",
        help="What neighborhoods of csls are made of: folds (other sentences of the set), own (the test itself), or "
        "text (the sentences of --means-from).",
    ),
]


@dataclass(frozen=True)
class EstimatesOption:
    """What the two options ask for: the estimates, and the text or folder of means they are taken from."""

    estimates: Estimates
    texts: dict[str, list[Path]] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        from isoglot.steer.language_files import MEANS

        paths = [path for paths in self.texts.values() for path in paths]
        return paths if self.folder is None else [*paths, _means_file(self.folder, MEANS)]

    def others(
        self, encoder: EncoderLike, languages: Iterable[str], *, layers: Layers, pool: Pool, progress: Progress
    ) -> dict[str, dict[int | None, Other]]:
        """What is known of each language from there; nothing where the test itself is the source.

        Raises:
            ConfigError: A language has no text or mean, the means are of another encoder, or of tokens where a sentence
                is its first token.
        """
        if self.estimates.means != "given":
            return {}
        if self.folder is None:
            from isoglot.retrieve.from_model import other_text

            self._check(languages, self.texts, "text: --means-from {}=FILE")
            return other_text(encoder, self.texts, layers=layers, pool=pool, progress=progress)
        from isoglot.steer.language_files import MEANS
        from isoglot.steer.means import LanguageMeans

        if pool != "mean":
            takes = "takes one token of a sentence" if pool == "first" else "makes vectors of another kind"
            raise ConfigError(
                f"{self.folder} has means of tokens, and --pool {pool} {takes}",
                remedy="name other text instead: --means-from en=FILE",
            )
        means = LanguageMeans.load(_means_file(self.folder, MEANS))
        means.check_encoder(encoder, remedy="learn those of this one: isoglot steer fit MODEL --out means/")
        self._check(languages, means.languages, "mean: isoglot steer fit MODEL --text {}=FILE … --out means/")
        return means.as_others()

    @staticmethod
    def _check(languages: Iterable[str], known: Iterable[str], remedy: str) -> None:
        there = set(known)
        for code in languages:
            if code not in there:
                raise ConfigError(f"--means-from has nothing of {code}", remedy=f"give its {remedy.format(code)}")


def _means_file(folder: Path, name: str) -> Path:
    return folder if folder.name == name else folder / name


def parse_estimates(
    means_from: list[str] | None, csls_from: Literal["folds", "own", "text"], *, folds: int | None = None
) -> EstimatesOption:
    """What the options ask for.

    Raises:
        ConfigError: They do not go together, or there is no such source or file.
    """
    from isoglot.retrieve.estimates import FOLDS, Estimates

    values = means_from or ["folds"]
    texts: dict[str, list[Path]] = {}
    folder = None
    source: From = "given"
    if values in (["own"], ["folds"]):
        source = "own" if values == ["own"] else "folds"
    elif len(values) == 1 and is_path(values[0]):
        folder = Path(values[0]).expanduser()
        if not folder.is_dir():
            remedy = nearest_name(values[0], ("folds", "own"))
            raise ConfigError(f"--means-from {shown(values[0])}: no such source or folder", remedy=remedy)
    else:
        texts = parse_named(values, "--means-from")
    if csls_from == "text" and not texts:
        raise ConfigError("--csls-from text needs text", remedy="name it: --means-from en=FILE --means-from de=FILE")
    origin = str(folder) if folder is not None else ", ".join(str(path) for paths in texts.values() for path in paths)
    neighborhoods: From = "given" if csls_from == "text" else csls_from
    estimates = Estimates(means=source, neighborhoods=neighborhoods, folds=folds or FOLDS, origin=origin)
    return EstimatesOption(estimates, texts, folder)
