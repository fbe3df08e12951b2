"""Check-up of an encoder: every layer and every pair of languages, with confidence intervals.

Shape legend: ``N`` sentences, ``D`` hidden size, ``S`` bootstrap samples, ``P`` pairs, ``L`` layers, ``W`` search
variants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from isoglot.compare.parallel_sentences import builtin_languages_of, builtin_set
from isoglot.core.config import Config
from isoglot.core.progress import SILENT
from isoglot.diagnose.layer_choice import RetrievalHits, choose_best, language_layers
from isoglot.diagnose.measurements import EstimateSources, measure
from isoglot.diagnose.result import (
    Checkup,
    LanguageFacts,
    LayerFacts,
    MexaOverLayers,
    MissedSentence,
    MissedSentences,
    PairFacts,
    PairLayer,
    ProbeFacts,
)
from isoglot.diagnose.retrieval import VARIANTS, find_misses
from isoglot.diagnose.sentence_vectors import encode_sets
from isoglot.diagnose.tokenizer_check import token_facts
from isoglot.represent.extraction import sentence_pool
from isoglot.retrieve.estimates import Estimates
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.simultaneous_intervals import as_share, chosen_interval, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from isoglot.compare.language_probe import ProbeResult
    from isoglot.core.progress import Progress
    from isoglot.diagnose.measurements import Anisotropy, LayerMeasurements, PairMeasurement
    from isoglot.diagnose.retrieval import SearchVariant
    from isoglot.diagnose.sentence_vectors import EncodedSet
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers
    from isoglot.retrieve.estimates import OtherText
    from isoglot.retrieve.metrics import Interval
    from isoglot.vocab import Vocabulary


class DiagnoseConfig(Config):
    """Settings of a check-up.

    >>> DiagnoseConfig(cka_sentences=100).cka_sentences
    100
    """

    folds: int = Field(5, ge=2, le=50)
    """Cross-validation folds for means, CSLS neighborhoods, maps and probes."""
    resamples: int = Field(1000, ge=10, le=100_000)
    """Bootstrap samples for the confidence intervals of retrieval and probes."""
    draws: int = Field(200, ge=20, le=10_000)
    """Permutations for the null distribution of CKA, and draws for its interval."""
    cka_sentences: int = Field(2000, ge=10, le=10_000)
    """Maximum number of sentences for CKA."""
    pivot: str | None = None
    """Only pairs with this language. Default: every pair."""
    examples: int = Field(20, ge=0, le=1000)
    """Sentences with a wrong nearest neighbor to keep, for each direction of each pair."""
    seed: int = Field(0, ge=0)
    """Random seed of folds, resamples and permutations."""


def diagnose(
    encoder: EncoderLike,
    sets: Mapping[str, Sequence[str]] | Sequence[ParallelSet] | None = None,
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    config: DiagnoseConfig | None = None,
    estimates: Estimates | None = None,
    others: Mapping[str, Mapping[int | None, OtherText]] | None = None,
    name: str = "",
    progress: Progress = SILENT,
) -> Checkup:
    """Check an encoder on parallel sentences in several languages.

    Args:
        encoder: Any encoder.
        sets: Parallel sentences: lists of equal length by language, or one or more sets if languages come in pairs
            (Tatoeba). Default: 500 built-in sentences in the built-in languages that the encoder knows.
        layers: ``all``, or layer numbers; 0 is the embeddings.
        pool: How a sentence becomes a vector: the ``mean`` of its tokens, its ``first`` token, or by the modules of a
            sentence-transformers ``model``, which is the default if it has them.
        config: Folds, resamples and other settings.
        estimates: Source of the means that are removed and of CSLS neighborhoods. Default: the other folds.
        others: Estimates of each language from other text, by layer, if they come from there.
        name: Name of the encoder in the result.
        progress: Reports progress.

    Returns:
        Every measurement; ``all_findings`` says what they mean.

    >>> from isoglot.model import load_encoder
    >>> from isoglot.diagnose import builtin_set
    >>> found = diagnose(load_encoder("isoglot-mini", device="cpu"), [builtin_set(["en", "de"], 24)], layers=[7, 8])
    >>> [each.code for each in found.languages]
    ['en', 'de']

    Raises:
        ConfigError: The encoder lacks a language or layer, or no pair contains the pivot.
        InputError: There are too few sentences, or vectors are not finite.
    """
    config = DiagnoseConfig() if config is None else config
    if sets is None:
        sets = [builtin_set(builtin_languages_of(encoder), seed=config.seed)]
    elif isinstance(sets, Mapping):
        sets = [ParallelSet.from_lists(sets)]
    pool = pool or sentence_pool(encoder)
    encoded, remarks = encode_sets(encoder, sets, layers=layers, pool=pool, config=config, name=name, progress=progress)
    codes = list(dict.fromkeys(code for each in encoded for code in each.vectors))
    vectors = next(iter(encoded[0].vectors.values()))
    work = [(one, pair) for one in encoded for pair in one.pairs]
    pairs = [pair for _, pair in work]
    estimates = replace(estimates or Estimates(), folds=config.folds)
    sources = EstimateSources(estimates, others or {})
    measured = measure(
        encoded, vectors.layers, codes, sources=sources, device=encoder.device, config=config, progress=progress
    )
    hits = RetrievalHits.of_pairs(encoded, measured, resamples=config.resamples, seed=config.seed)
    found_SPLW = hits.sampled()
    mexa_SPL = _mexa(encoded, measured, hits.weights)
    best, best_SP = choose_best(hits, vectors.layers)
    found_SPL = found_SPLW[..., VARIANTS.index(best.way)]
    layer_P = np.array(vectors.layers)[found_SPL[0].argmax(axis=1)]
    own_layers = language_layers(hits, vectors.layers, pairs, codes, best)
    return Checkup(
        model=name,
        sentences=round(float(np.mean([len(one) for one, _ in work]))),
        origin=", ".join(one.name for one in encoded),
        chance=float(np.mean([1 / len(one) for one, _ in work])),
        depth=encoder.depth,
        width=vectors.hidden_size,
        layers=tuple(
            _layer_facts(
                layer,
                found_SPLW[:, :, at],
                mexa_SPL[:, :, at],
                measured.of_layer(at),
                _probe_facts(measured.probes[at], encoded, codes, hits.weights),
                measured.anisotropies[at],
            )
            for at, layer in enumerate(vectors.layers)
        ),
        pairs=tuple(
            _pair_facts(
                pair,
                len(one),
                vectors.layers,
                found_SPLW[:, number],
                mexa_SPL[:, [number]],
                measured.of_pair(number),
                missed=_missed(one, pair, int(layer_P[number]), best.way, sources, config, encoder.device),
            )
            for number, (one, pair) in enumerate(work)
        ),
        languages=tuple(
            LanguageFacts(
                code=code,
                **_text_facts(encoder.vocabulary, encoded, code),
                **_language_retrieval(best_SP, found_SPL, pairs, code),
                **own_layers[code],
            )
            for code in codes
        ),
        best=best,
        mexa=_mexa_over_layers(mexa_SPL),
        estimates=estimates,
        settings={**config.model_dump(mode="json"), "pool": pool, "layers": list(vectors.layers)},
        remarks=remarks,
    )


# --- bootstrap samples to figures ---


def _text_facts(vocabulary: Vocabulary, encoded: Sequence[EncodedSet], code: str) -> dict[str, Any]:
    """Token counts and truncated sentences of a language."""
    own = [each for each in encoded if code in each.vectors]
    tokens = token_facts(vocabulary, [text for each in own for text in each.texts[code]], code)
    return {"tokens": tokens, "cut": sum(each.vectors[code].header["cut"] for each in own)}


def _language_retrieval(
    best_SP: np.ndarray, found_SPL: np.ndarray, pairs: Sequence[tuple[str, str]], code: str
) -> dict[str, Any]:
    """P@1 of the pairs of a language, its lead over the others, and P@1 in every layer."""
    own = np.array([code in pair for pair in pairs])
    own_S = best_SP[:, own].mean(axis=1)
    numbers = np.flatnonzero(own).tolist()
    top = max(range(len(numbers)), key=lambda place: float(best_SP[0, numbers[place]]))
    return {
        "found": interval(own_S),
        "partner": next(other for other in pairs[numbers[top]] if other != code),
        "best": as_share(chosen_interval(best_SP[:, own], top)),
        "lead": None if own.all() else interval(own_S - best_SP[:, ~own].mean(axis=1)),
        "by_layer": tuple(interval(found_S) for found_S in found_SPL[:, own].mean(axis=1).T),
    }


def _by_variant(found_SW: np.ndarray) -> dict[SearchVariant, Interval]:
    return {way: interval(found_SW[:, place]) for place, way in enumerate(VARIANTS)}


def _mexa(encoded: Sequence[EncodedSet], measured: LayerMeasurements, weights: Sequence[np.ndarray]) -> np.ndarray:
    """MEXA of every pair and layer in every bootstrap sample (S × P × L)."""
    weights_P = [w_SN for one, w_SN in zip(encoded, weights, strict=True) for _ in one.pairs]
    found = [
        w_SN @ np.stack([each.mutual_N for each in measured.of_pair(number)], axis=1)
        for number, w_SN in enumerate(weights_P)
    ]
    return np.stack(found, axis=1)


def _mexa_over_layers(mexa_SPL: np.ndarray) -> MexaOverLayers:
    layers_P = mexa_SPL[0].argmax(axis=1)
    highest_S = np.stack([mexa_SPL[:, pair, layer] for pair, layer in enumerate(layers_P)]).mean(axis=0)
    mean_SL = mexa_SPL.mean(axis=1)
    chosen_SC = np.concatenate([mean_SL, highest_S[:, None]], axis=1)
    return MexaOverLayers(
        highest=as_share(chosen_interval(chosen_SC, mean_SL.shape[1])), mean=interval(mean_SL.mean(axis=1))
    )


def _layer_facts(
    layer: int,
    found_SPW: np.ndarray,
    mexa_SP: np.ndarray,
    pairs: Sequence[PairMeasurement],
    probe: ProbeFacts,
    anisotropies: Sequence[Anisotropy],
) -> LayerFacts:
    judged = [pair.cka for pair in pairs if pair.cka is not None]
    return LayerFacts(
        layer=layer,
        found=_by_variant(found_SPW.mean(axis=1)),
        mexa=interval(mexa_SP.mean(axis=1)),
        probe=probe,
        mean_cosine=float(np.mean([each.mean_cosine for each in anisotropies])),
        top_share=float(np.mean([each.top_share for each in anisotropies])),
        hubness=float(np.mean([pair.hubness for pair in pairs])),
        hubness_csls=float(np.mean([pair.hubness_csls for pair in pairs])),
        distance=float(np.mean([pair.distance for pair in pairs])),
        cka=float(np.mean([each.value for each in judged])) if judged else None,
        cka_null=float(np.mean([each.null_high for each in judged])) if judged else None,
        cka_above=sum(each.above_chance for each in judged),
    )


def _pair_facts(
    pair: tuple[str, str],
    sentences: int,
    layers: Sequence[int],
    found_SLW: np.ndarray,
    mexa_S1L: np.ndarray,
    facts: Sequence[PairMeasurement],
    *,
    missed: tuple[MissedSentences, ...],
) -> PairFacts:
    return PairFacts(
        source=pair[0],
        target=pair[1],
        sentences=sentences,
        layers=tuple(
            PairLayer(
                layer=layer,
                found=_by_variant(found_SLW[:, at]),
                mexa=interval(mexa_S1L[:, 0, at]),
                hubness=facts[at].hubness,
                distance=facts[at].distance,
                cka=facts[at].cka,
            )
            for at, layer in enumerate(layers)
        ),
        mexa=_mexa_over_layers(mexa_S1L),
        missed=missed,
    )


def _missed(
    one: EncodedSet,
    pair: tuple[str, str],
    layer: int,
    way: SearchVariant,
    sources: EstimateSources,
    config: DiagnoseConfig,
    device: torch.device,
) -> tuple[MissedSentences, ...]:
    """Sentences of both directions whose nearest neighbor in a layer is not their translation."""
    X, Y = (one.vectors[code][layer] for code in pair)
    means = sources.of_pair(pair, layer)
    both = find_misses(X, Y, one.folds_N, way=way, most=config.examples, means=means, seed=config.seed, device=device)
    return tuple(
        MissedSentences(
            source=source,
            target=target,
            layer=layer,
            count=misses.total,
            examples=tuple(
                MissedSentence(
                    query=one.texts[source][miss.row],
                    found=one.texts[target][miss.found],
                    right=one.texts[target][miss.row],
                    similarity_found=miss.similarity_found,
                    similarity_right=miss.similarity_right,
                    rank=miss.rank,
                )
                for miss in misses.worst
            ),
        )
        for (source, target), misses in zip((pair, pair[::-1]), both, strict=True)
    )


def _probe_facts(
    probes: ProbeResult, encoded: Sequence[EncodedSet], codes: Sequence[str], weights: Sequence[np.ndarray]
) -> ProbeFacts:
    """Balanced accuracy: the mean over languages of the share of rows identified."""
    figures = {}
    for kind, rows in probes._asdict().items():
        recalls_SK = []
        for code, told_N in zip(codes, rows, strict=True):
            own = [(one, w_SN) for one, w_SN in zip(encoded, weights, strict=True) if code in one.vectors]
            parts = np.split(told_N, np.cumsum([len(one) for one, _ in own])[:-1])
            sums = sum(len(one) * (w_SN @ part) for (one, w_SN), part in zip(own, parts, strict=True))
            recalls_SK.append(sums / len(told_N))
        figures[kind] = interval(np.mean(recalls_SK, axis=0))
    return ProbeFacts(**figures, chance=1 / len(codes))
