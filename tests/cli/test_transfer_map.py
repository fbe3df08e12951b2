"""``isoglot transfer map``: two monolingual models, a bilingual one, maps fitted or given, and what is wrong in a line."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from isoglot.core.files import read_json
from isoglot.languages import documents, parallel
from isoglot.model import save_encoder
from isoglot.vocab import train_vocabulary

FAST = ("--recipe", "micro", "--set", "epochs=1", "--set", "new_layers=1", "--sentences", "30", "--device", "cpu")


@pytest.fixture(scope="module")
def models(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Encoders of English, of German and of both, that have learnt nothing."""
    folder = tmp_path_factory.mktemp("models")
    texts = {}
    for code in ("en", "de"):
        path = folder / f"{code}.txt"
        path.write_text("\n".join(s.text for text in islice(documents(code, seed=1), 40) for s in text) + "\n")
        texts[code] = [path]
    found = {}
    for name, codes in (("en", ("en",)), ("de", ("de",)), ("both", ("en", "de"))):
        vocabulary = train_vocabulary({code: texts[code] for code in codes}, mode="joint", size=600)
        save_encoder(nano_encoder(vocabulary, "paper", languages=codes), folder / name)
        found[name] = str(folder / name)
    wide = nano_encoder(train_vocabulary({"de": texts["de"]}, mode="joint", size=600), "paper", ("de",), hidden_size=48)
    save_encoder(wide, folder / "wide")
    return {**found, "wide": str(folder / "wide")}


def test_built_in_data_a_folder_and_resume(isoglot, models, tmp_path: Path):
    out = tmp_path / "out"
    command = ["transfer", "map", models["en"], "ner", "--other", f"de={models['de']}"]
    command += ["--bilingual", models["both"], *FAST, "--pairs", "60", "--out", str(out)]
    result = isoglot(*command, "--layers", "0,1")
    assert result.code == 0, result.err
    assert "de through a map:" in result.out
    assert f"The page is {out}/index.html" in result.out.replace("\n", "")
    found = read_json(out / "result.json")
    assert (found["task"], found["metric"], found["trained_on"], found["ceiling"]) == ("ner", "f1", "en", "en test")
    assert {(line["models"], line["language"], line["arm"], line["layer"]) for line in found["scores"]} == {
        (kind, *way, layer)
        for kind in ("monolingual", "bilingual")
        for way in (("en", "source"), ("de", "unmapped"), ("de", "mapped"))
        for layer in (0, 1)
    }
    assert (out / "result.csv").read_text().count("\n") == 13
    assert (out / "figures" / "map-de.vl.json").is_file()
    assert {path.name for path in (out / "maps").iterdir()} == {"monolingual-de", "bilingual-de"}
    assert read_json(out / "run.json")["status"] == "finished"
    isoglot(*command).failed("config.run-exists")
    again = isoglot(*command, "--layers", "0,1", "--resume", "--json", "--quiet")
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out)["runs"] == found["runs"]
    more = json.loads(isoglot(*command, "--resume", "--json", "--quiet").out)
    assert more["layers"] == [0, 1, 2]
    assert [run for run in more["runs"] if run["layer"] < 2] == found["runs"]


def test_what_is_built_in_is_said(isoglot, models, tmp_path: Path):
    """That maps are from built-in sentences, beside files of one's own; which language is learnt from, if not English."""
    file = tmp_path / "a.tsv"
    file.write_text("Eva\tB-PER\nsleeps\tO\n\n" * 12)
    files = [f"--{part}={code}={file}" for part, code in (("train", "en"), ("dev", "en"), ("test", "de"))]
    command = ["transfer", "map", models["en"], "ner", "--other", f"de={models['de']}", *FAST]
    command += ["--layers", "1", "--pairs", "60"]
    told = "isoglot: maps are fitted from 60 built-in sentence pairs; give parallel text for better ones\n"
    wrong = isoglot(*command, *files)
    assert (wrong.code, wrong.out) == (2, "")
    wrong.failed("input.leak", file, 12, "en")
    result = isoglot(*command, *files, "--allow-leak")
    assert (result.code, result.err.count(told)) == (0, 1)
    assert "isoglot: dev en: 12 of 12 examples are in training as well\n" in result.err
    result = isoglot(*command)
    assert (result.code, result.err.count("isoglot: ")) == (0, 0)
    turned = ["transfer", "map", models["both"], "ner", "--other", f"en={models['en']}", *FAST]
    result = isoglot(*turned, "--layers", "1", "--pairs", "60")
    assert result.code == 0
    assert "isoglot: training on built-in examples of de, which MODEL reads and no --other does\n" in result.err


def test_a_refused_resume_leaves_the_run_as_it_was(isoglot, models, tmp_path: Path):
    out = tmp_path / "out"
    command = ["transfer", "map", models["en"], "pos", "--other", f"de={models['de']}", *FAST]
    command += ["--layers", "1", "--out", str(out), "--quiet"]
    assert isoglot(*command, "--pairs", "60").code == 0

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    before = files()
    for wrong, problem in {
        ("--pairs", "60", "--set", "epochs=2"): "is another run: config.epochs",
        ("--pairs", "60", "--sentences", "40"): "is another run: data.",
        ("--pairs", "50"): "has another run: the map of de in layer 1 has changed",
        ("--pairs", "60", "--method", "ridge", "--layers", "0,1"): "the map of de in layer 1 has changed",
        ("--maps", f"de={out}/maps/monolingual-de", "--layers", "0,1"): "there is no map of layer 0 from de to en",
    }.items():
        result = isoglot(*command, *wrong, "--resume")
        assert (result.code, result.out) == (2, "")
        assert problem in result.err
        assert files() == before
    assert isoglot(*command, "--pairs", "60", "--layers", "0,1", "--resume").code == 0


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Sentences of both languages, line by line."""
    folder = tmp_path_factory.mktemp("bitext")
    pairs = list(islice(parallel(("de", "en"), seed=3), 80))
    found = {}
    for side, code in enumerate(("de", "en")):
        path = folder / f"{code}.txt"
        path.write_text("".join(f"{' '.join(pair[side].words)}\n" for pair in pairs))
        found[code] = f"{code}={path}"
    return found


def test_maps_of_one_s_own(isoglot, models, bitext, tmp_path: Path):
    """Fitted from one's sentences here, or with isoglot align before: the words linked by the aligner, or by a file."""
    given = ["--parallel", bitext["de"], "--parallel", bitext["en"]]
    links = tmp_path / "links"
    assert isoglot("align", "links", *given, "--segment", "blanks", "--out", str(links), "-q").code == 0
    linked = [*given, "--links", str(links / "links.txt")]
    align = ["align", "words", models["de"], models["en"], *linked, "--device", "cpu", "-q"]
    assert isoglot(*align, "--out", str(tmp_path / "map")).code == 0
    command = ["transfer", "map", models["en"], "pos", "--other", f"de={models['de']}", *FAST]
    command += ["--layers", "1", "--json", "--quiet"]
    found = {}
    for name, options in {
        "given": ["--maps", f"de={tmp_path / 'map'}"],
        "linked": [*given, "--links", f"de={links / 'links.txt'}"],
        "aligned": given,
    }.items():
        result = isoglot(*command, *options)
        assert (result.code, result.err) == (0, "")
        found[name] = {
            run["arm"]: run["accuracy"] for run in json.loads(result.out)["runs"][0]["tests"] if run["language"] == "de"
        }
    assert found["given"] == found["linked"]
    assert found["given"]["unmapped"] == found["aligned"]["unmapped"]

    turned = ["align", "words", models["en"], models["de"], "--langs", "en,de"]
    assert isoglot(*turned, "--sentences", "40", "--device", "cpu", "--out", str(tmp_path / "turned"), "-q").code == 0
    one = [*align, "--layers", "1", "--out", str(tmp_path / "one")]
    assert isoglot(*one).code == 0
    for wrong, problem in {
        ("--maps", f"de={tmp_path / 'turned'}"): "go from en to de, not from de to en",
        (
            "--maps",
            f"de={tmp_path / 'one'}",
            "--layers",
            "all",
        ): "there is no map of layer 0 from de to en",
        ("--maps", f"de={tmp_path / 'map'}", "--other", f"de={models['wide']}"): "de has a model already",
    }.items():
        result = isoglot(*command, *wrong)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert problem in result.error["message"]
    other = ["transfer", "map", models["en"], "pos", "--other", f"de={models['wide']}", *FAST]
    isoglot(*other, "--maps", f"de={tmp_path / 'map'}").failed("config.other-size", 32, 48)
    isoglot(*other, *given).failed("config.other-size", 48, 32)
    assert isoglot(*other, *given, "--method", "ridge", "--layers", "1").code == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--other", "de"], "--other 'de' is not language=model; write it as --other de=MODEL"),
        (["--other", "en={en}"], "the model knows no built-in language but those of other models"),
        (["--other", "fr={de}"], "unknown language of the vocabulary 'fr'"),
        (["--other", "de={de}", "--maps", "fr={de}"], ": no model reads fr; name it: --other fr=MODEL"),
        (["--other", "de={de}", "--bilingual-maps", "de={de}"], "--bilingual-maps without --bilingual"),
        (
            ["--other", "de={de}", "--links", "de=SAME"],
            "word alignments without parallel sentences; give both, or neither",
        ),
        (["--other", "de={de}", "--parallel", "de=SAME"], "there are no parallel sentences of en to fit maps from"),
        (
            ["--other", "de={de}", "--parallel", "en=SAME"],
            "there are no parallel sentences of de to fit maps from",
        ),
        (
            ["--other", "de={de}", "--train", "en=SAME"],
            "there are no dev examples; give training, dev and test examples, or none",
        ),
        (
            ["--other", "de={de}", "--train", "en=SAME", "--dev", "en=SAME", "--test", "en=SAME"],
            "there is no test data of de; give test data of de",
        ),
        (["--other", "de={de}", "--layers", "3"], "there is no layer 3; choose from 0 (the embeddings) to 2"),
        (["--other", "de={de}", "--recipe", "head"], "tune is set, but map transfer trains the new layers"),
        (["--other", "de={de}", "--set", "new_layer=3"], "unknown key 'new_layer'; did you mean 'new_layers'?"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(isoglot, options, problem, models, tmp_path: Path):
    file = tmp_path / "a.tsv"
    file.write_text("Eva\tB-PER\nsleeps\tO\n")
    given = [option.replace("SAME", str(file)).format(**models) for option in options]
    result = isoglot("transfer", "map", models["en"], "ner", *FAST, *given)
    assert (result.code, result.out) == (2, "")
    assert problem in result.err.splitlines()[-1]
    assert result.err.count("isoglot: ") == 1
