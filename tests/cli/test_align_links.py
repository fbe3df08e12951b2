"""``isoglot align links`` and ``isoglot align dictionary``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from isoglot.align.words.bitext import builtin_bitext, read_bitext
from isoglot.core.files import file_hash, read_json
from isoglot.model import load_encoder, save_encoder
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.text.cleaning.segmentation import Words, split_words
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.parallel import write_pharaoh
from isoglot.text.provenance import declare, provenance_of, record_path
from isoglot.vocab import train_vocabulary

ENGLISH = ["the house is big", "the book is red", "a house", "", "a red book", "the big house"]
GERMAN = ["das haus ist groß", "das buch ist rot", "ein haus", "leer", "ein rotes buch", "das große haus"]


@pytest.fixture
def bitext(tmp_path: Path) -> list[str]:
    for code, lines in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"{code}.txt").write_text("\n".join(lines * 5) + "\n")
    return [part for code in ("en", "de") for part in ("--parallel", f"{code}={tmp_path}/{code}.txt")]


def test_links_words_and_aligner_are_written_and_used_again(isoglot, bitext: list[str], tmp_path: Path):
    out = tmp_path / "links"
    result = isoglot("align", "links", *bitext, "--out", out, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert facts["pairs"] == {"pairs": 30, "blank": 0, "one_sided": 5, "overlong": 0, "used": 25}
    assert facts == {"out": str(out), **read_json(out / "metrics.json")}
    assert read_json(out / "run.json")["status"] == "finished"
    read = read_bitext({"en": out / "en.txt", "de": out / "de.txt"}, ("en", "de"), out / "links.txt")
    assert read.links[0] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert read.links[3] == []
    gold = out / "links.txt"
    again = isoglot("align", "links", *bitext, "--aligner", out, "--gold", gold, "--out", tmp_path / "again", "--json")
    assert json.loads(again.out)["scores"]["aer"] == 0
    assert (tmp_path / "again" / "links.txt").read_text() == gold.read_text()
    assert not (tmp_path / "again" / "aligner.safetensors").exists()


def test_a_dictionary_each_way(isoglot, bitext: list[str], tmp_path: Path):
    out = tmp_path / "words"
    result = isoglot("align", "dictionary", *bitext, "--out", out)
    assert result.code == 0
    assert "en-de: " in result.out
    found = {entry.source: entry.target for entry in reversed(list(read_dictionary(out / "de-en.tsv")))}
    assert (found["haus"], found["buch"], found["das"]) == ("house", "book", "the")
    first = next(iter(read_dictionary(out / "en-de.tsv")))
    assert (first.source, first.target, first.weight) == ("house", "haus", 15.0)
    strict = isoglot("align", "dictionary", *bitext, "--out", out, "--set", "keep.min_count=11", "--json", "--quiet")
    assert json.loads(strict.out)["en-de"]["words"] < len(found)


def test_a_dictionary_says_which_bitext_it_is_of(isoglot, bitext: list[str], tmp_path: Path):
    files = [Path(each.partition("=")[2]) for each in bitext if "=" in each]
    declare(files[0])
    try:
        assert isoglot("align", "dictionary", *bitext, "--out", tmp_path / "words", "-q").code == 0
    finally:
        record_path(files[0]).unlink()
    for name in ("en-de", "de-en"):
        found = provenance_of(tmp_path / "words" / f"{name}.tsv")
        assert [source.file for source in found.sources] == [file.name for file in files]
        assert found.unknown == (files[1].name,)
        assert all(source.last("induce dictionary") for source in found.sources)
    assert (
        isoglot("align", "dictionary", "--langs", "en,fr", "--sentences", 200, "--out", tmp_path / "own", "-q").code
        == 0
    )
    assert not provenance_of(tmp_path / "own" / "en-fr.tsv").unknown


def test_a_dictionary_of_too_little_text_says_what_to_do(isoglot, tmp_path: Path):
    for code, line in (("en", "the house"), ("de", "das haus")):
        (tmp_path / code).write_text(f"{line}\n" * 2)
    command = ["align", "dictionary", "--parallel", f"en={tmp_path}/en", "--parallel", f"de={tmp_path}/de", "--json"]
    result = isoglot(*command, "--out", tmp_path / "out")
    assert result.code == 0
    assert json.loads(result.out)["en-de"]["entries"] == 0
    assert "isoglot: no translation is common enough to be kept; give more text, or ask for less: " in result.err
    assert result.err.endswith(" --set keep.min_count=1\n")
    result = isoglot(*command, "--set", "keep.min_count=1", "--out", tmp_path / "out")
    assert json.loads(result.out)["en-de"]["entries"] == 2
    assert "no translation" not in result.err


def test_built_in_gold_is_scored(isoglot, tmp_path: Path):
    result = isoglot("align", "links", "--langs", "en,fr", "--sentences", "300", "--out", tmp_path, "--quiet")
    assert result.code == 0
    assert "AER 0." in result.out


def test_two_languages_of_a_table(isoglot, tmp_path: Path):
    table = tmp_path / "all.tsv"
    rows = zip(ENGLISH, ["x"] * 6, GERMAN, strict=True)
    table.write_text("en\tfr\tde\n" + "".join("\t".join(row) + "\n" for row in rows))
    command = ["align", "links", "--parallel", table, "--out", tmp_path / "out"]
    isoglot(*command).failed("config.other-language", "--parallel", "en", "fr", "de")
    isoglot(*command, "--langs", "en,ru").failed("config.missing-data", "all.tsv", "ru")
    assert isoglot(*command, "--langs", "de,en").code == 0
    assert (tmp_path / "out" / "de.txt").read_text().splitlines()[0] == GERMAN[0]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["links"], ("config.missing-option", "--parallel")),
        (
            ["links", "--langs", "en,fr", "--parallel", "en=x"],
            ("config.conflicting-options", "--langs"),
        ),
        (
            ["links", "--langs", "en,fr", "--aligner", "x", "--set", "null=0.1"],
            ("config.conflicting-options", "--set", "--aligner"),
        ),
        (["links", "--langs", "en,fr", "--set", "nul=0.1"], ("config.unknown-key", "'nul'")),
        (
            ["dictionary", "--langs", "en,fr", "--aligner", "x", "--set", "keep.case=keep", "--set", "align.null=0.5"],
            ("config.conflicting-options", "--set", "--aligner"),
        ),
        (["links", "--langs", "en,eng"], ("config.duplicate", "--langs", "'en,eng'", "en")),
        (
            ["links", "--langs", "en,fr", "--gold", "x"],
            ("config.conflicting-options", "--gold"),
        ),
        (["dictionary", "--langs", "en,fr", "--links", "x"], ("config.conflicting-options", "--links", "built-in")),
        (
            ["dictionary", "--parallel", "x", "--links", "y", "--set", "align.null=0.5"],
            ("config.conflicting-options", "--set", "--links"),
        ),
        (
            ["dictionary", "--parallel", "x", "--links", "y", "--set", "symmetry=union"],
            ("config.conflicting-options", "--set", "--links"),
        ),
        (["links", "--langs", "en,fr", "--layer", "1"], ("config.missing-option", "--layer", "--model")),
        (["links", "--langs", "en,fr", "--center", "none"], ("config.missing-option", "--center", "--model")),
        (
            ["links", "--langs", "en,fr", "--aligner", "x", "--model", "y", "--rule", "argmax"],
            ("config.conflicting-options", "--rule", "--aligner"),
        ),
        (
            ["links", "--parallel", "x", "--model", "y", "--dev-gold", "z"],
            ("config.missing-option", "--dev-parallel", "--dev-gold"),
        ),
        (
            ["links", "--langs", "en,fr", "--model", "y", "--layer", "top"],
            ("config.malformed-option", "--layer", "'top'"),
        ),
        (
            ["links", "--langs", "en,fr", "--model", "y", "--dev-parallel", "x", "--dev-gold", "z"],
            ("config.conflicting-options", "--dev-gold"),
        ),
        (
            ["links", "--langs", "en,fr", "--model", "y", "--rule", "argmax", "--set", "threshold=0.2"],
            ("config.invalid-value", "--set", "threshold=0.2", "0.2"),
        ),
        (["links", "--langs", "en,fr", "--model", "y", "--set", "null=0.2"], ("config.unknown-key", "'null'")),
    ],
)
def test_what_is_refused(isoglot, tmp_path: Path, more: list[str], expected: tuple[str, ...]):
    result = isoglot("align", *more, "--out", tmp_path / "out")
    result.failed(*expected)
    assert len(result.err.splitlines()) == 1


def test_an_aligner_of_other_languages_is_refused(isoglot, bitext: list[str], tmp_path: Path):
    isoglot("align", "links", "--langs", "en,fr", "--sentences", "50", "--out", tmp_path / "fr")
    result = isoglot("align", "links", *bitext, "--aligner", tmp_path / "fr", "--out", tmp_path / "de")
    result.failed("config.other-language", "en", "fr", "de")
    (tmp_path / "few.txt").write_text("0-0\n")
    result = isoglot("align", "dictionary", *bitext, "--links", tmp_path / "few.txt", "--out", tmp_path / "de")
    result.failed("input.line-count", tmp_path, "few.txt", 1, 30)


@pytest.mark.parametrize(
    ("command", "read"),
    [
        (["links", "--parallel", "en=en.txt", "--parallel", "de=other"], "en.txt"),
        (["links", "--parallel", "en=one", "--parallel", "de=other", "--gold", "links.txt"], "links.txt"),
        (["dictionary", "--parallel", "en=one", "--parallel", "de=en-de.tsv"], "en-de.tsv"),
    ],
)
def test_what_is_read_is_never_written(
    isoglot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], read: str
):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other", read):
        Path(name).write_text("0-0\n" * 9)
    result = isoglot("align", *command, "--sentences", "6", "--out", ".")
    assert (result.code, result.out) == (2, "")
    result.failed("config.would-overwrite", read)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("one", "other", read), "0-0\n" * 9
    )


def test_nothing_of_an_earlier_run_stands_beside_new_links(isoglot, bitext: list[str], tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        assert isoglot("align", "links", *bitext, "--out", folder).code == 0
    isoglot("align", "links", *bitext, "--aligner", other, "--out", other).failed("config.would-overwrite")
    assert (other / "aligner.safetensors").exists(), "the one that was to be used"
    assert isoglot("align", "links", *bitext, "--aligner", one, "--out", other).code == 0
    assert {path.name for path in other.iterdir()} == {"run.json", "metrics.json", "links.txt", "en.txt", "de.txt"}


def test_the_record_has_the_settings_of_the_aligner(isoglot, bitext: list[str], tmp_path: Path):
    isoglot("align", "links", *bitext, "--set", "null=0.3", "--out", tmp_path / "made")
    used = [*bitext, "--aligner", tmp_path / "made"]
    assert isoglot("align", "links", *used, "--out", tmp_path / "links").code == 0
    assert read_json(tmp_path / "links" / "run.json")["config"]["null"] == 0.3
    assert isoglot("align", "dictionary", *used, "--set", "keep.case=keep", "--out", tmp_path / "words").code == 0
    config = read_json(tmp_path / "words" / "run.json")["config"]
    assert (config["align"]["null"], config["keep"]["case"]) == (0.3, "keep")
    file = tmp_path / "made" / "aligner.safetensors"
    for made in ("links", "words"):
        assert read_json(tmp_path / made / "run.json")["inputs"][str(file)]["sha256"] == file_hash(file)


def test_gold_is_checked_before_anything_is_learned(
    isoglot, bitext: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("isoglot.align.words.linking.train_aligner", lambda *_, **__: pytest.fail("it learned"))
    (tmp_path / "few.txt").write_text("0-0\n")
    result = isoglot("align", "links", *bitext, "--gold", tmp_path / "few.txt", "--out", tmp_path / "out")
    result.failed("input.line-count", tmp_path, "few.txt", 1, 30)
    assert len(result.err.splitlines()) == 1


def test_gold_counts_words_between_blanks(isoglot, tmp_path: Path):
    (tmp_path / "en.txt").write_text("don't go\n" * 4)
    (tmp_path / "zh.txt").write_text("别 去\n" * 4)
    (tmp_path / "gold.txt").write_text("0-0 1-1\n" * 4)
    files = ["--parallel", f"en={tmp_path}/en.txt", "--parallel", f"zh={tmp_path}/zh.txt", "--json", "--quiet"]
    result = isoglot("align", "links", *files, "--gold", tmp_path / "gold.txt", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "en.txt").read_text() == "don't go\n" * 4
    assert json.loads(result.out)["scores"]["sure"] == 8
    assert isoglot("align", "links", *files, "--out", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "en.txt").read_text() != "don't go\n" * 4
    (tmp_path / "far.txt").write_text("0-0\n0-1 1-9\n0-0\n0-0\n")
    far = f"the link 1-9 points past the 2 words of zh in {tmp_path}/en.txt:2"
    for command in (["links", "--gold"], ["dictionary", "--links"]):
        result = isoglot("align", *command, tmp_path / "far.txt", *files, "--out", tmp_path / "out")
        assert (result.code, result.out) == (2, "")
        assert (result.error["message"], result.error["file"], result.error["line"]) == (far, f"{tmp_path}/far.txt", 2)
    dev = [each.replace("--parallel", "--dev-parallel") for each in files[:4]]
    command = ["align", "links", "--model", "isoglot-mini", *files, *dev, "--dev-gold", f"{tmp_path}/far.txt"]
    result = isoglot(*command, "--out", tmp_path / "out")
    assert (result.code, result.out) == (2, "")
    assert (result.error["message"], result.error["file"], result.error["line"]) == (far, f"{tmp_path}/far.txt", 2)


def test_gold_that_is_only_possible(isoglot, bitext: list[str], tmp_path: Path):
    """Of the links of one pair two are sure, and one more is possible."""
    isoglot("align", "links", *bitext, "--out", tmp_path / "made")
    (tmp_path / "gold.txt").write_text("0-0 1-1 2?2 3-0\n" + "\n" * 29)
    given = [*bitext, "--aligner", tmp_path / "made", "--json", "--quiet"]
    result = isoglot("align", "links", *given, "--gold", tmp_path / "gold.txt", "--out", tmp_path / "out")
    assert result.code == 0, result.err
    scores = json.loads(result.out)["scores"]
    assert (scores["sure"], scores["hit_sure"], scores["hit_possible"]) == (3, 2, 3)
    (tmp_path / "far.txt").write_text("0?9\n" + "\n" * 29)
    result = isoglot("align", "links", *given, "--gold", tmp_path / "far.txt", "--out", tmp_path / "out")
    assert (result.error["file"], result.error["line"]) == (f"{tmp_path}/far.txt", 1)
    assert result.error["message"].startswith("the link 0-9 points past the 4 words of de in ")


def test_no_more_is_cut_into_words_than_is_wanted(
    isoglot, bitext: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cut: list[str] = []

    def segment(text: str, language: str, method: str) -> Words:
        cut.append(text)
        return split_words(text, language, "blanks")

    monkeypatch.setattr("isoglot.align.words.bitext.split_words", segment)
    command = ["align", "links", *bitext, "--sentences", "6", "--quiet", "--out", tmp_path / "links"]
    assert isoglot(*command).code == 0
    assert sorted(cut) == sorted(ENGLISH + GERMAN)
    (tmp_path / "de.txt").write_text("\n".join(GERMAN))
    result = isoglot(*command)
    result.failed("input.line-count", 30)


def test_the_first_sentences_of_files(isoglot, bitext: list[str], tmp_path: Path):
    gold = tmp_path / "gold.txt"
    gold.write_text(("0-0\n" * 3 + "\n" + "0-0\n" * 2) * 5)
    cut = [*bitext, "--sentences", "6", "--json", "--quiet"]
    result = isoglot("align", "links", *cut, "--gold", gold, "--out", tmp_path / "links")
    assert json.loads(result.out)["pairs"]["pairs"] == 6
    assert (tmp_path / "links" / "en.txt").read_text().splitlines() == ENGLISH
    assert len((tmp_path / "links" / "links.txt").read_text().splitlines()) == 6
    for more in ([], ["--links", gold]):
        result = isoglot("align", "dictionary", *cut, *more, "--out", tmp_path / "words")
        assert json.loads(result.out)["pairs"] == 6


# --- links by a model ---


@pytest.fixture(scope="module")
def model(nano_encoder, small_texts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small encoder on disk."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("links") / "model"
    vocabulary = train_vocabulary(small_texts, mode="joint", size=800, coverage=1.0)
    save_encoder(nano_encoder(vocabulary, "paper"), folder)
    yield str(folder)
    torch.set_num_threads(before)


BY_MODEL = ("--langs", "en,fr", "--sentences", "30", "--device", "cpu")


@pytest.fixture
def gold_files(tmp_path: Path) -> dict[str, list[str]]:
    """The built-in sentences of dev and train as files, with their links."""
    options = {}
    for split in ("dev", "train"):
        bitext = builtin_bitext(("en", "fr"), 40, split=split)
        for code, side in (("en", bitext.source), ("fr", bitext.target)):
            (tmp_path / f"{split}.{code}").write_text("".join(" ".join(words) + "\n" for words in side))
        write_pharaoh(tmp_path / f"{split}.align", bitext.links)
        prefix = "dev-" if split == "dev" else ""
        options[split] = [
            part for code in ("en", "fr") for part in (f"--{prefix}parallel", f"{code}={tmp_path}/{split}.{code}")
        ]
        options[split] += [f"--{prefix}gold", f"{tmp_path}/{split}.align"]
    return options


def test_a_layer_is_chosen_on_dev_and_the_aligner_used_again(isoglot, model: str, gold_files, tmp_path: Path):
    out = tmp_path / "out"
    common = ["--device", "cpu", "--json", "--quiet"]
    result = isoglot(
        "align", "links", "--model", model, *gold_files["train"], *gold_files["dev"], *common, "--out", out
    )
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert (facts["method"], facts["model"], facts["fitted"]["pairs"]) == ("intersection", model, 40)
    assert facts["way"]["layer"] == facts["fitted"]["chosen"]["layer"]
    assert {each["layer"] for each in facts["fitted"]["layers"]} == {0, 1, 2}
    assert set(facts["scores"]) >= {"aer", "precision", "recall", "f1"}
    assert facts["leaked"] == 0
    lines = (out / "layers.csv").read_text().splitlines()
    assert lines[0].startswith("layer,rule,threshold,center,aer,precision")
    assert len(lines) == 1 + 3 * 2 * 10
    page = (out / "index.html").read_text()
    assert 'class="figure"' in page
    assert "softmax, means removed" in page
    record = read_json(out / "run.json")
    assert (record["status"], record["device"], record["config"]["layer"]) == ("finished", "cpu", "auto")
    assert len(record["inputs"]) >= 6
    assert not list(out.glob(".vectors*"))
    new = [*gold_files["train"], *common, "--out", tmp_path / "again", "--aligner", out]
    for more in ([], ["--model", model]):
        assert isoglot("align", "links", *new, *more).code == 0
        assert (tmp_path / "again" / "links.txt").read_text() == (out / "links.txt").read_text()
    words = isoglot("align", "dictionary", *gold_files["train"][:4], "--aligner", out, "--out", tmp_path / "words")
    assert words.code == 0, words.err
    used = read_json(tmp_path / "words" / "run.json")["config"]["align"]
    assert used["rule"] == "auto"
    hashed = encoder_hash(load_encoder(model))
    for each in (record["config"], read_json(tmp_path / "again" / "run.json")["config"], used):
        assert (each["model"], each["encoder_sha256"]) == (model, hashed)


def test_built_in_sentences_have_a_dev_of_their_own(isoglot, model: str, tmp_path: Path):
    result = isoglot("align", "links", "--model", model, *BY_MODEL, "--rule", "argmax", "--out", tmp_path)
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()[2:5]] == ["0", "1", "2"]
    assert "has the lowest alignment error rate on 500 pairs with gold links: 0." in result.out
    facts = read_json(tmp_path / "metrics.json")
    assert (facts["way"]["rule"], facts["way"]["threshold"]) == ("argmax", None)


def test_a_layer_without_dev(isoglot, model: str, bitext: list[str], tmp_path: Path):
    files = [each.replace("de=", "fr=") for each in bitext]  # the model has no German
    command = ["align", "links", "--model", model, *files, "--out", tmp_path / "out", "--device", "cpu"]
    result = isoglot(*command)
    result.failed("config.missing-data")
    result = isoglot(*command, "--layer", "-1", "--method", "union", "--json", "--quiet")
    assert result.err == ""
    facts = json.loads(result.out)
    assert facts["way"] == {"layer": 2, "rule": "softmax", "threshold": 0.15, "center": "mean"}
    assert facts["pairs"]["one_sided"] == 5
    assert not (tmp_path / "out" / "index.html").exists()
    result = isoglot(*command, "--layer", "9")
    result.failed("config.unknown-layer", 9)


def test_dev_the_other_way_round_is_refused(isoglot, model: str, gold_files, tmp_path: Path):
    first, second, third, fourth, *gold = gold_files["dev"]
    turned = [third, fourth, first, second, *gold]
    result = isoglot("align", "links", "--model", model, *gold_files["train"], *turned, "--out", tmp_path / "out")
    assert (result.code, result.out) == (2, "")
    result.failed("config.other-language", "--dev-parallel", "fr", "en")


def test_pairs_that_chose_the_layer_are_no_test(isoglot, model: str, gold_files, tmp_path: Path):
    same = [each.replace("--dev-", "--") for each in gold_files["dev"]]
    command = ["align", "links", "--model", model, *same, *gold_files["dev"], "--segment", "blanks", "--device", "cpu"]
    command += ["--out", tmp_path / "out"]
    result = isoglot(*command)
    assert (result.code, result.out) == (2, "")
    result.failed("input.leak", 40)
    assert result.err.endswith("or allow the leak\n")
    allowed = isoglot(*command, "--allow-leak")
    assert allowed.code == 0
    assert "\nMind the scores: 40 of these pairs chose the layer\n" in allowed.out
    assert read_json(tmp_path / "out" / "metrics.json")["leaked"] == 40
    unscored = isoglot(*command[:4], *same[:4], *gold_files["dev"], "--device", "cpu", "--out", tmp_path / "out")
    assert unscored.code == 0, unscored.err
    assert read_json(tmp_path / "out" / "metrics.json")["leaked"] == 0
