"""``isoglot steer``: what each verb writes and prints, and what it says when it cannot."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from isoglot.core.files import read_json
from isoglot.languages.builtin import builtin_dictionary
from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.model.folder import open_encoder
from isoglot.report.results import Marked, translation_view
from isoglot.steer import LEACE, Eraser, LanguageMeans, TokenSets, sweep_shifts
from isoglot.steer.erasers.trade_off import default_erasers
from isoglot.steer.language_files import own_known, read_known
from isoglot.steer.shift_choice import NEITHER
from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.given_words import given_words

FILES = ("--parallel", "en=a.txt", "--parallel", "fr=b.txt")
WAY = ("--from", "en", "--to", "fr", "--model", "ours", "--means", "means")
DICTIONARY = ("--dictionary", "en-fr=en-fr.txt")
ENGLISH = "cat dog girl man house sees helps and young old".split()
FRENCH = "chat chien fille homme maison voit aide et jeune vieux".split()
SENTENCES = (
    "girl sees cat",
    "old dog helps man",
    "young girl and young cat",
    "man sees house",
    "cat and dog",
    "dog sees young man",
    "old house",
    "girl helps old cat",
    "young dog sees house and man",
    "man and girl",
    "cat helps dog",
    "old man and old house",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that keeps what a word means and which language it is of apart, its means, sentences, a dictionary.

    Its blocks do nothing. So the shift by the difference of the means is a translation, word for word.
    """
    folder: Path = tmp_path_factory.mktemp("steer")
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *ENGLISH, *FRENCH))}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", pieces["[SEP]"]), ("[CLS]", pieces["[CLS]"]))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(folder / "tokenizer.json", ["en", "fr"])
    encoder = Encoder(encoder_config("modern", "nano", vocabulary_size=len(pieces), languages=("en", "fr")), vocabulary)
    save_encoder(encoder, folder / "other")
    parts = dict(encoder.named_parameters())
    with torch.no_grad():
        for name, part in parts.items():
            if name.endswith(("out.weight", "down.weight", "tokens.shared.weight")):
                part.zero_()
        parts["head.transform.shared.dense.weight"].copy_(torch.eye(encoder.hidden_size))
        for side, words in enumerate((ENGLISH, FRENCH)):
            for number, word in enumerate(words):
                parts["embedding.tokens.shared.weight"][pieces[word], number] = 4.0
                parts["embedding.tokens.shared.weight"][pieces[word], -1 - side] = 3.0
    save_encoder(encoder, folder / "ours")
    gold = dict(zip(ENGLISH, FRENCH, strict=True))
    texts = {"en": list(SENTENCES), "fr": [" ".join(gold[word] for word in line.split()) for line in SENTENCES]}
    for name, lines in (("a", texts["en"]), ("b", texts["fr"])):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    (folder / "en-fr.txt").write_text("".join(f"{one} {other}\n" for one, other in gold.items()))
    (folder / "none.txt").write_text("")
    (folder / "means").mkdir()
    LanguageMeans.fit(encoder, texts).save(folder / "means" / "means.safetensors")
    TokenSets.from_text(vocabulary, texts).save(folder / "means" / "token_sets.json")
    return folder


def piped_in(content: bytes) -> io.TextIOWrapper:
    """Standard input with something in it."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")


@pytest.fixture
def steer(isoglot, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    return lambda *options: isoglot("steer", *options, "--device", "cpu", "-q")


# --- fit ---


def test_fit_learns_from_files(steer, tmp_path: Path):
    result = steer("fit", "ours", "--text", "en=a.txt", "--text", "fra=b.txt", "--out", str(tmp_path / "m"))
    assert (result.code, result.err) == (0, "")
    assert "shared with en" in result.out
    means, sets = (
        LanguageMeans.load(tmp_path / "m" / "means.safetensors"),
        TokenSets.load(tmp_path / "m" / "token_sets.json"),
    )
    assert means.languages == sets.languages == ("en", "fr")
    assert means.layers == (0, 1, 2)
    assert means.count("en") == sets.text_tokens["en"]
    run = read_json(tmp_path / "m" / "run.json")
    assert run["status"] == "finished"
    assert {"a.txt", "b.txt"} < set(run["inputs"])
    assert len(run["outputs"]) == 2


def test_fit_learns_from_built_in_text(steer, tmp_path: Path):
    given = ("fit", "ours", "--sentences", "80", "--layers", "-1", "--threshold", "2", "--out", str(tmp_path), "--json")
    facts = json.loads(steer(*given).out)
    assert {code: each["sentences"] for code, each in facts["languages"].items()} == {"en": 80, "fr": 80}
    assert (facts["layers"], facts["token_sets"]["threshold"]) == ([2], 2)


# --- translate ---


def test_translate_prints_source_outputs_and_scores(steer):
    result = steer("translate", "old girl sees house", *WAY, "--alpha", "0", "--alpha", "1", *DICTIONARY)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[:3] == [
        "en         old girl sees house",
        "fr, α = 0  old girl sees house",
        "fr, α = 1  [vieux fille voit maison]",
    ]
    assert [line.split() for line in lines[4:7]] == [
        ["α", "converted", "precision", "headline", "distinct", "neither", "kept", "harmonic"],
        ["0", "0.000", "–", "0.000", "–", "0.000", "1.000", "0.000"],
        ["1", "1.000", "1.000", "1.000", "1.000", "0.000", "1.000", "1.000"],
    ]
    assert lines[8] == "Shifted at layer 1, mean."
    assert lines[9].startswith("Token sets: 10 of en, 10 of fr; 0 shared by en and fr; met at least")


def test_switched_tokens_are_coloured_on_a_terminal(folder: Path):
    encoder = load_encoder(folder / "ours", device="cpu")
    known = read_known(folder / "means")
    swept = sweep_shifts(encoder, ["old girl"], "en", "fr", known[0], layers=[1], alphas=[1.0], sets=known[1])
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, color_system="standard", width=90)
    console.print(translation_view(swept, None, origin="here", show=5))
    assert "\x1b[1;4;32mvieux fille\x1b[0m" in shown.getvalue()  # bold, underlined, green


def test_a_blank_alone_gets_no_marks_and_a_line_no_blanks_behind_it():
    shown = io.StringIO()
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row("fr", Marked([(" ", "shared"), ("le chat ", "switched"), ("sees", "plain")]))
    Console(file=shown, width=90).print(grid)
    assert shown.getvalue() == "fr   [le chat] sees\n"


def test_translate_gives_json_for_a_file_and_standard_input(steer, monkeypatch, tmp_path: Path):
    lines = Path("a.txt").read_text().splitlines()[:3]
    monkeypatch.setattr("sys.stdin", piped_in("\n\n".join(lines).encode()))
    piped = json.loads(steer("translate", *WAY, "--alpha", "-1", "--layer", "-1", "--json").out)
    (tmp_path / "text.txt").write_text("\n".join(lines))
    filed = json.loads(
        steer("translate", "--text", str(tmp_path / "text.txt"), *WAY, "--alpha", "-1", "--layer", "2", "--json").out
    )
    assert piped == filed
    assert (filed["layer"], filed["scores"][0]["alpha"], len(filed["sentences"])) == (2, -1.0, 3)
    tokens = filed["sentences"][0]["outputs"][0]["tokens"]
    assert set(tokens[0]) == {"given", "made", "begins", "switched", "belongs"}
    assert filed["token_sets"]["threshold"] == 1


def test_translate_with_references_and_files_of_its_own(steer, tmp_path: Path):
    out = tmp_path / "out"
    result = steer("translate", *FILES, *WAY, "--sentences", "6", "--show", "2", "--out", str(out))
    assert (result.code, result.err) == (0, "")
    assert "… and 4 more sentences" in result.out
    assert "BLEU-1|" in result.out
    facts = read_json(out / "translations.json")
    assert len(facts["sentences"]) == 6
    assert facts["sentences"][0]["reference"] == Path("b.txt").read_text().splitlines()[0]
    rows = (out / "translations.tsv").read_text().splitlines()
    assert rows[0] == "en\tfr alpha=1\tfr alpha=2\treference"
    assert len(rows) == 7
    assert "class='switched'" in (out / "index.html").read_text()
    assert read_json(out / "run.json")["status"] == "finished"


def test_means_are_learned_from_built_in_text_where_none_are_given(steer):
    facts = json.loads(
        steer(
            "translate", "the man", "--from", "en", "--to", "fr", "--model", "ours", "--learn-from", "5", "--json"
        ).out
    )
    assert facts["means"] == "5 built-in sentences of each language"


def test_translate_prints_no_escape_of_the_text(steer):
    result = steer("translate", "old \x1b[31mgirl \x9b0m", *WAY, "--alpha", "0")
    assert result.code == 0
    assert not {"\x1b", "\x9b"} & set(result.out + result.err)


# --- sweep ---


def test_sweep_writes_a_page_with_the_papers_tables(steer, tmp_path: Path):
    out = tmp_path / "out"
    given = ("sweep", "ours", *FILES, "--means", "means", "--sentences", "6", *DICTIONARY, "--out", str(out))
    result = steer(*given, "--alpha", "0", "--alpha", "1", "--alpha", "3")
    assert (result.code, result.err) == (0, "")
    for word in (
        "en → fr: convert rate / headline",
        "BLEU-1, decoded without a shift",
        "not shown",
        "by the dictionary of en to fr",
    ):
        assert word in result.out
    facts = read_json(out / "sweep.json")
    assert [(one["source"], one["target"]) for one in facts["sweeps"]] == [("en", "fr"), ("fr", "en")]
    assert len(facts["sweeps"][0]["cells"]) == 9
    assert facts["masked"]["en"]["masked"] == 6
    assert facts["remarks"][0].startswith("Without a shift and with one token masked in each of 6 sentences of en, ")
    best = next(row for row in facts["table2"] if row["row"] == "best BLEU-1")
    assert best["paper (Liu et al. 2020)"] == {"en-fr": None, "fr-en": None}  # another encoder than the paper's
    assert facts["table2"][0]["row"] == "BLEU-1, unchanged source"
    assert facts["table3"][0]["paper (Liu et al. 2020)"] == {"en": None, "fr": None}
    assert len((out / "sweep.csv").read_text().splitlines()) == 19
    page = (out / "index.html").read_text()
    assert page.count('class="figure"') == 10  # two charts and three heat maps of each way
    assert "Liu et al. 2020" in page


def test_sweep_of_built_in_sentences_judged_by_gold(steer):
    given = ("sweep", "ours", "--sentences", "4", "--learn-from", "5", "--layers", "-1")
    facts = json.loads(steer(*given, "--directions", "there", "--json").out)
    assert [one["alphas"] for one in facts["sweeps"]] == [[0.0, 1.0, 2.0, 3.0]]
    assert facts["sweeps"][0]["bleu_signature"].startswith("BLEU-1|")


def test_a_sweep_takes_few_built_in_sentences_unless_told(steer):
    given = ("sweep", "ours", "--learn-from", "5", "--layers", "-1", "--alpha", "1", "--directions", "there")
    remarks = json.loads(steer(*given, "--json").out)["remarks"]
    assert "in each of 25 sentences of en" in remarks[0]


def test_without_sacrebleu_all_but_bleu_is_there(steer, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    said = "BLEU-1 is left out: this needs sacrebleu, which is not installed; pip install 'isoglot[bleu]'"
    swept = json.loads(steer("sweep", "ours", *FILES, "--means", "means", "--alpha", "1", "--json").out)
    assert swept["remarks"][-1] == said
    assert all(cell["bleu"] is None for one in swept["sweeps"] for cell in one["cells"])
    result = steer("translate", *FILES, *WAY)
    assert (result.code, result.err) == (0, "")
    assert "reference  " in result.out
    assert said in result.out


def test_words_training_was_given_are_not_judged_unawares(steer, folder: Path, tmp_path: Path):
    encoder = open_encoder(folder / "ours")
    encoder.provenance = given_words(["Cat", "dog", "zebra"], ["chat"])
    save_encoder(encoder, tmp_path / "m")
    options = (*WAY[:4], "--model", str(tmp_path / "m"), "--means", "means", "--alpha", "1", "--json")
    swept = ("sweep", str(tmp_path / "m"), *FILES, "--layers", "1", *options[6:])
    for verb in (("translate", "cat sees man", *options), swept):
        refused = steer(*verb, *DICTIONARY)
        assert (refused.code, refused.out, refused.error["code"]) == (2, "", "input.leak")
        assert refused.error["file"] == "en-fr.txt"
        assert all(value in refused.error["message"] for value in ("2 of 10", "'cat', 'dog'"))
    (folder / "new.txt").write_text("zebu zébu\n")
    two = steer("translate", "cat sees man", *options, "--dictionary", "en-fr=new.txt", *DICTIONARY).error
    assert (two["code"], two["file"]) == ("input.leak", "new.txt, en-fr.txt")
    assert "2 of 11" in two["message"]
    rest = json.loads(steer("translate", "cat sees man", *options, *DICTIONARY, "--leave-out-known").out)
    assert (rest["left_out_known"], rest["scores"][0]["judged"]) == ({"en-fr": 2}, 2)
    rest = json.loads(steer(*swept, *DICTIONARY, "--leave-out-known").out)
    assert rest["left_out_known"] == {"en-fr": 2, "fr-en": 1}
    assert "en-fr: 2 source words left out: known from training" in rest["remarks"]
    every = json.loads(steer("translate", "cat sees man", *options, *DICTIONARY, "--allow-leak").out)
    assert (every["left_out_known"], every["scores"][0]["judged"]) == ({}, 3)
    own = json.loads(steer("translate", "cat sees man", *options, "--dictionary", "builtin").out)
    assert (own["left_out_known"]["en-fr"], own["scores"][0]["judged"]) == (2, 2)


def test_a_sweep_goes_without_built_in_words_that_training_was_all_given(steer, folder: Path, tmp_path: Path):
    words = [entry.source.lower() for entry in builtin_dictionary("en", "fr")]
    encoder = open_encoder(folder / "ours")
    encoder.provenance = given_words(words)
    save_encoder(encoder, tmp_path / "m")
    options = ("--learn-from", "5", "--layers", "-1", "--alpha", "1", "--sentences", "4", "--directions", "there")
    result = steer("sweep", str(tmp_path / "m"), *options, "--json")
    assert (result.code, result.err) == (0, "")
    said = f"en-fr: training has seen all {len(set(words)):,} source words of the dictionary"
    assert any(remark.startswith(said) for remark in json.loads(result.out)["remarks"])


def test_a_sweep_keeps_the_best_layer_and_alpha_with_the_means_and_translate_takes_them(steer, tmp_path: Path):
    shutil.copytree("means", tmp_path / "m")
    given = ("--model", "ours", "--means", str(tmp_path / "m"))
    swept = json.loads(
        steer(
            "sweep", *given[1:], *FILES, "--layers", "0,2", "--alpha", "0.2", "--alpha", "1", "--save-choice", "--json"
        ).out
    )
    chosen = swept["choices"]["en-fr"]
    assert (chosen["layer"], chosen["alpha"], chosen["bleu"], chosen["convert_rate"]) == (0, 1.0, 100.0, 1.0)
    assert (chosen["source_bleu"], chosen["sentences"], chosen["text"]) == (0.0, 12, "a.txt, b.txt")
    translate = ("translate", "old girl", "--from", "en", "--to", "fr", *given)
    result = steer(*translate)
    assert "fr, α = 1  [vieux fille]" in result.out
    assert "Layer 0 and α = 1 were chosen for this pair of languages on 12 sentences of a.txt, b.txt" in " ".join(
        result.out.split()
    )
    facts = json.loads(steer(*translate, "--json").out)
    assert (facts["layer"], [one["alpha"] for one in facts["scores"]], facts["chosen"]) == (0, [1.0], chosen)
    # What is asked for is what is done; where nothing was measured, the paper's layer and two alphas.
    for options, expected in (
        (("--layer", "1"), (1, [1.0, 2.0])),
        (("--alpha", "3"), (0, [3.0])),
        (("--kind", "norm-matched"), (1, [1.0, 2.0])),
        (("--means", "means"), (1, [1.0, 2.0])),
    ):
        facts = json.loads(steer(*translate, *options, "--json").out)
        assert (facts["layer"], [one["alpha"] for one in facts["scores"]], facts["chosen"]) == (*expected, None)


def test_the_choice_of_the_bundled_encoder_is_used_and_shown(isoglot):
    known = own_known("isoglot-mini")
    assert known is not None
    assert set(known[0].choices) == {f"{a}-{b}" for c in ("de", "fr", "ru", "zh") for a, b in (("en", c), (c, "en"))}
    for choice in known[0].choices.values():
        assert choice.bleu > choice.source_bleu
        assert choice.neither <= NEITHER
    choice = known[0].choices["en-zh"]
    result = isoglot("steer", "translate", "We have a house.", "--from", "en", "--to", "zh", "-q", "--device", "cpu")
    assert f"zh, α = {choice.alpha:g}  " in result.out
    assert f"Shifted at layer {choice.layer}, mean. Layer {choice.layer} and α = {choice.alpha:g} were" in result.out


def test_what_the_paper_leaves_open_is_a_switch_with_a_preset(steer, tmp_path: Path):
    for name, lines in (("a", Path("a.txt")), ("b", Path("b.txt"))):
        rows = lines.read_text().splitlines()
        both = (f"{one}\t{other}\tneutral\n" for one, other in zip(rows[::2], rows[1::2], strict=True))
        (tmp_path / f"{name}.tsv").write_text("".join(both))
    files = ("--parallel", f"en={tmp_path}/a.tsv", "--parallel", f"fr={tmp_path}/b.tsv")
    facts = json.loads(steer("translate", *files, *WAY, "--alpha", "1", "--input", "pairs", "--json").out)
    assert facts["sentences"][0]["source"] == "girl sees cat old dog helps man"  # both of a pair, and no label
    assert facts["sentences"][0]["reference"] == "fille voit chat vieux chien aide homme"
    plain = [token["given"] for token in facts["sentences"][0]["outputs"][0]["tokens"]]
    assert len(plain) == 7
    assert facts["scores"][0]["bleu"]["score"] == pytest.approx(100.0)
    paper = json.loads(steer("translate", *files, *WAY, "--alpha", "1", "--preset", "paper", "--json").out)
    tokens = paper["sentences"][0]["outputs"][0]["tokens"]
    assert len(tokens) == len(plain) + 3  # [CLS], [SEP] between the two, and [SEP]
    assert paper["bleu_signature"].startswith("BLEU-1|whitespace|")
    swept = json.loads(steer("sweep", "ours", "--means", "means", *files, "--preset", "paper", "--json").out)
    protocol = {"reads": "pairs", "special": "include", "bleu_tokens": "whitespace"}
    assert swept["sweeps"][0]["protocol"] == protocol
    less = json.loads(
        steer("translate", *files, *WAY, "--preset", "paper", "--special", "exclude", "--alpha", "1", "--json").out
    )
    assert len(less["sentences"][0]["outputs"][0]["tokens"]) == len(plain)  # a preset only sets defaults
    steer("translate", "no tab here", *WAY, "--input", "pairs").failed("input.malformed-line", 1, "'no tab here'")


def test_fit_counts_special_tokens_where_it_is_told(steer, tmp_path: Path):
    given = ("fit", "ours", "--text", "en=a.txt", "--text", "fr=b.txt", "--out")
    counts = []
    for number, options in enumerate(((), ("--special", "include"), ("--preset", "paper"))):
        assert steer(*given, str(tmp_path / str(number)), *options).code == 0
        means = LanguageMeans.load(tmp_path / str(number) / "means.safetensors")
        counts.append((means.count("en"), means.about["special"]))
    words = sum(len(line.split()) for line in SENTENCES)
    both = (words + 2 * len(SENTENCES), "include")
    assert counts == [(words, "exclude"), both, both]


def test_bleu_of_the_unchanged_source_and_other_tokens(steer):
    options = ("translate", *FILES, *WAY, "--alpha", "1")
    result = steer(*options)
    assert next(line for line in result.out.splitlines() if line.startswith("source")).split()[-1] == "0.00"
    for name, tokenizer in (("whitespace", "none"), ("words", "none"), ("subword", "none")):
        facts = json.loads(steer(*options, "--bleu-tokens", name, "--json").out)
        assert facts["bleu_signature"].startswith(f"BLEU-1|{name}|")
        assert f"tok:{tokenizer}" in facts["bleu_signature"]
        assert facts["source_bleu"] == 0.0


# --- erase ---


def test_erase_shows_every_way_and_saves_the_best_eraser(steer, tmp_path: Path):
    out = tmp_path / "out"
    result = steer("erase", "ours", *FILES, "--folds", "3", "--alpha", "0.5", "--alpha", "1", "--out", str(out))
    assert (result.code, result.err) == (0, "")
    erasers = ("mean removal", "LIR", "LSAR", "INLP", "LEACE")
    for name in ("as it is", *erasers, "shift, alpha 0.5", "shift, alpha 1", "transport"):
        assert name in result.out
    facts = read_json(out / "erase.json")
    assert [each["layer"] for each in facts["layers"]] == [0, 1, 2]
    shown = next(each for each in facts["layers"] if each["layer"] == facts["layer"])
    told = {row["name"]: row["probe"] for row in shown["rows"]}
    assert told["nothing"] == 1.0
    assert told["LEACE"] < 0.75  # chance is one half, and there are few sentences
    eraser = Eraser.load(out / "eraser.safetensors")
    assert (type(eraser), eraser.languages_) == (type(default_erasers()[facts["eraser"]]), ("en", "fr"))
    ways = [row for row in shown["rows"] if row["name"] in default_erasers()]
    most = max(row["harmonic"] for row in ways)
    tied = [row for row in ways if row["harmonic"] == pytest.approx(most)]
    assert len(tied) > 1
    assert facts["eraser"] == min(tied, key=lambda row: row["change"])["name"]
    assert 'class="figure"' in (out / "index.html").read_text()
    outputs = read_json(out / "run.json")["outputs"]
    assert {"index.html", "erase.json", "eraser.safetensors"} <= {Path(name).name for name in outputs}


def test_erase_saves_the_eraser_that_is_named(steer, tmp_path: Path):
    out = tmp_path / "out"
    facts = json.loads(
        steer("erase", "ours", *FILES, "--layers", "1", "--eraser", "leace", "--out", str(out), "--json").out
    )
    assert (facts["eraser"], facts["out"]) == ("LEACE", str(out))
    assert LEACE.load(out / "eraser.safetensors").width_ == 32


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (("translate", "yes", *WAY[:3], "de", *WAY[4:]), "'de' en, fr"),
        (("translate", "yes", "--from", "en", "--to", "de", "--model", "ours"), "de"),
        (("translate", "yes", *WAY, "--layer", "7"), "7 2"),
        (("translate", " ", *WAY), "empty"),
        (("translate", "--text", "none.txt", *WAY), "none.txt empty"),
        (("translate", "yes", "--text", "a.txt", *WAY), "TEXT --text"),
        (("translate", "yes", *WAY, "--dictionary", "fr-de=en-fr.txt"), "dictionary en-fr"),
        (("translate", "yes", *WAY, "--dictionary", "en-fr=none.txt"), "none.txt"),
        (("translate", "yes", *WAY, "--alpha", "1", "--alpha", "1"), "alpha 1"),
        (("translate", "yes", *WAY, "--alpha", "nan"), "alpha nan"),
        (("translate", "yes", "--from", "en", "--to", "en", "--model", "ours", "--means", "means"), "en"),
        (("translate", "yes", *WAY[:-1], "nowhere"), "nowhere"),
        (("translate", *FILES[:2], "--parallel", "de=b.txt", *WAY), "fr de, en"),
        (("sweep", "ours", "--parallel", "en=a.txt", "--parallel", "de=b.txt", "--means", "means"), "'de'"),
        (("sweep", "ours", "--save-choice"), "--save-choice --means"),
        (("erase", "ours", *FILES, "--sentences", "4"), "4 10"),
        (("erase", "ours", *FILES, "--pivot", "de"), "'de' en, fr"),
        (("fit", "ours", "--text", "en=none.txt", "--out", "m"), "none.txt en"),
        (("fit", "ours", "--langs", "sw", "--out", "m"), "sw en, fr, de, ru, zh"),
        (("fit", "ours", "--text", "en=a.txt", "--langs", "en", "--out", "m"), "--langs --text"),
    ],
)
def test_bad_input_is_one_line(steer, given: tuple[str, ...], values: str):
    result = steer(*given)
    assert (result.code, result.err.count("\n"), result.out) == (2, 1, "")
    assert [value for value in values.split() if value not in result.err] == []


def test_means_of_another_encoder_are_refused(steer):
    result = steer("translate", "yes", "--from", "en", "--to", "fr", "--model", "other", "--means", "means")
    result.failed("config.other-encoder")


@pytest.mark.parametrize("given", [("translate", "yes", "--from", "en", "--to", "fr", "--model"), ("sweep",)])
def test_without_a_softmax_nothing_is_learned_first(steer, folder: Path, monkeypatch, tmp_path: Path, given):
    vocabulary = load_encoder(folder / "ours", device="cpu").vocabulary
    config = encoder_config("modern", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"), softmax="none")
    save_encoder(Encoder(config, vocabulary), tmp_path / "headless")
    monkeypatch.setattr(LanguageMeans, "fit", lambda *_, **__: pytest.fail("means were learned"))
    result = steer(*given, str(tmp_path / "headless"))
    assert (result.code, result.out) == (2, "")
    result.failed("config.not-supported")


class Terminal(io.StringIO):
    """A keyboard nobody types on."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            Terminal(),
            'no text to translate; write it in quotes: isoglot steer translate "Yes." --from en --to de',
        ),
        (
            piped_in(b"caf\xe9\n"),
            "standard input is not UTF-8: invalid continuation byte; convert it, as with iconv",
        ),
        (piped_in(b"\n \n"), "standard input is empty; give at least one sentence, one a line"),
    ],
)
def test_standard_input_that_will_not_do(steer, monkeypatch, given: io.TextIOBase, line: str):
    monkeypatch.setattr("sys.stdin", given)
    assert steer("translate", *WAY)[:3] == (2, "", f"isoglot: {line}\n")


@pytest.mark.parametrize(
    ("text", "piped", "line"),
    [
        ([], b"caf\xe9\n", "standard input is not UTF-8: invalid continuation byte; convert it, as with iconv"),
        ([b"caf\xe9 cat"], b"", "the text is not UTF-8: character 4 cannot be read; convert it, as with iconv"),
    ],
)
def test_what_a_locale_lets_pass_is_still_not_text(folder: Path, text: list[bytes], piped: bytes, line: str):
    """In C.UTF-8 Python takes any byte, and gives it back as a lone surrogate."""
    verb = [sys.executable, "-m", "isoglot", "steer", "translate"]
    command: list[str | bytes] = [*verb, *text, *WAY, "--device", "cpu", "-q"]
    locale = os.environ | {"LC_ALL": "C.UTF-8"}
    run = subprocess.run(command, input=piped, capture_output=True, check=False, cwd=folder, env=locale)
    assert (run.returncode, run.stdout, run.stderr.decode()) == (2, b"", f"isoglot: {line}\n")
