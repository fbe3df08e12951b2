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
    from isoglot.align.maps.procrustes import Procrustes
    from isoglot.compare.measures.cka import cka
    from isoglot.core.errors import IsoglotError
    from isoglot.diagnose.checkup import diagnose
    from isoglot.model.load import load_encoder
    from isoglot.represent.extraction import extract
    from isoglot.retrieve.layer_scores import score_layers
    from isoglot.steer.language_files import bundled_means
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.token_translation import translate
    from isoglot.vocab.vocabulary import Vocabulary

__version__ = "0.1.0.dev0"

_HOMES = {
    "IsoglotError": "core.errors",
    "LanguageMeans": "steer.means",
    "Procrustes": "align.maps.procrustes",
    "Vocabulary": "vocab.vocabulary",
    "bundled_means": "steer.language_files",
    "cka": "compare.measures.cka",
    "diagnose": "diagnose.checkup",
    "extract": "represent.extraction",
    "load_encoder": "model.load",
    "score_layers": "retrieve.layer_scores",
    "translate": "steer.token_translation",
}

__all__ = [
    "IsoglotError",
    "LanguageMeans",
    "Procrustes",
    "Vocabulary",
    "bundled_means",
    "cka",
    "diagnose",
    "extract",
    "load_encoder",
    "score_layers",
    "translate",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
