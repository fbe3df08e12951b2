"""Language as a direction that can be added, removed or swapped: means, shifts, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.alpha import ChosenAlpha, alpha_by_decoding, alpha_by_dev, alpha_by_means
    from isoglot.steer.bleu import Bleu, bleu_1
    from isoglot.steer.choice import ShiftChoice, choose_shift
    from isoglot.steer.eraser import Eraser
    from isoglot.steer.leace import LEACE
    from isoglot.steer.lir import LIR
    from isoglot.steer.lsar import LSAR
    from isoglot.steer.masked import MaskedLanguages, masked_languages
    from isoglot.steer.mean_removal import MeanRemoval
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.protocol import TranslationProtocol
    from isoglot.steer.scores import Scores, convert_rate, score_translation
    from isoglot.steer.shifts import Shift, ShiftOptions, make_shift, shift
    from isoglot.steer.sweep import Sweep, sweep_shifts
    from isoglot.steer.token_sets import TokenSets
    from isoglot.steer.trade_off import TradeOff, trade_offs
    from isoglot.steer.translate import Translation, translate_tokens

_HOMES = {
    "Bleu": "bleu",
    "ChosenAlpha": "alpha",
    "Eraser": "eraser",
    "LEACE": "leace",
    "LIR": "lir",
    "LSAR": "lsar",
    "LanguageMeans": "means",
    "MaskedLanguages": "masked",
    "MeanRemoval": "mean_removal",
    "Scores": "scores",
    "Shift": "shifts",
    "ShiftChoice": "choice",
    "ShiftOptions": "shifts",
    "Sweep": "sweep",
    "TokenSets": "token_sets",
    "TradeOff": "trade_off",
    "Translation": "translate",
    "TranslationProtocol": "protocol",
    "alpha_by_decoding": "alpha",
    "alpha_by_dev": "alpha",
    "alpha_by_means": "alpha",
    "bleu_1": "bleu",
    "choose_shift": "choice",
    "convert_rate": "scores",
    "make_shift": "shifts",
    "masked_languages": "masked",
    "score_translation": "scores",
    "shift": "shifts",
    "sweep_shifts": "sweep",
    "trade_offs": "trade_off",
    "translate_tokens": "translate",
}

__all__ = [
    "LEACE",
    "LIR",
    "LSAR",
    "Bleu",
    "ChosenAlpha",
    "Eraser",
    "LanguageMeans",
    "MaskedLanguages",
    "MeanRemoval",
    "Scores",
    "Shift",
    "ShiftChoice",
    "ShiftOptions",
    "Sweep",
    "TokenSets",
    "TradeOff",
    "Translation",
    "TranslationProtocol",
    "alpha_by_decoding",
    "alpha_by_dev",
    "alpha_by_means",
    "bleu_1",
    "choose_shift",
    "convert_rate",
    "make_shift",
    "masked_languages",
    "score_translation",
    "shift",
    "sweep_shifts",
    "trade_offs",
    "translate_tokens",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
