"""Word aligner trained on bitext in both directions, saved to a file, applied to any sentence pairs.

>>> pairs = [("the house".split(), "das haus".split()), ("the book".split(), "das buch".split())]
>>> pairs += [("a book".split(), "ein buch".split())]
>>> aligner = train_aligner(pairs)
>>> aligner.align([("a house".split(), "ein haus".split())])
[[(0, 0), (1, 1)]]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from isoglot.align.words.bitext import IndexedBitext, PairCounts, WordIndex
from isoglot.align.words.diagonal_model import DirectionModel, DirectionTrainer, WordAlignConfig, agree, direction
from isoglot.align.words.em_loops import FLOOR, best_sources, look_up
from isoglot.align.words.links import METHODS, Symmetry, merge
from isoglot.core.artifact import array_path, load_arrays, save_arrays
from isoglot.core.errors import ConfigError, InputError, check_name, shown
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.align.words.bitext import Pair
    from isoglot.align.words.encoder_aligner import EncoderAligner
    from isoglot.text.formats.parallel import Links

_CHUNK = 10_000  # sentence pairs aligned at a time


class Aligner(ABC):
    """Base class of word aligners."""

    usual: ClassVar[Symmetry]
    """Default symmetrization."""
    config: Any
    languages: tuple[str, str] | None

    @property
    def device(self) -> str:
        """Where it computes."""
        return "cpu"

    def stream(
        self,
        pairs: Iterable[Pair],
        method: Symmetry | None = None,
        *,
        counts: PairCounts | None = None,
        progress: Progress = SILENT,
    ) -> Iterator[Links]:
        """Links (source, target) of each pair, in order; only some of the pairs are held in memory at a time.

        A pair that is blank, one-sided or overlong has none.

        Args:
            pairs: Sentence pairs, as lists of words.
            method: Symmetrization method. Default: ``usual``.
            counts: Updated with the numbers of pairs, if given.
            progress: Progress in pairs.

        Raises:
            ConfigError: The method is unknown.
            InputError: A hidden state of an encoder is not finite.
        """
        method = method or self.usual
        check_name("symmetrization method", method, METHODS)
        counts = PairCounts() if counts is None else counts
        link = self._linker(method)
        with progress.task("aligning", total=None, unit="pairs") as task:
            for chunk in self._chunks(pairs):
                usable = [counts.usable(*pair, self.config.max_words) for pair in chunk]
                found = iter(link([pair for pair, good in zip(chunk, usable, strict=True) if good]))
                yield from [next(found) if good else [] for good in usable]
                task.advance(len(chunk))

    def align(self, pairs: Iterable[Pair], method: Symmetry | None = None) -> list[Links]:
        """Links of all pairs; as :meth:`stream`."""
        return list(self.stream(pairs, method))

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """How it was fitted, as JSON."""

    def origin(self) -> dict[str, Any]:
        """Name and hash of its encoder; empty without one."""
        return {}

    @abstractmethod
    def save(self, path: str | Path) -> Path:
        """Write to a file or folder; returns the file."""

    @abstractmethod
    def _chunks(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        """Pairs that are linked together."""

    @abstractmethod
    def _linker(self, method: Symmetry) -> Callable[[Sequence[Pair]], list[Links]]:
        """Function that links usable pairs."""


@dataclass(eq=False, kw_only=True)
class WordAligner(Aligner):
    """Word aligner of both directions; see :func:`train_aligner`.

    A word that was not seen in training stays near the diagonal.

    >>> from isoglot.align import train_aligner
    >>> pairs = [(["the", "house"], ["das", "Haus"]), (["the", "book"], ["das", "Buch"])] * 5
    >>> train_aligner(pairs).align([(["house"], ["Haus"])])
    [[(0, 0)]]
    """

    config: WordAlignConfig
    """Settings of the training."""
    languages: tuple[str, str] | None
    """Languages of source and target, if known."""
    words: tuple[tuple[str, ...], tuple[str, ...]]
    """Word types of the source and the target."""
    rows: np.ndarray
    """Offsets of the entries of each source type."""
    columns: np.ndarray
    """Target type of each entry."""
    forward: DirectionModel
    """The target explained by the source."""
    backward: DirectionModel
    """The source explained by the target."""
    counts: PairCounts
    """Numbers of training pairs."""
    usual: ClassVar[Symmetry] = "grow-diag-final-and"

    def _chunks(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        source = iter(pairs)
        while chunk := list(islice(source, _CHUNK)):
            yield chunk

    def _linker(self, method: Symmetry) -> Callable[[Sequence[Pair]], list[Links]]:
        known = [WordIndex(words, case=self.config.case) for words in self.words]
        return partial(self._links, known, method)

    def _links(self, words: Sequence[WordIndex], method: Symmetry, pairs: Sequence[Pair]) -> list[Links]:
        bitext = IndexedBitext.of(pairs, *words)
        place = look_up(self.rows, self.columns, bitext.rows, bitext.columns, len(words[1]))
        best = []
        for learned, side, backward in ((self.forward, 1, False), (self.backward, 0, True)):
            given = np.where(place >= 0, learned.given[place], np.float32(0)) if len(learned.given) else place * 0.0
            given_null = np.zeros(len(words[side]), np.float32)
            given_null[: len(learned.given_null)] = learned.given_null
            options = {"tension": learned.tension, "null": self.config.null}
            best.append(best_sources(direction(bitext, given, given_null, backward=backward, **options)))
        starts, sources, targets = merge(
            best[0],
            best[1],
            bitext.source_starts,
            bitext.target_starts,
            method.startswith("grow"),
            method.endswith("final-and"),
            method == "union",
            bitext.longest,
        )
        links = list(zip(sources.tolist(), targets.tolist(), strict=True))
        return [links[start:stop] for start, stop in pairwise(starts.tolist())]

    def translations(self, word: str, limit: int = 5) -> list[tuple[str, float]]:
        """Most likely target words of a source word, with their probabilities given it; case as in training."""
        word = word.lower() if self.config.case == "lower" else word
        number = {each: place for place, each in enumerate(self.words[0])}.get(word)
        if number is None:
            return []
        low, high = int(self.rows[number]), int(self.rows[number + 1])
        order = np.argsort(-self.forward.given[low:high], kind="stable")[:limit] + low
        return [(self.words[1][self.columns[slot]], float(self.forward.given[slot])) for slot in order]

    def facts(self) -> dict[str, Any]:
        """Statistics of the training, as JSON."""
        return {
            "tension": {"forward": self.forward.tension, "backward": self.backward.tension},
            "log_likelihood_a_word": {"forward": self.forward.likelihoods, "backward": self.backward.likelihoods},
        }

    def save(self, path: str | Path) -> Path:
        """Write to one safetensors file, or to ``aligner.safetensors`` in a folder; returns the file.

        Raises:
            StorageError: The file cannot be written.
        """
        arrays = {
            "rows": self.rows,
            "columns": self.columns,
            "forward": self.forward.given,
            "backward": self.backward.given,
            "forward_null": self.forward.given_null,
            "backward_null": self.backward.given_null,
        }
        for side, words in zip(("source", "target"), self.words, strict=True):
            arrays[f"{side}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        about = {
            "config": self.config.model_dump(),
            "languages": self.languages,
            "counts": {name: value for name, value in self.counts.facts().items() if name != "used"},
            "tensions": [self.forward.tension, self.backward.tension],
            "likelihoods": [self.forward.likelihoods, self.backward.likelihoods],
        }
        return write_aligner(path, STATISTICAL, about, arrays)

    @classmethod
    def load(cls, path: str | Path) -> WordAligner:
        """Read from a file or folder.

        Raises:
            CorruptFileError: The file is damaged.
            InputError: It holds something else.
            StorageError: It cannot be read.
        """
        return cls.of_file(read_aligner(path, STATISTICAL))

    @classmethod
    def of_file(cls, found: AlignerFile) -> WordAligner:
        """Aligner of a file that was read."""
        about, arrays = found.about, found.arrays
        words = [tuple(arrays[f"{side}_words"].tobytes().decode().split("\n")) for side in ("source", "target")]
        directions = [
            DirectionModel(
                given=arrays[name], given_null=arrays[f"{name}_null"], tension=tension, likelihoods=likelihoods
            )
            for name, tension, likelihoods in zip(
                ("forward", "backward"), about["tensions"], about["likelihoods"], strict=True
            )
        ]
        return cls(
            config=WordAlignConfig(**about["config"]),
            languages=tuple(about["languages"]) if about["languages"] else None,
            words=(words[0], words[1]),
            rows=arrays["rows"],
            columns=arrays["columns"],
            forward=directions[0],
            backward=directions[1],
            counts=PairCounts(**about["counts"]),
        )


def train_aligner(
    pairs: Iterable[Pair],
    config: WordAlignConfig | None = None,
    *,
    languages: tuple[str, str] | None = None,
    progress: Progress = SILENT,
) -> WordAligner:
    """Train a word aligner on sentence pairs, in both directions.

    Args:
        pairs: Sentence pairs, as lists of words. Those that are blank, one-sided or overlong are counted and left out.
        config: Settings.
        languages: Languages of the two sides, for the record.
        progress: Progress in rounds.

    Returns:
        The trained aligner: ``align`` links new pairs.

    >>> english, german = ["the house", "the book", "a book"], ["das Haus", "das Buch", "ein Buch"]
    >>> pairs = [(left.split(), right.split()) for left, right in zip(english, german, strict=True)]
    >>> aligner = train_aligner(pairs)
    >>> aligner.align(pairs[:1])
    [[(0, 0), (1, 1)]]

    Raises:
        InputError: No pair has words on both sides, or a word has a line break.
    """
    config = WordAlignConfig() if config is None else config
    counts = PairCounts()
    usable = [pair for pair in pairs if counts.usable(*pair, config.max_words)]
    counts.check_any(config.max_words)
    source_words, target_words = WordIndex(case=config.case), WordIndex(case=config.case)
    bitext = IndexedBitext.of(usable, source_words, target_words)
    del usable
    for word in (*source_words.numbers, *target_words.numbers):
        if "\n" in word:  # separates words in the file
            raise InputError(f"the word {shown(word)} has a line break", "split the text there", "malformed-line")
    types = len(source_words), len(target_words)
    trainers = [
        DirectionTrainer(bitext, types if backward else types[::-1], backward=backward, config=config)
        for backward in (False, True)
    ]
    total = 2 * config.iterations + config.agreement
    with progress.task("learning to align", total=total, unit="rounds") as task:
        for trainer in trainers:
            for _ in range(config.iterations):
                task.note(f"{trainer.round():.3f} nats a word")
                task.advance()
        for _ in range(config.agreement):
            agree(*trainers)
            task.advance()
    directions = [trainer.learned for trainer in trainers]
    del trainers
    for learned in directions:
        # Single precision from here on, as in the file.
        learned.given, learned.given_null = learned.given.astype(np.float32), learned.given_null.astype(np.float32)
    forward, backward_ = directions
    kept = (forward.given > FLOOR) | (backward_.given > FLOOR)  # the others count as unseen
    rows = np.zeros(types[0] + 1, np.int64)
    np.cumsum(np.bincount(bitext.row_of[kept], minlength=types[0]), out=rows[1:])
    for learned in directions:
        learned.given = learned.given[kept]
    return WordAligner(
        config=config,
        languages=languages,
        words=(tuple(source_words.numbers), tuple(target_words.numbers)),
        rows=rows,
        columns=bitext.columns[kept],
        forward=forward,
        backward=backward_,
        counts=counts,
    )


FILE = "aligner.safetensors"
STATISTICAL, ENCODER = "statistical", "encoder"
_KIND = "word aligner"


class AlignerFile(NamedTuple):
    """Content of an aligner's file."""

    file: Path
    kind: str
    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_aligner(path: str | Path, kind: str, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    """Write to a file, or to ``aligner.safetensors`` in a folder; returns the file.

    Raises:
        StorageError: The file cannot be written.
    """
    file = aligner_path(path)
    save_arrays(file, _KIND, {"kind": kind, **about}, arrays)
    return file


def read_aligner(path: str | Path, kind: str | None = None) -> AlignerFile:
    """Read from a file or folder.

    Args:
        path: The file, or its folder.
        kind: Required kind; None: any.

    Raises:
        CorruptFileError: The file is damaged.
        InputError: It holds something else, or another kind.
        StorageError: It cannot be read.
    """
    file = aligner_path(path)
    about, arrays = load_arrays(file, _KIND, remedy="make one with isoglot align links")
    found = about.get("kind", STATISTICAL)  # the only one, once
    if kind not in (None, found):
        problem = f"a word aligner of kind {found}, not {kind}"
        raise InputError(problem, "open it by its kind", "unknown-format", file=file)
    return AlignerFile(file, found, about, arrays)


def load_aligner(path: str | Path, *, model: str | None = None, device: str = "auto") -> WordAligner | EncoderAligner:
    """Read an aligner of either kind, as written by ``isoglot align links``.

    Args:
        path: The file, or its folder.
        model: Current location of the encoder, for the second kind; None: the recorded one.
        device: Where it computes.

    Returns:
        The aligner, ready for ``align``.

    >>> import tempfile
    >>> from isoglot.align import train_aligner
    >>> pairs = [(["the", "house"], ["das", "Haus"]), (["the", "book"], ["das", "Buch"])] * 5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train_aligner(pairs).save(folder)
    ...     load_aligner(folder).align(pairs[:1])
    [[(0, 0), (1, 1)]]

    Raises:
        ConfigError: A model is given for an aligner that has none, or it is another one.
        CorruptFileError: The file is damaged.
        InputError: It holds something else.
        StorageError: It cannot be read, or the encoder is not found.
    """
    found = read_aligner(path)
    if found.kind == ENCODER:
        from isoglot.align.words.encoder_aligner import EncoderAligner
        from isoglot.model import load_encoder

        encoder = None if model is None else load_encoder(model, device=device)
        return EncoderAligner.of_file(found, encoder, device=device)
    if model is not None:
        problem = f"{found.file} was learned from bitext and has no model"
        raise ConfigError(problem, "leave the model out", "not-supported")
    return WordAligner.of_file(found)


def aligner_path(path: str | Path) -> Path:
    """The file itself, or the one in a folder."""
    return array_path(path, FILE)
