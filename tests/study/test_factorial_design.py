"""The cells of the factorial study differ in their factors and in nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from isoglot.languages.builtin import builtin_provenance
from isoglot.languages.concepts import world
from isoglot.languages.twins import unshift
from isoglot.model.config import SharingPlan
from isoglot.study.demo.twin_pairs import Pairs, TwinLanguage, pair_documents
from isoglot.study.factorial.design import (
    CELLS,
    CODES,
    COMMON,
    FACTORS,
    SHARES,
    FactorialCell,
    cell_pairs,
    topic_draws,
    topics_of,
)
from isoglot.text.formats.plain import write_documents
from isoglot.vocab import build_shards, train_vocabulary

BASE = FactorialCell(sharing="all", anchors="none", order="same", domain="same")


class CellText(NamedTuple):
    english: list[list[str]]
    twin: list[list[str]]
    choose: Pairs
    test: Pairs


@cache
def text_of(cell: FactorialCell, seed: int = 5) -> CellText:
    language = TwinLanguage(order=cell.order, anchors=SHARES[cell.anchors], seed=seed)
    english, twin = pair_documents(language, 400, seed=seed, topics=topic_draws(cell.domain, seed))
    return CellText(list(english), list(twin), *cell_pairs(language, seed, 30))


def english(line: str) -> list[str]:
    return [word if word.isascii() else unshift(word) for word in line.split(" ")]


def lines(documents: list[list[str]]) -> list[list[str]]:
    return [english(line) for document in documents for line in document]


def test_there_are_42_cells():
    assert len(CELLS) == len({cell.name for cell in CELLS}) == 42
    assert Counter(cell.sharing for cell in CELLS) == {"all": 18, "sep-emb": 6, "all-but-top": 18}
    assert all(set(FACTORS[name]) == {cell.levels[name] for cell in CELLS} for name in FACTORS)
    for cell in CELLS:  # ids are shared only where there is one embedding matrix
        private = SharingPlan.parse(cell.plan(8), depth=8)
        assert cell.vocabulary_mode == "disjoint" or not private.private
    assert SharingPlan.parse(replace(BASE, sharing="all-but-top").plan(8)).private_layers == {8}


def test_english_and_its_side_of_the_test_are_the_same_in_every_cell():
    base = text_of(BASE)
    for cell in (replace(cell, sharing="all") for cell in CELLS[::9]):
        found = text_of(cell)
        assert found.english == base.english
        assert (found.test[0], found.choose[0]) == (base.test[0], base.choose[0])


@pytest.mark.parametrize("anchors", ["fifth", "all"])
def test_anchors_change_the_script_of_words_alone(anchors):
    base, found = text_of(BASE), text_of(replace(BASE, anchors=anchors))
    assert lines(found.twin) == lines(base.twin)
    types = {word for line in found.twin for words in line for word in words.split(" ")}
    share = sum(word.isascii() for word in types) / len(types)
    assert share == pytest.approx({"fifth": 0.2, "all": 1.0}[anchors], abs=0.04)


@pytest.mark.parametrize("order", ["verb-last", "mirrored"])
def test_order_changes_places_alone(order):
    base, found = text_of(BASE), text_of(replace(BASE, order=order))
    assert [sorted(line) for line in lines(found.twin)] == [sorted(line) for line in lines(base.twin)]
    moved = sum(one != other for one, other in zip(lines(found.twin), lines(base.twin), strict=True))
    assert moved > 0.9 * len(lines(base.twin))


def test_domain_changes_two_documents_in_three():
    """Those about the common topics stay; the others are about topics that English does not have. As long a text."""
    base, found = text_of(BASE), text_of(replace(BASE, domain="other"))
    same = sum(one == other for one, other in zip(base.twin, found.twin, strict=False))
    assert same / len(base.twin) == pytest.approx(COMMON, abs=0.12)
    sizes = [sum(map(len, lines(text.twin))) / len(lines(text.twin)) for text in (base, found)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.06)
    counts = [
        Counter(word.lower() for line in lines(t) for word in line) for t in (base.english, base.twin, found.twin)
    ]
    overlaps = [sum((counts[0] & other).values()) / min(counts[0].total(), other.total()) for other in counts[1:]]
    assert overlaps[1] < overlaps[0] - 0.05


@pytest.mark.parametrize("seed", range(4))
def test_topics_are_in_three_parts(seed: int):
    topics = topics_of(seed)
    assert sorted(topics.common + topics.first + topics.second) == sorted(world().topics)
    assert len(topics.first) == len(topics.second) == 7
    for english, twin in (topic_draws("same", seed), topic_draws("other", seed)):
        assert english.cumulative == twin.cumulative
        assert english.cumulative[len(topics.common) - 1] == pytest.approx(COMMON)
    assert topics_of(0) != topics_of(1)


def test_a_seed_is_another_text():
    assert text_of(BASE, 6).english != text_of(BASE).english
    assert not set(text_of(BASE).test[0]) & set(text_of(BASE).choose[0])


@pytest.mark.parametrize("anchors", ["none", "fifth", "all"])
def test_each_language_reads_as_many_ids(tmp_path: Path, anchors):
    cell = replace(BASE, anchors=anchors)
    text = text_of(cell)
    paths = {code: tmp_path / f"{code}.txt" for code in CODES}
    for path, documents in zip(paths.values(), (text.english, text.twin), strict=True):
        write_documents(path, documents, provenance=builtin_provenance(path.name, "en", 5))
    vocabulary = train_vocabulary({code: [path] for code, path in paths.items()}, mode=cell.vocabulary_mode, size=600)
    assert [len(vocabulary.ids_of(code)) for code in CODES] == [600, 600]
    shards = {code: build_shards([path], vocabulary, code, tmp_path / code) for code, path in paths.items()}
    read = [shards[code].counts(len(vocabulary)) for code in CODES]
    shared = sum(bool(one and other) for one, other in zip(*(ids.tolist()[5:] for ids in read), strict=True))
    assert (shared == 0) if anchors == "none" else (shared > 40)
