"""The check-up of an encoder: every layer, every pair of languages, and what is sure of it.

Shape legend: ``N`` sentences, ``D`` hidden size, ``S`` samples of the sentences, ``P`` pairs, ``L`` layers, ``W`` ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.progress import SILENT
from isoglot.diagnose.config import DiagnoseConfig
from isoglot.diagnose.layer_choice import Hits, choose_best, language_layers
from isoglot.diagnose.measurements import Sources, look
from isoglot.diagnose.result import Checkup, LanguageFacts, LayerFacts, PairFacts, PairLayer, ProbeFacts
from isoglot.diagnose.retrieval import WAYS
from isoglot.diagnose.sentence_vectors import encode_sets
from isoglot.diagnose.tokenizer_check import token_facts
from isoglot.represent.extraction import sentence_pool
from isoglot.retrieve.estimates import Estimates
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.simultaneous_intervals import as_share, chosen_interval, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.language_probe import ProbeResult
    from isoglot.core.progress import Progress
    from isoglot.diagnose.measurements import PairLook, Spread
    from isoglot.diagnose.retrieval import Way
    from isoglot.diagnose.sentence_vectors import Encoded
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers
    from isoglot.retrieve.estimates import OtherText
    from isoglot.retrieve.metrics import Interval


def diagnose(
    encoder: EncoderLike,
    sets: Mapping[str, Sequence[str]] | Sequence[ParallelSet],
    *,
    layers: Layers = "all",
    pool: Pool | None = None,
    config: DiagnoseConfig | None = None,
    estimates: Estimates | None = None,
    others: Mapping[str, Mapping[int | None, OtherText]] | None = None,
    name: str = "",
    progress: Progress = SILENT,
) -> Checkup:
    """Check an encoder on sentences that say the same in several languages.

    Args:
        encoder: Any encoder.
        sets: Parallel sentences: lists of equal length by language, or one or more sets, as where languages come in
            pairs (Tatoeba).
        layers: ``all``, or numbers; 0 is the embeddings.
        pool: How a sentence becomes a vector: ``mean`` of its subwords, its ``first`` token, or as the modules of a
            sentence-transformers ``model`` do it, the default where there are such.
        config: How thorough to be.
        estimates: Where the means that are removed and the neighborhoods of CSLS come from; by default the other folds.
        others: What is known of each language from other text, by layer, where they come from there.
        name: What to call the encoder.
        progress: Shows how far the work is.

    Raises:
        ConfigError: The encoder lacks a language or layer, or the pivot is none of the languages.
        InputError: There are too few sentences, or the encoder gives something that is no number.
    """
    config = DiagnoseConfig() if config is None else config
    if isinstance(sets, Mapping):
        sets = [ParallelSet.from_lists(sets)]
    pool = pool or sentence_pool(encoder)
    encoded, remarks = encode_sets(encoder, sets, layers=layers, pool=pool, config=config, name=name, progress=progress)
    codes = list(dict.fromkeys(code for each in encoded for code in each.vectors))
    tokens = {
        code: token_facts(encoder.vocabulary, [text for each in encoded for text in each.texts.get(code, ())], code)
        for code in codes
    }
    numbers = next(iter(encoded[0].vectors.values())).layers
    work = [(one, pair) for one in encoded for pair in one.pairs]
    estimates = replace(estimates or Estimates(), folds=config.folds)
    sources = Sources(estimates, others or {})
    looked = look(encoded, numbers, codes, sources=sources, device=encoder.device, config=config, progress=progress)
    hits = Hits.of_pairs(encoded, looked, resamples=config.resamples, seed=config.seed)
    found_SPLW = hits.sampled()
    pairs = [pair for _, pair in work]
    best, best_SP = choose_best(hits, numbers)
    layers_of = language_layers(hits, numbers, pairs, codes, best)
    cuts = {code: sum(each.vectors[code].header["cut"] for each in encoded if code in each.vectors) for code in codes}
    return Checkup(
        model=name,
        sentences=round(float(np.mean([len(one) for one, _ in work]))),
        origin=", ".join(one.name for one in encoded),
        chance=float(np.mean([1 / len(one) for one, _ in work])),
        depth=encoder.depth,
        width=next(iter(encoded[0].vectors.values())).hidden_size,
        layers=tuple(
            _layer_facts(
                layer,
                found_SPLW[:, :, at],
                [looked.pairs[number, at] for number in range(len(work))],
                _probe_facts(looked.told[at], encoded, codes, hits.weights),
                looked.spreads[at],
            )
            for at, layer in enumerate(numbers)
        ),
        pairs=tuple(
            _pair_facts(
                pair, len(one), numbers, found_SPLW[:, number], [looked.pairs[number, at] for at in range(len(numbers))]
            )
            for number, (one, pair) in enumerate(work)
        ),
        languages=tuple(
            LanguageFacts(
                code=code, tokens=tokens[code], cut=cuts[code], **_standing(best_SP, pairs, code), **layers_of[code]
            )
            for code in codes
        ),
        best=best,
        estimates=estimates,
        settings={**config.model_dump(mode="json"), "pool": pool, "layers": list(numbers)},
        remarks=remarks,
    )


# --- samples to figures ---


def _standing(best_SP: np.ndarray, pairs: Sequence[tuple[str, str]], code: str) -> dict[str, Any]:
    """How the pairs of a language fare, and how they compare with the others."""
    own = np.array([code in pair for pair in pairs])
    own_S = best_SP[:, own].mean(axis=1)
    numbers = np.flatnonzero(own).tolist()
    top = max(range(len(numbers)), key=lambda place: float(best_SP[0, numbers[place]]))
    return {
        "found": interval(own_S),
        "partner": next(other for other in pairs[numbers[top]] if other != code),
        "best": as_share(chosen_interval(best_SP[:, own], top)),
        "lead": None if own.all() else interval(own_S - best_SP[:, ~own].mean(axis=1)),
    }


def _by_way(found_SW: np.ndarray) -> dict[Way, Interval]:
    return {way: interval(found_SW[:, place]) for place, way in enumerate(WAYS)}


def _layer_facts(
    layer: int, found_SPW: np.ndarray, pairs: Sequence[PairLook], probe: ProbeFacts, spreads: Sequence[Spread]
) -> LayerFacts:
    judged = [pair.cka for pair in pairs if pair.cka is not None]
    return LayerFacts(
        layer=layer,
        found=_by_way(found_SPW.mean(axis=1)),
        probe=probe,
        mean_cosine=float(np.mean([each.mean_cosine for each in spreads])),
        top_share=float(np.mean([each.top_share for each in spreads])),
        hubness=float(np.mean([pair.hubness for pair in pairs])),
        hubness_csls=float(np.mean([pair.hubness_csls for pair in pairs])),
        distance=float(np.mean([pair.distance for pair in pairs])),
        cka=float(np.mean([each.value for each in judged])) if judged else None,
        cka_null=float(np.mean([each.null_high for each in judged])) if judged else None,
        cka_above=sum(each.above_chance for each in judged),
    )


def _pair_facts(
    pair: tuple[str, str], sentences: int, layers: Sequence[int], found_SLW: np.ndarray, facts: Sequence[PairLook]
) -> PairFacts:
    return PairFacts(
        source=pair[0],
        target=pair[1],
        sentences=sentences,
        layers=tuple(
            PairLayer(
                layer=layer,
                found=_by_way(found_SLW[:, at]),
                hubness=facts[at].hubness,
                distance=facts[at].distance,
                cka=facts[at].cka,
            )
            for at, layer in enumerate(layers)
        ),
    )


def _probe_facts(
    told: ProbeResult, encoded: Sequence[Encoded], codes: Sequence[str], weights: Sequence[np.ndarray]
) -> ProbeFacts:
    """Balanced accuracy: the mean over languages of the share of their rows that were told."""
    figures = {}
    for kind, rows in told._asdict().items():
        recalls_SK = []
        for code, told_N in zip(codes, rows, strict=True):
            own = [(one, w_SN) for one, w_SN in zip(encoded, weights, strict=True) if code in one.vectors]
            parts = np.split(told_N, np.cumsum([len(one) for one, _ in own])[:-1])
            sums = sum(len(one) * (w_SN @ part) for (one, w_SN), part in zip(own, parts, strict=True))
            recalls_SK.append(sums / len(told_N))
        figures[kind] = interval(np.mean(recalls_SK, axis=0))
    return ProbeFacts(**figures, chance=1 / len(codes))
