"""The sweep: every cell as if it were the only one, and the layers below computed once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoglot.model import EncoderLike
from isoglot.steer import (
    LanguageMeans,
    ShiftOptions,
    TokenSets,
    TranslationOptions,
    choose_shift,
    score_translation,
    sweep_shifts,
    translate_tokens,
)
from isoglot.steer.bleu import Bleu, bleu_of_parts, bleu_parts
from isoglot.steer.language_files import choose_shifts
from isoglot.steer.shifted_decoding import Cell
from tests.errors import raises

ALPHAS = (-1.0, 0.0, 1.0, 2.0)
GOLD = {"cat": ["chat"], "the": ["le", "la"], "yes": ["oui"], "house": ["maison"], "dog": ["chien"]}


@pytest.fixture
def sets(encoder: EncoderLike, texts) -> TokenSets:
    return TokenSets.from_text(encoder.vocabulary, texts)


@pytest.mark.parametrize("options", [{}, {"kind": "transport"}, {"shared_alpha": 0.5}, {"positions": "tokens"}])
def test_a_sweep_is_one_by_one_exactly(encoder: EncoderLike, means, texts, sets, options: dict[str, Any]):
    more = {"references": texts["fr"], "dictionary": GOLD}
    swept = sweep_shifts(
        encoder,
        texts["en"],
        "en",
        "fr",
        means,
        alphas=ALPHAS,
        sets=sets,
        options=TranslationOptions(shift=ShiftOptions(**options)),
        **more,
    )
    assert swept.layers == tuple(range(encoder.depth + 1))
    assert swept.alphas == ALPHAS
    for cell, scores in swept.scores.items():
        at: dict[str, Any] = {"layer": cell.layer, "alpha": cell.alpha}
        alone = translate_tokens(
            encoder,
            texts["en"],
            "en",
            "fr",
            means,
            **at,
            sets=sets,
            options=TranslationOptions(shift=ShiftOptions(**options)),
        )
        for one, other in zip(alone.made, swept.translations[cell].made, strict=True):
            assert (one == other).all()
        assert score_translation(alone, **more) == scores


def test_without_a_shift_it_does_not_matter_where_there_is_none(encoder: EncoderLike, means, texts, sets):
    swept = sweep_shifts(encoder, texts["en"], "en", "fr", means, alphas=[0.0], sets=sets)
    first, *others = swept.translations.values()
    for other in others:
        assert all((a == b).all() for a, b in zip(first.made, other.made, strict=True))


def test_layers_below_are_computed_once(ours, texts):
    means = LanguageMeans.fit(ours, texts)
    runs = []
    handles = [
        block.register_forward_hook(lambda *_: runs.append(1)) for each in ours.blocks for block in each.values()
    ]
    try:
        sweep_shifts(
            ours,
            texts["en"],
            "en",
            "fr",
            means,
            alphas=[1.0, 2.0, 3.0],
            options=TranslationOptions(batch_tokens=10_000),
        )
    finally:
        for handle in handles:
            handle.remove()
    depth, alphas = ours.depth, 3
    batches = 3  # sentences of three lengths, and a batch ends where the next row is shorter
    up, again = depth, alphas * sum(depth - layer for layer in range(depth + 1))
    assert len(runs) in {(up + again) * count for count in range(1, batches + 1)}
    naive = depth * alphas * (depth + 1)
    assert up + again <= 0.75 * naive  # of two layers; of eight it is 0.54


def test_grids_and_best_cells(encoder: EncoderLike, means, texts, sets):
    swept = sweep_shifts(
        encoder, texts["en"], "en", "fr", means, layers=[1, -1], alphas=[3, 0], sets=sets, references=texts["fr"]
    )
    grid = swept.grid("convert_rate")
    assert grid.shape == (2, 2)
    assert swept.layers == (1, encoder.depth)
    assert grid[1, 0] == swept.value("convert_rate", encoder.depth, 3)
    best, most = swept.best("bleu"), np.nanmax(swept.grid("bleu"))
    assert best is None if most == 0 else best is not None and best[1] == most  # nothing right is not the best
    assert np.isnan(swept.grid("headline")).all()  # there is no dictionary
    assert swept.best("headline") is None
    assert swept.signature is not None
    told = json.loads(json.dumps(swept.as_dict(), allow_nan=False))
    assert len(told["cells"]) == 4
    assert told["token_sets"]["threshold"] == 1
    assert told["cells"][0]["bleu"]["signature"].startswith("BLEU-1|")


def test_bad_input_is_one_clear_line(encoder: EncoderLike, means, texts, sets):
    def refused(expected: tuple[object, ...], **options: Any) -> None:
        with raises(*map(str, expected)):
            sweep_shifts(encoder, texts["en"], "en", "fr", means, **({"sets": sets} | options))

    refused(("input.row-count", 3, 1), references=["x"])
    refused(("config.invalid-value",), alphas=[])
    refused(("config.invalid-value", 1), alphas=[1, 1.0])
    refused(("config.unknown-layer", 44), layers=[44])
    refused(("input.empty",), dictionary={})
    swept = sweep_shifts(encoder, texts["en"], "en", "fr", means, alphas=[1], sets=sets)
    with raises("config.unknown-layer", 1, 7):
        swept.value("convert_rate", 1, 7)
    with raises("config.unknown-name", "'convert'"):
        swept.value("convert", 1, 1)  # type: ignore[arg-type]


def test_a_sweep_must_know_whose_tokens_are_whose(imported, texts):
    with raises("config.missing-data"):
        sweep_shifts(imported, texts["en"], "en", "fr", LanguageMeans.fit(imported, texts))


def test_the_choice_switches_most_among_the_best(ours, texts):
    means, sets = LanguageMeans.fit(ours, texts), TokenSets.from_text(ours.vocabulary, texts)
    swept = sweep_shifts(
        ours, texts["en"], "en", "fr", means, layers=[1, 2], alphas=[0, 1, 2], sets=sets, references=texts["fr"]
    )
    figures = {  # BLEU-1, convert rate, neither
        Cell(1, 0.0): (90.0, 1.0, 0.0),  # no shift is no choice
        Cell(1, 1.0): (22.3, 0.55, 0.05),
        Cell(1, 2.0): (30.0, 0.9, 0.06),  # too many of neither language
        Cell(2, 0.0): (9.0, 0.0, 0.0),
        Cell(2, 1.0): (21.4, 0.8, 0.01),
        Cell(2, 2.0): (20.0, 0.99, 0.0),  # more than a point below the best
    }
    scores = {
        cell: replace(swept.scores[cell], bleu=Bleu(bleu, "BLEU-1|test"), convert_rate=rate, neither=neither)
        for cell, (bleu, rate, neither) in figures.items()
    }
    choice = choose_shift(replace(swept, scores=scores), text="here")
    assert (choice.layer, choice.alpha, choice.bleu, choice.convert_rate) == (2, 1.0, 21.4, 0.8)
    known = means.with_choices({"en-fr": choice})
    assert translate_tokens(ours, texts["en"], "en", "fr", known, sets=sets).layer == 2
    plain = translate_tokens(ours, texts["en"], "en", "fr", means, sets=sets)
    assert (plain.layer, plain.alpha) == (ours.depth - 1, 1.0)
    assert known.without_covariances().choices == known.choices
    with raises("config.not-supported"):
        choose_shift(replace(swept, source_bleu=None), text="here")


def test_a_sweep_without_a_choice_is_kept_and_the_means_stay(ours, texts, tmp_path):
    means, sets = LanguageMeans.fit(ours, texts), TokenSets.from_text(ours.vocabulary, texts)
    swept = sweep_shifts(ours, texts["en"], "en", "fr", means, alphas=[1.0], sets=sets, references=texts["fr"])
    means.save(tmp_path / "means.safetensors")
    before = (tmp_path / "means.safetensors").read_bytes()
    choices, remarks = choose_shifts([replace(swept, source_bleu=None)], text="here", folder=tmp_path)
    assert choices == {}
    assert "en to fr" in remarks[0]
    assert (tmp_path / "means.safetensors").read_bytes() == before


def test_figures_are_ratios_of_sums_over_sentences(encoder: EncoderLike, means, texts, sets):
    swept = sweep_shifts(encoder, texts["en"], "en", "fr", means, alphas=[2.0], sets=sets, references=texts["fr"])
    for (layer, alpha), scores in swept.scores.items():
        switched, counted = swept.converted(layer, alpha).sum(axis=0)
        outside, tokens = swept.outside(layer, alpha).sum(axis=0)
        assert scores.convert_rate == (switched / counted if counted else None)
        assert scores.neither == pytest.approx(outside / tokens)
        parts_N3 = bleu_parts(swept.translations[Cell(layer, alpha)].texts, texts["fr"], "fr")
        assert scores.bleu is not None
        assert bleu_of_parts(parts_N3.sum(axis=0)[None])[0] == pytest.approx(scores.bleu.score)
