"""Steps that steer an encoder from one language to another: means, the grid of layers and alphas, masked tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoglot.study.kinds.step_inputs import open_step_encoder, sentence_pairs
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Coordinate, Number, ratio_number, resampled_sums, share_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.steer import LanguageMeans, Sweep, TokenSets
    from isoglot.study.steps import Work

MEANS, SETS, EXAMPLES = "means.safetensors", "token_sets.json", "examples.json"
_EXAMPLES = 5
_LATE = 10 / 12  # relative depth of the layer that Table 1 of the paper shows examples of


def learn_means(work: Work) -> list[Number]:
    """Learn the mean of each language in every layer, and which tokens its text has.

    Settings: ``sentences``, the lines of each text that means are learned from; ``token_sentences``, those that tokens
    are counted in; inputs ``encoder`` and ``text.LANG``.
    """
    from isoglot.steer import LanguageMeans, TokenSets
    from isoglot.study.kinds.text import first_lines

    encoder = open_step_encoder(work)
    texts = {code: first_lines(path / TEXT, work.settings["sentences"]) for code, path in work.named("text")}
    means = LanguageMeans.fit(encoder, texts, progress=work.progress)
    means.without_covariances().save(work.folder / MEANS)
    counts: dict[str, np.ndarray] = {}
    for code, path in work.named("text"):  # one by one, to have one text in memory
        lines = first_lines(path / TEXT, work.settings["token_sentences"])
        counts |= TokenSets.from_text(encoder.vocabulary, {code: lines}, progress=work.progress).counts
    sets = TokenSets.from_counts(encoder.vocabulary, counts)
    sets.save(work.folder / SETS)
    return [
        Number("token_set_threshold", sets.threshold),
        *(Number("token_set_text_tokens", count, {"language": code}) for code, count in sets.text_tokens.items()),
        *(Number("token_set_size", size, {"language": code}) for code, size in sets.sizes.items()),
        *(
            Number("token_set_shared", count, {"source": one, "target": other})
            for (one, other), count in sets.overlaps().items()
        ),
    ]


def open_means(work: Work) -> tuple[LanguageMeans, TokenSets]:
    """Language means and token sets of the input ``means``."""
    from isoglot.steer import LanguageMeans, TokenSets

    folder = work.inputs["means"]
    return LanguageMeans.load(folder / MEANS), TokenSets.load(folder / SETS)


def sweep(work: Work) -> list[Number]:
    """Shift sentences from one language to another at every layer by every alpha, and score what is decoded.

    Settings: ``languages``, source and target; ``alphas``; ``count``, sentences; ``builtin`` for built-in sentences;
    inputs ``encoder``, ``means`` and ``pairs``, whose other side is the reference of BLEU-1. BLEU-1 is measured for
    alphas above 0, for the unchanged source, and for the tokens decoded without a shift.
    """
    from isoglot.steer import sweep_shifts

    encoder = open_step_encoder(work)
    source, target = work.settings["languages"]
    sentences, references, items = sentence_pairs(work, (source, target))
    means, sets = open_means(work)
    swept = sweep_shifts(
        encoder,
        sentences,
        source,
        target,
        means,
        layers=list(range(1, encoder.depth + 1)),
        alphas=[0.0, *(alpha for alpha in work.settings["alphas"] if alpha)],
        sets=sets,
        references=references,
        progress=work.progress,
    )
    at: dict[str, Coordinate] = {"source": source, "target": target}
    unchanged = next(iter(swept.translations.values())).sources
    numbers = [_bleu(unchanged, references, target, "bleu1_source", at, items)]
    decoded = swept.translations[next(cell for cell in swept.translations if cell.alpha == 0)].texts
    numbers.append(_bleu(decoded, references, target, "bleu1_unshifted", at, items))
    for layer, alpha in swept.scores:
        here = {**at, "layer": layer, "depth": encoder.depth, "alpha": alpha}
        numbers += _cell(swept, layer, alpha, here, items)
    (work.folder / EXAMPLES).write_text(
        json.dumps(_examples(swept, encoder.depth), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    return numbers


def _cell(swept: Sweep, layer: int, alpha: float, at: dict[str, Coordinate], items: str) -> list[Number]:
    from isoglot.steer.shifted_decoding import Cell

    found = [ratio_number("outside_share", swept.outside(layer, alpha), at, items)]
    if swept.scores[Cell(layer, alpha)].convert_rate is not None:  # None: both languages have every decoded token
        found.append(ratio_number("convert_rate", swept.converted(layer, alpha), at, items))
    if alpha > 0:
        texts = swept.translations[Cell(layer, alpha)].texts
        found.append(_bleu(texts, swept.references or (), swept.target, "bleu1", at, items))
    return found


def _bleu(
    texts: Sequence[str], references: Sequence[str], language: str, measure: str, at: dict[str, Coordinate], items: str
) -> Number:
    """BLEU-1 by sacrebleu's tokenizer, with its resamples."""
    from isoglot.steer.bleu import bleu_of_parts, bleu_parts

    parts_N3: np.ndarray = bleu_parts(texts, references, language)
    value = float(bleu_of_parts(parts_N3.sum(axis=0, keepdims=True))[0])
    return Number(measure, value, at, tuple(bleu_of_parts(resampled_sums(parts_N3, items)).tolist()), items)


def _examples(swept: Sweep, depth: int) -> dict[str, Any]:
    """A few sentences as they are decoded in a late layer, as Table 1 of the paper shows them."""
    from isoglot.steer.shifted_decoding import Cell

    layer = min(swept.layers, key=lambda one: abs(one / depth - _LATE))
    shown = {alpha: swept.translations[Cell(layer, alpha)] for alpha in swept.alphas}
    first = next(iter(shown.values()))
    return {
        "source": swept.source,
        "target": swept.target,
        "layer": layer,
        "examples": [
            {
                "input": first.sources[row],
                "reference": (swept.references or ())[row],
                "decoded": {f"{alpha:g}": made.texts[row] for alpha, made in shown.items()},
            }
            for row in range(min(_EXAMPLES, len(first)))
        ],
    }


def decode_masked(work: Work) -> list[Number]:
    """Mask one token of each sentence and find the language of the token decoded there, without a shift.

    Settings: ``language``; ``languages``, of the pairs that the sentences come from; ``count``; ``builtin`` for
    built-in sentences; inputs ``encoder``, ``means`` and ``pairs``.
    """
    from isoglot.steer import masked_languages

    encoder, language = open_step_encoder(work), work.settings["language"]
    one, other = work.settings["languages"]
    first, second, items = sentence_pairs(work, (one, other))
    _, sets = open_means(work)
    found = masked_languages(encoder, first if language == one else second, language, sets, progress=work.progress)
    return [share_number("other_language_share", found.other_N, {"source": language, "alpha": 0}, items)]
