"""Result of an alignment: a map per layer with scores before and after, its files, and the endpoints of a map.

Every map records the encoder, language and layer of the vectors on either side. Vectors whose metadata differ, or that
are already mapped, are rejected; maps and vectors without metadata are accepted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.align.maps.estimator import FILE
from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError, IsoglotError
from isoglot.core.files import check_file, file_hash, inside, write_text
from isoglot.core.run import renewed_folder
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isoglot.align.maps.config import AlignConfig
    from isoglot.align.maps.estimator import PairMap
    from isoglot.align.maps.unsupervised import Convergence
    from isoglot.retrieve.evaluation import MethodScores, RetrievalScores
    from isoglot.text.provenance import Provenance


MapSide = Literal["source", "target"]
"""Whether rows belong to the source or the target of a map; a map with normalization changes both."""


class MapEndpoint(NamedTuple):
    """One side of a map, or the origin of vectors; None if unknown."""

    encoder: str | None
    """SHA-256 of the weights"""
    language: str | None
    layer: int | None


_UNKNOWN = MapEndpoint(None, None, None)


def by_target_layer(maps: Mapping[int | None, PairMap]) -> dict[int | None, PairMap]:
    """Maps by target layer, where it is known."""
    found = {}
    for layer, mapping in maps.items():
        own = _ends(mapping)["target"].layer
        found[layer if own is None else own] = mapping
    return found


def check_end(mapping: PairMap, side: MapSide, header: Mapping[str, Any], layer: int | None = None) -> None:
    """Check that a map was fitted on vectors of this kind.

    Args:
        mapping: The map.
        side: Side that the vectors are used as.
        header: Their metadata, as in ``Representations.header``.
        layer: Their layer.

    Raises:
        ConfigError: They belong to another encoder, language or layer, or are already mapped.
    """
    if header.get("mapped"):
        raise ConfigError("these vectors are mapped already", "use the output of isoglot encode", "not-supported")
    ends = _ends(mapping)
    found = MapEndpoint(header.get("encoder_sha256"), header.get("language"), layer)
    wrong = _difference(ends[side], found)
    if wrong is None:
        return
    short = 8 if wrong == "encoder" else None
    wanted, given = (str(getattr(each, wrong))[:short] for each in (ends[side], found))
    other: MapSide = "target" if side == "source" else "source"
    remedy = f"use vectors of that {wrong}, or a map fitted on these"
    if _difference(ends[other], found) is None:
        remedy = f"use them as its {other}"
    problem = f"the map's {side} has {wrong} {wanted}, the vectors have {wrong} {given}"
    raise ConfigError(problem, remedy, "other-encoder")


def _ends(mapping: PairMap) -> dict[MapSide, MapEndpoint]:
    source, target = getattr(mapping, "ends_", (_UNKNOWN, _UNKNOWN))
    return {"source": MapEndpoint(*source), "target": MapEndpoint(*target)}


def _difference(end: MapEndpoint, found: MapEndpoint) -> str | None:
    """First known property that differs between two endpoints."""
    pairs = zip(MapEndpoint._fields, end, found, strict=True)
    return next((name for name, *both in pairs if None not in both and both[0] != both[1]), None)


Use = Literal["embeddings", "types", "words", "sentences"]
"""Embedding matrices, words averaged over contexts, words in context, or sentences (Wu et al. 2020, Figures 4 to 6)."""
METRICS = "metrics.json"
TABLE = "metrics.csv"
ENCODERS = "encoder_sha256"


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerAlignment:
    """Map of one layer, with retrieval scores without and with it.

    Attributes:
        layer: Layer of the source, 0 for the embeddings; None for the embedding matrix.
        target_layer: Layer of the target.
        mapping: Fitted map, normalization included.
        before: Scores of the original vectors; None if their widths differ.
        after: Scores in the common space.

    >>> import numpy as np
    >>> from isoglot.align import align_embeddings
    >>> from isoglot.text.formats.dictionary import Entry
    >>> from isoglot.text.formats.word_vectors import Vectors
    >>> rows, words = np.random.default_rng(0).normal(size=(50, 8)), [f"w{number}" for number in range(50)]
    >>> source, target = Vectors(words, rows), Vectors(words, -rows)
    >>> found = align_embeddings(source, target, [Entry(word, word) for word in words], languages=("en", "de"))
    >>> found.layers[0].file, found.layers[0].after.of("csls").precision[1].value
    ('map.safetensors', 1.0)
    """

    layer: int | None
    target_layer: int | None
    mapping: PairMap = field(repr=False)
    before: RetrievalScores | None
    after: RetrievalScores

    @property
    def convergence(self) -> Convergence | None:
        """Whether a map without pairs has converged; None for other maps, or if it was not judged."""
        return getattr(getattr(self.mapping, "source_", [self.mapping])[-1], "convergence", None)

    @property
    def file(self) -> str:
        """Name of the map's file."""
        return FILE if self.layer is None else f"layer-{self.layer}.safetensors"


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Maps and scores of all layers.

    Attributes:
        use: What was aligned.
        languages: Source and target language.
        config: Map, normalization and evaluation.
        train: Number of training pairs.
        test: Number of held-out pairs; at most ``config.test_limit`` of them are scored.
        facts: Coverage and leaks.
        layers: Map and scores of each layer.
        given: Dictionary that the maps were fitted on, if any.

    >>> import numpy as np
    >>> from isoglot.align import align_embeddings
    >>> from isoglot.text.formats.dictionary import Entry
    >>> from isoglot.text.formats.word_vectors import Vectors
    >>> rows, words = np.random.default_rng(0).normal(size=(50, 8)), [f"w{number}" for number in range(50)]
    >>> source, target = Vectors(words, rows), Vectors(words, -rows)
    >>> found = align_embeddings(source, target, [Entry(word, word) for word in words], languages=("en", "de"))
    >>> [found.scores(found.best, when).precision[1].value for when in ("before", "after")]
    [0.0, 1.0]
    """

    use: Use
    languages: tuple[str, str]
    config: AlignConfig
    train: int
    test: int
    facts: dict[str, Any]
    layers: tuple[LayerAlignment, ...]
    given: Provenance | None = None

    def scores(self, layer: LayerAlignment, when: Literal["before", "after"]) -> MethodScores | None:
        """Scores of a layer from the source to the target; None if there are none before."""
        found = layer.before if when == "before" else layer.after
        return None if found is None else found.of(self.config.retrieval)

    @property
    def best(self) -> LayerAlignment:
        """Layer with the highest P@1 after the map; ties by lower layer."""
        return max(self.layers, key=lambda layer: layer.after.of(self.config.retrieval).precision[1].value)

    def as_dict(self) -> dict[str, Any]:
        """Everything except the maps, as JSON."""
        return {
            "use": self.use,
            "languages": list(self.languages),
            "config": self.config.model_dump(mode="json"),
            "pairs": {"train": self.train, "test": self.test},
            **self.facts,
            "best": {"layer": self.best.layer, "file": self.best.file},
            "layers": [
                {
                    "layer": each.layer,
                    "target_layer": each.target_layer,
                    "file": each.file,
                    "before": None if each.before is None else each.before.as_dict()["scores"],
                    "after": each.after.as_dict()["scores"],
                    **({} if each.convergence is None else {"convergence": asdict(each.convergence)}),
                }
                for each in self.layers
            ],
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Scores as a flat table: one row per layer, before and after, and direction."""
        for layer in self.layers:
            for when, found in (("before", layer.before), ("after", layer.after)):
                for scores in () if found is None else found.methods:
                    pair = self.languages if scores.direction == "forward" else self.languages[::-1]
                    row: dict[str, Any] = {
                        "layer": "embeddings" if layer.layer is None else layer.layer,
                        "target_layer": "embeddings" if layer.target_layer is None else layer.target_layer,
                        "when": when,
                        "from": pair[0],
                        "to": pair[1],
                        "method": scores.method,
                        "neighborhood": "" if scores.neighborhood is None else scores.neighborhood,
                        "queries": scores.queries,
                        "candidates": scores.candidates,
                    }
                    figures = {f"p@{k}": interval for k, interval in scores.precision.items()} | {"mrr": scores.mrr}
                    for name, interval in figures.items():
                        row |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
                    row["hubness"] = scores.hubness
                    if scores.other_spelling is not None:
                        queries, other = scores.other_spelling
                        row |= {"other_spelling_queries": queries, "other_spelling_p@1": other and other.value}
                    yield row

    def between(self, encoders: Sequence[str | None]) -> Alignment:
        """Copy with the SHA-256 of both encoders, which :meth:`save` records in every map."""
        return self.with_facts(**{ENCODERS: list(encoders)})

    def with_facts(self, **facts: Any) -> Alignment:  # noqa: ANN401 - what JSON holds
        """Copy with further facts."""
        return replace(self, facts={**self.facts, **facts})

    def save(self, folder: str | Path) -> list[Path]:
        """Write the maps with their endpoints, ``metrics.json`` and ``metrics.csv``; returns the files.

        An existing alignment is replaced in one step; other files stay.

        Raises:
            StorageError: The folder cannot be written to, or another process is writing there.
        """
        encoders = self.facts.get(ENCODERS, (None, None))
        for each in self.layers:
            layers = (each.layer, each.target_layer)
            each.mapping.ends_ = tuple(map(MapEndpoint, encoders, self.languages, layers))
            if self.given is not None:
                each.mapping.given_ = self.given.packed
        content = self.as_dict()
        with renewed_folder(folder, METRICS, stale=_earlier_maps(Path(folder))) as target:
            files = [each.mapping.save(target / each.file) for each in self.layers]
            for layer, file in zip(content["layers"], files, strict=True):
                layer["sha256"] = file_hash(file)
            write_text(target / TABLE, Table.from_rows(self.rows()).csv())
            write_sealed(target / METRICS, content)
        return [Path(folder) / path.relative_to(target) for path in (*files, target / METRICS, target / TABLE)]


def map_files(folder: Path) -> dict[int | None, Path]:
    """Maps in a folder written by :meth:`Alignment.save`, by layer.

    Raises:
        CorruptFileError: A map or the metrics are damaged.
        StorageError: A file is missing.
    """
    form = {"layers": [{"layer": int | None, "file": str, "sha256": str}]}
    written = read_sealed(folder / METRICS, form, remedy="name a folder written by isoglot align, or a map")
    found = {}
    for each in written["layers"]:
        found[each["layer"]] = inside(folder, each["file"])
        check_file(found[each["layer"]], sha256=each["sha256"])
    return found


def _earlier_maps(folder: Path) -> list[str]:
    """Names of the intact maps in a folder."""
    with suppress(IsoglotError):
        return [path.name for path in map_files(folder).values()]
    return []
