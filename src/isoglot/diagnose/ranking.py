"""Ranking of encoders on the same parallel sentences: which are better, and which cannot be told apart.

The score of a model is the share of translations found (P@1), the mean of both directions and of all pairs of
languages, in the layer that was best on the other half of the sentences. All models are scored on the same sentences,
so differences are paired. Sentences are resampled, with their translations in all languages; with enough languages,
these too, so that a difference holds for other languages like them. Differences are tested by Student's t with the
standard error of the resamples, corrected over all pairs of models (Holm).

Shape legend: ``S`` bootstrap samples, the first being the observed data; ``M`` models, ``P`` pairs of languages, ``N``
sentences of a set, ``C`` layers to choose from, ``L`` languages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.distributions import t_quantile, t_tail
from isoglot.core.errors import ConfigError, InputError, IsoglotError
from isoglot.core.progress import SILENT, counted
from isoglot.core.rng import random_stream
from isoglot.diagnose.layer_choice import sample_weights
from isoglot.diagnose.sentence_vectors import distinct_rows
from isoglot.diagnose.tokenizer_check import unreadable
from isoglot.retrieve.estimates import Center, Estimates
from isoglot.retrieve.evaluation import RetrievalConfig
from isoglot.retrieve.methods import Direction, Method
from isoglot.retrieve.metrics import Interval
from isoglot.retrieve.sentences import retrieve_sentences
from isoglot.retrieve.simultaneous_intervals import ENOUGH, LEVEL, as_share, halves, holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.retrieve.parallel_sets import ParallelSet

FEWEST_LANGUAGES = 3
"""Minimum number of languages to resample."""
ENOUGH_LANGUAGES = 5
"""Number of languages from which on they are resampled by default."""
_WAYS: tuple[Direction, ...] = get_args(Direction)


class RankConfig(Config):
    """Settings of a ranking.

    >>> RankConfig(layer=-1, method="csls").over
    'auto'
    """

    layer: int | None = None
    """Layer of every model; -1 is the last. Default: the best of each, chosen on the other half of the sentences."""
    method: Method = "cosine"
    """Scoring method of the search."""
    center: Center = "none"
    """``mean``: each language's mean is removed, estimated on other sentences."""
    over: Literal["auto", "sentences", "languages"] = "auto"
    """What a difference has to hold for: other ``sentences`` of these languages, or other sentences and ``languages``.
    ``auto``: languages too if there are five or more beside a language that all pairs share."""
    resamples: int = Field(2000, ge=10, le=100_000)
    """Bootstrap resamples."""
    folds: int = Field(5, ge=2, le=50)
    """Folds for means and CSLS neighborhoods."""
    seed: int = Field(0, ge=0)
    """Random seed of halves, folds and resamples."""


@dataclass(frozen=True, kw_only=True)
class RankedModel:
    """Place of a model.

    Attributes:
        name: The model.
        layers: The layer of its score; two where the halves of the sentences chose differently.
        score: P@1 with its 95 % interval.
        behind: How far the model with the highest score is ahead, with a paired 95 % interval; None for that model.
        ranks: The lowest and the highest rank that the tests leave open: one more than the number of models that are
            significantly better, and the number of models less those that are significantly worse.
        groups: Letters of the groups of models it cannot be told apart from.
        by_language: P@1 over the pairs of each language.
    """

    name: str
    layers: tuple[int, ...]
    score: Interval
    behind: Interval | None
    ranks: tuple[int, int]
    groups: str
    by_language: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Models by score, the highest first, with paired tests of every two.

    Attributes:
        models: The models.
        p_MM: p-value of each difference, corrected for multiple testing; 1 on the diagonal.
        ties: Largest groups of models no two of which differ significantly, by name.
        over: What was resampled.
        sentences: Number of sentences by set.
        pairs: Pairs of languages.
        settings: The config.
        remarks: What else the reader should know.
    """

    models: tuple[RankedModel, ...]
    p_MM: np.ndarray = field(repr=False, compare=False)
    ties: tuple[tuple[str, ...], ...]
    over: Literal["sentences", "languages"]
    sentences: dict[str, int]
    pairs: tuple[tuple[str, str], ...]
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All fields as JSON; p-values by the names of two models."""
        names = [each.name for each in self.models]
        tests = [
            {"better": names[one], "worse": names[other], "p": float(self.p_MM[one, other])}
            for one, other in combinations(range(len(names)), 2)
        ]
        head = {"models": [asdict(each) for each in self.models], "ties": self.ties, "tests": tests}
        facts = {"over": self.over, "sentences": self.sentences, "pairs": self.pairs, "settings": self.settings}
        return head | facts | {"remarks": self.remarks}


def rank_models(
    models: Iterable[tuple[str, EncoderLike]],
    sets: Sequence[ParallelSet],
    *,
    pool: Pool | None = None,
    config: RankConfig | None = None,
    progress: Progress = SILENT,
) -> Ranking:
    """Rank encoders by how many translations they find among the same sentences.

    Args:
        models: Names and encoders; an iterator is asked for one at a time, so that one is in memory.
        sets: Parallel sentences; rows that repeat a sentence are left out.
        pool: Sentence pooling. Default: the model's own if it has one, else the mean of the subwords.
        config: Settings.
        progress: Progress of each step.

    Returns:
        The encoders, highest score first, with paired tests and groups of ties.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.model import Encoder, encoder_config
    >>> from isoglot.retrieve.parallel_sets import ParallelSet
    >>> from isoglot.vocab import train_vocabulary
    >>> words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st", "uv", "wx"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text(" ".join(words * 20), encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text], "de": [text]}, mode="joint", size=300)
    >>> config = encoder_config("paper", "nano", vocabulary_size=len(vocabulary))
    >>> models = [(f"seed {seed}", Encoder(config, vocabulary, seed=seed)) for seed in (0, 1)]
    >>> same = ParallelSet.from_lists({"en": words, "de": words})
    >>> found = rank_models(models, [same], config=RankConfig(layer=-1, resamples=100))
    >>> [(each.name, each.score.value) for each in found.models]
    [('seed 0', 1.0), ('seed 1', 1.0)]

    Raises:
        ConfigError: There are fewer than two models, two of one name, or too few languages to resample.
        InputError: There are too few sentences, or too few to choose a layer.
    """
    config = config or RankConfig()
    kept = [distinct_rows(one) for one in sets]
    pairs = [pair for one in kept for pair in one.pairs]
    weights_SP, over = _pair_weights(pairs, config)
    counts = [len(one) for one in kept]
    if config.layer is None and min(counts) < ENOUGH:
        problem = f"choosing layers on one half needs more than {counted(min(counts), 'different sentences')}"
        raise InputError(problem, f"give at least {ENOUGH}, or name the layer: --layer -1", "too-few")
    weights = [sample_weights(n, config.resamples, seed=config.seed, name=f"rank {at}") for at, n in enumerate(counts)]
    parts = [_half(n, f"rank {at}", config.seed) for at, n in enumerate(counts)]
    names: list[str] = []
    layers: list[tuple[int, ...]] = []
    scores: list[np.ndarray] = []
    remarks = [line for one in kept for line in one.remarks]
    for name, encoder in models:
        if name in names:
            raise ConfigError(f"the model {name} is named twice", "name each model once", "duplicate")
        try:
            hits, numbers, said = _hits_of(encoder, kept, name, pool, config, progress)
        except IsoglotError as error:
            raise error.prefixed(name) from error
        scores_SP, chosen = sampled_scores(hits, weights, parts, weights_SP)
        names.append(name)
        layers.append(tuple(sorted({numbers[at] for at in chosen})))
        scores.append(scores_SP)
        remarks += [f"{name}: {line}" for line in said if line not in remarks]
    if len(names) < 2:
        raise ConfigError(f"{counted(len(names), 'models')} to rank", "name two or more", "missing-option")
    samples_SMP = np.stack(scores, axis=1)
    units = len(_free(pairs)) if over == "languages" else min(counts)
    return _ranking(
        names,
        layers,
        PairedSamples(np.einsum("smp,sp->sm", samples_SMP, weights_SP), units, min(counts)),
        samples_SMP[0],
        over=over,
        sentences={one.name: len(one) for one in kept},
        pairs=tuple(pairs),
        settings=config.model_dump(mode="json"),
        remarks=tuple(remarks),
    )


def _hits_of(
    encoder: EncoderLike,
    sets: Sequence[ParallelSet],
    name: str,
    pool: Pool | None,
    config: RankConfig,
    progress: Progress,
) -> tuple[list[np.ndarray], list[int], tuple[str, ...]]:
    """Share of directions in which each sentence is found (P × N × C for each set), the layers, and remarks."""
    search = RetrievalConfig(
        methods=(config.method,),
        centers=(config.center,),
        estimates=Estimates(folds=config.folds),
        resamples=1,
        seed=config.seed,
    )
    chosen: Literal["all"] | list[int] = "all" if config.layer is None else [config.layer]
    found = retrieve_sentences(encoder, sets, search, layers=chosen, pool=pool, name=name, progress=progress)
    hits = [
        np.mean([[one.scores.of(config.method, way).ranks_Q == 1 for one in pair.layers] for way in _WAYS], axis=0).T
        for pair in found.pairs
    ]
    ends = np.cumsum([len(one.pairs) for one in sets])
    by_set = [np.stack(hits[end - len(one.pairs) : end]) for one, end in zip(sets, ends, strict=True)]
    remarks = (*found.remarks, *_unknown_tokens(encoder, sets))
    return by_set, [one.layer or 0 for one in found.pairs[0].layers], remarks


def _unknown_tokens(encoder: EncoderLike, sets: Sequence[ParallelSet]) -> list[str]:
    """What is said of languages that the tokenizer cannot spell."""
    rates = {code: rate for one in sets for code, rate in unreadable(encoder.vocabulary, one.sentences)}
    return [f"The tokenizer does not know {100 * rate:.0f} % of the {code} tokens" for code, rate in rates.items()]


# --- resampling ---


def _free(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Languages that are not in every pair, as a pivot is."""
    return [
        code for code in dict.fromkeys(code for pair in pairs for code in pair) if any(code not in p for p in pairs)
    ]


def _pair_weights(
    pairs: Sequence[tuple[str, str]], config: RankConfig
) -> tuple[np.ndarray, Literal["sentences", "languages"]]:
    """Weight of every pair of languages in every sample (S × P), and what is resampled.

    Languages are drawn with replacement; a pair counts as often as the product of its two says. A draw that leaves no
    pair is repeated.

    Raises:
        ConfigError: There are too few languages.
    """
    free = _free(pairs)
    equal_SP = np.full((1 + config.resamples, len(pairs)), 1 / len(pairs))
    if config.over == "sentences" or (config.over == "auto" and len(free) < ENOUGH_LANGUAGES):
        return equal_SP, "sentences"
    if len(free) < FEWEST_LANGUAGES:
        problem = f"{counted(len(free), 'languages')} to resample"
        raise ConfigError(problem, f"give {FEWEST_LANGUAGES} or more, or --over sentences", "missing-data")
    stream = random_stream(config.seed, "rank languages")
    weights_SP = equal_SP
    weights_SP[1:] = 0
    while (empty_S := weights_SP.sum(axis=1) == 0).any():
        drawn_SL = stream.multinomial(len(free), np.full(len(free), 1 / len(free)), size=int(empty_S.sum()))
        times = dict(zip(free, drawn_SL.T, strict=True))
        products = [np.prod([times[code] for code in pair if code in times], axis=0) for pair in pairs]
        weights_SP[empty_S] = np.stack(products, axis=1)
    return weights_SP / weights_SP.sum(axis=1, keepdims=True), "languages"


def _half(sentences: int, name: str, seed: int) -> np.ndarray:
    """Random half of each sentence; with too few of them no layer is chosen, and any will do."""
    half_N = halves(sentences, seed=seed, name=name)
    return np.arange(sentences) % 2 == 0 if half_N is None else half_N


def sampled_scores(
    hits: Sequence[np.ndarray], weights: Sequence[np.ndarray], parts: Sequence[np.ndarray], weights_SP: np.ndarray
) -> tuple[np.ndarray, tuple[int, int]]:
    """Score a model in every bootstrap sample, each half of the sentences in the layer that is best on the other.

    The layer is chosen anew in every sample. The two halves depend on each other by the choice: with that of the
    observed sentences kept, intervals are too narrow where layers are about equal.

    Args:
        hits: Whether each sentence is found, P × N × C for each set, by C layers.
        weights: Weight of each sentence in each sample, S × N for each set.
        parts: Half of each sentence of each set.
        weights_SP: Weight of each pair of all sets in each sample.

    Returns:
        Scores of every pair (S × P), and the two layers that the observed sentences chose.
    """
    sums, chosen = [], []
    for side in (False, True):
        own = [w_SN * (half_N == side) for w_SN, half_N in zip(weights, parts, strict=True)]
        found = [np.einsum("sn,pnc->spc", *each, optimize=True) for each in zip(own, hits, strict=True)]
        shares = [
            each / np.maximum(own_SN.sum(axis=1), 1e-12)[:, None, None] for own_SN, each in zip(own, found, strict=True)
        ]
        sums.append(np.concatenate(found, axis=1))
        chosen.append(np.einsum("spc,sp->sc", np.concatenate(shares, axis=1), weights_SP).argmax(axis=1))
    scores = [
        np.take_along_axis(sums_SPC, best_S[:, None, None], axis=2)[:, :, 0]
        for sums_SPC, best_S in zip(sums, chosen[::-1], strict=True)
    ]
    return scores[0] + scores[1], (int(chosen[0][0]), int(chosen[1][0]))


# --- tests ---


class PairedSamples(NamedTuple):
    """Scores of all models in the same bootstrap samples, the first being the observed data.

    Attributes:
        scores_SM: Scores in every sample.
        units: Number of independent units: sentences, or languages where those were resampled.
        sentences: Number of sentences.
    """

    scores_SM: np.ndarray
    units: int
    sentences: int

    def error(self, samples_S: np.ndarray) -> float:
        """Standard error of a mean from its bootstrap samples, corrected for the number of units.

        It is at least that of one differing sentence: where none differs, the next one may.
        """
        correction = float(np.sqrt(self.units / (self.units - 1)))
        return max(correction * float(samples_S[1:].std()), 1 / self.sentences)

    def p_value(self, one: int, other: int) -> float:
        """Two-sided p-value of the difference of two models by Student's t."""
        between_S = self.scores_SM[:, one] - self.scores_SM[:, other]
        return 2 * t_tail(abs(float(between_S[0])) / self.error(between_S), self.units - 1)

    def interval(self, samples_S: np.ndarray) -> Interval:
        """The observed value with its 95 % interval by Student's t."""
        value, half = float(samples_S[0]), t_quantile((1 + LEVEL) / 2, self.units - 1) * self.error(samples_S)
        return Interval(value, value - half, value + half)

    def holm_p_values(self) -> np.ndarray:
        """p-value of the difference of every two models, corrected over all of them (M × M; 1 on the diagonal)."""
        count = self.scores_SM.shape[1]
        p_MM = np.ones((count, count))
        pairs = list(combinations(range(count), 2))
        for (one, other), p in zip(pairs, holm([self.p_value(*pair) for pair in pairs]), strict=True):
            p_MM[one, other] = p_MM[other, one] = p
        return p_MM


def tie_groups(different_MM: np.ndarray) -> list[tuple[int, ...]]:
    """Largest groups no two of which differ, as in a compact letter display (Piepho 2004).

    >>> far = np.zeros((3, 3), dtype=bool)
    >>> far[0, 2] = far[2, 0] = True
    >>> tie_groups(far)
    [(0, 1), (1, 2)]
    """
    groups = {frozenset(range(len(different_MM)))}
    for one, other in np.argwhere(np.triu(different_MM)).tolist():
        both = {group for group in groups if {one, other} <= group}
        groups = (groups - both) | {group - {each} for group in both for each in (one, other)}
        groups = {group for group in groups if not any(group < larger for larger in groups)}
    return sorted(tuple(sorted(group)) for group in groups)


def _ranking(
    names: Sequence[str],
    layers: Sequence[tuple[int, ...]],
    found: PairedSamples,
    pairs_MP: np.ndarray,
    **facts: Any,  # noqa: ANN401 - other fields of the ranking
) -> Ranking:
    """Order the models and test every two of them; ``pairs_MP`` are the observed scores of pairs of languages."""
    order = np.argsort(-found.scores_SM[0], kind="stable").tolist()
    samples_SM, count = found.scores_SM[:, order], len(order)
    p_MM = found._replace(scores_SM=samples_SM).holm_p_values()
    different_MM = p_MM < 1 - LEVEL
    groups = tie_groups(different_MM)
    codes = dict.fromkeys(code for pair in facts["pairs"] for code in pair)
    own_P = {code: [code in pair for pair in facts["pairs"]] for code in codes}
    models = [
        RankedModel(
            name=names[at],
            layers=layers[at],
            score=as_share(found.interval(samples_SM[:, place])),
            behind=found.interval(samples_SM[:, 0] - samples_SM[:, place]) if place else None,
            ranks=(1 + int(different_MM[place, :place].sum()), count - int(different_MM[place, place + 1 :].sum())),
            groups="".join(_letter(number) for number, group in enumerate(groups) if place in group),
            by_language={code: float(pairs_MP[at, own].mean()) for code, own in own_P.items()},
        )
        for place, at in enumerate(order)
    ]
    ties = tuple(tuple(models[each].name for each in group) for group in groups)
    return Ranking(models=tuple(models), p_MM=p_MM, ties=ties, **facts)


def _letter(number: int) -> str:
    """A letter, or from the 27th on a number in brackets."""
    return "abcdefghijklmnopqrstuvwxyz"[number] if number < 26 else f"({number + 1})"
