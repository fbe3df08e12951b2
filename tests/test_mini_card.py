"""The model card's numbers: measured end to end on something tiny, and written nowhere but between its marks."""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

from isoglot.languages import documents
from isoglot.model import save_encoder
from isoglot.vocab import train_vocabulary

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        import mini_card  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(SCRIPTS))
    found: ModuleType = mini_card
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parallel sentences of built-in English and French, laid out as the public sets are."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("tatoeba", "muse", "parallel", "text"):
        (folder / name).mkdir()
    lines = {
        code: [sentence.text for document in islice(documents(code, seed=4), 60) for sentence in document]
        for code in ("en", "fr")
    }
    (folder / "text" / "wiki.en.txt").write_text("\n".join(lines["en"]), "utf-8")
    (folder / "text" / "europarl.fr.txt").write_text("\n".join(lines["fr"]), "utf-8")
    for code, name in (("en", "eng"), ("fr", "fra")):
        (folder / "tatoeba" / f"tatoeba.fra-eng.{name}").write_text("\n".join(lines[code][:40]), "utf-8")
    rows = [f"{one}\t{other}" for one, other in zip(lines["en"][40:100], lines["fr"][40:100], strict=True)]
    (folder / "parallel" / "table.tsv").write_text("\n".join(["en\tfr", *rows]), "utf-8")
    words = [sorted({word for line in lines[code] for word in re.findall(r"\w{3,}", line.lower())}) for code in lines]
    entries = "\n".join(f"{one}\t{other}" for one, other in zip(*words, strict=False))
    for name in ("en-fr.txt", "en-fr.5000-6500.txt"):
        (folder / "muse" / name).write_text(entries, "utf-8")
    return folder


@pytest.fixture(scope="module")
def model(nano_encoder, small_texts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    vocabulary = train_vocabulary(small_texts, mode="joint", size=360, coverage=1.0)
    folder = tmp_path_factory.mktemp("model")
    save_encoder(nano_encoder(vocabulary, "modern"), folder / "encoder")
    return folder / "encoder"


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["mini_card.py", "--quiet", "--device", "cpu", *map(str, arguments)])
    found: int = script.main()
    return found


def test_a_card_from_data_to_page(
    script: ModuleType, model: Path, data: Path, tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(script.EFFORTS, "usual", script.Effort(30, 20, 30, 200, 1, 8, 8, 4))
    figures, page, facts = tmp_path / "card.json", tmp_path / "MINI.md", tmp_path / "facts.json"
    facts.write_text(json.dumps({"command": "isoglot pretrain …", "GPU minutes": 27.5}), "utf-8")
    options = ("--langs", "fr", "--data", data, "--parallel", data / "parallel" / "table.tsv")
    dev = ("--dev", f"fr={data / 'text' / 'europarl.fr.txt'}")
    assert run(script, monkeypatch, model, *options, *dev, "--out", figures, "--write", page, "--facts", facts) == 0
    capsys.readouterr()
    card = json.loads(figures.read_text("utf-8"))
    depth = card["model"]["layers"]
    pair = card["tatoeba"]["pairs"]["fr"]
    assert pair["sentences"] == 40
    for way in ("raw", "centred", "Procrustes"):
        assert len(pair[way]) == depth + 1
        assert all(0 <= each[side] <= 1 for each in pair[way] for side in ("to_en", "from_en"))
        assert card["tatoeba"]["chosen"][way] in range(depth + 1)
    assert set(card["steer"]["pairs"]["fr"]["alphas"]) == {"1", "2", "3"}
    for way in ("alone", "contexts"):
        assert len(card["muse"][way]["pairs"]["fr"]["layers"]) == 2 * (depth + 1)
    assert card["steer"]["layer"] in range(depth + 1)
    assert card["perplexity"]["languages"]["fr"]["perplexity"] > 1
    text = page.read_text("utf-8")
    template = script.TEMPLATE.read_text("utf-8")
    for name in re.findall(r"<!-- (?!/)([\w-]+) -->", template):
        assert re.search(f"<!-- {name} -->\n.*\\|.*\n<!-- /{name} -->", text, re.DOTALL), name
    assert "| GPU minutes | 27.5 |" in text
    layer = card["tatoeba"]["chosen"]["raw"]
    assert f"raw (layer {layer})" in text

    assert run(script, monkeypatch, "--from", figures, "--write", page) == 0
    assert page.read_text("utf-8") == text, "the same figures make the same page"


def test_quick_is_tatoeba_alone(script: ModuleType, model: Path, data: Path, monkeypatch, capsys):
    assert run(script, monkeypatch, model, "--langs", "fr", "--data", data, "--quick") == 0
    shown = capsys.readouterr().out
    assert "fr, raw" in shown
    assert "fr, centred" in shown
    assert "Procrustes" not in shown


def test_the_template_has_no_figures_of_its_own(script: ModuleType):
    text = script.TEMPLATE.read_text("utf-8")
    results = text[text.index("## Results") : text.index("## What it is not good for")]
    assert not re.search(r"\d+\.\d", results)


def test_a_missing_folder_is_an_error(script: ModuleType, model: Path, tmp_path: Path, monkeypatch, capsys):
    assert run(script, monkeypatch, model, "--langs", "fr", "--data", tmp_path) == 2
    assert "error: " in capsys.readouterr().err
