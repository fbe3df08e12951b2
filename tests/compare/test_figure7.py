"""The Figure 7 grid: its columns, its cells, its empty ones, and what is read off it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from isoglot.align import IterativeNormalization, Procrustes, Steps
from isoglot.compare import builtin_pairs, figure7
from isoglot.compare.cka_inference import groups_of, leave_out_cka
from isoglot.compare.figure7 import (
    ROWS,
    Figure7,
    Figure7Cell,
    Figure7Column,
    Row,
    measure_figure7,
    paper_pair,
    read_figure7,
)
from isoglot.compare.figure7_claims import claims, correlation_interval
from isoglot.compare.measures.cka import FORMS, cka, paper_cka
from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.model.folder import open_encoder
from isoglot.report.compare import paper_average
from isoglot.represent import extract
from isoglot.study.claims.printed_numbers import printed
from isoglot.text.formats.parallel import unrepeated
from isoglot.vocab import train_vocabulary
from tests.errors import raises

_PRINTED = printed("wu2020")["figure7"]["pairs"]
PAPER = {pair: {row: tuple(each["layers"]) for row, each in rows.items()} for pair, rows in _PRINTED.items()}
AVERAGES = {pair: {row: each["average"] for row, each in rows.items()} for pair, rows in _PRINTED.items()}
COLUMN = """
[[columns]]
languages = ["en", "fr"]
bilingual = "both"
monolingual = ["en", "fr"]
"""


@pytest.fixture(scope="module")
def folder(small_texts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encoders of both languages, of each, of English from another seed, and of English twice with embeddings each."""
    folder: Path = tmp_path_factory.mktemp("figure7")
    texts = {**small_texts, "en-x-two": small_texts["en"]}
    vocabulary = train_vocabulary(texts, mode="joint", size=500, coverage=1.0)
    ids = np.arange(len(vocabulary))
    for seed, (name, languages) in enumerate(
        {"both": ("en", "fr"), "en": ("en",), "fr": ("fr",), "en1": ("en",), "twice": ("en", "en-x-two")}.items()
    ):
        plan = "sep-emb" if name == "twice" else "default"
        config = encoder_config(
            "paper", "nano", vocabulary_size=len(vocabulary), languages=languages, plan=plan, layers=3, dropout=0.0
        )
        members = dict.fromkeys(languages, ids) if name == "twice" else None
        save_encoder(Encoder(config, vocabulary, members, seed=seed), folder / name)
    return folder


@pytest.fixture
def spec(folder: Path):
    """``spec(text, *settings)``: measured from a file beside the encoders."""

    def measure(text: str, *settings: str) -> Figure7:
        path = folder / "figure7.toml"
        path.write_text(text)
        return measure_figure7(read_figure7(path, ["sentences=60", *settings]), folder=folder, device="cpu")

    return measure


def test_cells_are_the_cka_of_what_their_models_read(spec, folder: Path):
    found = spec(COLUMN)
    assert found.empty == {}
    assert found.sentences == {"en-fr": 60}
    work = figure7._Run(read_figure7(folder / "figure7.toml", ["sentences=60"]), folder, "cpu")
    pairs = work.texts(found.columns[0]).compared
    models = {"bilingual": ("both", "both"), "monolingual": ("en", "fr")}
    for row, names in models.items():
        X, Y = (
            extract(work._open(name), [pair[side] for pair in pairs], language=("en", "fr")[side])
            for side, name in enumerate(names)
        )
        cell = found.cell("en-fr", row)
        assert cell.layers == (0, 1, 2, 3)
        for layer in cell.layers:
            assert cell.values["paper"][layer] == pytest.approx(paper_cka(X[layer], Y[layer]), abs=1e-6)
            assert cell.values["centered"][layer] == pytest.approx(cka(X[layer], Y[layer]), abs=1e-6)
            assert cell.values["debiased"][layer] == pytest.approx(cka(X[layer], Y[layer], debiased=True), abs=1e-6)
        assert cell.average("paper") == pytest.approx(np.mean(cell.values["paper"]))
        assert all(0 <= value <= 1 for value in cell.found)
    random = found.cell("en-fr", "random")
    assert random.models == ("en", "fr, untrained")
    assert random.found is None
    assert random.values != found.cell("en-fr", "monolingual").values


def test_without_each_group_is_the_cka_of_the_others(rng):
    X, Y = rng.normal(size=(50, 6)) + 3, rng.normal(size=(50, 4))
    groups = groups_of(50, seed=3)
    found = leave_out_cka(X, Y, groups)
    kept = [np.arange(50), *(np.setdiff1d(np.arange(50), group) for group in groups)]
    for number, rows in enumerate(kept):
        assert found.paper[number] == pytest.approx(paper_cka(X[rows], Y[rows]), abs=1e-12)
        assert found.centered[number] == pytest.approx(cka(X[rows], Y[rows]), abs=1e-12)
        assert found.debiased[number] == pytest.approx(cka(X[rows], Y[rows], debiased=True), abs=1e-12)
    with raises("input.constant", "X (of 45 rows)"):
        leave_out_cka(np.vstack([X[:5], np.ones((45, 6))]), Y, [np.arange(5)])


def test_english_twice_has_embeddings_for_each_and_paraphrases(spec):
    found = spec(
        '[[columns]]\nlanguages = ["en", "en-x-two"]\nbilingual = "twice"\nmonolingual = ["en", "en1"]\nrandom = "none"'
    )
    assert [column.title for column in found.columns] == ["en-en'"]
    assert found.cell("en-en'", "bilingual").values["centered"][0] < 0.999  # two tables, two initial values
    assert found.cell("en-en'", "monolingual") is not None
    assert found.empty == {("en-en'", "random"): "no random encoder is wanted"}


def test_what_is_not_there_stays_empty_with_the_reason(spec):
    found = spec(
        COLUMN
        + '[[columns]]\nlanguages = ["en", "de"]\nbilingual = "no-such"\n'
        + '[[columns]]\nname = "other"\nlanguages = ["en", "fr"]\nmonolingual = ["en", "gone"]\nrandom = ["en", "fr"]\n',
        "retrieval=none",
    )
    assert set(found.empty) == {
        ("en-de", "bilingual"),
        ("en-de", "monolingual"),
        ("en-de", "random"),
        ("other", "bilingual"),
        ("other", "monolingual"),
    }
    assert found.empty["en-de", "bilingual"].startswith("no-such: ")
    assert found.empty["en-de", "monolingual"] == "no monolingual models are named"
    assert found.cell("other", "random").models == ("en", "fr")
    assert found.cell("en-de", "bilingual") is None
    value = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert value["columns"][1]["rows"]["bilingual"]["empty"].startswith("no-such: ")
    assert {(row["pair"], row["encoders"]) for row in found.as_rows()} == set(found.cells)
    verdicts = {claim.verdict for claim in claims(found) if claim.name in ("W14", "W15")}
    assert verdicts == {"undecided"}


def test_a_users_files(spec, folder: Path):
    (folder / "a.txt").write_text("".join(f"The cat sees {n} dogs.\n" for n in range(30)))
    (folder / "b.txt").write_text("".join(f"Le chat voit {n} chiens.\n" for n in range(30)))
    found = spec(COLUMN + 'files = { en = "a.txt", fr = "b.txt" }')
    assert found.sentences == {"en-fr": 30}
    assert found.cell("en-fr", "monolingual").half_width("paper") is None  # too few for groups
    (folder / "b.txt").write_text("Un.\n" * 29)
    with raises("input.line-count", "30", "b.txt", "29"):
        spec(COLUMN + 'files = { en = "a.txt", fr = "b.txt" }')
    for name in "ab":
        (folder / f"{name}.txt").write_text("One.\n")
    with raises("input.too-few", "1"):
        spec(COLUMN + 'files = { en = "a.txt", fr = "b.txt" }')
    with raises("storage.not-found", "none.txt"):
        spec(COLUMN + 'files = { en = "none.txt", fr = "b.txt" }')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("config.missing-key", "'columns'")),
        ("columns = []", ("config.invalid-value", "columns = []")),
        (COLUMN + COLUMN, ("config.invalid-value", "en-fr")),
        ('[[columns]]\nlanguages = ["en"]', ("config.missing-key", "languages")),
        ('[[columns]]\nlanguages = ["en", "qq"]', ("config.invalid-value", "qq")),
        (COLUMN + 'biligual = "x"', ("config.unknown-key", "figure7.toml:6", "'columns.biligual'", "'bilingual'")),
        (COLUMN + 'files = { en = "a", de = "b" }', ("config.invalid-value", "en, de")),
        ('[[columns]]\nlanguages = ["en", "fr"]', ("config.missing-data", "en-fr", "bilingual")),
        ("columns = 3 4", ("config.malformed-toml",)),
    ],
)
def test_one_line_says_what_is_wrong(spec, text: str, expected: tuple[str, ...]):
    with raises(*expected):
        spec(text)


def test_a_model_without_the_language_is_named(spec):
    with raises("config.unknown-language", "'de'"):
        spec('[[columns]]\nlanguages = ["en", "de"]\nrandom = ["en", "fr"]')


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ('monolingual = ["both", "both"]', ("config.other-language", "both", "monolingual", "en, fr")),
        ('monolingual = ["en", "en1"]', ("config.other-language", "en1", "monolingual", "fr")),
        ('bilingual = "en"', ("config.other-language", "en", "bilingual", "fr")),
        ('random = ["en", "seven"]', ("config.other-encoder", "seven", "7")),
    ],
)
def test_a_model_of_other_languages_than_its_row_is_about_is_refused(
    spec, folder: Path, models: str, expected: tuple[str, ...]
):
    save_encoder(open_encoder(folder / "fr"), folder / "seven", about={"step": 7})
    with raises(*expected):
        spec(f'[[columns]]\nlanguages = ["en", "fr"]\n{models}\n')


def test_what_does_not_fit_is_refused_before_any_model_reads(spec, monkeypatch):
    monkeypatch.setattr(figure7._Run, "_read", lambda *_: pytest.fail("a model has read"))
    for models in ('monolingual = ["en", "en1"]', 'random = ["fr", "fr"]', 'monolingual = ["gone", "both"]'):
        with raises("config.other-language"):
            spec(COLUMN + f'[[columns]]\nname = "last"\nlanguages = ["en", "fr"]\n{models}\n')
    files = 'files = { en = "none.txt", fr = "none.txt" }'
    with raises("storage.not-found", "none.txt"):
        spec(COLUMN + f'[[columns]]\nname = "last"\nlanguages = ["en", "fr"]\n{files}\n')


def test_a_model_that_does_not_say_what_it_learned_from_is_named(spec, folder: Path):
    assert spec(COLUMN).untold == ()
    known = open_encoder(folder / "en")
    config = known.config.model_copy(update={"languages": ()})
    save_encoder(Encoder(config, known.vocabulary, seed=5), folder / "anyone's")
    found = spec('[[columns]]\nlanguages = ["en", "fr"]\nbilingual = "anyone\'s"\nrandom = ["en", "fr"]\n')
    assert found.untold == ("anyone's", "fr")
    assert found.as_dict()["untold"] == ["anyone's", "fr"]


# --- what the paper has, and reads off it ---


@pytest.mark.parametrize("tag", ["shift", "order", "freq", "two-shift"])
def test_a_twin_is_not_the_papers_english_twice(tag: str):
    assert paper_pair(("en", f"en-x-{tag}")) == f"en-en-x-{tag}"
    assert paper_average(paper_pair(("en", f"en-x-{tag}")), "bilingual") is None
    assert paper_average(paper_pair((f"en-x-{tag}", "fr")), "bilingual") is None
    assert paper_average(paper_pair(("en", "en-x-two")), "bilingual") == 0.68


def test_the_papers_averages_are_those_of_its_layers():
    for pair, row in product(PAPER, ROWS):
        assert abs(np.mean(PAPER[pair][row]) - AVERAGES[pair][row]) < 0.0101  # both are rounded


def papers_figure(noise: float = 0.001) -> Figure7:
    """The paper's own numbers as a grid, with groups that differ a little."""
    rng = np.random.default_rng(0)
    cells = {}
    for (pair, row), form in product(product(PAPER, ROWS), ["paper"]):
        values = PAPER[pair][row]
        groups = tuple(tuple(np.array(values) + rng.normal() * noise / 3) for _ in range(10))
        found = tuple(np.array(values) ** 2) if row == "monolingual" else None
        hits = None if found is None else tuple(tuple((np.arange(500) < 500 * share).astype(float)) for share in found)
        cells[pair, row] = Figure7Cell(
            layers=tuple(range(9)),
            values=dict.fromkeys(FORMS, values),
            without=dict.fromkeys(FORMS, groups),
            found=found,
            hits=hits,
            models=("a", "b"),
        )
        assert form in FORMS
    codes = {"en-en'": "en-x-two", **{f"en-{code}": code for code in ("fr", "de", "ru", "zh")}}
    columns = tuple(Figure7Column(languages=("en", codes[pair])) for pair in PAPER)
    return Figure7(columns=columns, sentences=dict.fromkeys(PAPER, 1000), cells=cells, empty={})


def test_the_papers_claims_hold_on_the_papers_numbers():
    found = {(claim.name, claim.text[:9]): claim for claim in claims(papers_figure()) if claim.form == "paper"}
    assert {key: claim.verdict for key, claim in found.items()} == {
        ("W13", "Bilingual"): "holds",
        ("W13", "The first"): "holds",
        ("W14", "Layers th"): "holds",
        ("W15", "What trai"): "holds",
    }
    assert "en-fr: bilingual less monolingual +0.112 ±" in found["W13", "Bilingual"].numbers[2]
    assert found["W15", "What trai"].numbers[-1].startswith("the gap of en-fr less that of en-zh +0.09")


def test_noise_makes_them_undecided_and_swapped_rows_refuted():
    noisy = {claim.text[:9]: claim.verdict for claim in claims(papers_figure(noise=1.0))}
    assert noisy["Bilingual"] == "undecided"
    assert noisy["What trai"] == "undecided"
    figure = papers_figure()
    swapped: dict[Row, Row] = {"bilingual": "random", "random": "bilingual", "monolingual": "monolingual"}
    cells = {(pair, swapped[row]): cell for (pair, row), cell in figure.cells.items()}
    other = Figure7(columns=figure.columns, sentences=figure.sentences, cells=cells, empty={})
    assert {claim.verdict for claim in claims(other) if claim.text.startswith("Bilingual")} == {"does not hold"}


# --- Figure 6, and how CKA goes with it ---


def lines(words: list[str]) -> str:
    return "".join(f"{word}\n" for word in words)


def test_a_rotation_fitted_on_the_files_finds_the_sentences_of_the_test_by_cosine(spec, folder: Path):
    """Against NumPy: iterative normalization and Procrustes on the one set, nearest by cosine in the other."""
    made = builtin_pairs(("en", "fr"), 160, seed=11)
    for name, some in (("fit", made[:100]), ("ask", made[100:])):
        for side, code in enumerate(("en", "fr")):
            (folder / f"{name}.{code}").write_text(lines([pair[side] for pair in some]))
    files = 'files = { en = "fit.en", fr = "fit.fr" }\ntest = { en = "ask.en", fr = "ask.fr" }\n'
    found = spec(COLUMN + files)
    cell = found.cell("en-fr", "monolingual")
    work = figure7._Run(read_figure7(folder / "figure7.toml", ["sentences=60"]), folder, "cpu")
    texts = work.texts(found.columns[0])
    assert (len(texts.fitted), len(texts.compared)) == (100, 60)
    assert {sentence for pair in texts.fitted for sentence in pair}.isdisjoint(
        sentence for pair in texts.tested for sentence in pair
    )
    assert cell.fitted == 100
    learned = [number for number, _ in unrepeated(texts.fitted)]
    for layer in cell.layers:
        fit: list[np.ndarray] = []
        ask: list[np.ndarray] = []
        for side, name in enumerate(("en", "fr")):
            encoder = work._open(name)
            for kept, some in ((fit, [texts.fitted[row] for row in learned]), (ask, texts.tested)):
                kept.append(extract(encoder, [pair[side] for pair in some], language=name)[layer])
        mapping = Steps([IterativeNormalization(), Procrustes()]).fit(fit[0], fit[1])
        X, Y = mapping.transform(ask[0]), mapping.transform_target(ask[1])
        X, Y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (X, Y))
        right = np.arange(len(X))
        both = ((X @ Y.T).argmax(axis=1) == right).mean(), ((Y @ X.T).argmax(axis=1) == right).mean()
        assert cell.found[layer] == pytest.approx(np.mean(both))
        assert len(cell.hits[layer]) == len(texts.tested)


def test_without_a_test_of_their_own_files_have_no_figure_6(spec, folder: Path):
    made = builtin_pairs(("en", "fr"), 80, seed=11)
    for side, code in enumerate(("en", "fr")):
        (folder / f"fit.{code}").write_text(lines([pair[side] for pair in made]))
    found = spec(COLUMN + 'files = { en = "fit.en", fr = "fit.fr" }\n')
    assert found.cell("en-fr", "monolingual").found is None
    (w14, *_) = [claim for claim in claims(found) if claim.name == "W14"]
    assert (w14.verdict, w14.numbers) == ("undecided", ("the cells that it speaks of are empty",))


def with_found(found: dict[str, list[float]], tested: int = 1000) -> Figure7:
    """The paper's CKA beside made-up numbers of Figure 6, for some columns; what is hard is hard in every layer."""
    figure = papers_figure()
    ease = np.random.default_rng(1).random(tested)
    cells = dict(figure.cells)
    for pair, shares in found.items():
        hits = tuple(tuple((ease < share).astype(float)) for share in shares)
        cell = cells[pair, "monolingual"]
        cells[pair, "monolingual"] = replace(cell, found=tuple(float(np.mean(each)) for each in hits), hits=hits)
    return replace(figure, cells=cells)


def w14(figure: Figure7):
    (claim,) = [claim for claim in claims(figure) if claim.name == "W14" and claim.form == "paper"]
    return claim


def test_english_twice_is_shown_and_does_not_count():
    flipped = [1 - value for value in PAPER["en-en'"]["monolingual"]]
    claim = w14(with_found({"en-en'": flipped}))
    assert claim.verdict == "holds"
    assert claim.numbers[0].startswith("en-en': r = -")
    assert claim.numbers[0].endswith("; English twice does not count")
    assert w14(with_found({"en-fr": [1 - value for value in PAPER["en-fr"]["monolingual"]]})).verdict == "does not hold"


def test_a_correlation_that_other_sentences_could_change_is_undecided():
    """The interval is that of drawing sentences: narrower of more of them, and decided where it leaves 0.9 out."""
    values = np.array(PAPER["en-zh"]["monolingual"])
    bent = np.where(np.arange(9) % 2, 1.0, -1.0)
    by_scale = {scale: np.corrcoef(values, values + scale * bent)[0, 1] for scale in np.linspace(0, 0.1, 200)}
    scale = min(by_scale, key=lambda each: abs(by_scale[each] - 0.9))
    ends = {}
    for tested in (40, 1000):
        figure = with_found({"en-zh": list(values + scale * bent)}, tested=tested)
        ends[tested] = correlation_interval(figure.cells["en-zh", "monolingual"], "paper") or (0.0, 0.0)
        assert w14(figure).verdict == "undecided"
        assert ends[tested][0] < 0.9 < ends[tested][1]
    assert ends[1000][1] - ends[1000][0] < ends[40][1] - ends[40][0]
