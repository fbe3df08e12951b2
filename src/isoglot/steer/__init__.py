"""Language as a direction that can be added, removed or swapped: means, shifts, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.alpha_choice import ChosenAlpha, alpha_by_decoding, alpha_by_dev, alpha_by_means
    from isoglot.steer.bleu import Bleu, bleu_1
    from isoglot.steer.decoding_protocol import TranslationProtocol
    from isoglot.steer.erasers.eraser import Eraser
    from isoglot.steer.erasers.leace import LEACE
    from isoglot.steer.erasers.removal import LIR, LSAR, MeanRemoval
    from isoglot.steer.erasers.trade_off import TradeOff, trade_offs
    from isoglot.steer.language_files import bundled_means
    from isoglot.steer.masked_decoding import MaskedLanguages, masked_languages
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.measured_shifts import ShiftChoice, choose_shift
    from isoglot.steer.scores import Scores, convert_rate, score_translation
    from isoglot.steer.shifts import Shift, ShiftOptions, make_shift, shift
    from isoglot.steer.sweep import Sweep, sweep_shifts
    from isoglot.steer.token_sets import TokenSets
    from isoglot.steer.token_translation import Translation, translate, translate_tokens

_HOMES = {
    "Bleu": "bleu",
    "ChosenAlpha": "alpha_choice",
    "Eraser": "erasers.eraser",
    "LEACE": "erasers.leace",
    "LIR": "erasers.removal",
    "LSAR": "erasers.removal",
    "LanguageMeans": "means",
    "MaskedLanguages": "masked_decoding",
    "MeanRemoval": "erasers.removal",
    "Scores": "scores",
    "Shift": "shifts",
    "ShiftChoice": "measured_shifts",
    "ShiftOptions": "shifts",
    "Sweep": "sweep",
    "TokenSets": "token_sets",
    "TradeOff": "erasers.trade_off",
    "Translation": "token_translation",
    "TranslationProtocol": "decoding_protocol",
    "alpha_by_decoding": "alpha_choice",
    "alpha_by_dev": "alpha_choice",
    "alpha_by_means": "alpha_choice",
    "bleu_1": "bleu",
    "bundled_means": "language_files",
    "choose_shift": "measured_shifts",
    "convert_rate": "scores",
    "make_shift": "shifts",
    "masked_languages": "masked_decoding",
    "score_translation": "scores",
    "shift": "shifts",
    "sweep_shifts": "sweep",
    "trade_offs": "erasers.trade_off",
    "translate": "token_translation",
    "translate_tokens": "token_translation",
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
    "bundled_means",
    "choose_shift",
    "convert_rate",
    "make_shift",
    "masked_languages",
    "score_translation",
    "shift",
    "sweep_shifts",
    "trade_offs",
    "translate",
    "translate_tokens",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
