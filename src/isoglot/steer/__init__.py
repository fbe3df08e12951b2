"""Language as a direction that can be added, removed or swapped: means, shifts, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.bleu import Bleu, bleu_1
    from isoglot.steer.eraser import Eraser
    from isoglot.steer.leace import LEACE
    from isoglot.steer.lir import LIR
    from isoglot.steer.lsar import LSAR
    from isoglot.steer.mean_removal import MeanRemoval
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.scores import Scores, convert_rate, score_translation
    from isoglot.steer.shifts import Shift, make_shift, shift
    from isoglot.steer.sweep import Sweep, sweep_shifts
    from isoglot.steer.token_sets import TokenSets
    from isoglot.steer.translate import Translation, translate_tokens

_HOMES = {
    "Bleu": "bleu",
    "Eraser": "eraser",
    "LEACE": "leace",
    "LIR": "lir",
    "LSAR": "lsar",
    "LanguageMeans": "means",
    "MeanRemoval": "mean_removal",
    "Scores": "scores",
    "Shift": "shifts",
    "Sweep": "sweep",
    "TokenSets": "token_sets",
    "Translation": "translate",
    "bleu_1": "bleu",
    "convert_rate": "scores",
    "make_shift": "shifts",
    "score_translation": "scores",
    "shift": "shifts",
    "sweep_shifts": "sweep",
    "translate_tokens": "translate",
}

__all__ = [
    "LEACE",
    "LIR",
    "LSAR",
    "Bleu",
    "Eraser",
    "LanguageMeans",
    "MeanRemoval",
    "Scores",
    "Shift",
    "Sweep",
    "TokenSets",
    "Translation",
    "bleu_1",
    "convert_rate",
    "make_shift",
    "score_translation",
    "shift",
    "sweep_shifts",
    "translate_tokens",
]

__getattr__ = lazy_exports(__name__, _HOMES)
