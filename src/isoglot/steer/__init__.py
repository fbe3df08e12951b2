"""Language as a direction in hidden states: language means, shifts between languages, erasers, token translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.steer.bleu import Bleu as Bleu
    from isoglot.steer.bleu import bleu_1 as bleu_1
    from isoglot.steer.erasers.eraser import Eraser as Eraser
    from isoglot.steer.erasers.methods import INLP as INLP
    from isoglot.steer.erasers.methods import LEACE as LEACE
    from isoglot.steer.erasers.methods import LIR as LIR
    from isoglot.steer.erasers.methods import LSAR as LSAR
    from isoglot.steer.erasers.methods import MeanRemoval as MeanRemoval
    from isoglot.steer.erasers.trade_off import TradeOff as TradeOff
    from isoglot.steer.erasers.trade_off import trade_offs as trade_offs
    from isoglot.steer.language_files import bundled_means as bundled_means
    from isoglot.steer.masked_decoding import MaskedLanguages as MaskedLanguages
    from isoglot.steer.masked_decoding import masked_languages as masked_languages
    from isoglot.steer.means import LanguageMeans as LanguageMeans
    from isoglot.steer.scores import Scores as Scores
    from isoglot.steer.scores import convert_rate as convert_rate
    from isoglot.steer.scores import score_translation as score_translation
    from isoglot.steer.shift_choice import ChosenAlpha as ChosenAlpha
    from isoglot.steer.shift_choice import ShiftChoice as ShiftChoice
    from isoglot.steer.shift_choice import alpha_by_dev as alpha_by_dev
    from isoglot.steer.shift_choice import alpha_by_means as alpha_by_means
    from isoglot.steer.shift_choice import choose_shift as choose_shift
    from isoglot.steer.shifted_decoding import TranslationOptions as TranslationOptions
    from isoglot.steer.shifted_decoding import TranslationProtocol as TranslationProtocol
    from isoglot.steer.shifts import Shift as Shift
    from isoglot.steer.shifts import ShiftOptions as ShiftOptions
    from isoglot.steer.shifts import make_shift as make_shift
    from isoglot.steer.shifts import shift as shift
    from isoglot.steer.sweep import Sweep as Sweep
    from isoglot.steer.sweep import sweep_shifts as sweep_shifts
    from isoglot.steer.token_sets import TokenSets as TokenSets
    from isoglot.steer.token_translation import Translation as Translation
    from isoglot.steer.token_translation import translate as translate
    from isoglot.steer.token_translation import translate_tokens as translate_tokens

__getattr__, __dir__, __all__ = lazy_exports(__name__)
