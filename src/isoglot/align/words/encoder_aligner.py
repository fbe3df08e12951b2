"""Word alignment by an encoder's vectors: only the layer, a threshold and two means are learned.

Shape legend: ``L`` layers, ``D`` hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from isoglot.align.words.bitext import PairCounts
from isoglot.align.words.encoder_links import EncoderLinksConfig, joined
from isoglot.align.words.layer_choice import (
    LayerChoice,
    LinkSettings,
    PairedWords,
    check_gold,
    choose_layer,
    default_settings,
    links_with,
)
from isoglot.align.words.symmetrization import Symmetry, check_method
from isoglot.align.words.word_aligner import ENCODER, AlignerFile, read_aligner, write_aligner
from isoglot.core.errors import ConfigError, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.encoder_hash import encoder_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.align.words.bitext import Pair
    from isoglot.model.protocol import EncoderLike
    from isoglot.text.formats.pharaoh import Links

_NUMBERS = 2**25  # of word vectors in memory at a time


@dataclass(eq=False, kw_only=True)
class EncoderAligner:
    """An encoder with the settings of its links; see :func:`fit_encoder_aligner`."""

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
    """Default symmetrization."""

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.encoder.device)

    def stream(
        self,
        pairs: Iterable[Pair],
        method: Symmetry = "intersection",
        *,
        counts: PairCounts | None = None,
        progress: Progress = SILENT,
    ) -> Iterator[Links]:
        """Links (source, target) of each pair, in order; some thousand words are held in memory at a time.

        A pair that is blank, one-sided or overlong has none.

        Args:
            pairs: Sentence pairs, as lists of words.
            method: Symmetrization; layer and threshold were chosen for the intersection.
            counts: Updated with the numbers of pairs, if given.
            progress: Progress in pairs.

        Raises:
            ConfigError: The method is unknown.
            InputError: A hidden state is not finite.
        """
        check_method(method)
        counts = PairCounts() if counts is None else counts
        with progress.task("aligning", total=None, unit="pairs") as task:
            for chunk in self._chunks(pairs):
                usable = [counts.usable(*pair, self.config.max_words) for pair in chunk]
                found = iter(self._links([pair for pair, good in zip(chunk, usable, strict=True) if good], method))
                yield from [next(found) if good else [] for good in usable]
                task.advance(len(chunk))

    def align(self, pairs: Iterable[Pair], method: Symmetry = "intersection") -> list[Links]:
        """Links of all pairs; as :meth:`stream`."""
        return list(self.stream(pairs, method))

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

    def _links(self, pairs: Sequence[Pair], method: Symmetry) -> list[Links]:
        if not pairs:
            return []
        words = PairedWords(
            self.encoder, pairs, languages=self.languages, layers=[self.way.layer], pool=self.config.pool
        )
        found: list[Links] = [[] for _ in pairs]
        for which, batch in words.batches():
            links = joined(links_with(self.way, batch, self.means_2D, self.config), method)[0]
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
            raise ConfigError(
                f"{found.file} was fitted on another encoder",
                f"use {shown(about['model'])}, or fit a new aligner",
                "other-encoder",
            )
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
        raise ConfigError(
            f"there is no layer {config.layer}",
            f"choose from 0 (the embeddings) to {encoder.depth}, or auto",
            "unknown-layer",
        )
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
