"""What the explorer shows: a sentence turned to another language, the space, its layers, and two models.

Every view takes a request and returns a dict that JSON can hold. Long computations call ``check`` between their parts,
which raises if nobody waits for the result any more.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary, ``N`` rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.core.errors import ConfigError, MissingPartError
from isoglot.core.language_codes import language_code
from isoglot.retrieve.estimates import FOLDS, fold_numbers
from isoglot.retrieve.metrics import Gold

if TYPE_CHECKING:
    from isoglot.explore.requests import (
        CellRequest,
        CompareRequest,
        LensRequest,
        Projection,
        Space,
        SpaceRequest,
        TurnRequest,
    )
    from isoglot.model.protocol import Batch, Change, EncoderLike
    from isoglot.steer.erasers.eraser import Eraser
    from isoglot.steer.language_files import KnownLanguages
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.scores import Judge
    from isoglot.steer.shifts import Kind, Shift

Check = Callable[[], None]
CANDIDATES = 5
"""Tokens shown for a position."""
KEPT_TEXTS = 32
EXTREMES = 5
"""Sentences on which two layers agree most, and least, behind a cell."""


COVARIANCE_SENTENCES = 300
"""Built-in sentences of each language from which covariances are estimated."""
ERASERS = {"mean-removal": "MeanRemoval", "leace": "LEACE", "lsar": "LSAR", "inlp": "INLP"}


def _nothing() -> None:
    """Nobody stops waiting."""


@dataclass(frozen=True)
class _Passage:
    """A sentence after one pass through all layers."""

    batch: Batch
    states: tuple[torch.Tensor, ...]
    positions: slice


class ExploredModel:
    """A model that is open in the explorer.

    Args:
        name: What the user named.
        encoder: The encoder.
    """

    def __init__(self, name: str, encoder: EncoderLike) -> None:
        self.name = name
        self.encoder = encoder
        self._passage = lru_cache(maxsize=KEPT_TEXTS)(self._run)
        self._vectors = lru_cache(maxsize=8)(self._extract)
        self._set = lru_cache(maxsize=8)(self._builtin)
        self._judge = lru_cache(maxsize=KEPT_TEXTS)(self._make_judge)
        self._shift = lru_cache(maxsize=256)(self._make_shift)
        self._eraser = lru_cache(maxsize=64)(self._fit_eraser)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages that the views offer: those with stored means, else the built-in ones that the encoder knows.

        Raises:
            ConfigError: There are none.
        """
        from isoglot.compare.parallel_sentences import builtin_languages_of

        codes = self._stored.languages if self._stored else tuple(builtin_languages_of(self.encoder))
        if not codes:
            raise ConfigError(
                f"{self.name} knows none of the built-in languages", "name another model", "built-in-language"
            )
        return codes

    @cached_property
    def _stored(self) -> LanguageMeans | None:
        """Means that are stored with the model."""
        from isoglot.steer.language_files import own_known

        own = own_known(self.name)
        return None if own is None else own[0]

    @cached_property
    def known(self) -> KnownLanguages:
        """Means and token sets of the languages: stored with the model, or estimated from built-in text."""
        from isoglot.steer.language_files import languages_known

        return languages_known(self.encoder, None, self.languages, model=self.name)

    @cached_property
    def covariances(self) -> LanguageMeans:
        """Means with covariances, for transport and erasers; from built-in text where the stored ones have none."""
        from isoglot.steer.language_files import languages_known

        means = self.known.means
        if all(moments.covariances_LDD is not None for moments in means.moments.values()):
            return means
        return languages_known(
            self.encoder, None, self.languages, model=self.name, learn_from=COVARIANCE_SENTENCES
        ).means

    @cached_property
    def _masks(self) -> dict[str, np.ndarray]:
        """Tokens of each language."""
        sets = self.known.sets
        return {code: sets.mask(code) for code in self.languages if code in sets.languages}

    def about(self) -> dict[str, Any]:
        """Describe the model to the page."""
        encoder = self.encoder
        choices = self._stored.choices if self._stored and encoder.has_head else {}
        return {
            "name": self.name,
            "layers": encoder.depth,
            "hidden_size": encoder.hidden_size,
            "vocabulary": len(encoder.vocabulary),
            "languages": list(self.languages),
            "has_head": encoder.has_head,
            "choices": {pair: {"layer": choice.layer, "alpha": choice.alpha} for pair, choice in choices.items()},
            "umap": find_spec("umap") is not None,
        }

    # --- a sentence ---

    def turn(self, request: TurnRequest, check: Check = _nothing) -> dict[str, Any]:
        """Shift a sentence towards one or two languages, or erase its own, and decode every position.

        Raises:
            ConfigError: A language or the layer is not known, or the model has no language modeling head.
        """
        encoder, source = self.encoder, self._language(request.source)
        targets = [(self._language(target.language), target.alpha) for target in request.targets]
        layer = self._default_layer(source, targets) if request.layer is None else request.layer
        self._check_layer(layer)
        passage = self._passage(request.text, source)
        check()
        change = self._change(request, source, targets, layer)
        decoder = targets[0][0] if targets else source
        with torch.inference_mode():
            hidden_BTD = passage.states[layer]
            if change is not None:
                hidden_BTD = change(hidden_BTD, passage.batch.ids_BT)
            last_BTD = encoder.run_from(layer, hidden_BTD, passage.batch, decoder)
            check()
            logits_TV = self._barred(encoder.logits(last_BTD[0, passage.positions], decoder))
        given_T = passage.batch.ids_BT[0, passage.positions].cpu().numpy()
        made_T, tokens = self._tokens(given_T, logits_TV)
        if targets and targets[0][0] != source:
            verdicts = self._verdicts(request.text, source, targets[0][0], made_T)
            tokens = [{**token, "right": right} for token, right in zip(tokens, verdicts, strict=True)]
        return {
            "layer": layer,
            "input": encoder.vocabulary.decode(given_T),
            "output": encoder.vocabulary.decode(made_T),
            "tokens": tokens,
            "command": self._turn_command(request, source, targets, layer),
        }

    def lens(self, request: LensRequest, check: Check = _nothing) -> dict[str, Any]:
        """Decode the hidden states of every layer with the language modeling head (logit lens).

        Raises:
            ConfigError: The language is not known, or the model has no language modeling head.
        """
        source = self._language(request.source)
        passage = self._passage(request.text, source)
        given_T = passage.batch.ids_BT[0, passage.positions].cpu().numpy()
        layers = []
        for number, states_BTD in enumerate(passage.states):
            check()
            with torch.inference_mode():
                logits_TV = self._barred(self.encoder.lens_logits(states_BTD[0, passage.positions], number, source))
            layers.append(self._tokens(given_T, logits_TV)[1])
        decode = self.encoder.vocabulary.decode
        return {"given": [decode([index]) for index in given_T], "layers": layers}

    def _run(self, text: str, source: str) -> _Passage:
        """Run a sentence through all layers; recent ones are kept, so that a slider costs only the layers above it."""
        from isoglot.model.protocol import batch_of_ids, first_places
        from isoglot.represent.layer_pass import evaluation_mode, row_length
        from isoglot.represent.sentences import RowMaker

        encoder, length = self.encoder, row_length(self.encoder, None)
        (ids,) = RowMaker(encoder.vocabulary, source, "text", length).rows([" ".join(text.split())]).ids
        batch = batch_of_ids(encoder.vocabulary, [ids], length=length).to(encoder.device)
        first = int(first_places(encoder.vocabulary, np.array([len(ids)]), batch.ids_BT.shape[1])[0])
        with evaluation_mode(encoder), torch.inference_mode():
            states = tuple(encoder.layers(batch, source))
        return _Passage(batch, states, slice(first, first + len(ids)))

    def _change(
        self, request: TurnRequest, source: str, targets: Sequence[tuple[str, float]], layer: int
    ) -> Change | None:
        """Return what happens to the hidden states; None without a shift."""
        if request.method in ERASERS:
            return self._eraser(request.method, layer, source)
        kind: Any = request.method
        shifts = [
            self._shift(source, target, layer, kind).with_alpha(alpha)
            for target, alpha in targets
            if target != source and alpha
        ]
        if not shifts:
            return None

        def change(hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
            # Each from the unshifted states, so that the order of two targets makes no difference.
            return hidden_BTD + sum(shift(hidden_BTD, ids_BT) - hidden_BTD for shift in shifts)

        return change

    def _make_shift(self, source: str, target: str, layer: int, kind: Kind) -> Shift:
        from isoglot.steer import ShiftOptions, make_shift

        means = self.covariances if kind == "transport" else self.known.means
        return make_shift(self.encoder, means, source, target, layer, options=ShiftOptions(kind=kind))

    def _fit_eraser(self, name: str, layer: int, source: str) -> Change:
        from isoglot import steer

        eraser: type[Eraser] = getattr(steer, ERASERS[name])
        return eraser.from_means(self.covariances, layer).change(source)

    def _tokens(self, given_T: np.ndarray, logits_TV: torch.Tensor) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Return the best id of every position, and its candidates with probabilities and languages."""
        best = logits_TV.float().softmax(dim=-1).topk(CANDIDATES, dim=-1)
        chances_TK, ids_TK = best.values.cpu().numpy(), best.indices.cpu().numpy()
        vocabulary, masks = self.encoder.vocabulary, self._masks

        def shown(index: int) -> dict[str, Any]:
            whose = [code for code, mask_V in masks.items() if mask_V[index]]
            return {"text": vocabulary.decode([index]), "languages": whose}

        tokens = [
            {
                "given": vocabulary.decode([index]),
                "begins": bool(vocabulary.starts[ids_K[0]]),
                "candidates": [
                    {**shown(int(each)), "probability": round(float(chance), 4)}
                    for each, chance in zip(ids_K, chances_K, strict=True)
                ],
            }
            for index, ids_K, chances_K in zip(given_T, ids_TK, chances_TK, strict=True)
        ]
        return ids_TK[:, 0], tokens

    def _barred(self, logits_TV: torch.Tensor) -> torch.Tensor:
        """Return logits without special tokens."""
        special = torch.tensor(sorted(self.encoder.vocabulary.special.values()), device=logits_TV.device)
        return logits_TV.index_fill(1, special, -torch.inf)

    def _verdicts(self, text: str, source: str, target: str, made_T: np.ndarray) -> list[bool | None]:
        """Say for every position whether the built-in dictionary has the pair; None where it has no such word."""
        judge = self._judge(text, source, target)
        if judge is None:
            return [None] * len(made_T)
        covered_T, right_T, begun_T = judge.verdict([made_T]).T
        return [bool(right) if covered else None for covered, right in zip(covered_T, right_T | begun_T, strict=True)]

    def _make_judge(self, text: str, source: str, target: str) -> Judge | None:
        from isoglot.languages.builtin import builtin_dictionary
        from isoglot.steer.scores import Judge

        passage = self._passage(text, source)
        given_T = passage.batch.ids_BT[0, passage.positions].cpu().numpy()
        try:
            entries = builtin_dictionary(source, target, seed=0)
        except ConfigError:  # these two languages have none
            return None
        return Judge(self.encoder.vocabulary, [given_T], entries, target)

    def _default_layer(self, source: str, targets: Sequence[tuple[str, float]]) -> int:
        choice = self.known.means.choice(source, targets[0][0]) if targets and targets[0][0] != source else None
        return max(0, self.encoder.depth - 1) if choice is None else choice.layer

    def _turn_command(
        self, request: TurnRequest, source: str, targets: Sequence[tuple[str, float]], layer: int
    ) -> str | None:
        """Return the command that computes the same; None where there is none: erasers, two targets, no target."""
        if len(targets) != 1 or request.method not in ("mean", "norm-matched", "transport"):
            return None
        ((target, alpha),) = targets
        words = ["isoglot", "steer", "translate", "--from", source, "--to", target]
        words += ["--alpha", f"{alpha:g}", "--layer", str(layer), "--model", self.name]
        words += ["--kind", request.method] if request.method != "mean" else []
        return shlex.join([*words, "--", request.text])

    # --- many sentences ---

    def space(self, request: SpaceRequest, check: Check = _nothing) -> dict[str, Any]:
        """Project parallel sentences in every layer, with their nearest neighbors in the other languages.

        The user's own sentences are there in the languages that are shown.

        Raises:
            ConfigError: A language is not built in, or fewer than two are left.
            MissingPartError: umap is not installed.
        """
        codes = tuple(self._language(code) for code in request.languages) or self.languages
        texts = self._set(codes, request.sentences)
        vectors = {}
        for code in codes:
            check()
            vectors[code] = self._vectors(texts[code], code)
        own = [(code, each.text) for each in request.own if (code := self._language(each.language)) in codes]
        added = [self._vectors((text,), code) for code, text in own]
        layers: list[dict[str, Any]] = []
        before: np.ndarray | None = None
        for layer in range(self.encoder.depth + 1):
            check()
            rows = {code: vectors[code][layer] for code in codes}
            seen = in_space(rows, request.space)
            extra = [seen.take(code, rows_LD[layer]) for (code, _), rows_LD in zip(own, added, strict=True)]
            before = projected(np.concatenate([*seen.rows.values(), *extra]), request.projection, before)
            found = {f"{one}-{other}": seen.nearest(one, other) for one, other in permutations(codes, 2)}
            among = {code: seen.take(code, rows[code]) for code in codes} if own else {}
            layers.append(
                {
                    "points": np.round(before, 4).tolist(),
                    "neighbors": {pair: rows_N.tolist() for pair, rows_N in found.items()},
                    "precision": {
                        pair: round(float((rows_N == np.arange(len(rows_N))).mean()), 4)
                        for pair, rows_N in found.items()
                    },
                    "own": [
                        {code: int(nearest_rows(row_1D, rows_ND)[0]) for code, rows_ND in among.items()}
                        for row_1D in extra
                    ],
                }
            )
        return {
            "languages": list(codes),
            "texts": {code: list(texts[code]) for code in codes},
            "own": [{"language": code, "text": text} for code, text in own],
            "layers": layers,
            "command": self._space_command(request, codes),
        }

    def _space_command(self, request: SpaceRequest, codes: Sequence[str]) -> str | None:
        """Return the command that scores the same sentences, the first language with each other; None if mapped."""
        if request.space == "mapped":
            return None
        center = "mean" if request.space == "centered" else "none"
        words = ["isoglot", "retrieve", "sentences", self.name, "--langs", ",".join(codes)]
        words += ["--sentences", str(request.sentences), "--layers", "all", "--method", "cosine", "--center", center]
        return shlex.join(words)

    def vectors(self, texts: tuple[str, ...], language: str) -> dict[int, np.ndarray]:
        """Return the vectors of sentences in every layer."""
        return self._vectors(texts, language)

    def _builtin(self, codes: tuple[str, ...], sentences: int) -> dict[str, tuple[str, ...]]:
        from isoglot.compare.parallel_sentences import builtin_set

        return {code: tuple(texts) for code, texts in builtin_set(codes, sentences).sentences.items()}

    def _extract(self, texts: tuple[str, ...], language: str) -> dict[int, np.ndarray]:
        from isoglot.represent.extraction import extract

        found = extract(self.encoder, list(texts), language=language, pool="mean")
        return {layer: np.asarray(found[layer]) for layer in range(self.encoder.depth + 1)}

    def _language(self, code: str) -> str:
        found = language_code(code)
        if found not in self.languages:
            raise ConfigError(
                f"{self.name} has no language {found}", f"choose among {', '.join(self.languages)}", "unknown-language"
            )
        return found

    def _check_layer(self, layer: int) -> None:
        if layer > self.encoder.depth:
            raise ConfigError(f"there is no layer {layer}", f"layers go up to {self.encoder.depth}", "unknown-layer")


def compare(
    one: ExploredModel, other: ExploredModel, request: CompareRequest, check: Check = _nothing
) -> dict[str, Any]:
    """Compare every layer of one model with every layer of another by debiased CKA, on the same sentences.

    Without languages, two models read the first language; one model reads its first two.
    """
    from isoglot.compare.measures.cka import cka

    sides = _sides(one, other, request, check)
    grid = []
    for layer in range(one.encoder.depth + 1):
        check()
        rows_ND = sides[0].layers[layer]
        grid.append([round(cka(rows_ND, other_ND, debiased=True), 4) for other_ND in sides[1].layers.values()])
    languages = [side.language for side in sides]
    return {
        "grid": grid,
        "languages": languages,
        "models": [one.name, other.name],
        "sentences": request.sentences,
        "command": _compare_command(one, other, languages, request.sentences),
    }


def _compare_command(one: ExploredModel, other: ExploredModel, languages: Sequence[str], sentences: int) -> str | None:
    """Return the command that computes the same; None where both sides read the same sentences."""
    if languages[0] == languages[1]:
        return None
    words = ["isoglot", "compare", "models", one.name, *([] if one is other else [other.name])]
    words += ["--langs", ",".join(languages), "--sentences", str(sentences), "--measure", "debiased-cka"]
    return shlex.join(words)


def behind_cell(
    one: ExploredModel, other: ExploredModel, request: CellRequest, check: Check = _nothing
) -> dict[str, Any]:
    """Return the sentences on which two layers agree most, and least.

    For each sentence: the correlation of its similarities to all others in one layer with those in the other layer.

    Raises:
        ConfigError: A layer does not exist.
    """
    one._check_layer(request.layer)
    other._check_layer(request.other_layer)
    first, second = _sides(one, other, request, check)
    agreement_N = agreements(first.layers[request.layer], second.layers[request.other_layer])

    def rows(chosen: np.ndarray) -> list[dict[str, Any]]:
        return [
            {"texts": [first.texts[row], second.texts[row]], "agreement": round(float(agreement_N[row]), 3)}
            for row in chosen
        ]

    most, least = extremes(agreement_N)
    return {"most": rows(most), "least": rows(least)}


def all_cells(one: ExploredModel, other: ExploredModel, request: CompareRequest) -> dict[str, Any]:
    """Return what is behind every cell as rows of the sentences, for a page without a server."""
    first, second = _sides(one, other, request, _nothing)

    def cell(X_ND: np.ndarray, Y_ND: np.ndarray) -> list[list[list[float]]]:
        agreement_N = agreements(X_ND, Y_ND)
        return [[[int(row), round(float(agreement_N[row]), 3)] for row in chosen] for chosen in extremes(agreement_N)]

    return {
        "texts": [list(first.texts), list(second.texts)],
        "cells": [[cell(X_ND, Y_ND) for Y_ND in second.layers.values()] for X_ND in first.layers.values()],
    }


def agreements(X_ND: np.ndarray, Y_ND: np.ndarray) -> np.ndarray:
    """Return for each row the correlation of its similarities to all other rows of X with those to the rows of Y."""
    grams = []
    for rows_ND in (X_ND, Y_ND):
        centered_ND = rows_ND - rows_ND.mean(axis=0)
        gram_NN = centered_ND @ centered_ND.T
        np.fill_diagonal(gram_NN, 0.0)
        gram_NN -= gram_NN.sum(axis=1, keepdims=True) / (len(gram_NN) - 1)
        np.fill_diagonal(gram_NN, 0.0)
        grams.append(gram_NN)
    norms_N = np.sqrt((grams[0] ** 2).sum(axis=1) * (grams[1] ** 2).sum(axis=1))
    found: np.ndarray = (grams[0] * grams[1]).sum(axis=1) / np.maximum(norms_N, np.finfo(float).tiny)
    return found


def extremes(agreement_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that agree most, and least."""
    order_N = np.argsort(-agreement_N, kind="stable")
    return order_N[:EXTREMES], order_N[::-1][:EXTREMES]


@dataclass(frozen=True)
class _Side:
    """One side of a comparison: a language, its sentences and their vectors in every layer."""

    language: str
    texts: tuple[str, ...]
    layers: dict[int, np.ndarray]


def _sides(one: ExploredModel, other: ExploredModel, request: CompareRequest, check: Check) -> list[_Side]:
    first = one._language(request.language or one.languages[0])
    second = request.other_language
    if second is None:
        alone = one is other and len(one.languages) > 1
        second = next(code for code in one.languages if code != first) if alone else first
    codes = first, other._language(second)
    sides = []
    for model, code, texts in zip((one, other), codes, _sentences(codes, request.sentences), strict=True):
        check()
        sides.append(_Side(code, texts, model.vectors(texts, code)))
    return sides


@lru_cache(maxsize=8)
def _sentences(codes: tuple[str, str], count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return built-in sentences of two languages that say the same; for one language, the same on both sides.

    They are those of ``isoglot compare models``. The first side is the same for every second language.
    """
    from isoglot.languages.builtin import builtin_pairs

    first, second = codes
    if first == second:
        second = next(code for code in ("en", "de") if code != first.partition("-")[0])
    pairs = builtin_pairs((first, second), count)
    texts = tuple(pair[0] for pair in pairs)
    return texts, texts if codes[0] == codes[1] else tuple(pair[1] for pair in pairs)


# --- rows in a space ---


@dataclass(frozen=True)
class InSpace:
    """Rows of every language in a space.

    Attributes:
        folds: Queries of a fold, and all rows as what the other folds say about the space takes them there.
        take: Takes further rows of a language there, by what all rows say.
    """

    folds: list[tuple[np.ndarray, dict[str, np.ndarray]]]
    take: Callable[[str, np.ndarray], np.ndarray]

    @property
    def rows(self) -> dict[str, np.ndarray]:
        """Every row by what the rows outside of its fold say."""
        found = {code: np.empty_like(rows_ND) for code, rows_ND in self.folds[0][1].items()}
        for chosen_N, changed in self.folds:
            for code, rows_ND in changed.items():
                found[code][chosen_N] = rows_ND[chosen_N]
        return found

    def nearest(self, one: str, other: str) -> np.ndarray:
        """The nearest row of one language to every row of another; both are taken there by the query's fold."""
        found_N = np.empty(len(self.folds[0][0]), dtype=int)
        for chosen_N, changed in self.folds:
            found_N[chosen_N] = nearest_rows(changed[one][chosen_N], changed[other])
        return found_N


def in_space(rows: dict[str, np.ndarray], space: Space) -> InSpace:
    """Take rows to a space, whose means and maps come for the rows of each fold from those outside of it.

    The folds are those of ``isoglot retrieve sentences``.
    """
    first = next(iter(rows))
    count = len(rows[first])
    if space == "raw":
        return InSpace([(np.ones(count, dtype=bool), rows)], lambda _, more_ND: more_ND)

    def learned(code: str, chosen_N: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        mean_D = rows[code][chosen_N].mean(axis=0)
        if space == "centered" or code == first:
            return lambda more_ND: more_ND - mean_D
        rotation_DD = rotation_between(
            rows[code][chosen_N] - mean_D, rows[first][chosen_N] - rows[first][chosen_N].mean(axis=0)
        )
        return lambda more_ND: (more_ND - mean_D) @ rotation_DD

    same = Gold.from_pairs([(row, row) for row in range(count)])
    fold_N, _ = fold_numbers(same, count, count, FOLDS, seed=0)
    parts = [fold_N == fold for fold in range(int(fold_N.max()) + 1)]
    folds = [(part_N, {code: learned(code, ~part_N)(rows_ND) for code, rows_ND in rows.items()}) for part_N in parts]
    everything_N = np.ones(count, dtype=bool)
    return InSpace(folds, lambda code, more_ND: learned(code, everything_N)(more_ND))


def rotation_between(X_ND: np.ndarray, Y_ND: np.ndarray) -> np.ndarray:
    """Return the part of the orthogonal Procrustes map (D × D) that fewer pairs than dimensions determine.

    What no row of X has is mapped to zero: :class:`isoglot.align.Procrustes` would map it anywhere. It takes a singular
    value decomposition of N × N instead of D × D.
    """
    (QX_DN, RX_NN), (QY_DN, RY_NN) = (np.linalg.qr(rows_ND.T.astype(np.float64)) for rows_ND in (X_ND, Y_ND))
    left_NN, S_N, right_NN = np.linalg.svd(RX_NN @ RY_NN.T)
    kept_N = np.greater(S_N, 1e-10 * S_N[0])
    rotation_DD: np.ndarray = (QX_DN @ left_NN[:, kept_N]) @ (QY_DN @ right_NN[kept_N].T).T
    return rotation_DD


def nearest_rows(X_ND: np.ndarray, Y_MD: np.ndarray) -> np.ndarray:
    """Return the row of Y with the highest cosine for every row of X."""
    X_ND, Y_MD = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) for rows in (X_ND, Y_MD))
    found: np.ndarray = (X_ND @ Y_MD.T).argmax(axis=1)
    return found


def projected(rows_ND: np.ndarray, projection: Projection, before_N2: np.ndarray | None) -> np.ndarray:
    """Project rows to two dimensions, scaled to unit variance and turned to match the projection of the layer before.

    Raises:
        MissingPartError: umap is not installed.
    """
    centered_ND = rows_ND - rows_ND.mean(axis=0)
    if projection == "umap":
        if find_spec("umap") is None:
            raise MissingPartError("umap is not installed", "pip install umap-learn")
        found_N2 = import_module("umap").UMAP(random_state=0, n_jobs=1).fit_transform(centered_ND)
    else:
        U_NK, S_K, _ = np.linalg.svd(centered_ND.astype(np.float64), full_matrices=False)
        found_N2 = U_NK[:, :2] * S_K[:2]
    found_N2 = np.asarray(found_N2) - found_N2.mean(axis=0)
    found_N2 = found_N2 / max(float(np.sqrt((found_N2**2).sum(axis=1).mean())), 1e-12)
    if before_N2 is None:
        return np.asarray(found_N2)
    left, _, right = np.linalg.svd(found_N2.T @ before_N2)
    return np.asarray(found_N2 @ left @ right)
