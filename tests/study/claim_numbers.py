"""Numbers for which every claim holds, to be changed by tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from isoglot.study.claims import paper_numbers
from isoglot.study.numbers import Number, Numbers

POINTS = {"nli", "ner", "parsing", "bleu1"}
SIZES = (50_000, 200_000, 450_000)


def holding(paper: str) -> Numbers:
    """Numbers for which all claims of a paper hold: printed ones, and made-up ones where none are printed."""
    return paper_numbers(paper) + Numbers(_wu2020() if paper == "wu2020" else _liu2020())


def _wu2020() -> Iterator[Number]:
    for language in ("fr", "ru", "zh"):
        vectors = {"language": language, "vectors": "embeddings"}
        yield Number("word_p1", 0.50, {**vectors, "system": "encoder", "layer": 0, "depth": 8})
        yield Number("word_p1", 0.48, {**vectors, "system": "fasttext"})
        yield Number("word_p1", 0.60, {"language": language, "vectors": "contexts", "system": "fasttext"})
        for layer in range(9):
            at: dict[str, Any] = {"language": language, "layer": layer, "depth": 8}
            yield Number("word_p1", 0.2 + 0.02 * layer, {**at, "vectors": "contexts", "system": "encoder"})
            mapped = 30 + 10 * (1 - abs(layer - 4) / 4)
            for task, gap in (("ner", 20), ("parsing", -1 if language == "fr" else 8)):
                yield Number(task, mapped, {**at, "arm": "monolingual", "map": "procrustes"})
                yield Number(task, mapped + gap, {**at, "arm": "bilingual"})
                yield Number(task, 5.0, {**at, "arm": "bilingual", "variant": "untrained"})
    for number in paper_numbers("wu2020").select("cka", arm="monolingual"):
        if number.at["language"] != "en'":
            at = {**number.at, "map": "procrustes"}
            del at["estimator"]
            yield Number("sentence_p1", number.value - 0.1 + 0.005 * (int(number.at["layer"]) % 3), at)


def _liu2020() -> Iterator[Number]:
    for language in ("de", "zh"):
        yield Number("nli", 34.0, {"language": language, "system": "encoder", "variant": "untrained"})
        yield Number("word_mrr", 0.01, {"language": language, "system": "encoder", "variant": "untrained"})
        scores: dict[tuple[str, int | None], tuple[tuple[float, ...], tuple[float, ...]]] = {
            ("encoder", 256): ((0.05, 0.20, 0.50), (45, 55, 65)),
            ("encoder", 20): ((0.06, 0.15, 0.20), (46, 50, 52)),
            ("word2vec", None): ((0.15, 0.16, 0.17), (44, 44.5, 45)),
            ("glove", None): ((0.17, 0.175, 0.18), (44, 44.5, 45)),
        }
        for (system, window), (mrr, nli) in scores.items():
            for size, one, other in zip(SIZES, mrr, nli, strict=True):
                at: dict[str, Any] = {"language": language, "system": system, "sentences": size}
                at |= {"window": window} if window else {}
                yield Number("word_mrr", one, at)
                yield Number("nli", float(other), at)
    for target in ("de", "zh", "fr", "sw", "el"):
        at = {"source": "en", "target": target, "layer": 10, "depth": 12}
        yield Number("bleu1", 1.0, {**at, "layer": 5, "alpha": 1.0})
        yield Number("convert_rate", 0.001, {**at, "alpha": -1.0})
        for alpha in (-1.0, 1.0, 2.0, 3.0):
            yield Number("outside_share", 0.001, {**at, "alpha": alpha})
    yield Number("other_language_share", 0.002, {"source": "en", "alpha": 0.0})


def measured(
    numbers: Iterable[Number],
    *,
    noise: float = 0.0005,
    seeds: int = 3,
    draws: int = 50,
    seed: int = 0,
    exact: bool = False,
) -> Numbers:
    """The same with draws and several seeds; noise as a share of the scale (1, or 100 points); exact: of the draws alone."""
    rng = np.random.default_rng(seed)
    found = []
    for number in numbers:
        scale = noise * (100 if number.measure in POINTS else 1)
        for run in range(seeds):
            value = number.value + (0.0 if exact else rng.normal(0, scale / 2))
            drawn = tuple((value + rng.normal(0, scale, draws)).tolist())
            found.append(Number(number.measure, value, {**number.at, "seed": run}, drawn, "items"))
    return Numbers(found)


def changed(numbers: Iterable[Number], measure: str, change: Callable[[float], float], **at: Any) -> Numbers:
    """The same with other values at the given coordinates; ``None`` for numbers without the coordinate."""
    numbers = list(numbers)
    chosen = {id(one) for one in numbers if one.measure == measure and all(one.at.get(k) == v for k, v in at.items())}
    assert chosen, f"nothing to change: {measure} {at}"
    return Numbers(
        Number(one.measure, change(one.value) if id(one) in chosen else one.value, one.at, one.draws, one.items)
        for one in numbers
    )
