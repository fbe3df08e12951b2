"""Two encoders compared, as a whole."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.compare import encoders as models
from isoglot.compare import layer_cka, stream_layer_cka
from isoglot.compare import layer_grid as layer_stream
from isoglot.compare.cka_inference import FEWEST, groups_of, half_width, judge, kernels
from isoglot.compare.encoders import CompareConfig, chosen_measures, judge_measure, placed, random_encoder_like
from isoglot.compare.measures.cka import FORMS, cka
from isoglot.compare.measures.measure import without_top
from isoglot.compare.measures.neighbors import Nearest
from isoglot.compare.measures.registry import MEASURES, Score, compute
from isoglot.core.progress import SILENT, LineProgress
from isoglot.core.rng import random_stream
from isoglot.languages.builtin import builtin_pairs
from isoglot.model import Encoder, encoder_config
from isoglot.report.compare import comparison_page, findings, measure_table
from isoglot.represent import extract
from isoglot.vocab import train_vocabulary
from tests.errors import raises


def compare_models(
    one: Any,
    other: Any,
    pairs: Any,
    languages: Any,
    *,
    floor: Any = None,
    ceiling: Any = None,
    progress: Any = SILENT,
    **settings: Any,
) -> Any:
    """The comparison with these settings in its config."""
    more: dict[str, Any] = {"floor": floor, "ceiling": ceiling, "progress": progress}
    return models.compare_models(one, other, pairs, languages, CompareConfig(**settings), **more)


QUICK: dict[str, Any] = {"measures": ["debiased-cka"], "draws": 20, "rows": 200}


@pytest.fixture(scope="module")
def made(small_texts):
    """``made(seed, layers=2)``: a nano encoder of English and French."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=500, coverage=1.0)

    def make(seed: int, layers: int = 2) -> Encoder:
        config = encoder_config(
            "paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "fr"), layers=layers, dropout=0.0
        )
        return Encoder(config, vocabulary, seed=seed).eval()

    return make


@pytest.fixture(scope="module")
def pairs():
    return builtin_pairs(("en", "fr"), 80)


def test_every_number_is_what_it_says(made, pairs):
    one, other = made(0), made(1)
    found: Any = compare_models(
        one,
        other,
        pairs,
        ("en", "fr"),
        measures=["cka", "debiased-cka", "mutual-knn"],
        floor=random_encoder_like(other, seed=5),
        ceiling=made(2),
        top=2,
        draws=20,
    )
    X = extract(one, [pair[0] for pair in pairs], language="en")
    Y = extract(other, [pair[1] for pair in pairs], language="fr")
    twin = extract(made(2), [pair[0] for pair in pairs], language="en")
    random = extract(random_encoder_like(other, seed=5), [pair[1] for pair in pairs], language="fr")
    assert [each.layer for each in found.of("cka")] == [0, 1, 2]
    for layer, each in enumerate(found.of("debiased-cka")):
        assert each.value == pytest.approx(cka(X[layer], Y[layer], debiased=True), abs=1e-5)
        assert each.value == pytest.approx(found.grid.debiased[layer, layer], abs=1e-5)
        assert each.floor == pytest.approx(cka(X[layer], random[layer], debiased=True), abs=1e-6)
        assert each.ceiling == pytest.approx(cka(X[layer], twin[layer], debiased=True), abs=1e-6)
        judged = judge(X[layer], Y[layer], draws=20)
        assert (each.low, each.high, each.p) == pytest.approx((judged.low, judged.high, judged.p), abs=1e-5)
        assert (each.null_mean, each.null_edge) == pytest.approx((judged.null_mean, judged.null_high), abs=1e-5)
        assert each.low < each.value < each.high
        assert each.place == placed(each.value, each.floor, each.ceiling)
        stripped = cka(without_top(X[layer], 2), without_top(Y[layer], 2), debiased=True)
        assert each.without_top == pytest.approx(stripped, abs=1e-6)
        assert found.grid_without_top.debiased[layer, layer] == pytest.approx(each.without_top, abs=1e-4)
    for each in found.of("cka"):
        K, L = kernels(X[each.layer], Y[each.layer], "centered")
        assert each.expected_null == pytest.approx(float(K.trace() * L.trace()) / 79, abs=1e-9)
    assert {each.expected_null for each in found.of("debiased-cka")} == {0.0}
    assert {each.expected_null for each in found.of("mutual-knn")} == {None}
    assert (found.grid.count, found.sentences, found.of("mutual-knn")[0].draws) == (80, 80, 20)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["grid"]["layers_x"] == [0, 1, 2]


def test_an_encoder_is_as_alike_to_itself_as_can_be(made, pairs):
    same = [(pair[0], pair[0]) for pair in pairs]
    found = compare_models(made(0), made(0), same, ("en", "en"), top=0, **QUICK)
    np.testing.assert_allclose(np.diag(found.grid.debiased), 1, atol=1e-6)
    assert all(each.value == pytest.approx(1) and each.p == pytest.approx(1 / 21) for each in found.measured)
    assert found.grid_without_top is None
    assert {each.without_top for each in found.measured} == {None}


def test_encoders_of_other_depths_meet_where_both_have_layers(made, pairs):
    found = compare_models(made(0), made(0, layers=4), pairs, ("en", "fr"), **QUICK)
    assert found.grid.debiased.shape == (3, 5)
    assert [(each.layer, each.other_layer) for each in found.measured] == [(0, 0), (1, 1), (2, 2)]
    last = compare_models(made(0), made(0, layers=4), pairs, ("en", "fr"), layers=[-1], **QUICK)
    assert [(each.layer, each.other_layer) for each in last.measured] == [(2, 4)]
    assert last.grid.layers_y == (4,)


def test_a_stream_of_sentences_gives_what_their_representations_do(made, pairs):
    one, other = made(0), made(1, layers=4)
    X = extract(one, [pair[0] for pair in pairs], language="en")
    Y = extract(other, [pair[1] for pair in pairs], language="fr")
    expected = layer_cka(X, Y)
    lines = io.StringIO()
    found = stream_layer_cka(
        one,
        other,
        (pair[0] for pair in pairs),
        (pair[1] for pair in pairs),
        ("en", "fr"),
        chunk=7,
        progress=LineProgress(lines),
    )
    assert (found.layers_x, found.layers_y, found.count) == ((0, 1, 2), (0, 1, 2, 3, 4), 80)
    for form in FORMS:
        np.testing.assert_allclose(found.form(form), expected.form(form), atol=1e-5)
    assert "compare all layers: 80 sentences in" in lines.getvalue()
    english, french = zip(*pairs, strict=True)
    last = stream_layer_cka(one, other, english, french, ("en", "fr"), layers=[-1])
    assert last.debiased == pytest.approx(expected.debiased[-1:, -1:], abs=1e-5)


def test_a_stream_holds_one_chunk_at_a_time(made, pairs, monkeypatch: pytest.MonkeyPatch):
    sizes = []

    def watched(encoder: Any, texts: Any, **options: Any) -> Any:
        sizes.append(len(texts))
        return extract(encoder, texts, **options)

    monkeypatch.setattr(layer_stream, "extract", watched)
    english, french = zip(*pairs, strict=True)
    stream_layer_cka(made(0), made(1), english, french, ("en", "fr"), chunk=30)
    assert sizes == [30, 30, 30, 30, 20, 20]


def test_a_stream_that_will_not_do(made, pairs):
    english, french = zip(*pairs, strict=True)
    with raises("input.row-count", "80", "79"):
        stream_layer_cka(made(0), made(1), english, french[1:], ("en", "fr"))
    with raises("input.too-few", "0"):
        stream_layer_cka(made(0), made(1), (), (), ("en", "fr"))
    with raises("config.invalid-value", "0"):
        stream_layer_cka(made(0), made(1), english, french, ("en", "fr"), chunk=0)


def test_of_more_sentences_than_rows_the_grid_is_of_all(made, pairs):
    whole = compare_models(made(0), made(1), pairs, ("en", "fr"), **QUICK)
    options: dict[str, Any] = {**QUICK, "rows": 50, "measures": ["debiased-cka", "rsa"]}
    found = compare_models(made(0), made(1), pairs, ("en", "fr"), floor=made(2), **options)
    assert (found.grid.count, found.grid_without_top.count) == (80, 50)
    np.testing.assert_allclose(found.grid.debiased, whole.grid.debiased, atol=1e-5)
    rows = np.sort(random_stream(0, "compared rows").permutation(80)[:50])
    X = extract(made(0), [pairs[row][0] for row in rows], language="en")
    Y = extract(made(1), [pairs[row][1] for row in rows], language="fr")
    for each in found.measured:
        assert each.rows == 50
        expected = compute(each.measure, X[each.layer], Y[each.layer]).value
        assert each.value == pytest.approx(expected, abs=1e-5)


def test_the_seed_decides_everything(made, pairs):
    first, again, other = (
        compare_models(made(0), made(1), pairs, ("en", "fr"), seed=seed, measures=["cka", "rsa"], draws=20, rows=50)
        for seed in (1, 1, 2)
    )
    assert first.as_dict() == again.as_dict()
    assert first.as_dict() != other.as_dict()


def test_what_will_not_do(made, pairs):
    with raises("input.too-few", "1"):
        compare_models(made(0), made(1), pairs[:1], ("en", "fr"), **QUICK)
    with raises("config.unknown-name", "'debiased-ck'"):
        compare_models(made(0), made(1), pairs, ("en", "fr"), measures=["debiased-ck"])
    with raises("config.unknown-layer", "7"):
        compare_models(made(0), made(1), pairs, ("en", "fr"), layers=[7], **QUICK)
    broken = made(0)
    with torch.no_grad():
        next(broken.parameters()).fill_(float("nan"))
    with raises("input.not-finite", "0"):
        compare_models(broken, made(1), pairs, ("en", "fr"), **QUICK)
    with raises("input.constant", "0", "10"):
        compare_models(made(0), made(1), [("Yes.", "Oui.")] * 10, ("en", "fr"), **QUICK)


def test_measures_by_name_come_in_the_order_of_the_registry():
    assert chosen_measures(["rsa", "cka", "rsa"]) == ["cka", "rsa"]
    assert chosen_measures(["all"]) == [name for name in MEASURES if MEASURES[name].is_installed]


# --- null and interval of any measure ---


@pytest.mark.parametrize("name", ["procrustes", "rsa", "mutual-knn", "cca", "svcca", "anc"])
def test_related_spaces_are_told_from_shuffled_ones(name, related):
    X, Y = related
    found = judge_measure(name, X, Y, draws=20)
    assert found["value"] == compute(name, X, Y).value
    assert found["low"] < found["value"] < found["high"]
    if name != "anc":  # neurons of these spaces do not correspond
        assert found["p"] == pytest.approx(1 / 21)
        beyond = found["value"] - found["null_edge"]
        assert beyond < 0 if MEASURES[name].kind == "distance" else beyond > 0


def test_unrelated_spaces_are_not(rng):
    """Of spaces that have nothing in common, p is uniform: each of 0.05, 0.1, … 1 in one of 20 cases."""
    ps = np.array([judge_measure("rsa", *rng.normal(size=(2, 15, 5)), draws=19, seed=seed)["p"] for seed in range(200)])
    assert 0.01 <= np.mean(ps <= 0.051) <= 0.1
    assert 0.4 <= np.mean(ps <= 0.501) <= 0.6


def test_what_does_not_look_at_pairs_has_no_null(related):
    found = judge_measure("spectral", *related, draws=20)
    assert (found["null_mean"], found["null_edge"], found["p"], found["draws"]) == (None, None, None, 0)


@pytest.mark.parametrize(
    "name", [name for name in MEASURES if name != "gromov-wasserstein"]
)  # its own test has wide spaces
def test_a_measure_declares_whether_it_looks_at_pairs(name, related, rng):
    X, Y = related
    shuffled = compute(name, X, Y[rng.permutation(80)]).value
    assert (abs(shuffled - compute(name, X, Y).value) > 1e-6) == MEASURES[name].pairs
    assert MEASURES[name].as_dict()["pairs"] == MEASURES[name].pairs


def test_saturated_is_not_blind_to_pairs(rng):
    """Of no more items than columns, every pairing has canonical correlations of 1; p is 1, whatever the rounding."""
    X, Y = rng.normal(size=(2, 14, 13))
    found = judge_measure("pwcca", X, Y, draws=20)
    assert found["saturated"]
    assert (found["draws"], found["p"]) == (20, 1)
    assert found["null_mean"] == pytest.approx(found["value"])
    all_near = judge_measure("mutual-knn", *rng.normal(size=(2, 12, 3)), draws=20)
    assert all_near["draws"] == 20


def test_a_first_shuffle_that_happens_to_give_the_value_is_a_draw_like_others(rng, monkeypatch: pytest.MonkeyPatch):
    given = iter([0.5, 0.5, *[0.25] * 19])
    monkeypatch.setattr(models, "compute", lambda *_, **__: Score(next(given), 10, 10))
    found = judge_measure("rsa", *rng.normal(size=(2, 10, 3)), draws=20)
    assert (found["draws"], found["saturated"], found["p"]) == (20, False, 2 / 21)


def test_the_page_says_what_is_saturated_and_what_chance_gives(made, pairs):
    found = compare_models(
        made(0), made(1), pairs[:20], ("en", "fr"), measures=["cka", "debiased-cka", "pwcca"], draws=20
    )
    full = replace(found.of("pwcca")[0], saturated=True)
    page = comparison_page(replace(found, measured=(*found.of("cka"), *found.of("debiased-cka"), full))).html()
    assert "Saturated in layer 0: every random pairing gives the same value there" in page
    assert "does not look at which sentence goes with which" not in page
    assert page.count("expected by chance") == 1  # the table of the biased form
    assert f"{found.of('cka')[0].expected_null:.3f}" in measure_table(found, "cka").text()
    assert "expected by chance" not in measure_table(found, "debiased-cka").text()


def test_no_layer_is_said_only_where_each_is_at_its_own_edge(made, pairs):
    """The highest value may be chance where another layer's, though lower, is not."""
    found = compare_models(made(0), made(1), pairs, ("en", "fr"), layers=[0, 1], **QUICK)
    low, high = found.measured
    low, high = replace(low, value=0.2, null_edge=0.1), replace(high, value=0.3, null_edge=0.4)
    said = findings(replace(found, measured=(low, high)))[0]
    assert "In no layer" not in said
    assert "are most alike in layer 0: CKA, debiased 0.20" in said
    said = findings(replace(found, measured=(replace(low, null_edge=0.2), high)))[0]
    assert said.startswith("In no layer are")
    assert "is 0.30 " in said


def test_the_jackknife_of_a_mean_is_its_standard_error(rng):
    """Of a mean, leaving groups out gives the usual error, so that 95 % of intervals hold the true one."""
    held = 0
    for seed in range(300):
        values = rng.normal(size=200)
        groups = groups_of(200, seed)
        half = half_width([float(np.delete(values, group).mean()) for group in groups])
        held += abs(values.mean()) <= half
    assert 0.92 <= held / 300 <= 0.98
    assert groups_of(FEWEST - 1) == []
    assert sorted(np.concatenate(groups_of(101))) == list(range(101))


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.halves])
@pytest.mark.parametrize(("rows", "widths"), [(70, (6, 9)), (45, (60, 50))])
def test_in_two_steps_as_in_one(name, rows, widths, monkeypatch):
    """What follows from each side by itself is what computing everything anew gives, duplicates and ties included."""
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, widths[0])).astype(np.float32)
    Y = (X[:, :1] + rng.normal(size=(rows, widths[1]))).astype(np.float32)
    X[3], Y[[5, 7]] = X[2], Y[4]
    quick = judge_measure(name, X, Y, draws=20, seed=1)
    monkeypatch.setitem(MEASURES, name, replace(MEASURES[name], halves=None))
    plain = judge_measure(name, X, Y, draws=20, seed=1)
    tolerance = {"null_mean": 0.003, "null_edge": 0.003} if name == "mutual-knn" else {}  # the order of duplicates
    for field, value in plain.items():
        assert quick[field] == pytest.approx(value, abs=tolerance.get(field, 1e-9)), field


def test_neighbors_are_looked_for_anew_where_too_many_are_gone():
    rng = np.random.default_rng(0)
    rows_ND = torch.from_numpy(rng.normal(size=(60, 3)))
    gone = Nearest.of(rows_ND, "X").nearest_NS[0, :35].sort().values
    left = torch.from_numpy(np.setdiff1d(np.arange(60), gone.numpy()))
    found = Nearest.of(rows_ND, "X").without(gone)
    assert torch.equal(found.nearest_NS, left[Nearest.of(rows_ND[left], "X").nearest_NS[:, :10]])
