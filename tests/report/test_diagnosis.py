"""The page of a check-up."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, permutations
from pathlib import Path
from typing import Literal

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from isoglot.diagnose import Checkup, DiagnoseConfig, all_findings, builtin_set, diagnose
from isoglot.languages import parallel
from isoglot.model import Encoder, encoder_config
from isoglot.report.diagnosis import diagnosis_page
from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL


@pytest.fixture(scope="module")
def checkup(tmp_path_factory: pytest.TempPathFactory) -> Checkup:
    """A small encoder of three languages, untrained, with a tokenizer that knows some words."""
    words = {word for row in islice(parallel(["en", "de", "zh"]), 50) for each in row for word in each.words}
    tokenizer = Tokenizer(
        models.WordPiece({piece: n for n, piece in enumerate((*SPECIAL, *sorted(words)))}, unk_token=SPECIAL[1])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    file = tmp_path_factory.mktemp("page") / "tokenizer.json"
    tokenizer.save(str(file))
    vocabulary = Vocabulary.from_tokenizer(file, ["en", "de", "zh"])
    config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "de", "zh"))
    return diagnose(
        Encoder(config, vocabulary),
        [builtin_set(["en", "de", "zh"], 40)],
        config=DiagnoseConfig(resamples=50, draws=20),
        name="a <model>",
    )


def test_the_page_says_all_that_was_found_and_asks_nothing_of_the_world(checkup: Checkup):
    page = diagnosis_page(checkup, facts=["isoglot diagnose"])
    text = html.unescape(page.html())
    assert "Check-up of a <model>" in text
    for each in all_findings(checkup):
        assert each.text in text
    assert list(page.figures()) == [
        "found-by-layer",
        "found-by-language",
        "pairs-found",
        "pairs-mapped",
        "pairs-cka",
        "probes",
    ]
    assert not re.search(r"https?://|@import", text)
    for name in ("English", "German", "Chinese"):
        assert f"<th scope='row'>{name}</th>" in text
    assert page.html() == diagnosis_page(checkup, facts=["isoglot diagnose"]).html()


def test_the_curve_of_a_language_has_the_interval_of_its_mean(checkup: Checkup):
    at, way = checkup.best.layer, checkup.best.way
    for each in checkup.languages:
        pairs = [pair.at(at).found[way] for pair in checkup.pairs if each.code in (pair.source, pair.target)]
        found = each.by_layer[[one.layer for one in checkup.layers].index(at)]
        assert found.value == pytest.approx(sum(one.value for one in pairs) / len(pairs))
        assert found.low <= found.value <= found.high
        # The two pairs share the sentences of one language but not their errors, so their mean varies less than each.
        assert found.high - found.low < max(one.high - one.low for one in pairs) + 1e-9
    rows = diagnosis_page(checkup).figures()["found-by-language"].table.dicts()  # type: ignore[union-attr]
    assert [row["lo"] for row in rows] == [100 * one.low for each in checkup.languages for one in each.by_layer]


def test_failing_sentences_are_one_click_away(checkup: Checkup):
    page = diagnosis_page(checkup)
    table = next(table for table in page.tables() if table.caption.startswith("Wrong nearest"))
    rows = table.dicts()
    sides = [side for pair in checkup.pairs for side in pair.missed]
    assert len(rows) == sum(min(side.count, 20) for side in sides) > 0
    assert {(row["from"], row["to"]) for row in rows} <= set(permutations(["English", "German", "Chinese"], 2))
    assert all(row["found"] != row["right"] for row in rows)
    assert all(isinstance(row["rank"], int) and row["rank"] > 1 for row in rows)
    side = checkup.as_dict()["pairs"][0]["missed"][0]
    assert (side["source"], side["target"], side["examples"][0]["query"]) == ("en", "de", rows[0]["query"])
    assert "filtered" in page.html().split("Sentences whose translation is not found")[1][:200]


def test_the_page_in_a_browser(checkup: Checkup, seen: Callable[..., None]):
    seen(diagnosis_page(checkup, facts=["isoglot diagnose"]))


def test_the_title_has_the_highest_figure_of_the_table(checkup: Checkup):
    page = diagnosis_page(checkup).html()
    highest = max(100 * found.value for each in checkup.layers for found in each.found.values())
    assert f"finds most: {highest:.1f} %</h2>" in page
    top = checkup.best.top
    assert checkup.at(top.layer).found[top.way].value == pytest.approx(highest / 100)
    assert f"The highest of {top.among} figures" in page
    assert "Means that are removed are estimated on other sentences of the same set" in page


@pytest.mark.parametrize(
    ("way", "words"), [("raw", "vectors as they are"), ("centered", "each language’s mean removed")]
)
def test_the_best_layer_by_cosine_is_beside_it(checkup: Checkup, way: Literal["raw", "centered"], words: str):
    best = replace(checkup.best, way=way)
    said = f"By cosine without a map, layer {best.layer}, {words}, finds"
    assert said in diagnosis_page(replace(checkup, best=best)).html()


def test_one_layer_and_two_languages_need_no_line_chart(checkup: Checkup, tmp_path: Path):
    pair = checkup.pairs[0]
    small = replace(
        checkup,
        layers=(checkup.at(checkup.best.layer),),
        pairs=(pair,),
        languages=tuple(each for each in checkup.languages if each.code in (pair.source, pair.target)),
    )
    page = diagnosis_page(small)
    assert not page.figures()
    assert "Nearest:" not in page.html()
