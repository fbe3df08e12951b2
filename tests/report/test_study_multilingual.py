"""Figures and findings of studies on all languages at once, from numbers that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.report.study import study_page
from isoglot.report.study_multilingual import (
    multilingual_parts,
    shift_finding,
    size_finding,
    steering_figures,
    steering_finding,
)
from isoglot.study.numbers import Coordinate, Number, Numbers
from isoglot.study.tables.multilingual_tables import bleu_table, differences_in_setting, rate_table, size_table
from tests.study.made_up_study import MadeUpStudy

if TYPE_CHECKING:
    from collections.abc import Callable


def sized(system: str, size: int, value: float, **at: Coordinate) -> list[Number]:
    return [
        Number("word_mrr", value, {"system": system, "sentences": size, "language": code, "seed": 0, **at}, draws, "x")
        for code, draws in (("de", (value - 0.01, value + 0.01)), ("fr", (value - 0.01, value + 0.01)))
    ]


SIZES = Numbers(
    [
        *sized("word2vec", 50_000, 0.30),
        *sized("glove", 50_000, 0.35),
        *sized("encoder", 50_000, 0.20, window=256),
        *sized("encoder", 50_000, 0.22, window=20),
        *sized("word2vec", 450_000, 0.31),
        *sized("glove", 450_000, 0.36),
        *sized("encoder", 450_000, 0.60, window=256),
        *sized("encoder", 450_000, 0.40, window=20),
        *(Number("word_entries", 100, {"language": code, "seed": 0}) for code in ("de", "fr")),
    ]
)


def steered(depth: int = 12) -> Numbers:
    """BLEU-1 is best in layer 10 at alpha 3; the convert rate rises with layer and alpha."""
    found = []
    for layer in range(1, depth + 1):
        for alpha in (-1.0, 0.0, 1.0, 2.0, 3.0):
            at: dict[str, Coordinate] = {"source": "en", "target": "de", "seed": 0}
            at |= {"layer": layer, "depth": depth, "alpha": alpha}
            found.append(Number("outside_share", 0.0, at))
            found.append(Number("convert_rate", max(0.0, alpha) * layer / (4 * depth), at))
            if alpha > 0:
                found.append(Number("bleu1", alpha + 10 - abs(layer - 10), at))
    at = {"source": "en", "target": "de", "seed": 0}
    return Numbers([*found, Number("bleu1_source", 4.0, at), Number("bleu1_unshifted", 3.0, at)])


SETS = [
    Number("token_set_size", 9000, {"language": "en", "seed": 0}),
    Number("token_set_text_tokens", 100_000, {"language": "en", "seed": 0}),
    Number("token_set_threshold", 1, {"seed": 0}),
]


def test_the_best_system_is_named_for_little_and_for_much_text() -> None:
    told = size_finding(SIZES)
    assert "GloVe on 50,000 (MRR 35.0 %)" in told
    assert "the encoder with 256 tokens on 450,000 (MRR 60.0 %)" in told


def test_a_system_that_is_hardly_ahead_is_said_to_be() -> None:
    near = Numbers([*SIZES, *sized("encoder", 450_000, 0.595, window=128)])
    assert "others within its interval" in size_finding(near)


def test_figures_by_size_show_lines_and_bars() -> None:
    (part,) = multilingual_parts(SIZES, "made up")
    assert list(part.figures) == ["sizes-mrr", "figure1-mrr", "figure3-mrr", "figure5-mrr"]
    lines = part.figures["sizes-mrr"].spec
    assert lines["encoding"]["x"]["axis"]["title"] == "sentences of text in each language, thousands"
    assert len({row["s"] for row in lines["data"]["values"]}) == 4
    assert "GloVe in 2 of 2 languages" in part.figures["figure1-mrr"].title
    assert "the encoder in 2 of 2 languages" in part.figures["figure3-mrr"].title
    windows = part.figures["figure5-mrr"].title
    assert "Inputs of 20 tokens instead of 256 change MRR by +2.0 points" in windows
    assert "-20.0 points with 450,000 sentences" in windows


@pytest.mark.parametrize(("largest", "unit"), [(10_000, ", thousands"), (9_999, "")])
def test_sizes_are_in_thousands_from_10_000_sentences_on(largest: int, unit: str) -> None:
    names: dict[Coordinate, Coordinate] = {50_000: 5_000, 450_000: largest}
    small = [
        Number(one.measure, one.value, {**one.at, "sentences": names[one.at["sentences"]]}, one.draws, one.items)
        for one in SIZES.select("word_mrr")
    ]
    (part,) = multilingual_parts(Numbers([*small, *SIZES.select("word_entries")]), "made up")
    axis = part.figures["sizes-mrr"].spec["encoding"]["x"]["axis"]
    assert axis["title"] == f"sentences of text in each language{unit}"


def test_one_size_has_bars_alone() -> None:
    (part,) = multilingual_parts(Numbers(one for one in SIZES if one.at.get("sentences") != 50_000), "made up")
    assert list(part.figures) == ["figure1-mrr", "figure5-mrr"]
    assert size_table(SIZES).column("mrr")[0] == pytest.approx(22.0)


def test_a_grid_of_a_shift_is_drawn_as_lines_and_as_a_map() -> None:
    figures = steering_figures(steered(), "en", "de", "made up")
    assert list(figures) == ["figure8-en-de", "figure8-en-de-grid", "figure7-en-de", "figure7-en-de-grid"]
    said = "at α 3 the convert rate is highest in layer 12 (75 %), lowest in layer 1 (6 %)"
    assert said in figures["figure7-en-de"].title
    bleu = figures["figure8-en-de"]
    assert "BLEU-1 is highest in layer 10 at α 3: 13.0; the unchanged source has 4.0" in bleu.title
    layers = {row["s"] for row in bleu.spec["data"]["values"]}
    assert "layer 10" in layers
    assert len(layers) == 6
    assert sum(cell["m"] for cell in figures["figure8-en-de-grid"].spec["data"]["values"]) == 1


def test_a_shift_that_changes_nothing_is_said_to() -> None:
    flat = Numbers(Number(one.measure, 0.0, one.at) if one.measure == "bleu1" else one for one in steered())
    title = steering_figures(flat, "en", "de", "made up")["figure8-en-de"].title
    assert "BLEU-1 is 0.0 in every layer at every α" in title


def test_numbers_of_the_paper_stand_beside_those_of_a_released_encoder_of_as_many_layers() -> None:
    assert differences_in_setting(steered()) == []
    assert differences_in_setting(steered(8)) == ["8 layers"]
    table = bleu_table(steered())
    row = table.dicts()[0]
    assert (row["best_bleu1"], row["best_bleu1_paper"]) == (13.0, 12.35)
    assert (row["best_layer"], row["best_layer_paper"]) == (10, 10)
    assert (row["last"], row["last_paper"]) == (12.0, 8.01)
    assert "paper*" not in table.text()
    rates = rate_table(steered()).dicts()[0]
    assert rates["rate_3"] == pytest.approx(62.5)
    assert rates["rate_3_paper"] == pytest.approx(95.2)
    assert rates["rate_-1"] == 0


def test_findings_of_a_shift_name_the_papers() -> None:
    assert steering_finding(steered()) == (
        "A shift at layer 10 by α 3 turns 62 to 62 % of the tokens into the other language; in the paper 73 to 100 %"
    )
    numbers = [Number("nli_dev", 80.0, {"arm": "tune-all", "language": "en"})]
    for arm, value in (("tune-all", 50.0), ("tune-upper", 53.0), ("tune-upper+shift", 53.5)):
        numbers.append(Number("nli", value, {"arm": arm, "language": "de"}))
    assert shift_finding(Numbers(numbers)) == (
        "Fine-tuning the upper half instead of all layers changes NLI by +3.0 points, a shift by +0.5 more; in the paper "
        "by +3.8 and +0.4"
    )
    assert shift_finding(Numbers()) == ""


def test_the_page_in_a_browser(tmp_path: Path, seen: Callable[..., None]) -> None:
    study = MadeUpStudy(tmp_path, [*SIZES, *steered(), *SETS], paper="liu2020", claims=["L4"], arms={})
    page = study_page(study)
    assert "A shift at layer 10" in page.html()
    seen(page)
