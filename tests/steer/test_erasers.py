"""What every eraser keeps to, and what mean removal, LIR, LSAR and INLP take out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.model import EncoderLike, make_batch
from isoglot.represent.moments import LanguageStatistics
from isoglot.steer import INLP, LEACE, LIR, LSAR, Eraser, LanguageMeans, MeanRemoval
from tests.errors import raises

ERASERS: dict[str, Any] = {
    "mean": MeanRemoval,
    "mean onto common": lambda: MeanRemoval(onto="common"),
    "lir": LIR,
    "lir 2": lambda: LIR(rank=2),
    "lsar": LSAR,
    "lsar 1": lambda: LSAR(rank=1),
    "inlp": INLP,
    "inlp 1": lambda: INLP(rounds=1, penalty=0.1),
    "leace": LEACE,
}
D = 6


@pytest.fixture(params=ERASERS)
def eraser(request: pytest.FixtureRequest) -> Any:
    return ERASERS[request.param]()


def rows(seed: int = 0, count: int = 90, scale: float = 1.0) -> tuple[np.ndarray, list[str]]:
    """Rows of three languages, of different size, place and shape."""
    chance = np.random.default_rng(seed)
    codes = [("en", "fr", "de")[i] for i in np.sort(chance.integers(0, 6, count)).clip(max=2)]
    shapes = {code: chance.normal(size=(D, D)) for code in sorted(set(codes))}
    places = {code: scale * chance.normal(size=D) for code in sorted(set(codes))}
    return np.stack([places[code] + chance.normal(size=D) @ shapes[code] for code in codes]), codes


def probe(X: np.ndarray, codes: list[str]) -> float:
    """The share of variance of the labels that least squares explains."""
    Y = np.array([[code == each for each in sorted(set(codes))] for code in codes], dtype=np.float64)
    Y -= Y.mean(axis=0)
    X = X - X.mean(axis=0)
    return float(1 - ((Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]) ** 2).sum() / (Y**2).sum())


# --- the contract ---


@given(st.sampled_from(sorted(ERASERS)), st.lists(st.integers(1, 40), max_size=4), st.integers(0, 50))
def test_streaming_and_means_give_what_all_rows_at_once_give(name: str, cuts: list[int], seed: int):
    X, codes = rows(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    whole, parts = ERASERS[name]().fit(X, codes), ERASERS[name]()
    for part in np.split(order, np.cumsum(cuts)):
        if len(part):
            parts.update(X[part], [codes[row] for row in part])
    moments = {}
    for code in ("fr", "de", "en"):
        fitter = LanguageStatistics([4])
        fitter.update({4: X[[row for row, its in enumerate(codes) if its == code]]})
        moments[code] = fitter.result()
    options = whole.get_params()
    of_means = type(whole).from_means(LanguageMeans(moments, {}), 4, **options)
    wanted = whole.transform(X, codes)
    np.testing.assert_allclose(parts.transform(X, codes), wanted, atol=1e-8)
    np.testing.assert_allclose(of_means.transform(X, codes), wanted, atol=1e-8)
    assert parts.languages_ == whole.languages_ == ("de", "en", "fr")
    assert set(of_means.languages_) == {"de", "en", "fr"}


def test_arrays_and_tensors_of_every_float(eraser):
    X, codes = rows()
    wanted = eraser.fit(X, codes).transform(X, codes)
    before = X.copy()
    for given_X in (
        X,
        X.astype(np.float32),
        torch.from_numpy(X),
        torch.from_numpy(X).float(),
        torch.from_numpy(X).bfloat16(),
    ):
        found = type(eraser)(**eraser.get_params()).fit_transform(given_X, codes)
        assert type(found) is type(given_X)
        assert found.dtype == given_X.dtype
        if found.dtype is not torch.bfloat16:
            np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-4)
    np.testing.assert_array_equal(X, before)
    one = eraser.transform(X[:1], codes[0])
    np.testing.assert_allclose(one, wanted[:1], atol=1e-12)
    np.testing.assert_allclose(eraser.transform(X, ["deu" if code == "de" else code for code in codes]), wanted)


def test_fitting_again_forgets_and_a_clone_knows_nothing(eraser):
    X, codes = rows(1)
    other, others = rows(2)
    eraser.fit(other, others).fit(X, codes)
    fresh = eraser.clone()
    with raises("not-fitted", type(eraser).__name__):
        fresh.transform(X, codes)
    np.testing.assert_array_equal(fresh.fit(X, codes).transform(X, codes), eraser.transform(X, codes))
    learned = eraser.learned()
    eraser.update(other, others)
    assert not any(name in vars(eraser) for name in learned)  # nothing of before can be read by mistake
    np.testing.assert_allclose(
        eraser.transform(X, codes),
        eraser.clone().fit(np.concatenate([X, other]), [*codes, *others]).transform(X, codes),
        atol=1e-8,
    )


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_file_has_all_of_it(eraser, tmp_path: Path, library: str):
    X, codes = rows()
    eraser.fit(X if library == "numpy" else torch.from_numpy(X).float(), codes)
    file = eraser.save(tmp_path / "folder")
    assert file == tmp_path / "folder" / "eraser.safetensors"
    again = Eraser.load(tmp_path / "folder")
    assert type(again) is type(eraser)
    assert again.get_params() == eraser.get_params()
    for name, value in eraser.learned().items():
        kept = again.learned()[name]
        assert type(kept) is type(value)
        np.testing.assert_array_equal(np.asarray(kept), np.asarray(value))
    np.testing.assert_array_equal(again.transform(X, codes), eraser.transform(X, codes))
    assert type(eraser).load(file).languages_ == eraser.languages_
    with raises("config.not-supported"):
        again.update(X, codes)
    other = LEACE if not isinstance(eraser, LEACE) else LIR
    name = type(eraser).__name__
    with raises("input.unknown-format", name, other.__name__):
        other.load(file)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with raises("corrupt-file.hash"):
        Eraser.load(file)


def test_bad_input_is_one_clear_line(eraser):
    X, codes = rows()
    broken = X.copy()
    broken[3, 1] = np.nan
    name = type(eraser).__name__
    eraser.fit(X, codes)
    fresh = eraser.clone
    wrong: list[tuple[Any, tuple[Any, ...]]] = [
        (lambda: fresh().fit(X, ["en"] * len(X)), ("config.missing-data", "en")),
        (lambda: fresh().fit(broken, codes), ("input.not-finite", 3, "X")),
        (lambda: fresh().fit(X * 1e200, codes), ("input.too-large", len(X), "X")),
        (lambda: fresh().update(broken, codes), ("input.not-finite", 3, "X")),
        (lambda: eraser.transform(broken, codes), ("input.not-finite", 3, "X")),
        (lambda: fresh().fit(X, codes[1:]), ("input.row-count", len(X), len(X) - 1)),
        (lambda: fresh().fit(X, "en"), ("input.row-count", len(X), 1)),
        (lambda: fresh().fit(X, ["xx", *codes[1:]]), ("config.language-code", "'xx'")),
        (lambda: eraser.transform(X[:, 1:], codes), ("input.shape", "X", D - 1, D)),
        (lambda: fresh().fit(X, codes).update(X[:, 1:], codes), ("input.shape", "X", D - 1, D)),
        (lambda: fresh().update(X[:9], ["en"] * 9).transform(X, codes), ("config.missing-data", "en")),
    ]
    if eraser.needs_language:
        wrong += [
            (lambda: eraser.transform(X), ("config.missing-data", name)),
            (lambda: eraser.transform(X[:1], ["ru"]), ("config.unknown-name", "'ru'")),
            (eraser.change, ("config.missing-data", name)),
            (lambda: eraser.change("ru"), ("config.unknown-name", "'ru'")),
        ]
    for ask, expected in wrong:
        with raises(*expected) as failure:
            ask()
        assert "\n" not in str(failure.value)


def test_options_are_checked():
    X, codes = rows()
    for made, code, value in (
        (LIR(rank=0), "config.invalid-value", "rank = 0"),
        (LIR(rank=7), "input.out-of-range", "7"),
        (LSAR(rank=3), "input.out-of-range", "3"),
        (INLP(penalty=0), "config.invalid-value", "penalty = 0"),
        (MeanRemoval(onto="here"), "config.unknown-name", "'here'"),  # type: ignore[arg-type]
    ):
        with raises(code, value):
            made.fit(X, codes)
    fitter = LanguageStatistics([0])
    fitter.update({0: X})
    one = LanguageMeans({"en": fitter.result()}, {})
    with raises("config.missing-data", "en"):
        LEACE.from_means(one, 0)
    with raises("config.unknown-name", "'fr'"):
        LEACE.from_means(one, 0, languages=["en", "fr"])
    with raises("config.unknown-layer", 1):
        LEACE.from_means(one, 1)


@torch.no_grad()
def test_inside_an_encoder(encoder: EncoderLike, means: LanguageMeans, texts, eraser):
    eraser = type(eraser).from_means(means, 1, **eraser.get_params())
    batch = make_batch(encoder.vocabulary, texts["fr"], "fr", length=encoder.max_length)
    before = encoder.layers(batch, "fr")
    wanted = eraser.transform(before[1].flatten(0, 1), "fr").view_as(before[1])
    with encoder.edited(1, eraser.change("fr")):
        found = encoder.layers(batch, "fr")
    torch.testing.assert_close(found[1], wanted)
    assert not torch.allclose(found[-1], before[-1], atol=1e-3)
    assert torch.equal(encoder.layers(batch, "fr")[-1], before[-1])
    half = eraser.change("fr")(before[1].bfloat16(), batch.ids_BT)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), wanted, atol=0.1, rtol=0.05)


# --- what each takes out ---


def test_languages_have_one_mean_after(eraser):
    X, codes = rows(scale=5.0)
    found = eraser.fit_transform(X, codes)
    if isinstance(eraser, LIR | INLP) or (isinstance(eraser, LSAR) and eraser.rank == 1):
        assert probe(X, codes) > probe(found, codes) > 1e-9  # they promise less
        return
    assert probe(X, codes) > 0.8
    assert abs(probe(found, codes)) < 1e-10
    assert eraser.score(X, codes) > -1e-12


def test_mean_removal_leaves_the_rest():
    X, codes = rows(scale=5.0)
    means = {code: X[[its == code for its in codes]].mean(axis=0) for code in set(codes)}
    centered = X - [means[code] for code in codes]
    np.testing.assert_allclose(MeanRemoval().fit_transform(X, codes), centered, atol=1e-12)
    common = np.mean(list(means.values()), axis=0)
    np.testing.assert_allclose(MeanRemoval(onto="common").fit_transform(X, codes), centered + common, atol=1e-12)


def test_lir_takes_out_the_top_singular_directions_of_each_language():
    X, codes = rows(3, scale=3.0)
    for rank in (1, 3):
        found = LIR(rank=rank).fit_transform(X, codes)
        for code in set(codes):
            its = np.array([each == code for each in codes])
            _, _, V = np.linalg.svd(X[its], full_matrices=False)
            np.testing.assert_allclose(found[its], X[its] @ V[rank:].T @ V[rank:], atol=1e-9)
    # A hand-made case: meaning in columns 2 and 3, each language on an axis of its own.
    meaning = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    english, german = np.zeros((4, 4)), np.zeros((4, 4))
    english[:, 2:] = german[:, 2:] = meaning
    english[:, 0], german[:, 1] = 7, -9
    found = LIR().fit_transform(np.concatenate([english, german]), ["en"] * 4 + ["de"] * 4)
    np.testing.assert_allclose(found, np.tile(np.c_[np.zeros((4, 2)), meaning], (2, 1)), atol=1e-12)


def test_lsar_takes_out_the_planted_subspace_and_keeps_meaning():
    chance = np.random.default_rng(4)
    turn = np.linalg.qr(chance.normal(size=(8, 8)))[0]
    meaning = chance.normal(size=(50, 5))
    meaning -= meaning.mean(axis=0)
    places = {"en": (5.0, 0.0), "de": (-2.0, 4.0), "fr": (-2.0, -4.0), "ru": (1.0, 1.0)}
    X = np.concatenate([np.c_[np.tile(at, (50, 1)), np.full(50, 3.0), meaning] @ turn for at in places.values()])
    codes = [code for code in places for _ in range(50)]
    eraser = LSAR(rank=2).fit(X, codes)
    wanted = np.tile(np.c_[np.zeros((50, 2)), np.full(50, 3.0), meaning] @ turn, (4, 1))
    np.testing.assert_allclose(eraser.transform(X), wanted, atol=1e-9)
    np.testing.assert_allclose(eraser.common_, 3 * turn[2], atol=1e-9)
    assert LSAR().fit(X, codes).basis_.shape == (2, 8)  # four means on a plane: the third direction is not there
    np.testing.assert_allclose(LSAR().fit(X, codes).transform(X), wanted, atol=1e-9)


@given(st.integers(0, 999), st.integers(3, 6))
def test_lsar_is_the_papers_two_decompositions(seed: int, languages: int):
    chance = np.random.default_rng(seed)
    codes = ["en", "de", "fr", "ru", "zh", "es"][:languages]
    X = chance.normal(size=(languages, 9)) + chance.normal(size=9)
    for rank in range(1, languages):
        M = X.T
        center = M.mean(axis=1, keepdims=True)
        U, S, V = np.linalg.svd(M - center, full_matrices=False)
        near = center + U[:, :rank] * S[:rank] @ V[:rank]
        common = np.linalg.pinv(near.T) @ np.ones((languages, 1))
        common /= (common**2).sum()
        U, S, V = np.linalg.svd(near - common, full_matrices=False)
        eraser = LSAR(rank=rank).fit(X, codes)
        np.testing.assert_allclose(eraser.basis_.T @ eraser.basis_, U[:, :rank] @ U[:, :rank].T, atol=1e-7)
        np.testing.assert_allclose(eraser.common_, common[:, 0], atol=1e-7)
        np.testing.assert_allclose(eraser.basis_ @ eraser.common_, 0, atol=1e-9)


def nullspaces(X: np.ndarray, codes: list[str], rounds: int, penalty: float) -> np.ndarray:
    """INLP as in the paper: rows are projected onto the null space of each classifier, and the next is trained on them."""
    Y = np.array([[code == each for each in sorted(set(codes))] for code in codes], dtype=np.float64)
    X, Y, P = X - X.mean(axis=0), Y - Y.mean(axis=0), np.eye(X.shape[1])
    weight = penalty * np.square(X).sum() / X.shape[1]
    for _ in range(rounds):
        Z = X @ P
        W = np.linalg.solve(Z.T @ Z + weight * np.eye(X.shape[1]), Z.T @ Y)
        U, S, _ = np.linalg.svd(W, full_matrices=False)
        kept = U[:, S / S[0] > 1e-9]
        P = P - kept @ kept.T
    return P


@given(st.integers(0, 999), st.integers(1, 3), st.sampled_from([0.01, 0.5, 3.0]))
def test_inlp_is_one_classifier_after_another(seed: int, rounds: int, penalty: float):
    X, codes = rows(seed, scale=3.0)
    eraser = INLP(rounds=rounds, penalty=penalty, tolerance=0).fit(X, codes)
    basis = eraser.basis_
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-10)
    P = nullspaces(X, codes, rounds, penalty)
    np.testing.assert_allclose(eraser.transform(X), X @ P, atol=1e-6)
    np.testing.assert_allclose(eraser.transform(eraser.transform(X)), eraser.transform(X), atol=1e-10)


def test_inlp_leaves_a_linear_probe_at_chance_on_other_rows():
    chance = np.random.default_rng(5)
    which = chance.integers(0, 3, 4000)
    X = chance.normal(size=(3, 30))[which] + chance.normal(size=(4000, 30)) @ np.diag(np.linspace(0.2, 2, 30))
    codes = [("en", "de", "fr")[number] for number in which]
    eraser = INLP().fit(X[:2000], codes[:2000])
    assert probe(X[2000:], codes[2000:]) > 0.8
    assert probe(eraser.transform(X[2000:]), codes[2000:]) < 2 * 30 / 2000  # least squares reaches 30 / 2000 by chance
    assert 2 <= len(eraser.basis_) < 30
    assert len(INLP(rounds=1).fit(X, codes).basis_) == 2


def test_languages_that_do_not_differ_are_left_alone():
    X, _ = rows()
    both, codes = np.concatenate([X, X]), ["en"] * len(X) + ["de"] * len(X)
    for eraser in (LSAR(), INLP(), LEACE()):
        np.testing.assert_allclose(eraser.fit_transform(both, codes), both, atol=1e-12)


def test_a_dead_column_is_left_alone():
    """Real encoders have columns of 1e-32, whose language means differ by as much as they spread."""
    X, codes = np.random.default_rng(0).normal(size=(600, 8)), np.repeat(["en", "de"], 300)
    X[:, 0] += codes == "de"
    X[:, 1] *= 1e-32
    X[:, 1] += 1e-32 * (codes == "de")
    eraser = LEACE().fit(X, codes.tolist())
    assert np.abs(eraser.left_ @ eraser.right_).max() < 10
    found = eraser.transform(X)
    np.testing.assert_allclose(found[:, 1], X[:, 1], atol=1e-12)
    means = [found[codes == code].mean(axis=0) for code in ("en", "de")]
    np.testing.assert_allclose(means[0], means[1], atol=1e-9)
