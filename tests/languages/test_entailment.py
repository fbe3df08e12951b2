"""Inference pairs: balanced, nothing given away by the hypothesis, labels right by logic."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import islice

import pytest

from isoglot.languages import LANGUAGES, inference
from isoglot.languages.concepts import world
from isoglot.languages.entailment import InferencePair
from isoglot.languages.meaning import Clause, Thing
from isoglot.text.formats.nli import LABELS


def pairs(count: int, language: str = "en", **options) -> list[InferencePair]:
    return list(islice(inference([language], **options), count))


def test_balanced():
    assert Counter(pair.label for pair in pairs(3000)) == dict.fromkeys(LABELS, 1000)


def naive_bayes(train: list[tuple[list[str], str]], test: list[tuple[list[str], str]]) -> float:
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for tokens, label in train:
        words[label].update(set(tokens))
    vocabulary = {w for counts in words.values() for w in counts}
    right = 0
    for tokens, label in test:
        scores = {
            other: sum(
                math.log((counts[t] + 1) / (counts.total() + len(vocabulary))) for t in set(tokens) if t in vocabulary
            )
            for other, counts in words.items()
        }
        right += max(scores, key=lambda key: scores[key]) == label
    return right / len(test)


@pytest.mark.no_cover
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_hypothesis_alone_gives_nothing_away(language: str):
    data: list[tuple[list[str], str]] = [(p.hypothesis[0].words, p.label) for p in pairs(6000, language)]
    assert naive_bayes(data[:4500], data[4500:]) < 0.40  # chance is 0.333, its standard error here 0.012


@pytest.mark.no_cover
def test_the_length_of_the_hypothesis_gives_nothing_away():
    lengths = defaultdict(list)
    for pair in pairs(3000):
        lengths[pair.label].append(len(pair.hypothesis[0].words))
    means = [sum(found) / len(found) for found in lengths.values()]
    assert max(means) - min(means) < 0.4


def test_both_sides_differ_nearly_always():
    same = sum(p.premise[0].text == p.hypothesis[0].text for p in pairs(2000))
    assert same < 60


def below(concept: str, general: str) -> bool:
    return concept == general or general in world().kinds_of(concept)


def more_specific(a: Clause, b: Clause) -> bool:
    """Whether a says all that b says, of the same thing, and perhaps more (the agent's properties left aside)."""
    if (a.kind, a.predicate, a.tense) != (b.kind, b.predicate, b.tense):
        return False
    for slot in ("time", "manner", "place", "instrument"):
        if getattr(b, slot) is not None and not same(getattr(a, slot), getattr(b, slot)):
            return False
    if isinstance(a.patient, Thing) and isinstance(b.patient, Thing):
        if not below(a.patient.concept, b.patient.concept) or a.patient.count != b.patient.count:
            return False
        return b.patient.adjective is None or a.patient.adjective == b.patient.adjective
    return True


def same(a: object, b: object) -> bool:
    if isinstance(a, Thing) and isinstance(b, Thing):
        return a.concept == b.concept
    return getattr(a, "name", a) == getattr(b, "name", b)


def test_labels_follow_from_the_meanings():
    """An independent judge: monotonicity, opposites, places and numbers."""
    kinds: Counter[str] = Counter()
    for pair in pairs(3000, seed=4):
        p, h = pair.premise[0].meaning.main, pair.hypothesis[0].meaning.main
        assert same(p.agent, h.agent)
        opposite = p.kind == h.kind == "property" and world().adjectives[h.predicate].opposite == p.predicate
        elsewhere = p.kind == h.kind == "location" and not same(p.place, h.place)
        recounted = isinstance(p.patient, Thing) and isinstance(h.patient, Thing) and p.patient.count != h.patient.count
        adjectives = [getattr(x.agent, "adjective", None) for x in (p, h)]
        tells_all = adjectives[1] is None or adjectives[0] == adjectives[1]
        text = f"{pair.label}: {pair.premise[0].text} => {pair.hypothesis[0].text}"
        if pair.label == "entailment":
            if opposite or elsewhere:
                assert h.negative, text
                assert not p.negative, text
                kinds["excluded"] += 1
            else:
                assert p.negative == h.negative, text
                assert more_specific(h, p) if h.negative and not more_specific(p, h) else more_specific(p, h), text
                assert tells_all, text
                kinds["monotone"] += 1
        elif pair.label == "contradiction":
            if opposite or elsewhere or recounted:
                assert not p.negative, text
                assert not h.negative, text
                kinds["opposed"] += 1
            else:
                assert p.negative != h.negative, text
                positive, negative = (h, p) if p.negative else (p, h)
                assert more_specific(positive, negative), text
                kinds["denied"] += 1
        else:
            follows = p.negative == h.negative and tells_all
            follows &= more_specific(h, p) if h.negative else more_specific(p, h)
            assert not follows, text
            assert not opposite, text
            assert p.negative == h.negative or p.kind == "property", text
    assert min(kinds[k] for k in ("excluded", "monotone", "opposed", "denied")) > 20


@pytest.mark.no_cover
def test_splits_share_no_pair():
    seen = {split: {(p.hypothesis[0].text) for p in pairs(1500, split=split)} for split in ("train", "dev", "test")}
    assert not seen["train"] & (seen["dev"] | seen["test"])
    assert not seen["dev"] & seen["test"]


def test_one_pair_in_every_language():
    pair = next(inference(LANGUAGES, seed=1))
    assert [s.language for s in pair.premise] == [s.language for s in pair.hypothesis] == list(LANGUAGES)
