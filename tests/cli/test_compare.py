"""``isoglot compare`` and its sub-verbs, on encoders so small that they take a moment."""

from __future__ import annotations

import csv
import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from transformers import BertConfig, BertModel

from isoglot.compare import builtin_pairs
from isoglot.core.config import build_config
from isoglot.core.files import read_json
from isoglot.languages import documents
from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.text.formats.plain import write_documents
from isoglot.vocab import build_shards, train_vocabulary

QUICK = ("--measure", "debiased-cka", "--measure", "cka", "--draws", "20", "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps, a seed twin, a monolingual encoder and parallel sentences."""
    folder: Path = tmp_path_factory.mktemp("compare")
    texts = {}
    for code in ("en", "fr"):
        made = islice(documents(code, seed=1), 30)
        write_documents(folder / f"{code}.txt", ([sentence.text for sentence in text] for text in made))
        texts[code] = [folder / f"{code}.txt"]
    vocabulary = train_vocabulary(texts, mode="joint", size=400, coverage=1.0)
    shards = {
        code: build_shards(paths, vocabulary, code, folder / f"shards.{code}", window=32, dev_share=0.2)
        for code, paths in texts.items()
    }
    config = build_config(
        PretrainConfig,
        settings=[
            "model.size=nano", "model.max_length=32", "batch.size=8", "budget=6steps", "optimizer.learning_rate=1e-2",
            "evaluation.sequences=4", "checkpoints.every=2", "checkpoints.keep=100", "log.peak=off",
        ],
    )  # fmt: skip
    pretrain(config, shards, vocabulary, folder / "run", device="cpu")
    for name, languages in {"twin": ("en", "fr"), "mono": ("en",), "french": ("fr",)}.items():
        shape = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=languages, max_length=32)
        save_encoder(Encoder(shape, vocabulary, seed=len(name)), folder / name)
    save_encoder(Encoder(shape, seed=1), folder / "bare")
    small = BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=40)
    model: Any = BertModel
    model(small).save_pretrained(folder / "bert")
    pairs = builtin_pairs(("en", "fr"), 60)
    for side, code in enumerate(("en", "fr")):
        (folder / f"p.{code}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    (folder / "figure7.toml").write_text(
        'sentences = 50\n[[columns]]\nlanguages = ["en", "fr"]\nbilingual = "run"\nmonolingual = ["mono", "french"]\n'
        '[[columns]]\nlanguages = ["en", "zh"]\nbilingual = "gone"\n'
    )
    return folder


@pytest.fixture
def run(isoglot, folder: Path, tmp_path: Path):
    """``run(*words)``: ``isoglot compare``; ``@`` stands for the folder, results go to ``tmp_path / "out"``."""

    def go(*words: str):
        return isoglot("compare", *(word.replace("@", str(folder)) for word in words), "--out", str(tmp_path / "out"))

    return go


FILES = ("--parallel", "en=@/p.en", "--parallel", "fr=@/p.fr")


def test_two_encoders_leave_a_page_a_grid_tables_and_a_record(run, folder: Path, tmp_path: Path):
    result = run("@/run", "@/twin", *FILES, "--ceiling", "@/twin", *QUICK)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "2"]
    assert f"The page is {tmp_path}/out/index.html" in result.out
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        "index.html", "vega.js", "figures", "tables", "compare.json", "measures.csv", "run.json",
    }  # fmt: skip
    value = read_json(out / "compare.json")
    head = ["layer", "CKA, debiased", "95 % interval", "random pairs", "floor", "ceiling", "place", "without top 1"]
    if any(row["place"] is None for row in value["layers"] if row["measure"] == "debiased-cka"):
        head.remove("place")  # there is none where the ceiling is no higher than the floor
    assert lines[0].split() == " ".join(head).split()
    assert all(0 < row["expected_null"] < 1 for row in value["layers"] if row["measure"] == "cka")
    assert value["models"] == [str(folder / "run" / "best"), str(folder / "twin")]
    assert value["languages"] == ["en", "fr"]
    assert len(value["grid"]["debiased"]) == 3
    with (out / "measures.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["measure"], row["layer"]) for row in rows[:3]] == [("cka", "0"), ("debiased-cka", "0"), ("cka", "1")]
    assert (out / "figures" / "grid.vl.json").is_file()
    record = read_json(out / "run.json")
    assert record["status"] == "finished"
    assert {"index.html", "vega.js", "figures/grid.vl.json", "compare.json"} <= set(record["outputs"])
    assert sum(name.endswith(("p.en", "p.fr")) for name in record["inputs"]) == 2
    assert any(name.endswith("run/best/encoder.json") for name in record["inputs"])
    page = (out / "index.html").read_text()
    assert page.count('class="figure"') == 5
    assert "reading en" in page


@pytest.mark.parametrize(
    ("words", "name"),
    [(("models", "@/run", *QUICK), "compare"), (("emergence", "@/run", "--device", "cpu"), "emergence")],
)
def test_sentences_that_are_cut_are_counted(run, tmp_path: Path, words: tuple[str, ...], name: str):
    for code in ("en", "fr"):
        texts = [f"{code} {number}" for number in range(11)]
        (tmp_path / code).write_text("\n".join([*texts, "a " * 600 if code == "en" else "a"]) + "\n")
    result = run(*words, *(word for code in ("en", "fr") for word in ("--parallel", f"{code}={tmp_path / code}")))
    said = "Longer than the model takes, and cut: 1 of 12 en sentences"
    assert said in result.out
    assert read_json(tmp_path / "out" / f"{name}.json")["cut"] == [1, 0]
    assert said in (tmp_path / "out" / "index.html").read_text()


def test_sentences_that_are_cut_are_counted_in_the_grid(isoglot, folder: Path, tmp_path: Path):
    for code in ("en", "fr"):
        texts = [f"{code} {number}" for number in range(11)]
        (tmp_path / code).write_text("\n".join([*texts, "a " * 600 if code == "en" else "a"]) + "\n")
    (tmp_path / "grid.toml").write_text(
        f'[[columns]]\nlanguages = ["en", "fr"]\nfiles = {{ en = "en", fr = "fr" }}\nbilingual = "{folder / "run"}"\n'
    )
    result = isoglot("compare", "grid", str(tmp_path / "grid.toml"), "--device", "cpu", "--out", str(tmp_path / "out"))
    said = "en-fr, bilingual: Longer than the model takes, and cut: 1 of 12 en sentences"
    assert said in result.out
    assert said in (tmp_path / "out" / "index.html").read_text()
    assert read_json(tmp_path / "out" / "figure7.json")["columns"][0]["rows"]["bilingual"]["cut"] == [1, 0]


def test_one_encoder_reads_both_languages_of_its_own(run, isoglot, folder: Path):
    result = isoglot(
        "compare", str(folder / "run"), *QUICK, "--sentences", "40", "--json", "--quiet", "--floor", "none"
    )
    assert (result.code, result.err) == (0, "")
    value = json.loads(result.out)
    assert value["languages"] == ["en", "fr"]
    assert (value["sentences"], value["floor"], value["ceiling"]) == (40, None, None)
    assert "out" not in value
    long = isoglot(
        "compare", "models", str(folder / "run"), *QUICK, "--sentences", "40", "--json", "-q", "--floor", "none"
    )
    assert long.out == result.out


def test_options_may_come_first_and_layers_be_few(run):
    result = run("--layers", "-1", "--langs", "en,fr", "--sentences", "40", "@/run", *QUICK, "--json", "--quiet")
    assert [row["layer"] for row in json.loads(result.out)["layers"]] == [2, 2]
    twice = run("@/mono", "@/mono", *QUICK, "--sentences", "40", "--json", "--quiet")
    assert json.loads(twice.out)["languages"] == ["en", "en-x-two"]


def test_the_grid(run, folder: Path, tmp_path: Path):
    result = run("grid", "@/figure7.toml", "--device", "cpu")
    assert result.code == 0, result.err
    assert "en-zh, bilingual is empty: gone: " in result.out
    assert "3 of 6 cells are measured." in result.out
    value = read_json(tmp_path / "out" / "figure7.json")
    assert [column["name"] for column in value["columns"]] == ["en-fr", "en-zh"]
    assert value["columns"][0]["paper_average"] == {"bilingual": 0.69, "monolingual": 0.58, "random": 0.46}
    assert {claim["name"] for claim in value["claims"]} == {"W13", "W14", "W15"}
    page = (tmp_path / "out" / "index.html").read_text()
    assert "a dash: no models" in page
    assert "Wu et al. 2020, Figure 7" in page
    record = read_json(tmp_path / "out" / "run.json")
    assert record["config"]["columns"][0]["monolingual"] == ["mono", "french"]
    assert next(iter(record["inputs"])) == str(folder / "figure7.toml")


def test_what_is_saturated_is_said_to_be(run):
    few = ("--sentences", "30")  # in 32 columns
    result = run("@/run", *FILES, *few, "--measure", "pwcca", "--measure", "rsa", "--device", "cpu")
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines() if line[:1].isdigit()]
    assert [row[1] for row in rows] == ["saturated"] * 3
    assert all(float(row[2]) < 1 for row in rows)


def test_emergence(run, tmp_path: Path):
    result = run("emergence", "@/run", *FILES, "--device", "cpu")
    assert result.code == 0, result.err
    assert [line.split()[0] for line in result.out.splitlines()[2:5]] == ["2", "4", "6"]
    value = read_json(tmp_path / "out" / "emergence.json")
    assert [moment["step"] for moment in value["moments"]] == [2, 4, 6]
    page = (tmp_path / "out" / "index.html").read_text()
    assert 'class="figure"' in page
    assert "text seen, million tokens" in page
    assert len((tmp_path / "out" / "emergence.csv").read_text().splitlines()) == 1 + 3 * 3


def test_one_checkpoint_is_no_curve(run, folder: Path, tmp_path: Path):
    shutil.copytree(folder / "run", folder / "short")
    for step in (2, 4):
        (kept,) = (folder / "short").rglob(f"*{step}")
        shutil.rmtree(kept)
    result = run("emergence", "@/short", *FILES, "--device", "cpu")
    assert result.code == 0, result.err
    assert "The run has kept one checkpoint, of step 6: a curve needs more." in " ".join(result.out.split())
    assert not (tmp_path / "out" / "figures").exists()


def test_help_shows_all_three_with_an_example(isoglot):
    shown = " ".join(isoglot("compare", "--help").out.split())
    for name in ("models", "grid", "emergence"):
        assert name in shown
    for example in ("isoglot compare A B --parallel", "isoglot compare grid ", "isoglot compare emergence "):
        assert example in shown


def test_help_of_the_grid_names_the_table_as_it_is_written(isoglot):
    assert "has a [[columns]] table for each pair" in " ".join(isoglot("compare", "grid", "--help").out.split())


# --- what will not do ---


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("@/run", *FILES, "--measure", "ccka"), ("config.unknown-name", "'ccka'")),
        (("@/run", *FILES, "--measure", "xyz"), ("config.unknown-name", "'xyz'")),
        (("@/run", *FILES, "--langs", "en,fr"), ("config.conflicting-options", "--langs")),
        (("@/run", *FILES[:2]), ("config.other-language", "en")),
        (("@/run", *FILES, "--layers", "9"), ("config.unknown-layer", "9")),
        (("@/run", "--langs", "en,sw"), ("config.built-in-language", "'sw'")),
        (("@/run", *FILES, "--without-top", "99"), ("config.invalid-value", "99", "60", "32")),
        (("@/none", *FILES), ("storage.model-not-found",)),
        (("@/none", "--sentences", "11"), ("input.too-few", "11", "mutual-knn")),
        (("@/run", *FILES, "--rows", "11"), ("input.too-few", "rows", "11")),
        (("emergence", "@/none", "--sentences", "9", "--measure", "spectral"), ("input.too-few", "spectral")),
        (("@/bare", *FILES), ("config.not-supported",)),
        (("grid", "@/none.toml"), ("storage.not-found",)),
        (("grid", "@/p.en"), ("config.malformed-toml", "p.en")),
        (("emergence", "@/twin", *FILES), ("storage.not-found", "pretrain.json")),
        (("emergence", "@/run", *FILES, "--measure", "ckaa"), ("config.unknown-name", "'ckaa'")),
    ],
)
def test_one_line_says_what_is_wrong(
    run, folder: Path, tmp_path: Path, words: tuple[str, ...], expected: tuple[str, ...]
):
    result = run(*words, "--device", "cpu", "--quiet")
    assert (result.code, result.out) == (2, "")
    result.failed(*expected)
    assert result.err.count("\n") == 1
    assert {path.name for path in (tmp_path / "out").glob("*")} <= {"run.json"}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("one\ntwo\nthree\n", "un\n"), ("input.line-count", "3", "1")),
        (("one\n", "un\n"), ("input.too-few", "1")),
        (("", ""), ("input.no-match", "en", "fr")),
    ],
)
@pytest.mark.parametrize("verb", [(), ("emergence",)])
def test_files_that_will_not_do(run, tmp_path: Path, verb, texts, expected: tuple[str, ...]):
    for name, text in zip("ab", texts, strict=True):
        (tmp_path / name).write_text(text)
    result = run(*verb, "@/run", "--parallel", f"en={tmp_path}/a", "--parallel", f"fr={tmp_path}/b", "--quiet")
    assert (result.code, result.out) == (2, "")
    result.failed(*expected)
    assert result.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_hugging_face_folder_without_a_tokenizer(run, folder: Path, tmp_path: Path):
    result = run("@/bert", *FILES, "--quiet")
    assert (result.code, result.out) == (2, "")
    result.failed("storage.tokenizer-not-found")
    assert result.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_folder_may_have_control_characters_in_its_name(run, folder: Path, tmp_path: Path):
    model = tmp_path / "\x1b[31mred\x07\x9b[bold]"
    shutil.copytree(folder / "twin", model)
    result = run(str(model), *FILES, "--measure", "cka", "--draws", "20", "--device", "cpu")
    assert result.code == 0, result.err
    assert "␛[31mred␇�[bold]" in result.out
    for text in (result.out, result.err, (tmp_path / "out" / "index.html").read_text("utf-8")):
        assert not {"\x1b", "\x07", "\x9b"} & set(text)
