"""A map says what it goes between, and vectors of something else are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoglot.align import AlignConfig, Center, PairMoments, Procrustes, Steps, align_sentences, load_map
from isoglot.align.alignment import check_end
from isoglot.align.apply import apply_to_layers, map_sides, read_maps
from isoglot.align.maps.estimator import PairMap
from isoglot.represent import Representations, extract
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.sentences import sentence_sides
from isoglot.retrieve.vector_files import read_side
from isoglot.retrieve.words import embedding_side
from tests.errors import raises

SENTENCES = [f"The {noun} sees {number} {other}." for noun in ("cat", "dog") for other in "xyz" for number in range(9)]


@pytest.fixture(scope="module")
def folder(encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maps from an encoder's English to its French, which is the same text here."""
    config = AlignConfig(resamples=1)
    pairs = [(line, line.upper()) for line in SENTENCES]
    result = align_sentences(encoder, encoder, pairs, languages=("en", "fr"), config=config)
    hashes = [encoder_hash(encoder)] * 2
    path: Path = tmp_path_factory.mktemp("maps")
    replace(result, facts={**result.facts, "encoder_sha256": hashes}).save(path)
    return path


def vectors(encoder, code: str, **header: object) -> Representations:
    found = extract(encoder, SENTENCES[:5], language=code)
    return Representations({layer: found[layer] for layer in found.layers}, found.header | header)


def test_every_map_says_what_it_goes_between(encoder, folder: Path):
    own = encoder_hash(encoder)
    for layer, mapping in read_maps(folder).items():
        assert mapping.ends_ == ((own, "en", layer), (own, "fr", layer))


def test_vectors_it_was_made_for_are_mapped(encoder, folder: Path):
    maps = read_maps(folder)
    assert apply_to_layers(maps, vectors(encoder, "en"), side="source").layers == (0, 1, 2)
    assert apply_to_layers(maps, vectors(encoder, "fr"), side="target").layers == (0, 1, 2)
    one: dict[int | None, PairMap] = {None: maps[1]}
    assert apply_to_layers(one, vectors(encoder, "en"), layer=2).layers == (2,)  # asked for by name


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"encoder_sha256": "f" * 64}, ("config.other-encoder", "ffffffff")),
        ({"language": "fr"}, ("config.other-encoder", "fr")),
        ({"language": "de-x-shift"}, ("config.other-encoder", "de-x-shift")),
        ({"mapped": {"side": "source", "into": "common"}}, ("config.not-supported",)),
    ],
)
def test_vectors_of_something_else_are_refused(
    encoder, folder: Path, header: dict[str, object], expected: tuple[str, ...]
):
    with raises(*expected):
        apply_to_layers(read_maps(folder), vectors(encoder, "en", **header))


def test_another_layer_is_refused_unless_it_is_named(encoder, folder: Path):
    one: dict[int | None, PairMap] = {None: read_maps(folder)[1]}
    found = vectors(encoder, "en")
    only = Representations({2: found[2]}, found.header)
    with raises("config.other-encoder", "1", "2"):
        apply_to_layers(one, only)
    assert apply_to_layers(one, only, layer=2).layers == (2,)


def test_rows_of_the_target_go_by_the_map_to_their_layer(encoder, rng: np.random.Generator):
    maps: dict[int | None, PairMap] = {}
    for layer in (0, 1):
        maps[layer] = Steps([Center(), Procrustes()]).fit(*rng.normal(size=(2, 50, encoder.hidden_size)))
        maps[layer].ends_ = ((None, "en", layer), (None, "fr", layer + 1))
    given = vectors(encoder, "fr")
    found = apply_to_layers(maps, given, side="target")
    assert found.layers == (1, 2)
    for layer in (1, 2):
        np.testing.assert_array_equal(found[layer], maps[layer - 1].transform_target(given[layer]))
    np.testing.assert_array_equal(apply_to_layers(maps, given, layer=2, side="target")[2], found[2])
    with raises("config.unknown-layer", "0"):
        apply_to_layers(maps, given, layer=0, side="target")
    assert apply_to_layers(maps, vectors(encoder, "en"), side="source").layers == (0, 1)


def test_both_sides_of_a_retrieval_are_checked(encoder, folder: Path, tmp_path: Path):
    maps = read_maps(folder)
    rows = ParallelSet(name="x", sentences={"en": SENTENCES[:5], "fr": SENTENCES[5:10]}, numbers=list(range(5)))
    sides = sentence_sides(encoder, rows)
    map_sides(maps, sides["en"], sides["fr"])
    with raises("config.other-encoder"):
        map_sides(maps, sides["fr"], sides["en"])
    vectors(encoder, "fr", encoder_sha256="f" * 64).save(tmp_path / "x.safetensors")
    with raises("config.other-encoder", "f" * 8):
        map_sides(maps, sides["en"], read_side(tmp_path / "x.safetensors"))
    word = next(piece for piece in encoder.vocabulary.pieces if piece.isalpha() and len(piece) > 1)
    assert embedding_side(encoder, [word], "en").header == {"encoder_sha256": encoder_hash(encoder), "language": "en"}


def test_a_map_that_does_not_say_is_taken_as_it_is(tmp_path: Path, rng: np.random.Generator):
    rows = rng.normal(size=(9, 4))
    mapping = load_map(Procrustes().fit(rows, rows).save(tmp_path))
    check_end(mapping, "source", {"encoder_sha256": "f" * 64, "language": "de"}, 3)
    with raises("config.not-supported"):
        check_end(mapping, "source", {"mapped": {"side": "source"}})


@pytest.mark.parametrize("mapping", [Procrustes(), Steps([Center(), Procrustes()])], ids=["map", "steps"])
def test_a_map_that_is_fitted_anew_forgets_what_it_went_between(mapping: PairMap, rng: np.random.Generator):
    rows = rng.normal(size=(9, 4))
    mapping.fit(rows, rows).ends_ = (("e" * 64, "en", 1), ("e" * 64, "fr", 1))
    mapping.fit(rows, rows)
    check_end(mapping, "source", {"language": "de"})


def test_so_does_one_that_is_fitted_on_moments(rng: np.random.Generator):
    moments = PairMoments()
    moments.update(rng.normal(size=(9, 4)), rng.normal(size=(9, 4)))
    mapping = Procrustes().fit_moments(moments)
    mapping.ends_ = (("e" * 64, "en", 1), ("e" * 64, "fr", 1))
    check_end(mapping.fit_moments(moments), "source", {"language": "de"})
