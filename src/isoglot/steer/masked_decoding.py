"""What language a masked token is decoded in: without a shift almost never another (claim L8), and with any alpha.

One token of each sentence is masked, and the model's best token at that place is asked for its language. A token that
the sentence's own language has counts as its own, whoever else has it. With a shift, the layers above it and the
softmax run as the target, as in token translation.

Shapes: ``N`` sentences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.model.batch import batch_of_ids, first_places
from isoglot.represent.layer_pass import batch_budget, chosen_layers, evaluating, row_length
from isoglot.represent.sentences import read_sentences
from isoglot.represent.token_rows import RowMaker
from isoglot.steer.shifted_pass import best_tokens
from isoglot.steer.shifts import make_shift

if TYPE_CHECKING:
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.sentences import Sentences
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Shift
    from isoglot.steer.token_sets import TokenSets


@dataclass(frozen=True, kw_only=True)
class MaskedLanguages:
    """In which languages masked tokens were decoded; shares of all of them.

    ``own``, ``other`` and ``neither`` add up to 1. ``languages`` has the share that each other language could claim;
    a token that several have counts for each, so they may add up to more than ``other``.
    """

    language: str
    target: str | None
    alpha: float
    layer: int | None
    masked: int
    """how many tokens were masked, one a sentence"""
    right: float
    """the share that is the very token that was masked"""
    own: float
    """the share that the sentence's language has"""
    other: float
    """the share that it does not have and another does"""
    neither: float
    """the share that no language has"""
    languages: dict[str, float]
    threshold: int
    """how often a token must have been met to be one of a language's"""
    other_N: np.ndarray = field(repr=False, compare=False)
    """whether each masked token was decoded in another language"""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the shares alone."""
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
    """Mask one token of every sentence and look at the language of what the model puts there.

    Args:
        encoder: Any encoder with a softmax over pieces.
        sentences: Texts of one language, or a file with one a line.
        language: Their language.
        sets: Which tokens are whose.
        means: What the encoder's languages are; needed with an alpha that is not 0.
        target: The language to shift to, as well.
        alpha: How far to shift; negative goes away from the target.
        layer: Where to shift.
        seed: Chooses the tokens to mask; the same for every alpha, so that what differs is the shift.
        progress: Shows how far it is.

    Raises:
        ConfigError: There is no mask token, a language has no token set or mean, a layer does not exist, or a shift has
            no way to go.
        InputError: There is no sentence, or one is empty.
        StorageError: The file cannot be read.
    """
    code = language_code(language)
    vocabulary = encoder.vocabulary
    mask = vocabulary.mask_id
    sets.check_vocabulary(vocabulary)
    own_V = sets.mask(code)
    (number,) = chosen_layers([layer], encoder.depth)
    shift: Shift | None = None
    above = code  # whose layers and softmax come after the shift
    if alpha != 0:
        if means is None or target is None:
            raise ConfigError(
                f"a shift by {alpha:g} has no way to go",
                remedy="give the means and a target language",
                code="config.not-supported",
            )
        shift, above = make_shift(encoder, means, code, target, number, alpha=alpha), language_code(target)
    size = row_length(encoder, None)
    rows = RowMaker(vocabulary, code, "text", size).rows(list(read_sentences(sentences, "text")))
    chance = random_stream(seed, "masked languages")
    at_N = np.array([chance.integers(len(ids)) for ids in rows.ids])
    made_N = np.zeros(len(rows.ids), dtype=np.int64)
    true_N = np.array([ids[at] for ids, at in zip(rows.ids, at_N, strict=True)], dtype=np.int64)
    with (
        evaluating(encoder),
        torch.inference_mode(),
        progress.task(f"masked {code}", total=len(rows.ids), unit="sentences") as task,
    ):
        for group in rows.batches(batch_budget(encoder, None)):
            batch = batch_of_ids(vocabulary, [rows.ids[row] for row in group], length=size)
            sizes_B = np.array([len(rows.ids[row]) for row in group])
            firsts_B = first_places(vocabulary, sizes_B, batch.ids_BT.shape[1])
            lines, places = torch.arange(len(group)), torch.from_numpy(at_N[group] + firsts_B)
            batch.ids_BT[lines, places] = mask
            batch = batch.to(encoder.device)
            states = encoder.layers(batch, code)
            last_BTD = states[-1]
            if shift is not None:
                last_BTD = encoder.run_from(number, shift(states[number], batch.ids_BT), batch, above)
            found = best_tokens(encoder, last_BTD[lines, places], above)
            made_N[group] = found.cpu().numpy()
            task.advance(len(group))
    known = {other: sets.mask(other)[made_N] & ~own_V[made_N] for other in sets.languages if other != code}
    other_N = np.logical_or.reduce(list(known.values())) if known else np.zeros(len(made_N), dtype=bool)
    own = float(own_V[made_N].mean())
    return MaskedLanguages(
        language=code,
        target=None if target is None else language_code(target),
        alpha=float(alpha),
        layer=None if shift is None else number,
        masked=len(made_N),
        right=float((made_N == true_N).mean()),
        own=own,
        other=float(other_N.mean()),
        neither=float((~own_V[made_N] & ~other_N).mean()),
        languages={other: float(has_N.mean()) for other, has_N in known.items()},
        threshold=sets.threshold,
        other_N=other_N,
    )
