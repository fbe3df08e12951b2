"""isoglot-mini: an encoder inside the package that the verbs use where none is named. Here it is a small one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch

from isoglot.core.errors import ConfigError
from isoglot.core.files import read_json
from isoglot.model import Encoder, load_encoder, make_batch, save_encoder
from isoglot.model.folder import open_encoder
from isoglot.model.load import EMBEDDED, EMBEDDED_FOLDER, encoder_folder
from isoglot.steer import LanguageMeans, TokenSets, shift
from isoglot.steer.language_files import export_packed, own_known
from isoglot.text.provenance import Provenance
from isoglot.vocab import train_vocabulary
from tests.errors import raises
from tests.given_words import given_words

TRANSLATE = ("steer", "translate", "The girl sees a cat.", "--from", "en", "--to", "fr", "--alpha", "2", "-q")


@pytest.fixture(scope="module")
def encoder(nano_encoder, small_texts) -> Encoder:
    vocabulary = train_vocabulary(small_texts, mode="joint", size=400, coverage=1.0)
    made: Encoder = nano_encoder(vocabulary, "modern").eval()
    return made


@pytest.fixture(scope="module")
def home(encoder: Encoder, small_texts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encoder whole, its means, and both together packed."""
    folder: Path = tmp_path_factory.mktemp("embedded")
    save_encoder(encoder, folder / "whole", about={"step": 7, "texts": [str(folder / "en.txt")]})
    texts = {code: paths[0].read_text().splitlines()[:60] for code, paths in small_texts.items()}
    (folder / "means").mkdir()
    LanguageMeans.fit(encoder, texts, name="/home/somebody/model").save(folder / "means" / "means.safetensors")
    TokenSets.from_text(encoder.vocabulary, texts).save(folder / "means" / "token_sets.json")
    return folder


@pytest.fixture(scope="module")
def mini(isoglot_once, home: Path) -> Path:
    """What stands for isoglot-mini, made as a user would make it."""
    target = home / "mini"
    found = isoglot_once(
        "export", str(home / "whole"), str(target), "--format", "packed", "--means", str(home / "means")
    )
    assert found == 0
    return target


@pytest.fixture(scope="module")
def isoglot_once():
    from isoglot.cli.main import main

    return lambda *arguments: main([*arguments, "-q"])


@pytest.fixture(autouse=True)
def inside(mini: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("isoglot.model.load.EMBEDDED_FOLDER", mini)
    monkeypatch.chdir(tmp_path)


def test_its_place_is_in_the_package():
    import isoglot

    assert Path(isoglot.__file__).parent / "model" / "isoglot-mini" == EMBEDDED_FOLDER


def test_it_opens_by_its_name_unless_a_folder_is_called_so(mini: Path, encoder: Encoder, tmp_path: Path):
    found = load_encoder(EMBEDDED, device="cpu")
    assert isinstance(found, Encoder)
    assert found.vocabulary.hash == encoder.vocabulary.hash
    assert encoder_folder(EMBEDDED) == mini
    assert encoder_folder("xlm-roberta-base") is None
    save_encoder(encoder, tmp_path / EMBEDDED)
    assert encoder_folder(EMBEDDED) == Path(EMBEDDED)


def test_export_says_what_packing_did(isoglot, home: Path, mini: Path):
    again = isoglot("export", EMBEDDED, str(home / "again"), "--format", "packed", "--json")
    found = json.loads(again.out)
    assert {key: found[key] for key in ("folder", "means", "error")} == {
        "folder": str(home / "again"),
        "means": ["en", "fr"],
        "error": 0.0,
    }
    assert found["size"] == sum(path.stat().st_size for path in (home / "again").rglob("*") if path.is_file())
    assert set(found["files"]) == {path.relative_to(mini).as_posix() for path in mini.rglob("*") if path.is_file()}
    for name in set(found["files"]) - {"means.safetensors"}:  # it has the folder's name in it
        assert (home / "again" / name).read_bytes() == (mini / name).read_bytes(), name
    assert read_json(mini / "encoder.json")["about"] == {"step": 7, "texts": ["en.txt"]}
    text = isoglot("export", str(home / "whole"), str(home / "again"), "--format", "packed", "--step", "0.2", "-q").out
    assert text.splitlines()[0].startswith(f"{found['weights']:,} weights written to {home / 'again'}: ")
    assert "Matrices moved by " in text
    assert not (home / "again" / "means.safetensors").exists()  # those of the earlier export
    assert not (home / "again" / "token_sets.json.zst").exists()
    taken = isoglot("export", EMBEDDED, str(home / "whole"), "--format", "packed")
    taken.failed("storage.not-replaceable", home / "whole")


def test_its_means_are_small_and_those_of_its_own_weights(home: Path, mini: Path, encoder: Encoder):
    known = own_known(EMBEDDED)
    assert known is not None
    means, sets = known
    whole = LanguageMeans.load(home / "means" / "means.safetensors")
    found = load_encoder(EMBEDDED, device="cpu")
    means.check_encoder(found)
    with raises("config.other-encoder"):
        means.check_encoder(encoder)
    with raises("config.other-encoder"):
        whole.check_encoder(found)
    assert means.about["learned_with"] == whole.about["encoder_sha256"]
    assert (means.about["name"], means.moments["fr"].about["name"]) == ("mini", "mini")
    assert b"somebody" not in (mini / "means.safetensors").read_bytes()
    for code in ("en", "fr"):
        assert means.count(code) == whole.count(code)
        np.testing.assert_allclose(means.mean(code, 1), whole.mean(code, 1), rtol=1e-6, atol=1e-8)
        assert means.mean(code, 1).dtype == np.float64
    assert sets.sizes == TokenSets.load(home / "means" / "token_sets.json").sizes
    assert (mini / "means.safetensors").stat().st_size < 0.1 * (home / "means" / "means.safetensors").stat().st_size
    with raises("config.missing-data"), shift(found, means, "en", "fr", kind="transport"):
        pass
    again = means.for_rounded(found)
    assert again.about["learned_with"] == whole.about["encoder_sha256"]


def test_means_of_another_encoder_do_not_go_along(home: Path, encoder: Encoder, isoglot, tmp_path: Path):
    other = Encoder(encoder.config, encoder.vocabulary, seed=5)
    save_encoder(other, tmp_path / "other")
    given = ("export", str(tmp_path / "other"), str(tmp_path / "packed"), "--format", "packed")
    found = isoglot(*given, "--means", str(home / "means"))
    found.failed("config.other-encoder")
    assert not (tmp_path / "packed").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
    with torch.no_grad():
        next(other.parameters())[0, 0] = float("nan")
    with pytest.raises(ConfigError):
        export_packed(other, tmp_path / "packed", known=own_known(EMBEDDED))


def test_the_words_it_was_given_go_along_and_are_no_test_of_it(isoglot, encoder: Encoder, tmp_path: Path):
    encoder.provenance = Provenance()
    save_encoder(encoder, tmp_path / "other")
    encoder.provenance = given_words(["girl", "sees"], ["fille", "voit"])
    save_encoder(encoder, tmp_path / "whole")
    (tmp_path / "en-fr.txt").write_text("girl fille\ncat chat\n")
    for source, target in (("whole", "packed"), ("packed", "again")):
        assert isoglot("export", source, target, "--format", "packed", "-q").code == 0
        assert open_encoder(tmp_path / target).provenance == encoder.provenance
        assert "girl" not in (tmp_path / target / "encoder.json").read_text()
        words = ("retrieve", "words", target, "--words-as", "embeddings", "--dictionary", "en-fr=en-fr.txt")
        isoglot(*words).failed("input.leak", "en-fr.txt", 1, 2, "'girl'")
    assert isoglot("export", "other", "again", "--format", "packed", "-q").code == 0
    assert open_encoder(tmp_path / "again").provenance == Provenance()


def test_it_is_a_modernbert(isoglot, tmp_path: Path):
    from transformers import AutoModelForMaskedLM

    assert isoglot("export", EMBEDDED, "hf").out.startswith("ModernBertForMaskedLM written to hf\n")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf").eval()
    found = load_encoder(EMBEDDED, device="cpu")
    batch = make_batch(found.vocabulary, ["The girl sees a cat."], "en")
    with torch.no_grad():
        theirs_BTV, ours_BTV = model(input_ids=batch.ids_BT).logits, found.logits(found.layers(batch)[-1])
    torch.testing.assert_close(theirs_BTV, ours_BTV, atol=2e-5, rtol=1e-4)


def test_translate_uses_it_and_the_means_that_came_with_it(isoglot):
    found = json.loads(isoglot(*TRANSLATE, "--json").out)
    assert (found["model"], found["means"]) == ("isoglot-mini", "stored with isoglot-mini")
    told = json.loads(isoglot(*TRANSLATE, "--learn-from", "30", "--json").out)
    assert told["means"] == "30 built-in sentences of each language"
    refused = isoglot(*TRANSLATE, "--kind", "transport")
    assert (refused.code, refused.out) == (2, "")
    refused.failed("config.missing-data")
    learned = isoglot(*TRANSLATE, "--kind", "transport", "--learn-from", "30", "--json")
    assert learned.code == 0


def test_means_beside_a_model_that_are_of_another_are_refused(isoglot, mini: Path, encoder: Encoder, tmp_path: Path):
    save_encoder(encoder, tmp_path / "whole")
    for name in ("means.safetensors", "token_sets.json.zst"):
        (tmp_path / "whole" / name).write_bytes((mini / name).read_bytes())
    found = isoglot(*TRANSLATE, "--model", "whole")
    found.failed("config.other-encoder")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            ("steer", "sweep", "--sentences", "4", "--alpha", "1", "--layers", "1"),
            {"means": "stored with isoglot-mini"},
        ),
        (("steer", "erase", "--sentences", "30", "--layers", "1", "--folds", "2"), {"model": "isoglot-mini"}),
        (
            ("retrieve", "sentences", "--sentences", "20", "--resamples", "20", "--out", "found"),
            {"model": "isoglot-mini"},
        ),
        (("diagnose", "--sentences", "40", "--set", "resamples=20", "--set", "draws=20"), {}),
        (("compare", "--sentences", "40", "--draws", "20", "--floor", "none"), {}),
        (("encode", "--text", "a.txt", "--out", "v.safetensors"), {"name": "isoglot-mini", "rows": 2}),
    ],
)
def test_verbs_use_it_where_no_model_is_named(isoglot, tmp_path: Path, given, wanted):
    (tmp_path / "a.txt").write_text("The girl sees a cat.\nYes.\n")
    found = isoglot(*given, "-q", "--json")
    assert (found.code, found.err) == (0, "")
    value = json.loads(found.out)
    assert {key: value[key] for key in wanted} == wanted
    if given[0] == "retrieve":
        assert [pair["source"] for pair in value["pairs"]] == ["en"]
        assert any("encoder.json" in str(entry) for entry in read_json(tmp_path / "found" / "run.json")["inputs"])


def test_doctor_tells_of_it(isoglot, mini: Path, monkeypatch, tmp_path: Path):
    found = json.loads(isoglot("doctor", "--json").out)["models"]
    size = sum(path.stat().st_size for path in mini.rglob("*") if path.is_file())
    assert found == [{"name": "isoglot-mini", "size": size, "languages": ["en", "fr"], "problem": None}]
    assert f"en fr, {size / 1e6:.1f} MB" in isoglot("doctor").out
    monkeypatch.setattr("isoglot.model.load.EMBEDDED_FOLDER", tmp_path / "nothing")
    assert "not in this version" in isoglot("doctor").out


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("encoder.json", b"{}", "encoder.json: not an encoder of format 1; install isoglot again"),
        ("encoder.json", None, "encoder.json: cannot read: no such file or folder; install isoglot again"),
        ("encoder.safetensors.zst", b"no", "encoder.safetensors.zst: 2 bytes with SHA-256 "),
        ("vocabulary/vocabulary.json.zst", b"no", "vocabulary.json.zst: not one complete Zstandard frame"),
    ],
)
def test_doctor_reports_a_damaged_one(isoglot, mini: Path, monkeypatch, tmp_path: Path, name, content, line):
    folder = tmp_path / "damaged"
    shutil.copytree(mini, folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    monkeypatch.setattr("isoglot.model.load.EMBEDDED_FOLDER", folder)
    found = isoglot("doctor", "--json")
    assert (found.code, found.err) == (0, "")
    (model,) = json.loads(found.out)["models"]
    assert line in model["problem"]
    assert model["languages"] == []
    assert "damaged: " in isoglot("doctor").out


def test_means_without_their_token_sets_are_refused(isoglot, mini: Path, tmp_path: Path):
    folder = tmp_path / "cut"
    shutil.copytree(mini, folder)
    (folder / "token_sets.json.zst").unlink()
    found = isoglot(*TRANSLATE, "--model", str(folder))
    assert (found.code, found.out) == (2, "")
    found.failed("storage.not-found", folder, "means.safetensors", "token_sets.json", "token_sets.json.zst")
