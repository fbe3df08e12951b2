"""Word alignment by an encoder's vectors: only the layer, a threshold and two means are learned.

Shape legend: ``L`` layers, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch

from isoglot.align.words.bitext import PairCounts
from isoglot.align.words.encoder_links import (
    EncoderLinksConfig,
    LayerChoice,
    LinkSettings,
    WordVectors,
    check_gold,
    choose_layer,
    default_settings,
    links_with,
    symmetrized,
)
from isoglot.align.words.word_aligner import ENCODER, Aligner, AlignerFile, read_aligner, write_aligner
from isoglot.core.errors import ConfigError, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.represent import extract
from isoglot.represent.encoder_hash import encoder_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.align.words.bitext import Pair
    from isoglot.align.words.links import Symmetry
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.text.formats.parallel import Links

_NUMBERS = 2**25  # of word vectors in memory at a time
_BATCH_NUMBERS = 2**22  # numbers of a batch's vectors, and of its similarities


class PairedWords:
    """Word vectors of sentence pairs: one pass through the encoder for each side, all layers at once.

    Args:
        encoder: Any encoder.
        pairs: Sentence pairs as lists of words, none of them empty.
        languages: Languages of the sides, for encoders with language-specific parts.
        layers: Layer numbers, or ``all``.
        pool: Whether a word is the mean of its subwords or its first.
        scratch: Folder for temporary vectors. Default: they are in memory.
        progress: Progress in sentences.

    Raises:
        ConfigError: A layer or language does not exist.
        InputError: A sentence is empty, or a hidden state is not finite.
        StorageError: The folder cannot be written to.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        pairs: Sequence[Pair],
        *,
        languages: tuple[str, str] | None = None,
        layers: Layers = "all",
        pool: Literal["words", "word-first"] = "words",
        scratch: Path | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self.device = encoder.device
        found = [
            extract(
                encoder,
                [pair[side] for pair in pairs],
                layers=layers,
                pool=pool,
                language=None if languages is None else languages[side],
                out=None if scratch is None else scratch / f"words{side}",
                progress=progress,
            )
            for side in (0, 1)
        ]
        self.layers = found[0].layers
        self._sides = found
        self._starts = [np.asarray(each.offsets) for each in found]
        self._sizes_P2 = np.stack([np.diff(starts) for starts in self._starts], axis=1)

    def means(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean of all words of either side in every layer (L × D); words without a vector do not count."""
        one, other = (
            torch.stack([torch.from_numpy(_mean(side[layer])) for layer in self.layers]).to(self.device)
            for side in self._sides
        )
        return one, other

    def batches(self) -> Iterator[tuple[list[int], WordVectors]]:
        """Batches of pairs of similar size, with their numbers."""
        order = np.lexsort((self._sizes_P2[:, 1], self._sizes_P2[:, 0]))[::-1]
        width = self._sides[0].hidden_size
        start = 0
        while start < len(order):
            most, other = (int(each) for each in self._sizes_P2[order[start]])
            end = start + 1
            while end < len(order):
                size = self._sizes_P2[order[end]]
                other = max(other, int(size[1]))
                cost = max((most + other) * width, most * other) * len(self.layers)
                if 2 * int(size[0]) < most or cost * (end + 1 - start) > _BATCH_NUMBERS:
                    break
                end += 1
            which = order[start:end]
            source, target = (self._padded(side, which) for side in (0, 1))
            yield which.tolist(), WordVectors(source, target, torch.from_numpy(self._sizes_P2[which]))
            start = end

    def _padded(self, side: int, which_P: np.ndarray) -> torch.Tensor:
        sizes_P = self._sizes_P2[which_P, side]
        places_M = np.arange(sizes_P.max())
        real_PM = places_M < sizes_P[:, None]
        rows_PM = np.where(real_PM, self._starts[side][which_P][:, None] + places_M, 0)
        found = [np.where(real_PM[..., None], self._sides[side][layer][rows_PM], 0) for layer in self.layers]
        return torch.from_numpy(np.stack(found)).to(self.device)


def _mean(rows_ND: np.ndarray) -> np.ndarray:
    real = max(1, int(rows_ND.any(axis=1).sum()))
    return np.asarray(rows_ND.sum(axis=0, dtype=np.float64) / real, np.float32)


@dataclass(eq=False, kw_only=True)
class EncoderAligner(Aligner):
    """An encoder with the settings of its links; see :func:`fit_encoder_aligner`.

    Layer and threshold are chosen for the intersection of both directions.
    """

    encoder: EncoderLike
    """The encoder."""
    model: str
    """Name or folder of the encoder, where it is looked for when the aligner is read from a file."""
    config: EncoderLinksConfig
    """Settings as they were given."""
    languages: tuple[str, str] | None
    """Languages of source and target, if known."""
    way: LinkSettings
    """Layer, rule, threshold and centering that are used."""
    means_2D: tuple[torch.Tensor, torch.Tensor] | None
    """Mean of either language in the layer; None if not subtracted."""
    choice: LayerChoice | None
    """Results on gold links; None without them, and after reading from a file."""
    about: dict[str, Any]
    """What it was fitted on, and results there."""
    usual: ClassVar[Symmetry] = "intersection"

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.encoder.device)

    def _chunks(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        chunk: list[Pair] = []
        words = 0
        for pair in pairs:
            chunk.append(pair)
            words += len(pair[0]) + len(pair[1])
            if words * self.encoder.hidden_size >= _NUMBERS:
                yield chunk
                chunk, words = [], 0
        if chunk:
            yield chunk

    def _linker(self, method: Symmetry) -> Callable[[Sequence[Pair]], list[Links]]:
        return partial(self._links, method)

    def _links(self, method: Symmetry, pairs: Sequence[Pair]) -> list[Links]:
        if not pairs:
            return []
        words = PairedWords(
            self.encoder, pairs, languages=self.languages, layers=[self.way.layer], pool=self.config.pool
        )
        found: list[Links] = [[] for _ in pairs]
        for which, batch in words.batches():
            links = symmetrized(links_with(self.way, batch, self.means_2D, self.config), method)[0]
            for number, each in zip(which, links, strict=True):
                found[number] = each
        return found

    def facts(self) -> dict[str, Any]:
        """Settings of the links and what they were chosen by, as JSON."""
        return {"model": self.model, "way": self.way.facts(), "fitted": self.about}

    def origin(self) -> dict[str, Any]:
        """Name or folder of the encoder, and a hash of its weights."""
        return {"model": self.model, "encoder_sha256": encoder_hash(self.encoder)}

    def save(self, path: str | Path) -> Path:
        """Write everything but the encoder, as ``aligner.safetensors`` in a folder; returns the file.

        Raises:
            StorageError: The file cannot be written.
        """
        about = {
            "config": self.config.model_dump(),
            "languages": self.languages,
            **self.origin(),
            "way": self.way.facts(),
            "fitted": self.about,
        }
        means = self.means_2D or (torch.zeros(0), torch.zeros(0))
        arrays = {name: mean_D.cpu().numpy() for name, mean_D in zip(("source", "target"), means, strict=True)}
        return write_aligner(path, ENCODER, about, arrays)

    @classmethod
    def load(cls, path: str | Path, encoder: EncoderLike | None = None, *, device: str = "auto") -> EncoderAligner:
        """Read from a file or folder.

        Args:
            path: The file, or its folder.
            encoder: The encoder; None opens the one that the file names.
            device: Where to open it.

        Raises:
            ConfigError: The encoder is another one.
            CorruptFileError: The file is damaged.
            InputError: It holds something else.
            StorageError: It cannot be read, or the encoder is not found.
        """
        return cls.of_file(read_aligner(path, ENCODER), encoder, device=device)

    @classmethod
    def of_file(cls, found: AlignerFile, encoder: EncoderLike | None = None, *, device: str = "auto") -> EncoderAligner:
        """Aligner of a file that was read; as :meth:`load`.

        Raises:
            ConfigError: The encoder is another one.
            StorageError: The encoder is not found.
        """
        from isoglot.model import load_encoder

        about = found.about
        if encoder is None:
            encoder = load_encoder(about["model"], device=device)
        if encoder_hash(encoder) != about["encoder_sha256"]:
            problem = f"{found.file} was fitted on another encoder"
            raise ConfigError(problem, f"use {shown(about['model'])}, or fit a new aligner", "other-encoder")
        means = tuple(torch.from_numpy(found.arrays[name]).to(encoder.device) for name in ("source", "target"))
        return cls(
            encoder=encoder,
            model=about["model"],
            config=EncoderLinksConfig(**about["config"]),
            languages=tuple(about["languages"]) if about["languages"] else None,
            way=LinkSettings(**about["way"]),
            means_2D=(means[0], means[1]) if len(means[0]) else None,
            choice=None,
            about=about["fitted"],
        )


def fit_encoder_aligner(
    encoder: EncoderLike,
    pairs: Sequence[Pair],
    gold: Sequence[Links] | None = None,
    config: EncoderLinksConfig | None = None,
    *,
    possible: Sequence[Links] | None = None,
    languages: tuple[str, str] | None = None,
    model: str = "",
    scratch: Path | None = None,
    progress: Progress = SILENT,
) -> EncoderAligner:
    """Compute the means of both languages and, with gold links, choose the best layer, rule and threshold.

    Args:
        encoder: Any encoder, or static vectors.
        pairs: Sentence pairs, as lists of words: with gold links a development set, not the test; without, any of the
            kind to be aligned.
        gold: Gold links. None: nothing is chosen, and the layer must be given.
        config: Settings; what is ``auto`` is chosen.
        possible: Possible gold links; see :func:`isoglot.align.score_links`.
        languages: Languages of the two sides.
        model: Name or folder of the encoder.
        scratch: Folder for temporary word vectors of all layers. Default: they are in memory.
        progress: Progress of each step.

    Returns:
        An aligner with the chosen settings; ``choice`` has the results of all of them on gold links.

    >>> import isoglot
    >>> from isoglot.align import EncoderLinksConfig
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> pairs = [("The house is old .".split(), "Das Haus ist alt .".split())]
    >>> aligner = fit_encoder_aligner(encoder, pairs, config=EncoderLinksConfig(layer=8, rule="argmax", center="none"))
    >>> aligner.align(pairs)
    [[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]]

    Raises:
        ConfigError: A layer or language does not exist, or the layer is to be chosen without gold links.
        InputError: No pair has words on both sides, or the gold links do not fit the pairs.
        StorageError: The scratch folder cannot be written to.
    """
    config = EncoderLinksConfig() if config is None else config
    if config.layer != "auto" and not -encoder.depth - 1 <= config.layer <= encoder.depth:
        problem = f"there is no layer {config.layer}"
        raise ConfigError(problem, f"choose from 0 (the embeddings) to {encoder.depth}, or auto", "unknown-layer")
    way = default_settings(config, encoder.depth) if gold is None else None
    counts = PairCounts()
    if gold is not None:
        check_gold(pairs, gold, possible)
    usable = [number for number, pair in enumerate(pairs) if counts.usable(*pair, config.max_words)][: config.sample]
    counts.check_any(config.max_words)
    about: dict[str, Any] = {"pairs": len(usable)}
    choice = means = None
    if way is None or way.center == "mean":
        words = PairedWords(
            encoder,
            [pairs[number] for number in usable],
            languages=languages,
            layers="all" if config.layer == "auto" else [config.layer],
            pool=config.pool,
            scratch=scratch,
            progress=progress,
        )
        means = words.means()
        if gold is not None:
            sure = [gold[number] for number in usable]
            maybe = [[] if possible is None else possible[number] for number in usable]
            choice = choose_layer(words, means, sure, config, possible=maybe)
            way, about = choice.chosen.way, choice.facts()
        assert way is not None  # noqa: S101 - for the type checker
        place = words.layers.index(way.layer)
        means = (means[0][place], means[1][place]) if way.center == "mean" else None
    assert way is not None  # noqa: S101 - for the type checker
    return EncoderAligner(
        encoder=encoder,
        model=model,
        config=config,
        languages=languages,
        way=way,
        means_2D=means,
        choice=choice,
        about=about,
    )
