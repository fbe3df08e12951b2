"""Steps that map the words of one monolingual encoder to another's, beside fastText (Wu et al. 2020, Figure 4).

All systems of a step have the same words on both sides: the same pairs to learn from, the same questions, the same
candidates.

Shapes: ``N`` words of a side, ``P`` pairs, ``D`` dimensions.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.study.kinds.step_inputs import open_step_encoder, read_entries, step_languages
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Number, share_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isoglot.align.layer_maps import LayerRows
    from isoglot.model.protocol import EncoderLike
    from isoglot.study.numbers import Coordinate
    from isoglot.study.steps import Work
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.formats.word_vectors import Vectors

FASTTEXT = "fasttext.safetensors"
_KIND = "vectors of words"


def train_fasttext(work: Work) -> list[Number]:
    """Train fastText on the words of a text, in lower case as MUSE's dictionaries are.

    Settings: ``language``; ``config``, the values of :class:`FastTextConfig` that are not the default; ``words``, how
    many get a vector at most; input ``text``.
    """
    from isoglot.core.artifact import save_arrays
    from isoglot.core.config import build_config
    from isoglot.static.config import FastTextConfig
    from isoglot.static.gensim_models import train_on_words

    settings = work.settings
    config = build_config(FastTextConfig, values=dict(settings["config"]))
    sentences = ([word.lower() for word in words] for words in _sentences(work, settings["language"], "text", None))
    vectors = train_on_words(sentences, config, most=settings["words"], progress=work.progress)
    save_arrays(work.folder / FASTTEXT, _KIND, {"words": vectors.words}, {"vectors": vectors.matrix_ND})
    return [Number("fasttext_words", len(vectors), {"language": settings["language"]})]


def map_embeddings(work: Work) -> list[Number]:
    """Map rows of the embedding matrix, of words that are one subword, and fastText's vectors of the same words.

    Settings: ``languages``, two; ``align``, the values of :class:`AlignConfig` that are not the default; inputs
    ``encoder`` and ``other``, ``fasttext.LANG``, ``dictionary.train`` and ``dictionary.test`` (missing: a share of the
    first is held out).
    """
    from isoglot.align.layer_maps import LayerRows

    fasttext = _fasttext(work)
    rows = [
        word_rows(open_step_encoder(work, name), baseline.words, language)
        for name, language, baseline in zip(("encoder", "other"), step_languages(work), fasttext, strict=True)
    ]
    baselines = [some.only(set(one.words)) for some, one in zip(fasttext, rows, strict=True)]
    systems = {
        "encoder": [LayerRows(0, 0, rows[0].matrix_ND, rows[1].matrix_ND)],
        "fasttext": [LayerRows(None, None, baselines[0].matrix_ND, baselines[1].matrix_ND)],
    }
    return _scored(work, [rows[0].words, rows[1].words], systems, "embeddings")


def map_contexts(work: Work) -> list[Number]:
    """Map words averaged over their contexts, in every layer, and fastText's vectors of the same words.

    Settings as :func:`map_embeddings`, and ``sentences``, lines of each text that are read, and ``words`` of each side
    at most, beside the dictionaries'; inputs as there, and ``text.LANG``.
    """
    from isoglot.align.layer_maps import LayerRows
    from isoglot.represent import word_types

    languages, fasttext, settings = step_languages(work), _fasttext(work), work.settings
    entries = [entry for split in ("train", "test") for entry in _entries(work, split) or ()]
    asked = [{(entry.source, entry.target)[side] for entry in entries} for side in (0, 1)]
    types = []
    for side, (name, language) in enumerate(zip(("encoder", "other"), languages, strict=True)):
        words = fasttext[side].words
        types.append(
            word_types(
                open_step_encoder(work, name),
                _sentences(work, language, f"text.{language}", settings["sentences"]),
                [word for row, word in enumerate(words) if row < settings["words"] or word in asked[side]],
                case="lower",
                language=language,
                progress=work.progress,
            )
        )
    met = [list(each.words or ()) for each in types]
    baselines = [some.only(set(own)) for some, own in zip(fasttext, met, strict=True)]
    systems = {
        "encoder": [LayerRows(one, one, types[0][one], types[1][one]) for one in types[0].layers],
        "fasttext": [LayerRows(None, None, baselines[0].matrix_ND, baselines[1].matrix_ND)],
    }
    return _scored(work, met, systems, "contexts")


def word_rows(encoder: EncoderLike, words: Sequence[str], language: str) -> Vectors:
    """The rows of the embedding matrix of words that are one subword, in the order given.

    The words are in lower case, as MUSE's are. Of one that is not one subword so, the row with a capital is taken (a
    German noun, a name), or that in capitals.

    Raises:
        InputError: None of them is one subword.
    """
    import numpy as np

    from isoglot.represent import embedding_rows
    from isoglot.text.formats.word_vectors import Vectors

    found: dict[str, np.ndarray] = {}
    for spelled in (str, str.capitalize, str.upper):
        left = {spelled(word): word for word in words if word not in found}
        with suppress(InputError) if found else nullcontext():
            rows = embedding_rows(encoder, list(left), language)
            found |= {left[word]: row for word, row in zip(rows.words, rows.vectors_ND, strict=True)}
    kept = [word for word in words if word in found]
    return Vectors(kept, np.stack([found[word] for word in kept])).with_direction()


# --- inputs ---


def _fasttext(work: Work) -> list[Vectors]:
    from isoglot.core.artifact import load_arrays
    from isoglot.text.formats.word_vectors import Vectors

    found = []
    for language in step_languages(work):
        path = work.inputs[f"fasttext.{language}"] / FASTTEXT
        facts, arrays = load_arrays(path, _KIND, remedy="run the study again")
        found.append(Vectors(facts["words"], arrays["vectors"]).with_direction())
    return found


def _entries(work: Work, split: str) -> list[Entry] | None:
    path = work.inputs.get(f"dictionary.{split}")
    return None if path is None else read_entries(path)


def _sentences(work: Work, language: str, name: str, count: int | None) -> list[list[str]]:
    """The first lines of a text as lists of words; kept for the next step of the worker."""
    from itertools import islice

    from isoglot.represent.sentences import SegmentedFile

    path = work.inputs[name] / TEXT

    def read() -> list[list[str]]:
        return [words for _, words in islice(SegmentedFile(path, language).sentences(), count)]

    found: list[list[str]] = work.cached(("segmented", str(path), count), read)
    return found


# --- scores ---


def _scored(
    work: Work, words: Sequence[Sequence[str]], systems: Mapping[str, Sequence[LayerRows]], vectors: str
) -> list[Number]:
    """Fit a map for every layer of every system and look for translations among all words of the target."""
    from hashlib import sha256

    from isoglot.align.by_dictionary import WordSplit
    from isoglot.align.layer_maps import align_layers
    from isoglot.align.maps.config import AlignConfig
    from isoglot.core.config import build_config

    config = build_config(AlignConfig, values={"resamples": 1, **work.settings.get("align", {})})
    split = WordSplit(_entries(work, "train") or [], _entries(work, "test"), config)
    pairs, _ = split.rows(*words)
    language, device = step_languages(work)[1], open_step_encoder(work).device
    counts = {"entries": len(pairs.test_P2), "train_entries": len(pairs.train_P2), "candidates": len(words[1])}
    at: dict[str, Coordinate] = {"vectors": vectors, "language": language}
    numbers = [Number(f"word_{name}", count, at) for name, count in counts.items()]
    for system, rows in systems.items():
        for layer in align_layers(rows, *pairs[:2], config, fitted="all", alike=pairs.alike, device=device):
            scores = layer.after.of(config.retrieval)
            asked = [words[0][row] for row in scores.queries_Q.tolist()]
            items = sha256("\n".join(asked).encode()).hexdigest()[:16]
            here = {**at, "system": system}
            if layer.layer is not None:
                here |= {"layer": layer.layer, "depth": open_step_encoder(work).depth}
            numbers.append(share_number("word_p1", scores.ranks_Q == 1, here, items))
    return numbers
