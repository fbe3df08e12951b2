"""Maps of map transfer: for each layer, from the model of a test language to the training model.

They are fitted from word-aligned sentences by :mod:`isoglot.align`, or read from a folder written by ``isoglot align``.
That they fit the models is checked before any training.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from isoglot.align.alignment import METRICS, Alignment, check_end
from isoglot.align.apply import read_maps
from isoglot.align.by_translation import align_words
from isoglot.align.words.bitext import Bitext, Files, builtin_bitext, linked_bitext, read_bitext, read_word_pairs
from isoglot.align.words.word_aligner import train_aligner
from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.rng import random_stream
from isoglot.represent.encoder_hash import encoder_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align.maps.config import AlignConfig
    from isoglot.align.maps.estimator import PairMap
    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.map_protocol import MapRun, Models

PAIRS = 2000
"""Default number of built-in sentence pairs to fit maps from."""
_MADE_OF = "made_of.json"


def read_layer_maps(folder: str | Path, languages: tuple[str, str]) -> dict[int, PairMap]:
    """Read the maps of a folder written by ``isoglot align words``, ``types`` or ``sentences``, by layer.

    Args:
        folder: The folder.
        languages: The test language, whose vectors are mapped, and the training language.

    Raises:
        ConfigError: Languages or layers differ, or there is no map of a layer.
        CorruptFileError: A file is damaged.
        InputError: The folder holds something else.
        StorageError: The folder cannot be read.
    """
    folder = Path(folder)
    wanted = tuple(map(language_code, languages))
    form = {"languages": [str], "layers": [{"layer": int | None, "target_layer": int | None}]}
    about = read_sealed(folder / METRICS, form, remedy="use a folder written by isoglot align")
    if tuple(about["languages"]) != wanted:
        problem = f"the maps in {folder} go from {' to '.join(about['languages'])}, not from {wanted[0]} to {wanted[1]}"
        remedy = f"fit them with isoglot align words from the {wanted[0]} to the {wanted[1]} model"
        raise ConfigError(problem, remedy, "other-language")
    crossed = [each for each in about["layers"] if each["layer"] != each["target_layer"]]
    if crossed:
        problem = f"{folder} maps layer {crossed[0]['layer']} to layer {crossed[0]['target_layer']}"
        raise ConfigError(problem, "fit maps between equal layers", "unknown-layer")
    found = {layer: mapping for layer, mapping in read_maps(folder).items() if layer is not None}
    if not found:
        problem = f"the map in {folder} belongs to no layer"
        raise ConfigError(problem, "fit one with isoglot align words", "unknown-layer")
    return found


def linked_words(
    files: Files, languages: tuple[str, str], links: str | Path | None = None, *, progress: Progress = SILENT
) -> Bitext:
    """Word-aligned sentence pairs, to fit maps with :func:`isoglot.align.align_words`.

    Args:
        files: A file for each language, aligned line by line; or a table.
        languages: The test language and the training language.
        links: Word alignments in the Pharaoh format, of words separated by blanks. Default: a word aligner is trained
            on the sentences, as with fast_align in Wu et al. (2020).
        progress: Reports progress.

    Raises:
        ConfigError: Text of a language cannot be segmented into words.
        InputError: The numbers of lines differ, or a link is out of range.
        StorageError: A file cannot be read.
    """
    if links is not None:
        return read_bitext(files, languages, links)
    pairs = [pair for pair in read_word_pairs(files, languages) if all(pair)]
    return linked_bitext(pairs, train_aligner(pairs, languages=languages, progress=progress), progress=progress)


@dataclass
class Bitexts:
    """Word-aligned sentences of each test language and the training language, made when they are first needed.

    Args:
        source: The training language.
        files: A file for each language, aligned line by line, or a table. Default: built-in sentences.
        links: Word alignments of each test language, in the Pharaoh format. Default: a word aligner is trained.
        pairs: Number of sentence pairs. Default: all, or 2,000 built-in ones.
        seed: Random seed of built-in sentences.
        progress: Reports progress.
        say: Called with a remark if built-in sentences are used.
    """

    source: str
    files: Files | None = None
    links: Mapping[str, Path] = field(default_factory=dict)
    pairs: int | None = None
    seed: int = 0
    progress: Progress = SILENT
    say: Say = say_nothing
    _made: dict[str, Bitext] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.links and not self.files:
            problem, remedy = "word alignments without parallel sentences", "give both, or neither"
            raise ConfigError(problem, remedy, "missing-option")
        self._check(self.source)

    def of(self, code: str) -> Bitext:
        """Sentences of a test language.

        Raises:
            ConfigError: There are none.
        """
        self._check(code)
        if code not in self._made:
            languages = code, self.source
            if self.files is None:
                count = self.pairs or PAIRS
                if not self._made:
                    self.say(
                        f"maps are fitted from {count:,} built-in sentence pairs; give parallel text for better ones"
                    )
                self._made[code] = builtin_bitext(languages, count, seed=self.seed)
            else:
                files = {each: self.files[each] for each in languages} if isinstance(self.files, dict) else self.files
                found = linked_words(files, languages, self.links.get(code), progress=self.progress)
                self._made[code] = found.first(self.pairs)
        return self._made[code]

    def _check(self, code: str) -> None:
        if isinstance(self.files, dict) and code not in self.files:
            problem = f"there are no parallel sentences of {code} to fit maps from"
            raise ConfigError(problem, "give them, or maps", "missing-data")


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
            StorageError: The folder cannot be written.
        """
        if self.aligned is not None:
            (folder / _MADE_OF).unlink(missing_ok=True)  # written last: it marks complete maps
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
        other: Model of the test language, the first side of the sentences.
        source: Model of the training language.
        bitext: Word-aligned sentences, as from :func:`linked_words`.
        languages: The test language and the training language.
        layers: Layers.
        config: Settings of the maps.
        folder: Folder where such maps may have been saved.
        progress: Reports progress.

    Raises:
        ConfigError: The map does not support these hidden sizes.
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
    if folder is not None and (folder / _MADE_OF).exists():
        remedy = "remove the folder: the maps are then fitted again"
        if read_sealed(folder / _MADE_OF, remedy=remedy) == made_of:
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
        )
    maps = {each.layer: each.mapping for each in aligned.layers if each.layer is not None}
    return LayerMaps(maps, aligned, made_of)


def maps_of_models(
    run: MapRun,
    folders: Mapping[str, Mapping[str, Path]],
    bitexts: Bitexts,
    config: AlignConfig,
    progress: Progress = SILENT,
) -> Callable[[Models, str], LayerMaps]:
    """Function that reads or fits the maps of models and a test language, for a run of map transfer.

    Args:
        run: The run.
        folders: Folders of given maps, by name of models and language.
        bitexts: Word-aligned sentences to fit the others from.
        config: Settings of fitted maps.
        progress: Reports progress.
    """

    def maps_of(models: Models, code: str) -> LayerMaps:
        languages = code, run.source
        if code in folders.get(models.name, {}):
            return LayerMaps(read_layer_maps(folders[models.name][code], languages))
        saved = None if run.out is None else run.out / maps_folder(models.name, code)
        sides = models.others[code], models.source
        return fit_layer_maps(*sides, bitexts.of(code), languages, run.chosen, config, saved, progress=progress)

    return maps_of


def maps_folder(models: str, language: str) -> Path:
    """Folder of fitted maps, relative to that of the run."""
    return Path("maps") / f"{models}-{language}"


def check_maps(
    maps: Mapping[int, PairMap],
    layers: Sequence[int],
    languages: tuple[str, str],
    other: EncoderLike,
    source: EncoderLike,
) -> None:
    """Check that maps fit two models.

    Args:
        maps: Maps by layer.
        layers: Layers that need a map.
        languages: The test language and the training language.
        other: Model of the test language.
        source: Model of the training language.

    Raises:
        ConfigError: A layer has no map, or its map is for other hidden sizes or models.
    """
    way = " to ".join(languages)
    headers = [
        {"encoder_sha256": encoder_hash(each), "language": language_code(code)}
        for each, code in zip((other, source), languages, strict=True)
    ]
    for layer in layers:
        if layer not in maps:
            remedy = f"fit one, or choose from layers {', '.join(map(str, sorted(maps)))}"
            raise ConfigError(f"there is no map of layer {layer} from {way}", remedy, "unknown-layer")
        widths = maps[layer].widths_[:2]
        if widths != (other.hidden_size, source.hidden_size):
            problem = (
                f"the map of layer {layer} from {way} is for hidden sizes {widths[0]} and {widths[1]}; the models have "
                f"{other.hidden_size} and {source.hidden_size}"
            )
            raise ConfigError(problem, "fit the maps with these two models", "other-size")
        check_end(maps[layer], "source", headers[0], layer)
        check_end(maps[layer], "target", headers[1], layer)


def map_hash(mapping: PairMap) -> str:
    """SHA-256 of a map, computed from the images of a few vectors."""
    probe_ND = random_stream(0, "map hash").standard_normal((8, mapping.widths_[0]))
    return hashlib.sha256(mapping.to_target(probe_ND).tobytes()).hexdigest()
