"""Demo of the bundled encoder: English sentences shifted into other languages, and sentence retrieval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.progress import SILENT, Progress
from isoglot.model.load import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.model.protocol import EncoderLike
    from isoglot.retrieve.layer_scores import VectorSet
    from isoglot.steer.token_translation import Translation

SENTENCES = (
    "The European Parliament must protect the rights of all citizens.",
    "The children play with the dog in the street.",
    "We have a new house in the old city.",
)
"""English sentences that are shifted."""
ALPHA = 2.5
TESTED = 150
"""Number of built-in sentences for sentence retrieval."""


@dataclass(frozen=True)
class RealLanguages:
    """Shifted sentences and retrieval scores of an encoder.

    Attributes:
        shifted: Sentences decoded after a shift, by the language they are shifted to.
        found: P@1 of sentence retrieval between English and each language, raw and with means removed.
        tested: Number of sentences of the retrieval.
    """

    shifted: Mapping[str, Translation]
    found: Mapping[str, tuple[float, float]]
    tested: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sentences": next(iter(self.shifted.values())).sources,
            "alpha": ALPHA,
            "shifted": {code: made.texts for code, made in self.shifted.items()},
            "found": {code: {"raw": raw, "centered": centered} for code, (raw, centered) in self.found.items()},
            "tested": self.tested,
        }


def see_real_languages(
    model: str = EMBEDDED,
    *,
    sentences: Sequence[str] = SENTENCES,
    tested: int = TESTED,
    device: str = "auto",
    seed: int = 0,
    progress: Progress = SILENT,
) -> RealLanguages:
    """Shift English sentences into each other language of an encoder, and look for translations of built-in ones.

    Args:
        model: The encoder, with the means of its languages in its folder.
        sentences: What to shift, in its first language.
        tested: How many built-in sentences to look for; 0 for none.
        device: Where it computes.
        seed: Of the built-in sentences.
        progress: Shows sentences done.

    Raises:
        ConfigError: There is no such encoder, or it has no means with it.
    """
    from isoglot.core.errors import ConfigError
    from isoglot.model import load_encoder
    from isoglot.steer.language_files import own_known
    from isoglot.steer.shifted_decoding import Cell
    from isoglot.steer.sweep import sweep_shifts

    encoder = load_encoder(model, device=device)
    known = own_known(model)
    if known is None:
        raise ConfigError(
            f"{model} has no language means", "isoglot export MODEL DIR --format packed --means DIR", "missing-data"
        )
    means, sets = known
    first, *others = means.languages
    layer, shifted, found = encoder.depth, {}, {}
    sides: dict[str, VectorSet] = {}
    for code in others:
        swept = sweep_shifts(
            encoder, sentences, first, code, means, layers=[layer], alphas=[ALPHA], sets=sets, progress=progress
        )
        shifted[code] = swept.translations[Cell(layer, ALPHA)]
        if tested:
            found[code] = _found(encoder, first, code, tested, seed, sides, progress)
    return RealLanguages(shifted, found, tested)


def _found(
    encoder: EncoderLike, first: str, other: str, count: int, seed: int, known: dict[str, VectorSet], progress: Progress
) -> tuple[float, float]:
    """P@1 in the last layer, the mean of both directions: as it is, and with means removed.

    ``known`` keeps what was encoded: the first language's sentences are the same beside every other.
    """
    from isoglot.languages.builtin import builtin_pairs
    from isoglot.retrieve import score_layers
    from isoglot.retrieve.layer_scores import found_both
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.retrieve.sentences import sentence_sides

    one, two = zip(*builtin_pairs((first, other), count, seed=seed), strict=True)
    pairs = ParallelSet(
        name="built-in sentences", sentences={first: list(one), other: list(two)}, numbers=list(range(1, count + 1))
    )
    known.update(sentence_sides(encoder, pairs, layers=[encoder.depth], known=known, progress=progress))
    scores = score_layers(known[first], known[other], methods=("cosine",), resamples=1)
    by_center = {each.center: found_both(each.scores, "cosine") for each in scores.layers}
    return by_center["none"], by_center["mean"]
