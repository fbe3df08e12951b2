"""Words are aligned by whole vocabularies: two planted ones, held against plain NumPy, through the command line."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot import align
from isoglot.align.maps.option_defaults import MAP_OPTIONS, STEP_OPTIONS
from isoglot.core.files import read_json
from isoglot.text.formats.word_vectors import read_vectors, write_vectors

D, TRAIN, TEST = 16, 100, 150


class Planted:
    """A source of 400 words, a target of 500: 300 are translations under a known map, with noise, means and hubs."""

    def __init__(self, folder: Path, noise: float) -> None:
        rng = np.random.default_rng(11)
        shared = rng.normal(size=(300, D)) * np.linspace(2, 0.4, D)
        turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
        X = np.concatenate([shared, rng.normal(size=(100, D))]) + 0.5
        Y = np.concatenate([shared @ turn + noise * rng.normal(size=shared.shape), rng.normal(size=(200, D))]) - 0.3
        Y[300:330] *= 0.1  # near the mean: near everything
        order_X, order_Y = rng.permutation(400), rng.permutation(500)
        self.words = [f"s{row}" for row in order_X], [f"t{row}" for row in order_Y]
        self.X, self.Y = X[order_X].astype(np.float32), Y[order_Y].astype(np.float32)
        places = [{word: row for row, word in enumerate(words)} for words in self.words]
        rows = rng.permutation(300)
        self.gold = np.array([(places[0][f"s{row}"], places[1][f"t{row}"]) for row in rows])
        self.options = ["--out", str(folder / "map"), "--set", "resamples=5", "--device", "cpu", "--json", "--quiet"]
        for side, (name, words, rows_ND) in enumerate(
            zip(("source", "target"), self.words, (self.X, self.Y), strict=True)
        ):
            write_vectors(folder / f"{name}.vec", words, rows_ND)
            self.options.append(str(folder / f"{name}.vec"))
            assert len(self.words[side]) == len(rows_ND)
        for option, part in (("dictionary", rows[:TRAIN]), ("test", rows[TRAIN : TRAIN + TEST])):
            (folder / option).write_text("".join(f"s{row} t{row}\n" for row in part))
            self.options += [f"--{option}", f"fr-ru={folder / option}"]
        self.train, self.test = self.gold[:TRAIN], self.gold[TRAIN : TRAIN + TEST]


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path, noise=1.0)


def unit(rows: np.ndarray) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def iterated(rows: np.ndarray, rounds: int) -> np.ndarray:
    rows = rows.astype(np.float64)
    for _ in range(rounds):
        rows = unit(rows)
        rows = rows - rows.mean(axis=0)
    return rows


def rotation(X: np.ndarray, Y: np.ndarray, pairs: np.ndarray) -> Any:
    U, _, Vt = np.linalg.svd(X[pairs[:, 0]].T @ Y[pairs[:, 1]])
    return U @ Vt


def csls_matrix(X: np.ndarray, Y: np.ndarray, K: int = 10) -> Any:
    cosines = unit(X) @ unit(Y).T
    near_X, near_Y = (np.partition(each, -K, axis=1)[:, -K:].mean(axis=1) for each in (cosines, cosines.T))
    return 2 * cosines - near_X[:, None] - near_Y[None]


def precision(scores: np.ndarray, pairs: np.ndarray) -> float:
    return float((scores[pairs[:, 0]].argmax(axis=1) == pairs[:, 1]).mean())


def forward(found: dict[str, Any]) -> Any:
    return found["layers"][0]["after"][0]


@pytest.mark.parametrize("retrieval", ["csls", "cosine"])
def test_procrustes_is_plain_numpy_on_all_words(isoglot, planted: Planted, retrieval: str):
    rounds = ("--set", "rounds=5", "--set", f"retrieval={retrieval}")
    found = json.loads(isoglot("align", "embeddings", *planted.options, *rounds).out)
    X, Y = iterated(planted.X, 5), iterated(planted.Y, 5)
    X = X @ rotation(X, Y, planted.train)
    scores = csls_matrix(X, Y) if retrieval == "csls" else unit(X) @ unit(Y).T
    figures = forward(found)
    assert figures["p@1"]["value"] == precision(scores, planted.test)
    assert found["layers"][0]["after"][1]["p@1"]["value"] == precision(
        (scores if retrieval == "cosine" else csls_matrix(Y, X).T).T, planted.test[:, ::-1]
    )
    assert 0.2 < figures["p@1"]["value"] < 0.9
    K = 10 if retrieval == "csls" else None
    assert (figures["method"], figures["neighborhood"], figures["candidates"]) == (retrieval, K, 500)
    assert found["layers"][0]["after"][1]["candidates"] == 400
    assert found["vocabulary"] == [400, 500]
    assert found["config"]["normalization"] == {"rounds": 5}


def test_gold_candidates_are_the_targets_of_the_test(isoglot, planted: Planted):
    figures = forward(json.loads(isoglot("align", "embeddings", *planted.options, "--candidates", "gold").out))
    every = forward(json.loads(isoglot("align", "embeddings", *planted.options).out))
    assert (figures["candidates"], every["candidates"]) == (TEST, 500)
    assert figures["p@1"]["value"] > every["p@1"]["value"]


def test_the_most_frequent_words_can_be_all(isoglot, planted: Planted):
    found = json.loads(isoglot("align", "embeddings", *planted.options, "--vocabulary", "350").out)
    asked = [{words[row] for row in planted.gold[: TRAIN + TEST, side]} for side, words in enumerate(planted.words)]
    sizes = [len({*words[:350], *some}) for words, some in zip(planted.words, asked, strict=True)]
    assert found["vocabulary"] == sizes
    assert forward(found)["candidates"] == sizes[1] < 500


def test_every_sentence_says_the_method_and_the_candidates(isoglot, planted: Planted, tmp_path: Path):
    shown = isoglot("align", "embeddings", *(each for each in planted.options if each not in ("--json", "--quiet")))
    said = "have their translation nearest by CSLS (K = 10) among 500 candidates"
    assert said in shown.out
    assert "fr to ru by CSLS (K = 10) among 500 candidates (whole vocabulary), ru to fr among 400" in shown.out
    assert "Fitted on the whole vocabularies: 400 fr and 500 ru words" in shown.out
    page = (tmp_path / "map" / "index.html").read_text()
    assert said in page
    assert "(whole vocabulary), ru to fr among 400" in page


def test_words_without_a_vector_are_left_out_and_counted(isoglot, planted: Planted, tmp_path: Path):
    table = read_vectors(tmp_path / "target.vec")
    table.matrix_ND[0] = 0
    write_vectors(tmp_path / "target.vec", table.words, table.matrix_ND)
    found = json.loads(isoglot("align", "embeddings", *planted.options).out)
    assert (found["without_vector"], found["vocabulary"]) == ([0, 1], [400, 499])


def test_vectors_are_cut_to_the_words_of_others(isoglot, planted: Planted, tmp_path: Path):
    for code, words in (("fr", planted.words[0][:300]), ("ru", planted.words[1][:300])):
        (tmp_path / f"{code}.txt").write_text("\n".join(words) + "\n")
    write_vectors(tmp_path / "other.vec", planted.words[1][:300], planted.Y[:300])
    lists = ("--words-of", f"fr={tmp_path / 'fr.txt'}", "--words-of", f"ru={tmp_path / 'other.vec'}")
    found = json.loads(isoglot("align", "embeddings", *planted.options, *lists).out)
    assert found["vocabulary"] == [300, 300]
    assert str(tmp_path / "other.vec") in read_json(tmp_path / "map" / "run.json")["inputs"]
    refused = isoglot("align", "embeddings", *planted.options, "--words-of", f"de={tmp_path / 'fr.txt'}")
    assert refused.error["message"] == "--words-of names de, the dictionary fr and ru"


def test_refinement_and_rcsls_see_words_without_a_partner(isoglot, planted: Planted):
    for method in ("refinement", "rcsls"):
        found = forward(json.loads(isoglot("align", "embeddings", *planted.options, "--method", method).out))
        kind = {"refinement": align.Refinement, "rcsls": align.RCSLS}[method]
        fitted = align.Steps([align.IterativeNormalization(), kind()])
        fitted.fit(planted.X, planted.Y, pairs=planted.train)
        scores = csls_matrix(fitted.transform(planted.X), fitted.transform_target(planted.Y))
        assert found["p@1"]["value"] == pytest.approx(precision(scores, planted.test), abs=1 / TEST)


# --- options ---


def test_an_option_of_the_map_or_of_the_normalization_by_its_own_name(isoglot, planted: Planted):
    found = json.loads(
        isoglot("align", "embeddings", *planted.options, "--method", "refinement", "--set", "cutoff=40").out
    )
    assert (found["config"]["options"], found["config"]["normalization"]) == ({"cutoff": 40}, {})
    both = isoglot("align", "embeddings", *planted.options, "--method", "refinement", "--set", "rounds=2")
    assert both.code == 2
    assert "rounds=2" in both.error["message"]
    assert both.error["remedy"] == "write options.rounds=2 or normalization.rounds=2"
    unknown = isoglot("align", "embeddings", *planted.options, "--set", "cutof=2")
    assert unknown.error["code"] == "config.unknown-key"
    assert "'cutof'" in unknown.error["message"]
    none = isoglot("align", "embeddings", *planted.options, "--normalize", "none", "--set", "normalization.rounds=5")
    assert none.code == 2
    assert "(rounds)" in none.error["message"]
    few = isoglot("align", "embeddings", *planted.options, "--set", "normalization.rounds=0")
    assert (few.error["message"], few.error["remedy"]) == ("rounds = 0 is too small", "give at least 1")


def test_unit_center_unit_is_vecmaps_normalization(isoglot, planted: Planted):
    found = isoglot("align", "embeddings", *planted.options, "--normalize", "unit-center-unit")
    X, Y = (
        unit(rows - rows.mean(axis=0)) for rows in (unit(side.astype(np.float64)) for side in (planted.X, planted.Y))
    )
    wanted = precision(csls_matrix(X @ rotation(X, Y, planted.train), Y), planted.test)
    assert forward(json.loads(found.out))["p@1"]["value"] == pytest.approx(wanted, abs=1e-6)


def test_help_names_every_option_of_every_map(isoglot):
    def options(kind: type) -> str:
        found = {each.name: each.default for each in fields(kind) if each.init and each.name != "seed"}
        return ", ".join(f"{name}={value}" for name, value in found.items())

    kinds = {"ridge": align.Ridge, "cca": align.CCA, "rcsls": align.RCSLS, "refinement": align.Refinement}
    kinds |= {"self-learning": align.SelfLearning, "procrustes": align.Procrustes, "least-squares": align.LeastSquares}
    kinds |= {"vecmap": align.Vecmap, "mini-vec2vec": align.MiniVec2Vec}
    assert {name: options(kind) for name, kind in kinds.items() if options(kind)} == MAP_OPTIONS
    steps = {"iterative": align.IterativeNormalization, "center": align.Center, "unit": align.UnitLength}
    assert {name: options(kind) for name, kind in steps.items() if options(kind)} == STEP_OPTIONS
    shown = " ".join(isoglot("align", "embeddings", "--help").out.replace("│", " ").split())
    for name in [*MAP_OPTIONS.values(), *STEP_OPTIONS.values()]:
        assert all(each.split("=")[0] in shown for each in name.split(", "))


# --- self-learning ---


def vecmap(X: np.ndarray, Y: np.ndarray, pairs: np.ndarray, seed: int = 0) -> tuple[Any, Any]:
    """Semi-supervised self-learning as Artetxe et al. (2018) describe it, written plainly: both sides mapped.

    Unit length, zero mean, unit length; rotation, CSLS and a dictionary both ways in turn, entries of the similarities
    dropped at random, ever fewer; at the end both sides whitened, turned, reweighted and whitening undone.
    """
    rng = np.random.default_rng(seed)
    X, Y = (unit(rows - rows.mean(axis=0)) for rows in (unit(X.astype(np.float64)), unit(Y.astype(np.float64))))
    keep, best, waited = 0.1, -np.inf, 0
    while True:
        mapped = X @ rotation(X, Y, pairs)
        cosines, scores = mapped @ Y.T, csls_matrix(mapped, Y)
        kept = [np.where(rng.random(each.shape) < keep, each, -10) for each in (scores, scores.T)]
        directions = [each.argmax(axis=1) for each in kept]
        pairs = np.concatenate(
            [np.stack([np.arange(len(X)), directions[0]], 1), np.stack([directions[1], np.arange(len(Y))], 1)]
        )
        near = (cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2
        waited = 0 if near >= best + 1e-6 else waited + 1
        best = max(best, near)
        if waited >= 5:
            if keep >= 1:
                break
            keep, waited = min(1.0, 2 * keep), 0

    def powers(rows: np.ndarray) -> tuple[Any, Any]:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        return (vectors * values**-0.5) @ vectors.T, (vectors * values**0.5) @ vectors.T

    x, y = X[pairs[:, 0]], Y[pairs[:, 1]]
    (white_x, back_x), (white_y, back_y) = powers(x), powers(y)
    U, weight, Vt = np.linalg.svd((x @ white_x).T @ (y @ white_y))
    V = Vt.T
    return (
        X @ white_x @ U @ np.diag(weight**0.5) @ U.T @ back_x @ U,
        Y @ white_y @ V @ np.diag(weight**0.5) @ V.T @ back_y @ V,
    )


def test_self_learning_from_a_few_pairs_is_as_good_as_vecmap(isoglot, tmp_path: Path):
    planted = Planted(tmp_path, noise=0.6)
    (tmp_path / "dictionary").write_text("".join((tmp_path / "dictionary").read_text().splitlines(True)[:12]))
    seed = planted.train[:12]
    results = [
        json.loads(isoglot("align", "embeddings", *planted.options, "--method", "self-learning", "--seed", number).out)
        for number in "012"
    ]
    assert results[0]["config"]["normalize"] == "unit-center-unit"  # vecmap's
    found = np.mean([forward(result)["p@1"]["value"] for result in results])
    wanted = np.mean(
        [precision(csls_matrix(*vecmap(planted.X, planted.Y, seed, number)), planted.test) for number in range(3)]
    )
    X, Y = iterated(planted.X, 20), iterated(planted.Y, 20)
    alone = precision(csls_matrix(X @ rotation(X, Y, seed), Y), planted.test)
    assert found > wanted - 0.01, (found, wanted)
    assert wanted > alone + 0.2


def test_a_map_without_pairs_needs_no_dictionary(isoglot, tmp_path: Path):
    rng = np.random.default_rng(2)
    X = rng.standard_t(4, size=(400, D)) * np.linspace(2, 0.4, D)
    words = [f"same{row}" if row < 60 else f"s{row}" for row in range(400)]
    order = rng.permutation(400)
    write_vectors(tmp_path / "a.vec", words, X.astype(np.float32))
    others = [words[row].replace("s", "t") if row >= 60 else words[row] for row in order]
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    write_vectors(tmp_path / "b.vec", others, (X @ turn)[order].astype(np.float32))
    sides = [str(tmp_path / "a.vec"), str(tmp_path / "b.vec"), "--langs", "en,de", "--out", str(tmp_path / "map")]
    given = ["align", "embeddings", *sides, "--set", "resamples=5", "--device", "cpu"]
    found = isoglot(*given, "--method", "vecmap", "--set", "starts=0", "--json")
    facts = json.loads(found.out)
    assert (sum(facts["pairs"].values()), facts["spelled_alike"]) == (60, 60)
    assert facts["layers"][0]["after"][1]["p@1"]["value"] > 0.9
    isoglot(*given, "--method", "procrustes", "-q").failed("config.missing-option", "procrustes")
    (tmp_path / "d.txt").write_text("s60 t60\n")
    more = ["--method", "vecmap", "--dictionary", f"en-de={tmp_path}/d.txt", "-q"]
    isoglot(*given, *more).failed("config.conflicting-options", "--dictionary")
    isoglot("align", "types", "--text", "en=a", "--text", "de=b", "--out", str(tmp_path / "x"), "-q").failed(
        "config.missing-option", "--dictionary"
    )
    write_vectors(tmp_path / "b.vec", [f"x{row}" for row in range(400)], X.astype(np.float32))
    isoglot(*given, "--method", "vecmap", "-q").failed("input.no-match", "400")
