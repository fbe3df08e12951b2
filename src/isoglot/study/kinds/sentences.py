"""Steps that compare two languages layer by layer: retrieval, CKA and a language probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.study.kinds.pretrain import ENCODER, MOMENTS
from isoglot.study.kinds.step_inputs import map_pairs, open_both, sentence_pairs, step_languages
from isoglot.study.numbers import RESAMPLES, Coordinate, Number, share_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from isoglot.model.protocol import EncoderLike
    from isoglot.retrieve.estimates import Center
    from isoglot.study.steps import Work

    Layers = dict[int, np.ndarray]


_FOLDS = 5
_MOST_CACHED = 2**29  # bytes of vectors over training that are cached for the next step of the worker


def retrieve(work: Work) -> list[Number]:
    """Sentence retrieval in every layer: is the nearest sentence of the other language the translation?

    Settings: ``languages``, two; ``center``: whether each language's mean is removed, estimated on other sentences of
    the set (5 folds); ``map``: ``none``, or ``procrustes``, fitted on the sentences of ``map_pairs`` after
    ``normalize``, a name of :class:`AlignConfig`; inputs ``encoder``, ``other`` (where the second language has an
    encoder of its own), ``pairs``, ``map_pairs``.
    """
    X, Y, items = _sides(work)
    maps = _procrustes(work) if work.settings.get("map") == "procrustes" else {}
    found = []
    for layer, rows_X, rows_Y in _common_layers(X, Y):
        there = maps.get(layer)
        mapped_X = rows_X if there is None else there.transform(rows_X)
        mapped_Y = rows_Y if there is None else there.transform_target(rows_Y)
        hits_N = _hits(mapped_X, mapped_Y, work.settings.get("center", "none"))
        at: dict[str, Coordinate] = {"language": step_languages(work)[1], "layer": layer, "depth": len(X) - 1}
        if maps:
            at["map"] = work.settings["map"]
        found.append(share_number("sentence_p1", hits_N, at, items))
    return found


def compare(work: Work) -> list[Number]:
    """CKA of two languages on sentences that correspond, in every layer, by all three estimators.

    Settings and inputs as :func:`retrieve`; ``read``: ``first``, if both encoders read the first language's sentences.
    """
    from isoglot.compare.cka_inference import subsampled_cka

    X, Y, items = _sides(work)
    found = []
    for layer, rows_X, rows_Y in _common_layers(X, Y):
        whole_1N, halves_RN = _all_and_halves(len(rows_X), items)
        values = subsampled_cka(rows_X, rows_Y, whole_1N)._asdict()
        draws = subsampled_cka(rows_X, rows_Y, halves_RN)._asdict()
        for name, value_1 in values.items():
            centered_R = draws[name] - draws[name].mean() + value_1[0]  # fewer items have a higher biased CKA
            language = step_languages(work)[0 if work.settings.get("read") == "first" else 1]
            at: dict[str, Coordinate] = {"language": language, "layer": layer, "depth": len(X) - 1}
            found.append(Number("cka", float(value_1[0]), {**at, "estimator": name}, tuple(centered_R.tolist()), items))
    return found


def measure_over_training(work: Work) -> list[Number]:
    """Sentence retrieval and debiased CKA at every moment of training that was kept; of the best layer, and of each.

    Settings as :func:`retrieve`; ``tokens_per_step``, for the axis; input ``encoder`` with its moments, and ``pairs``.
    """
    from isoglot.compare.cka_inference import subsampled_cka

    found = []
    for at, X_ND, Y_ND in _over_training(work, "emergence"):
        whole_1N, _ = _all_and_halves(len(X_ND), "")
        cka = subsampled_cka(X_ND, Y_ND, whole_1N).debiased[0]
        found.append(Number("emergence_cka", float(cka), at))
        hits_N = _hits(X_ND, Y_ND, work.settings.get("center", "mean"))
        found.append(Number("emergence_p1", float(hits_N.mean()), at))
    return found


def probe_language(work: Work) -> list[Number]:
    """Balanced accuracy of a linear probe of the language, at the moments of :func:`measure_over_training`.

    5-fold cross-validation, with translations of one another in the same fold. 1 means that the languages are linearly
    separable, 0.5 is chance. An encoder without moments is measured at 0 tokens.

    Settings: ``languages``; ``tokens_per_step``; inputs ``encoder`` and ``pairs``.
    """
    import numpy as np

    from isoglot.compare.language_probe import probe_linearly
    from isoglot.core.rng import random_stream

    found = []
    for at, X_ND, Y_ND in _over_training(work, "language probe"):
        folds_N = random_stream(0, "language probe").permutation(len(X_ND)) % _FOLDS
        told = probe_linearly([X_ND, Y_ND], [folds_N, folds_N])
        found.append(Number("emergence_probe", float(np.mean([side_N.mean() for side_N in told])), at))
    return found


# --- vectors ---


def _sides(work: Work) -> tuple[Layers, Layers, str]:
    """Both sides' vectors in every layer, and a hash of the sentences; kept for the next step of the worker."""
    languages = step_languages(work)
    encoders = open_both(work)
    one, other, items = sentence_pairs(work, languages)
    if work.settings.get("read") == "first":
        languages, other = (languages[0], languages[0]), one
    sides = [
        _vectors(work, encoder, sentences, code, items)
        for encoder, sentences, code in zip(encoders, (one, other), languages, strict=True)
    ]
    return sides[0], sides[1], items


def _vectors(work: Work, encoder: EncoderLike, sentences: list[str], language: str, items: str) -> Layers:
    from isoglot.compare.parallel_sentences import language_for
    from isoglot.represent import extract

    def made() -> tuple[EncoderLike, Layers]:
        code, pool = language_for(encoder, language), work.settings.get("pool")
        found = extract(encoder, sentences, language=code, pool=pool, progress=work.progress)
        return encoder, {layer: found[layer] for layer in found.layers}  # with the encoder, whose id stays then

    return dict(work.cached_latest("vectors", (id(encoder), language, items), made, most=4)[1])


def _over_training(work: Work, name: str) -> Iterator[tuple[dict[str, Coordinate], np.ndarray, np.ndarray]]:
    """Both sides' vectors at every moment and layer, with their coordinates."""
    from isoglot.model import load_encoder
    from isoglot.represent import extract

    languages = step_languages(work)
    one, other, items = sentence_pairs(work, languages)
    moments = work.inputs["encoder"] / MOMENTS
    folders = sorted(moments.iterdir()) if moments.exists() else [work.inputs["encoder"] / ENCODER]
    of = work.inputs["encoder"], languages, items
    kept: dict[Any, Any] = work.cached("vectors over training", dict)
    if kept.get("of") != of:
        kept.clear()
        kept["of"] = of
    with work.progress.task(name, total=len(folders), unit="moments") as task:
        for folder in folders:
            sides = kept.get(folder)
            if sides is None:
                encoder = load_encoder(folder, device=work.device)
                sides = [
                    extract(encoder, side, language=code) for side, code in zip((one, other), languages, strict=True)
                ]
                if len(folders) * sum(side[layer].nbytes for side in sides for layer in side.layers) <= _MOST_CACHED:
                    kept[folder] = sides
            X, Y = sides
            tokens = int(folder.name) * work.settings["tokens_per_step"] if moments.exists() else 0
            for layer in X.layers:
                at: dict[str, Coordinate] = {"language": languages[1], "layer": layer, "depth": X.layers[-1]}
                yield {**at, "tokens": tokens}, X[layer], Y[layer]
            task.advance()


def _common_layers(X: Layers, Y: Layers) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    return ((layer, rows, Y[layer]) for layer, rows in X.items() if layer in Y)


def _procrustes(work: Work) -> dict[int, Any]:
    """An orthogonal map for every layer, fitted on other sentences."""
    from isoglot.align.maps.config import AlignConfig, make_map

    languages = step_languages(work)
    one, other, items = map_pairs(work, languages)
    encoders = open_both(work)
    X, Y = (
        _vectors(work, encoder, sentences, code, f"map {items}")
        for encoder, sentences, code in zip(encoders, (one, other), languages, strict=True)
    )
    config = AlignConfig(method="procrustes", normalize=work.settings["normalize"])
    return {layer: make_map(config).fit(rows_X, rows_Y) for layer, rows_X, rows_Y in _common_layers(X, Y)}


# --- scores ---


def _hits(X_ND: np.ndarray, Y_ND: np.ndarray, center: str) -> np.ndarray:
    """Whether the nearest row by cosine is the right one, for each row, averaged over both directions."""
    from isoglot.retrieve import score_retrieval
    from isoglot.retrieve.estimates import Estimates

    removed: Center = "mean" if center == "mean" else "none"
    scores = score_retrieval(X_ND, Y_ND, methods=("cosine",), center=removed, estimates=Estimates(), resamples=1)
    sides = [scores.of("cosine", direction) for direction in ("forward", "backward")]
    hits_2N = [(side.ranks_Q == 1).astype(float)[side.queries_Q.argsort()] for side in sides]
    found: np.ndarray = (hits_2N[0] + hits_2N[1]) / 2
    return found


def _all_and_halves(count: int, items: str) -> tuple[np.ndarray, np.ndarray]:
    """Masks of all items and of random halves of them, which are the same for the same items."""
    import numpy as np

    from isoglot.core.rng import random_stream

    stream = random_stream(0, "halves", items)
    halves_RN = np.zeros((RESAMPLES, count), dtype=bool)
    for row in halves_RN:
        row[stream.permutation(count)[: count // 2]] = True
    return np.ones((1, count), dtype=bool), halves_RN
