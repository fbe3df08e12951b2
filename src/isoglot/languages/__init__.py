"""Five built-in artificial corpora in English, French, German, Russian and Chinese, about one shared world.

Everything has gold annotation: trees, named entities, word alignment, inference labels. Nothing is downloaded.

>>> from itertools import islice
>>> from isoglot.languages import parallel
>>> english, german = next(parallel(["en", "de"], seed=7))
>>> english.language, german.language
('en', 'de')
"""

from isoglot.languages.concepts import world
from isoglot.languages.corpus import LANGUAGES, dictionary, documents, grammar, parallel, paraphrases
from isoglot.languages.entailment import inference
from isoglot.languages.sentence import Sentence, align
from isoglot.languages.twins import twin, twin_code

__all__ = [
    "LANGUAGES",
    "Sentence",
    "align",
    "dictionary",
    "documents",
    "grammar",
    "inference",
    "parallel",
    "paraphrases",
    "twin",
    "twin_code",
    "world",
]
