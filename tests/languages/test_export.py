"""The folder that ``isoglot languages export`` writes, read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.core.files import file_hash, read_json
from isoglot.languages.export import ExportConfig, export
from isoglot.text.formats.conll import read_conllu, read_tagged
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.nli import read_inference
from isoglot.text.formats.parallel import read_parallel, read_pharaoh
from isoglot.text.formats.plain import read_documents

SMALL = ExportConfig(
    languages=("en", "de", "zh"), sentences=300, parallel=80, dictionary=3000, treebank=40, ner=50, nli=60, held_out=20
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export")
    export(SMALL, out, seed=3)
    return out


def test_text(folder: Path):
    for language in SMALL.languages:
        texts = list(read_documents(folder / "text" / f"{language}.train.txt"))
        assert sum(map(len, texts)) == 300
        assert sum(map(len, read_documents(folder / "text" / f"{language}.dev.txt"))) == 20


def test_parallel_sentences_tokens_and_alignment(folder: Path):
    rows = list(read_parallel(folder / "parallel" / "train.tsv"))
    tokens = list(read_parallel(folder / "parallel" / "train.tokens.tsv"))
    links = list(read_pharaoh(folder / "parallel" / "train.en-de.align"))
    assert len(rows) == len(tokens) == len(links) == 80
    assert len({row["en"] for row in rows}) == 80
    for row, words, pairs in zip(rows, tokens, links, strict=True):
        assert list(row) == ["en", "de", "zh"]
        assert words["zh"].replace(" ", "") == row["zh"].replace(" ", "")
        english, german = words["en"].split(" "), words["de"].split(" ")
        assert pairs
        assert all(i < len(english) and j < len(german) for i, j in pairs)


def test_paraphrases(folder: Path):
    rows = list(read_parallel(folder / "parallel" / "paraphrases.en.dev.tsv"))
    assert len(rows) == 20
    assert all(row["en"] != row["en-x-para"] for row in rows)


def test_dictionaries(folder: Path):
    whole = list(read_dictionary(folder / "dictionary" / "en-de.weighted.tsv"))
    train, test = (list(read_dictionary(folder / "dictionary" / f"en-de.{p}.txt")) for p in ("train", "test"))
    assert len(whole) == len(train) + len(test) > 700
    assert not {e.source for e in train} & {e.source for e in test}
    weights: dict[str, float] = {}
    for entry in whole:
        weights[entry.source] = weights.get(entry.source, 0.0) + entry.weight
    assert all(0.999 < weight < 1.001 for weight in weights.values())
    best = {entry.source: entry.target for entry in reversed(whole)}
    assert (best["dog"], best["house"], best["small"][:5]) == ("hund", "haus", "klein")


def test_treebank(folder: Path):
    trees = list(read_conllu(folder / "treebank" / "de.train.conllu"))
    assert len(trees) == 40
    assert trees[0].value("sent_id") == "de-train-1"


def test_names(folder: Path):
    sentences = list(read_tagged(folder / "ner" / "en.test.tsv"))
    assert len(sentences) == 20
    assert sum(any(tag != "O" for _, tag in sentence) for sentence in sentences) > 10


def test_inference(folder: Path):
    english, chinese = (list(read_inference(folder / "nli" / f"{code}.train.tsv")) for code in ("en", "zh"))
    assert [pair.label for pair in english] == [pair.label for pair in chinese]
    assert len(english) == 60


@pytest.mark.no_cover
def test_two_exports_are_the_same_bytes(folder: Path, tmp_path: Path):
    export(SMALL, tmp_path, seed=3)
    files = {path.relative_to(tmp_path): file_hash(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert len(files) > 50
    assert files == {path.relative_to(folder): file_hash(path) for path in folder.rglob("*") if path.is_file()}


# --- by hand ---


def test_export_on_the_command_line(isoglot, tmp_path: Path):
    out = tmp_path / "data"
    result = isoglot(
        "languages", "export", "--langs", "eng,fr", "--sentences", "50", "--only", "text", "--out", str(out)
    )
    assert result.code == 0
    assert f"{out}/text: 12 files" in result.out
    record = read_json(out / "run.json")
    assert record["status"] == "finished"
    assert record["config"]["languages"] == ["en", "fr"]
    path = out / "text" / "en.train.txt"
    assert record["outputs"][path.relative_to(out).as_posix()]["sha256"] == file_hash(path)
    assert {p.name for p in out.iterdir()} == {"run.json", "text"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--langs", "en,es"], ("config.built-in-language", "'es'")),
        (["--langs", "klingon"], ("config.language-code", "'klingon'")),
        (["--langs", "en,eng"], ("config.invalid-value", "en")),
        (["--sentences", "0"], ("usage", "1", "'0'")),
        (["--sentences", "99999999999"], ("usage", "10000000", "'99999999999'")),
        (["--only", "txt"], ("config.invalid-value", "'txt'", "'text'", "'parallel'")),
        (["--set", "tree=3"], ("config.unknown-key", "--set", "tree=3", "'tree'")),
        (["--set", "nli=0"], ("config.invalid-value", "0", "1")),
        (["--register", "poetic"], ("usage", "'poetic'")),
    ],
)
def test_bad_input(isoglot, tmp_path: Path, arguments: list[str], expected: tuple[str, ...]):
    result = isoglot("languages", "export", *arguments, "--out", str(tmp_path / "x"))
    result.failed(*expected)
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_unwritable_folder(isoglot, tmp_path: Path):
    (tmp_path / "file").touch()
    result = isoglot("languages", "export", "--sentences", "5", "--only", "text", "--out", str(tmp_path / "file"))
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    result.failed("storage.not-a-folder")


def test_sample_shows_every_language_and_json_has_the_alignment(isoglot):
    result = isoglot("languages", "sample", "--seed", "7", "--count", "1")
    assert result.code == 0
    for code in ("en", "fr", "de", "ru", "zh"):
        assert f"\n{code}  " in result.out
    facts = json.loads(isoglot("languages", "sample", "--seed", "7", "--count", "2", "--json").out)
    assert len(facts) == 2
    assert set(facts[0]["sentences"]) == {"en", "fr", "de", "ru", "zh"}
    assert set(facts[0]["alignment"]) == {"en-fr", "en-de", "en-ru", "en-zh"}


def test_list(isoglot):
    facts = json.loads(isoglot("languages", "list", "--json").out)
    assert [fact["code"] for fact in facts["languages"]] == ["en", "fr", "de", "ru", "zh"]
    assert sum(facts["world"][key] for key in ("nouns", "verbs", "adjectives", "adverbs", "numbers")) >= 500
    assert facts["world"]["names"] >= 80
