from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from isoglot.align import Center, load_map
from isoglot.cli.verbs.align import Models
from isoglot.core.errors import shown
from isoglot.core.files import file_hash, read_json
from isoglot.model import load_encoder, save_encoder
from isoglot.model.folder import open_encoder
from isoglot.represent import Representations
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.dictionaries import Coverage
from isoglot.text.formats.word_vectors import read_vectors, write_vectors
from tests.cli.align_options import FILES, QUICK, TEXTS, WORDS


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def folder(align_folder: Path) -> Path:
    return align_folder


@pytest.fixture
def run(align_run):
    return align_run


def test_sentences_leave_maps_metrics_a_figure_and_a_record(run, tmp_path: Path):
    result = run("sentences", *FILES)
    assert result.code == 0
    assert "encode: 150 sentences in" in result.err
    lines = [line for line in result.out.splitlines() if line]
    assert lines[1].split() == ["layer", *["before", "after"] * 3]
    assert [line.split()[0] for line in lines[2:5]] == ["0", "1", "2"]
    assert lines[5].startswith("After the map ")
    assert (
        "held-out en sentences have their translation nearest by CSLS (K = 10) among 30 candidates in layer" in lines[5]
    )
    names = {path.name for path in (tmp_path / "map").iterdir()}
    maps = {f"layer-{layer}.safetensors" for layer in range(3)}
    assert names == {*maps, "metrics.json", "metrics.csv", "index.html", "vega.js", "figures", "tables", "run.json"}
    record = read_json(tmp_path / "map" / "run.json")
    assert record["status"] == "finished"
    assert record["config"]["normalize"] == "iterative"
    assert len(record["inputs"]) > 2
    assert "index.html" in record["outputs"]
    page = (tmp_path / "map" / "index.html").read_text()
    assert 'class="figure"' in page
    assert "en → fr, mapped" in page


def test_json_is_the_same_for_the_same_seed_and_says_everything(run):
    first, second, other = (
        json.loads(run("sentences", "--parallel", "@/p.tsv", "--json", "--quiet", "--seed", seed).out)
        for seed in ("1", "1", "2")
    )
    assert first == second
    assert first["layers"] != other["layers"]
    assert first["pairs"] == {"train": 120, "test": 30}
    assert [each["direction"] for each in first["layers"][0]["after"]] == ["forward", "backward"]


@pytest.mark.parametrize(
    ("use", "options"),
    [
        ("embeddings", WORDS),
        ("types", (*TEXTS, *WORDS, "--layers", "1")),
        ("words", (*FILES, "--links", "@/p.align", "--layers", "1")),
        ("sentences", (*FILES, "--layers", "1")),
    ],
)
def test_metrics_say_which_encoders_they_are_of(run, folder: Path, tmp_path: Path, use: str, options: tuple[str, ...]):
    source, target = (open_encoder(folder / "model") for _ in range(2))
    with torch.no_grad():
        next(target.parameters()).add_(1)
    save_encoder(target, tmp_path / "other")
    assert run(use, *options, str(tmp_path / "other")).code == 0
    hashes = [encoder_hash(source), encoder_hash(target)]
    assert read_json(tmp_path / "map" / "metrics.json")["encoder_sha256"] == hashes
    assert hashes[0] != hashes[1]


def test_words_that_training_knew_can_be_left_out_of_the_test(run, folder: Path, tmp_path: Path):
    (tmp_path / "test.txt").write_text((folder / "test.txt").read_text() + "cat chat\n")
    options = (*WORDS[:2], "--test", f"en-fr={tmp_path / 'test.txt'}")
    for command in (("embeddings", *options), ("types", *TEXTS, *options, "--layers", "1")):
        run(*command).failed("input.leak")
        said = run(*command, "--leave-out-known").out
        metrics = read_json(tmp_path / "map" / "metrics.json")
        assert metrics["left_out_known"] == 1
        assert "1 source word left out: known from training" in said
        assert f"Test dictionary: {Coverage(**metrics['test_dictionary'])}" in said
        forward = metrics["layers"][0]["after"][0]
        words, others = (forward[name] for name in ("queries", "other_spelling_queries"))
        assert "All entries / spelled differently, after the map: " in said
        assert said.count(f" % of {words} / {others} words") == 2
        assert "other_spelling_p@1" in (tmp_path / "map" / "metrics.csv").read_text()
    both = run(*command, "--leave-out-known", "--allow-leak")
    both.failed("config.conflicting-options", "--leave-out-known", "--allow-leak")


def test_word_vectors_of_two_files_are_aligned(isoglot, run, tmp_path: Path):
    stream = np.random.default_rng(0)
    X, turn = stream.normal(size=(60, 6)).astype(np.float32), np.linalg.qr(stream.normal(size=(6, 6)))[0]
    words = [f"w{number}" for number in range(60)]
    write_vectors(tmp_path / "en.vec", words, X)
    write_vectors(tmp_path / "fr.vec.gz", [word.upper() for word in words], X @ turn)
    (tmp_path / "d.txt").write_text("".join(f"{word} {word.upper()}\n" for word in [*words, "nowhere"]))
    sides = (str(tmp_path / "en.vec"), str(tmp_path / "fr.vec.gz"))
    align = ("embeddings", *sides, "--dictionary", f"en-fr={tmp_path / 'd.txt'}", "--normalize", "none")
    assert run(*align, source=None).code == 0
    metrics = read_json(tmp_path / "map" / "metrics.json")
    before, after = (metrics["layers"][0][when][0]["p@1"]["value"] for when in ("before", "after"))
    assert (before < 0.5, after, metrics["missing"]) == (True, 1.0, [1, 1])
    assert metrics["encoder_sha256"] == [file_hash(path) for path in sides]
    assert set(sides) < set(read_json(tmp_path / "map" / "run.json")["inputs"])
    vectors = ("--source", sides[0], "--target", sides[1])
    mapped = ("retrieve", "words", *vectors, "--dictionary", str(tmp_path / "d.txt"), "--map", str(tmp_path / "map"))
    isoglot(*mapped).failed("input.leak", 48, 61)  # a fifth was held out from the map
    found = isoglot(*mapped, "--leave-out-known")
    assert "The vectors find 100.0 % (MRR 1.000) of en.vec-fr.vec.gz translations" in found.out
    assert metrics["leak_check"]["provenance_unknown"] == ["en.vec", "fr.vec.gz"]
    assert "provenance unknown: en.vec, fr.vec.gz have no record" in found.out
    run("sentences", "--langs", "en,fr", *sides, source=None).failed("storage.model-not-found")
    mixed = (str(tmp_path / "en.vec"), "@/model", "--method", "ridge")
    run("embeddings", *mixed, "--dictionary", f"en-fr={tmp_path / 'd.txt'}", source=None).failed("input.no-match", 0)


@pytest.mark.parametrize("name", ["wiki.vec.bin", "glove.vec.d"])
def test_only_a_compressed_file_has_an_ending_after_vec(run, tmp_path: Path, name: str):
    (tmp_path / name).touch()
    source = (str(tmp_path / name), "@/model")
    run("embeddings", *source, *WORDS, source=None).failed("storage.model-not-found")


def test_without_a_source_it_is_isoglot_mini(isoglot, tmp_path: Path):
    options = ("--langs", "en,fr", "--sentences", "40", "--layers", "0", "--out", str(tmp_path / "map"), *QUICK)
    assert isoglot("align", "sentences", *options, "--quiet").code == 0
    hashes = read_json(tmp_path / "map" / "metrics.json")["encoder_sha256"]
    assert hashes == [encoder_hash(load_encoder("isoglot-mini", device="cpu"))] * 2
    assert Models().source == "isoglot-mini"


def test_words_from_files_and_from_the_built_in_gold(run):
    for given in ((*FILES, "--links", "@/p.align"), ("--langs", "eng,fra", "--sentences", "80")):
        result = run("words", *given, "--layers", "0,-1", "--json", "--quiet")
        assert result.err == ""
        found = json.loads(result.out)
        assert found["languages"] == ["en", "fr"]
        assert [each["layer"] for each in found["layers"]] == [0, 2]
        assert found["pairs"]["train"] > found["pairs"]["test"] > 0


def test_words_with_a_test_of_their_own(run):
    result = run(
        "words", *FILES, "--links", "@/p.align", "--test-parallel", "en=@/p.en", "--test-parallel", "fr=@/p.fr",
        "--test-links", "@/p.align", "--allow-leak", "--kept", "all", "--layers", "1", "--json", "--quiet",
    )  # fmt: skip
    found = json.loads(result.out)
    assert found["leaked"] > 100
    assert found["pairs"]["train"] == found["pairs"]["test"]
    turned = ("--test-parallel", "fr=@/p.fr", "--test-parallel", "en=@/p.en", "--test-links", "@/p.align")
    result = run("words", *FILES, "--links", "@/p.align", *turned, "--allow-leak")
    result.failed("config.other-language", "--test-parallel", "fr", "en")


def test_words_are_linked_where_no_links_are_given(run, isoglot, folder: Path, tmp_path: Path):
    files = [option.replace("@", str(folder)) for option in FILES]
    for side, code in enumerate(("en", "fr")):  # blank and one-sided pairs come, too
        lines = (folder / f"p.{code}").read_text()
        (tmp_path / f"{code}.txt").write_text(lines + ("\nx\n" if side else "\n\n"))
        files[2 * side + 1] = f"{code}={tmp_path}/{code}.txt"
    made = tmp_path / "made"
    files += ["--segment", "blanks"]  # what links are given for is read so: words, and no word on how they are written
    assert isoglot("align", "links", *files, "--method", "intersection", "--out", made, "--quiet").code == 0
    given = ("--parallel", f"en={made}/en.txt", "--parallel", f"fr={made}/fr.txt", "--links", f"{made}/links.txt")
    common = ("--layers", "1", "--json", "--quiet")
    by_file = json.loads(run("words", *given, *common).out)
    for more, name in (((), "learned here"), (("--aligner", str(made)), str(made))):
        result = run("words", *files, *more, *common)
        assert (result.code, result.err) == (0, "")
        found = json.loads(result.out)
        how = found.pop("linked_by")
        assert found == by_file
        assert (how["aligner"], how["method"], how["config"]["agreement"]) == (name, "intersection", 5)
        assert how["pairs"] == {"pairs": 152, "blank": 1, "one_sided": 1, "overlong": 0, "used": 150}
        assert how["links"] == sum(len(line.split()) for line in (made / "links.txt").read_text().splitlines())
        assert read_json(tmp_path / "map" / "run.json")["config"]["linked_by"] == how
    assert f"{made}/aligner.safetensors" in read_json(tmp_path / "map" / "run.json")["inputs"]
    assert "linked_by" not in by_file


def test_a_test_is_linked_by_the_same_aligner_or_has_its_links(run):
    tests = ("--test-parallel", "en=@/p.en", "--test-parallel", "fr=@/p.fr", "--allow-leak")
    common = (*FILES, "--segment", "blanks", *tests, "--kept", "all", "--layers", "1", "--json", "--quiet")
    linked = json.loads(run("words", *common).out)
    assert linked["pairs"]["train"] == linked["pairs"]["test"]
    assert linked["linked_by"]["pairs"]["pairs"] == 300
    gold = json.loads(run("words", *common, "--test-links", "@/p.align").out)
    assert gold["pairs"]["train"] == linked["pairs"]["train"]
    assert gold["pairs"]["test"] != linked["pairs"]["test"]
    assert gold["linked_by"]["pairs"]["pairs"] == 150


@pytest.mark.parametrize("use", ["words", "sentences"])
def test_the_first_sentences_of_files(run, folder: Path, tmp_path: Path, use: str):
    cut = tmp_path / "cut"
    cut.mkdir()
    for name in ("p.en", "p.fr", "p.align"):
        (cut / name).write_text("".join((folder / name).read_text().splitlines(keepends=True)[:60]))
    found = []
    for home, more in (("@", ("--sentences", "60")), (str(cut), ())):
        links = ("--links", f"{home}/p.align") if use == "words" else ()
        files = ("--parallel", f"en={home}/p.en", "--parallel", f"fr={home}/p.fr", *links)
        result = run(use, *files, *more, "--layers", "1", "--json", "--quiet")
        assert result.code == 0, result.err
        found.append(json.loads(result.out))
    assert found[0] == found[1]


def test_a_table_to_score_on_may_have_more_languages(run, folder: Path, tmp_path: Path):
    lines = (folder / "p.tsv").read_text().splitlines()
    table = tmp_path / "all=three.tsv"  # as for retrieve, a name may have a = in it
    table.write_text("\n".join(["de\t" + lines[0], *("x\t" + line for line in lines[1:])]) + "\n")
    more = ("--test-parallel", str(table), "--allow-leak", "--layers", "1", "--quiet")
    assert run("sentences", *FILES, *more).code == 0


def test_sentences_of_the_built_in_languages(run):
    result = run("sentences", "--langs", "fr,en", "--sentences", "60", "--layers", "1", "--json", "--quiet")
    assert json.loads(result.out)["pairs"] == {"train": 60, "test": 15}


def test_embeddings_are_one_map(run, tmp_path: Path):
    result = run("embeddings", *WORDS, "--method", "ridge", "--normalize", "center", "--set", "options.penalty=0.5")
    assert result.code == 0
    assert result.out.splitlines()[2].split()[0] == "emb"
    assert load_map(tmp_path / "map").steps[1].penalty == 0.5


def test_types_hold_out_whole_words(run):
    result = run("types", *TEXTS, "--dictionary", "en-fr=@/train.txt", "--layers", "1", "--json", "--quiet")
    found = json.loads(result.out)
    assert found["dictionary"]["sources_found"] > 50
    assert found["pairs"]["train"] > found["pairs"]["test"] > 0


def test_a_table_of_one_layer_has_no_figure_and_still_a_page(run, tmp_path: Path):
    assert run("sentences", "--parallel", "@/p.tsv", "--layers", "2").code == 0
    page = (tmp_path / "map" / "index.html").read_text()
    assert 'class="figure"' not in page
    assert "<table>" in page


# --- apply ---


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All three layers of ten rows."""
    path = tmp_path_factory.mktemp("vectors") / "x.safetensors"
    chance = np.random.default_rng(1)
    layers = {layer: chance.normal(size=(10, 32)).astype(np.float32) for layer in range(3)}
    Representations(layers, {"format": 1, "depth": 2, "hidden_size": 32, "layers": [0, 1, 2], "pool": "mean"}).save(
        path
    )
    return path


def test_apply_maps_vectors(run, isoglot, vectors: Path, tmp_path: Path):
    assert run("sentences", "--parallel", "@/p.tsv").code == 0
    given, out = Representations.load(vectors), tmp_path / "y.safetensors"
    mapping = load_map(tmp_path / "map" / "layer-1.safetensors")
    common = ["align", "apply", "--vectors", str(vectors), "--out", str(out)]
    one = isoglot(*common, "--map", str(tmp_path / "map" / "layer-1.safetensors"))
    assert (one.code, one.err) == (0, "")
    assert one.out.split() == f"10 vectors x 32 in layers 1 mapped and written to {out}; left out: layers 0, 2".split()
    np.testing.assert_array_equal(Representations.open(out)[1], mapping.transform(given[1]))
    other = isoglot(
        *common, "--map", str(tmp_path / "map" / "layer-1.safetensors"), "--layer", "2", "--side", "target", "--json"
    )
    assert json.loads(other.out)["layers"] == [2]
    np.testing.assert_array_equal(Representations.load(out)[2], mapping.transform_target(given[2]))
    every = isoglot(*common, "--map", str(tmp_path / "map"), "--into", "target")
    assert every.code == 0
    found = Representations.load(out)
    assert found.layers == (0, 1, 2)
    assert found.header["mapped"] == {"side": "source", "into": "target"}
    again = isoglot(*common[:3], str(out), "--out", str(tmp_path / "z.safetensors"), "--map", str(tmp_path / "map"))
    assert again.code == 2
    assert "mapped" in again.err
    np.testing.assert_array_equal(found[1], mapping.to_target(given[1]))


@pytest.mark.parametrize("name", ["x.vec", "x.vec.gz"])
def test_apply_maps_word_vectors(run, isoglot, tmp_path: Path, name: str):
    assert run("embeddings", *WORDS, "--normalize", "none").code == 0
    matrix = np.random.default_rng(2).normal(size=(3, 32)).astype(np.float32)
    write_vectors(tmp_path / name, ["a", "b", "c"], matrix)
    common = ["align", "apply", "--map", str(tmp_path / "map"), "--vectors", str(tmp_path / name)]
    assert isoglot(*common, "--out", str(tmp_path / "y.vec")).code == 0
    found = read_vectors(tmp_path / "y.vec")
    assert found.words == ["a", "b", "c"]
    np.testing.assert_allclose(found.matrix_ND, load_map(tmp_path / "map").transform(matrix), atol=1e-5)
    wrong = isoglot(*common, "--out", str(tmp_path / "y.safetensors"))
    wrong.failed("config.malformed-option", shown(str(tmp_path / "y.safetensors")), ".vec")
    wrong = isoglot(*common, "--layer", "1", "--out", str(tmp_path / "z.vec"))
    wrong.failed("config.conflicting-options", "layer 1", ".vec")


def test_apply_says_what_will_not_do(run, isoglot, vectors: Path, tmp_path: Path):
    assert run("sentences", "--parallel", "@/p.tsv", "--layers", "1,2").code == 0
    maps = tmp_path / "map"
    Center().fit(np.eye(4, dtype=np.float32)).save(tmp_path / "center.safetensors")
    load_map(maps / "layer-1.safetensors").save(tmp_path / "mine.safetensors")
    write_vectors(tmp_path / "x.vec", ["a"], np.ones((1, 8), dtype=np.float32))
    narrow = Representations({1: np.ones((2, 8), dtype=np.float32)}, {"format": 1, "depth": 1})
    narrow.save(tmp_path / "narrow.safetensors")
    cases = {
        (maps / "layer-9.safetensors", vectors, ()): f"{maps}/layer-9.safetensors: cannot read: no such file or folder",
        (tmp_path / "center.safetensors", vectors, ()): f"{tmp_path}/center.safetensors: a Center",
        (tmp_path / "mine.safetensors", vectors, ()): "maps of layers no number",
        (maps, vectors, ("--layer", "0")): "there is no map of layer 0",
        (maps, tmp_path / "x.vec", ()): "2 maps",
        (maps / "layer-1.safetensors", vectors, ("--side", "target", "--into", "target")): "rows of the target are in",
        (maps / "layer-1.safetensors", tmp_path / "narrow.safetensors", ()): "X has 8 columns where 32 were fitted",
        (maps / "layer-1.safetensors", tmp_path / "none.safetensors", ()): f"{tmp_path}/none.safetensors: no such file",
    }
    for (given, rows, options), line in cases.items():
        out = tmp_path / ("y.vec" if rows.suffix == ".vec" else "y.safetensors")
        result = isoglot("align", "apply", "--map", str(given), "--vectors", str(rows), "--out", str(out), *options)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"isoglot: {line}"), result.err
        assert not out.exists()


@pytest.mark.parametrize("out", ["x.safetensors", "folder", "folder/../x.vec", "map/layer-1.safetensors"])
def test_apply_never_writes_what_it_reads(run, isoglot, vectors: Path, tmp_path: Path, out: str):
    assert run("sentences", "--parallel", "@/p.tsv", "--layers", "1").code == 0
    for name in ("x.safetensors", "folder"):
        Representations.load(vectors).save(tmp_path / name)
    write_vectors(tmp_path / "x.vec", ["a"], np.ones((1, 32), dtype=np.float32))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    given = tmp_path / "x.safetensors" if out.startswith("map") else (tmp_path / out).resolve()
    common = ["align", "apply", "--map", str(tmp_path / "map"), "--vectors", str(given)]
    result = isoglot(*common, "--out", str(tmp_path / out))
    assert (result.code, result.out) == (2, "")
    result.failed("config.would-overwrite", tmp_path / out)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
