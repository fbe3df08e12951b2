"""The maps of map transfer: fitted once, read again, and refused where they do not fit."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.align import AlignConfig, Bitext, Procrustes, align_words, builtin_bitext
from isoglot.align.apply import read_maps
from isoglot.core.artifact import write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json
from isoglot.transfer import layer_maps
from isoglot.transfer.layer_maps import (
    LayerMaps,
    check_maps,
    fit_layer_maps,
    linked_words,
    map_hash,
    read_layer_maps,
)
from tests.errors import raises


@pytest.fixture(scope="module")
def bitext() -> Bitext:
    return builtin_bitext(("zh", "en"), 60)


def test_maps_are_fitted_once(nano, bitext, tmp_path: Path, monkeypatch):
    """The same models and sentences: what was written is read; anything else: they are fitted again."""
    encoder, calls = nano(), []

    def noted(*given, **more):
        calls.append(more["layers"])
        return align_words(*given, **more)

    monkeypatch.setattr(layer_maps, "align_words", noted)

    def fit(layers: list[int], config: AlignConfig, folder: Path | None = tmp_path) -> dict[int, str]:
        found = fit_layer_maps(encoder, encoder, bitext, ("zh", "en"), layers, config, folder)
        if folder is not None:
            found.save(folder)
        return {layer: map_hash(mapping) for layer, mapping in found.maps.items()}

    first = fit([0, 2], AlignConfig())
    assert set(first) == {0, 2}
    assert first[0] != first[2]
    assert fit([0, 2], AlignConfig()) == first
    assert calls == [[0, 2]]
    ridge = fit([0, 2], AlignConfig(method="ridge"))
    assert not set(ridge.values()) & set(first.values())
    fit([1], AlignConfig())
    fit([1], AlignConfig(), None)
    assert calls == [[0, 2], [0, 2], [1], [1]]


def test_maps_that_were_half_written_are_fitted_again(nano, bitext, tmp_path: Path, monkeypatch):
    """What the first were made of does not vouch for the second ones, that a kill cut short."""
    encoder = nano()

    def fit(method: Any) -> LayerMaps:
        config = AlignConfig(method=method)
        return fit_layer_maps(encoder, encoder, bitext, ("zh", "en"), [1], config, tmp_path)

    first = fit("procrustes")
    assert not list(tmp_path.iterdir())  # until they are saved
    first.save(tmp_path)
    second = fit("ridge")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(layer_maps, "write_sealed", killed)
        with pytest.raises(KeyboardInterrupt):
            second.save(tmp_path)
    assert map_hash(fit("procrustes").maps[1]) == map_hash(first.maps[1]) != map_hash(second.maps[1])


def test_folders_of_other_languages_or_layers(nano, bitext, tmp_path: Path, each_damage):
    encoder = nano()
    fit_layer_maps(encoder, encoder, bitext, ("zh", "en"), [0, 1], AlignConfig(), tmp_path).save(tmp_path)
    assert set(read_layer_maps(tmp_path, ("zho", "en"))) == {0, 1}
    with raises("config.other-language", "zh", "en"):
        read_layer_maps(tmp_path, ("en", "zh"))
    for _ in each_damage(tmp_path / "metrics.json"):
        for read in (read_maps, partial(read_layer_maps, languages=("zh", "en"))):
            with suppress(IsoglotError):
                read(tmp_path)
    about = read_json(tmp_path / "metrics.json")
    about["layers"][1]["target_layer"] = 2
    write_sealed(tmp_path / "metrics.json", about)
    with raises("config.unknown-layer", 1, 2):
        read_layer_maps(tmp_path, ("zh", "en"))
    about["layers"] = [about["layers"][0] | {"layer": None, "target_layer": None}]
    write_sealed(tmp_path / "metrics.json", about)
    with raises("config.unknown-layer"):
        read_layer_maps(tmp_path, ("zh", "en"))


def test_maps_that_do_not_fit_the_models(nano):
    encoder, wide = nano(), nano(hidden_size=48, heads=2)
    rows = np.random.default_rng(0).normal(size=(60, 32))
    maps = {1: Procrustes().fit(rows, rows)}
    check_maps(maps, [1], ("de", "en"), encoder, encoder)
    with raises("config.unknown-layer", 0, "de", "en"):
        check_maps(maps, [0, 1], ("de", "en"), encoder, encoder)
    with raises("config.other-size", 32, 48):
        check_maps(maps, [1], ("de", "en"), encoder, wide)


def test_maps_that_were_made_for_other_models(nano, bitext, tmp_path: Path):
    one, other = nano(), nano()
    with torch.no_grad():
        next(iter(other.parameters())).add_(1)
    fit_layer_maps(one, other, bitext, ("zh", "en"), [1], AlignConfig()).save(tmp_path)
    maps = read_layer_maps(tmp_path, ("zh", "en"))
    check_maps(maps, [1], ("zh", "en"), one, other)
    with raises("config.other-encoder"):
        check_maps(maps, [1], ("zh", "en"), one, one)
    with raises("config.other-encoder"):
        check_maps(maps, [1], ("zh", "en"), other, one)
    with raises("config.other-encoder", "zh", "de"):
        check_maps(maps, [1], ("de", "en"), one, other)


def test_words_are_linked_by_a_file_or_by_the_aligner(tmp_path: Path):
    files = {"de": tmp_path / "de.txt", "en": tmp_path / "en.txt"}
    files["de"].write_text("die Katze schläft\nder Hund schläft\n\ndie Katze\n")
    files["en"].write_text("the cat sleeps\nthe dog sleeps\n\nthe cat\n")
    (tmp_path / "links").write_text("0-0 1-1 2-2\n1-1\n\n0-0\n")
    given = linked_words(files, ("de", "en"), tmp_path / "links")
    assert (given.source[0], given.links[1]) == (["die", "Katze", "schläft"], [(1, 1)])
    learned = linked_words(files, ("de", "en"))
    assert len(learned) == 3  # without the pair that is blank
    assert (2, 2) in learned.links[0]
