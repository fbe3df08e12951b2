"""isoglot: how languages come to share one space inside a language model, and how to measure and improve it.

>>> import isoglot
>>> print(isoglot.translate("The government must protect all citizens.", "en", "de"))
Die Regierung muss Schutz alle Bürger.

The names below are imported when they are first used. Everything else is in the rooms: :mod:`isoglot.align`,
:mod:`isoglot.compare`, :mod:`isoglot.retrieve`, :mod:`isoglot.steer`, :mod:`isoglot.transfer`, :mod:`isoglot.study`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.align.maps.closed_form import Procrustes as Procrustes
    from isoglot.compare.measures.cka import cka as cka
    from isoglot.core.errors import IsoglotError as IsoglotError
    from isoglot.diagnose.checkup import diagnose as diagnose
    from isoglot.model.load import load_encoder as load_encoder
    from isoglot.represent.extraction import extract as extract
    from isoglot.retrieve.layer_scores import score_layers as score_layers
    from isoglot.steer.language_files import bundled_means as bundled_means
    from isoglot.steer.means import LanguageMeans as LanguageMeans
    from isoglot.steer.token_translation import translate as translate
    from isoglot.vocab.vocabulary import Vocabulary as Vocabulary

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_exports(__name__)
