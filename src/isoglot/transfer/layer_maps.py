"""Maps of map transfer: for each layer, from the model of a test language to the training model.

They are those of :mod:`isoglot.align`, fitted from word-aligned sentences, or read from a folder that ``isoglot align``
wrote; whether they fit the models is checked before anything is learned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from isoglot.align.alignment import METRICS
from isoglot.align.apply import read_maps
from isoglot.align.contextual_words import align_words
from isoglot.align.maps.endpoints import check_end
from isoglot.align.words.bitext import linked_bitext, read_bitext, read_word_pairs
from isoglot.align.words.word_aligner import train_aligner
from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.represent.encoder_hash import encoder_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.align.alignment import Alignment
    from isoglot.align.maps.config import AlignConfig
    from isoglot.align.maps.estimator import PairMap
    from isoglot.align.words.bitext import Bitext, Files
    from isoglot.model.protocol import EncoderLike

_MADE_OF = "made_of.json"


def read_layer_maps(folder: str | Path, languages: tuple[str, str]) -> dict[int, PairMap]:
    """Read the maps of a folder written by ``isoglot align words``, ``types`` or ``sentences``, by layer.

    Args:
        folder: Where it wrote them.
        languages: The test language, whose vectors they map, and the one that is learned from.

    Raises:
        ConfigError: They go between other languages or other layers, or there is none.
        CorruptFileError: A file is not what was written.
        InputError: It holds something else.
        StorageError: It cannot be read.
    """
    folder = Path(folder)
    wanted = tuple(map(language_code, languages))
    form = {"languages": [str], "layers": [{"layer": int | None, "target_layer": int | None}]}
    about = read_sealed(folder / METRICS, form, remedy="name a folder written by isoglot align")
    if tuple(about["languages"]) != wanted:
        raise ConfigError(
            f"the maps in {folder} go from {' to '.join(about['languages'])}, not from {wanted[0]} to {wanted[1]}",
            remedy=f"fit them with isoglot align words from the {wanted[0]} to the {wanted[1]} model",
            code="config.other-language",
        )
    crossed = [each for each in about["layers"] if each["layer"] != each["target_layer"]]
    if crossed:
        raise ConfigError(
            f"{folder} maps layer {crossed[0]['layer']} to layer {crossed[0]['target_layer']}",
            remedy="fit maps between layers of one number",
            code="config.unknown-layer",
        )
    found = {layer: mapping for layer, mapping in read_maps(folder).items() if layer is not None}
    if not found:
        raise ConfigError(
            f"the map in {folder} is of no layer",
            remedy="fit one with isoglot align words",
            code="config.unknown-layer",
        )
    return found


def linked_words(
    files: Files, languages: tuple[str, str], links: str | Path | None = None, *, progress: Progress = SILENT
) -> Bitext:
    """Sentence pairs with their words and links, to fit maps from with :func:`isoglot.align.align_words`.

    Args:
        files: A file for each language, aligned line by line; or a table.
        languages: The test language and the one that is learned from.
        links: Which word is which, in the Pharaoh format, of words with blanks between them; None: what the word
            aligner learns from these very sentences, as the first paper does with fast_align.
        progress: Reports progress.

    Raises:
        ConfigError: Words cannot be found in one of the languages.
        InputError: The numbers of lines differ, or a link points past the words.
        StorageError: A file cannot be read.
    """
    if links is not None:
        return read_bitext(files, languages, links)
    pairs = [pair for pair in read_word_pairs(files, languages) if all(pair)]
    return linked_bitext(pairs, train_aligner(pairs, languages=languages, progress=progress), progress=progress)


@dataclass(frozen=True)
class LayerMaps:
    """Maps by layer, and their source."""

    maps: Mapping[int, PairMap]
    aligned: Alignment | None = None
    """Fitted maps with scores that are not in a file yet."""
    made_of: Mapping[str, Any] | None = None
    """Identity of the data they were fitted on."""

    def save(self, folder: Path) -> None:
        """Write newly fitted maps.

        Raises:
            StorageError: The folder cannot be written to.
        """
        if self.aligned is not None:
            (folder / _MADE_OF).unlink(missing_ok=True)  # it must not vouch for these, if they are half-written
            self.aligned.save(folder)
            write_sealed(folder / _MADE_OF, self.made_of or {})


def fit_layer_maps(
    other: EncoderLike,
    source: EncoderLike,
    bitext: Bitext,
    languages: tuple[str, str],
    layers: Sequence[int],
    config: AlignConfig,
    folder: Path | None = None,
    *,
    progress: Progress = SILENT,
) -> LayerMaps:
    """Fit the map of each layer from linked words, or read maps fitted on the same data.

    Nothing is written: that is :meth:`LayerMaps.save`.

    Args:
        other: The model that reads the test language, the first side of the sentences.
        source: The model that is learned on.
        bitext: What :func:`linked_words` gave.
        languages: The test language and the one that is learned from.
        layers: Which.
        config: How.
        folder: Where such maps may have been saved; None: nowhere.
        progress: Reports progress.

    Raises:
        ConfigError: The map is not for these widths.
        InputError: There are no links.
        StorageError: The folder cannot be read.
    """
    digest = hashlib.sha256(repr((bitext.source, bitext.target, bitext.links)).encode("utf-8", "surrogatepass"))
    encoders = [encoder_hash(other), encoder_hash(source)]
    made_of = {
        "languages": list(languages),
        "layers": list(layers),
        "config": config.model_dump(mode="json"),
        "bitext": digest.hexdigest(),
        "encoders": encoders,
    }
    if folder is not None and (folder / _MADE_OF).exists() and _fitted_from(folder) == made_of:
        return LayerMaps(read_layer_maps(folder, languages))
    with TemporaryDirectory(prefix="isoglot-") as scratch:
        aligned = align_words(
            other,
            source,
            bitext,
            languages=languages,
            layers=layers,
            config=config,
            scratch=Path(scratch),
            progress=progress,
        ).between(encoders)
    maps = {each.layer: each.mapping for each in aligned.layers if each.layer is not None}
    return LayerMaps(maps, aligned, made_of)


def _fitted_from(folder: Path) -> dict[str, Any]:
    return read_sealed(folder / _MADE_OF, remedy="remove the folder: the maps are then fitted again")


def check_maps(
    maps: Mapping[int, PairMap],
    layers: Sequence[int],
    languages: tuple[str, str],
    other: EncoderLike,
    source: EncoderLike,
) -> None:
    """Check that maps fit two models.

    Args:
        maps: By layer.
        layers: Which are needed.
        languages: The test language and the one that is learned from.
        other: The model that reads the test language.
        source: The model that is learned on.

    Raises:
        ConfigError: A layer has no map, or it is for other widths or other models.
    """
    way = " to ".join(languages)
    headers = [
        {"encoder_sha256": encoder_hash(each), "language": language_code(code)}
        for each, code in zip((other, source), languages, strict=True)
    ]
    for layer in layers:
        if layer not in maps:
            raise ConfigError(
                f"there is no map of layer {layer} from {way}",
                remedy=f"fit one, or choose from layers {', '.join(map(str, sorted(maps)))}",
                code="config.unknown-layer",
            )
        widths = maps[layer].widths_[:2]
        if widths != (other.hidden_size, source.hidden_size):
            raise ConfigError(
                f"the map of layer {layer} from {way} is for widths {widths[0]} and {widths[1]}, and the models have "
                f"{other.hidden_size} and {source.hidden_size}",
                remedy="fit the maps with these two models",
                code="config.other-size",
            )
        check_end(maps[layer], "source", headers[0], layer)
        check_end(maps[layer], "target", headers[1], layer)


def map_hash(mapping: PairMap) -> str:
    """SHA-256 of a map, computed from the images of a few vectors."""
    probe_ND = random_stream(0, "map hash").standard_normal((8, mapping.widths_[0]))
    return hashlib.sha256(mapping.to_target(probe_ND).tobytes()).hexdigest()
