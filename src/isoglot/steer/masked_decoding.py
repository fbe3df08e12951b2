"""Language of predicted masked tokens, with and without a shift (claim L8).

One token of each sentence is masked, and the language of the best prediction is recorded. A token of the sentence's own
language counts as own even if other languages have it. With a shift, the layers above it and the head run as the target
language, as in token translation.

Shapes: ``N`` sentences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.model.protocol import Batch, EncoderLike, batch_of_ids, first_places
from isoglot.represent.layer_pass import batch_budget, chosen_layers, evaluation_mode, row_length
from isoglot.represent.sentences import RowMaker, Sentences, read_sentences
from isoglot.steer.shifted_decoding import best_tokens
from isoglot.steer.shifts import Shift, make_shift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.token_sets import TokenSets


@dataclass(frozen=True, kw_only=True)
class MaskedLanguages:
    """Shares of masked tokens by the language of the prediction.

    ``own``, ``other`` and ``neither`` add up to 1. ``languages`` has the share of each other language; a token of
    several languages counts for each, so these may add up to more than ``other``.
    """

    language: str
    """language of the sentences"""
    target: str | None
    """language they were shifted to; None without a shift"""
    alpha: float
    """strength of the shift"""
    layer: int | None
    """layer of the shift; None without one"""
    masked: int
    """number of masked tokens, one per sentence"""
    right: float
    """share predicted correctly"""
    own: float
    """share of tokens of the sentence's language"""
    other: float
    """share of tokens of other languages only"""
    neither: float
    """share of tokens of no language"""
    languages: dict[str, float]
    """share of each other language"""
    threshold: int
    """frequency threshold of the token sets"""
    other_N: np.ndarray = field(repr=False, compare=False)
    """whether each prediction is of another language"""

    def as_dict(self) -> dict[str, Any]:
        """The shares as a JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "other_N"}


def masked_languages(
    encoder: EncoderLike,
    sentences: Sentences,
    language: str,
    sets: TokenSets,
    *,
    means: LanguageMeans | None = None,
    target: str | None = None,
    alpha: float = 0.0,
    layer: int = -2,
    seed: int = 0,
    progress: Progress = SILENT,
) -> MaskedLanguages:
    """Mask one token of every sentence and record the language of the prediction.

    Args:
        encoder: Any encoder with a language modeling head.
        sentences: Texts of one language, or a file with one per line.
        language: Their language.
        sets: Tokens of each language.
        means: Language means of the encoder; required unless alpha is 0.
        target: The language to shift to; required unless alpha is 0.
        alpha: Length of the shift; negative values move away from the target.
        layer: Layer of the shift.
        seed: Random seed of the masked positions, which are the same for every alpha.
        progress: Reports progress.

    Returns:
        The share of predictions in each language.

    >>> import isoglot
    >>> from isoglot.steer import TokenSets
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> sets = TokenSets.from_vocabulary(encoder.vocabulary)
    >>> found = masked_languages(encoder, ["The house is old.", "We read books."], "en", sets)
    >>> found.masked, round(found.own + found.other + found.neither, 9)
    (2, 1.0)

    Raises:
        ConfigError: There is no mask token, a language has no token set or mean, a layer does not exist, or means or
            target are missing.
        InputError: There is no sentence, or one is empty.
        StorageError: The file cannot be read.
    """
    code = language_code(language)
    vocabulary = encoder.vocabulary
    mask = vocabulary.mask_id  # raises if there is none
    sets.check_vocabulary(vocabulary)
    sets.mask(code)  # raises for languages without tokens
    (number,) = chosen_layers([layer], encoder.depth)
    shift: Shift | None = None
    above = code  # language of the layers above the shift and of the head
    if alpha != 0:
        if means is None or target is None:
            problem = f"a shift with alpha {alpha:g} needs means and a target language"
            raise ConfigError(problem, "give both", "not-supported")
        shift, above = make_shift(encoder, means, code, target, number, alpha=alpha), language_code(target)
    rows = RowMaker(vocabulary, code, "text", row_length(encoder, None)).rows(list(read_sentences(sentences, "text")))
    stream = random_stream(seed, "masked languages")
    at_N = np.array([stream.integers(len(ids)) for ids in rows.ids])
    made_N = np.zeros(len(rows.ids), dtype=np.int64)
    true_N = np.array([ids[at] for ids, at in zip(rows.ids, at_N, strict=True)], dtype=np.int64)
    with (
        evaluation_mode(encoder),
        torch.inference_mode(),
        progress.task(f"masked {code}", total=len(rows.ids), unit="sentences") as task,
    ):
        for group in rows.batches(batch_budget(encoder, None)):
            batch, places = _masked_batch(encoder, [rows.ids[row] for row in group], at_N[group], mask)
            states = encoder.layers(batch, code)
            last_BTD = states[-1]
            if shift is not None:
                last_BTD = encoder.run_from(number, shift(states[number], batch.ids_BT), batch, above)
            found = best_tokens(encoder, last_BTD[torch.arange(len(group)), places], above)
            made_N[group] = found.cpu().numpy()
            task.advance(len(group))
    return MaskedLanguages(
        language=code,
        target=None if target is None else language_code(target),
        alpha=float(alpha),
        layer=None if shift is None else number,
        masked=len(made_N),
        right=float((made_N == true_N).mean()),
        threshold=sets.threshold,
        **_shares(made_N, code, sets),
    )


def _masked_batch(
    encoder: EncoderLike, ids: Sequence[Sequence[int]], at_B: np.ndarray, mask: int
) -> tuple[Batch, torch.Tensor]:
    """A batch with one token of every row masked, on the device; and the positions of the masks (B)."""
    batch = batch_of_ids(encoder.vocabulary, ids, length=row_length(encoder, None))
    sizes_B = np.array([len(row) for row in ids])
    places_B = torch.from_numpy(at_B + first_places(encoder.vocabulary, sizes_B, batch.ids_BT.shape[1]))
    batch.ids_BT[torch.arange(len(ids)), places_B] = mask
    return batch.to(encoder.device), places_B


def _shares(made_N: np.ndarray, code: str, sets: TokenSets) -> dict[str, Any]:
    """Shares of predicted tokens by language, for sentences of one language."""
    own_N = sets.mask(code)[made_N]
    known = {other: sets.mask(other)[made_N] & ~own_N for other in sets.languages if other != code}
    other_N = np.logical_or.reduce(list(known.values())) if known else np.zeros(len(made_N), dtype=bool)
    return {
        "own": float(own_N.mean()),
        "other": float(other_N.mean()),
        "neither": float((~own_N & ~other_N).mean()),
        "languages": {other: float(has_N.mean()) for other, has_N in known.items()},
        "other_N": other_N,
    }
