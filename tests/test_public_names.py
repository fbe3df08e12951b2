"""``import isoglot``: a dozen names, loaded when they are used, and what they do on plain lists."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import isoglot
from isoglot.languages import parallel
from tests.errors import raises


def test_dir_has_the_public_names_and_each_can_be_had():
    for name in isoglot.__all__:
        assert name in dir(isoglot)
        assert callable(getattr(isoglot, name))


def test_import_alone_loads_nothing_heavy():
    code = "import sys, isoglot; dir(isoglot); print('torch' in sys.modules, 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_a_sentence_is_translated_with_the_bundled_encoder():
    found = isoglot.translate("The government must protect all citizens.", "en", "de")
    assert str(found) == found.texts[0]
    assert "Regierung" in str(found)
    assert len(repr(found)) < 200
    several = isoglot.translate(["The government must protect all citizens.", "He is here."], "en", "de")
    assert len(several) == 2
    assert several.texts[0] == found.texts[0]


def test_bundled_means_are_public_and_have_a_short_repr():
    means = isoglot.bundled_means()
    assert {"en", "fr", "de", "ru", "zh"} <= set(means.languages)
    assert len(repr(means)) < 200
    with raises("storage.not-found", "no-such-model"):
        isoglot.bundled_means("no-such-model")


def test_an_encoder_is_diagnosed_on_plain_lists():
    rows = [(en.text, de.text) for en, de in islice(parallel(["en", "de"], seed=3), 30)]
    english, german = map(list, zip(*rows, strict=True))
    encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    found = isoglot.diagnose(encoder, {"en": english, "de": german}, layers=[0, 8])
    assert [each.code for each in found.languages] == ["en", "de"]
    assert len(repr(found)) < 200
    with raises("input.row-count", 29, 30):
        isoglot.diagnose(encoder, {"en": english, "de": german[1:]})
    with raises("config.other-language", 1):
        isoglot.diagnose(encoder, {"en": english})


def test_the_room_of_a_public_name_can_be_imported_beside_it():
    from isoglot.diagnose import Checkup

    assert Checkup.__name__ == "Checkup"
    assert callable(isoglot.diagnose)


def test_a_model_is_loaded_once_for_all_pairs_of_languages(monkeypatch):
    from isoglot.steer import token_translation

    isoglot.translate("Yes.", "en", "de", device="cpu")
    monkeypatch.setattr("isoglot.model.load_encoder", None)
    assert len(isoglot.translate("Yes.", "en", "fr", device="cpu")) == 1
    assert token_translation._loaded.cache_info().currsize <= 2
