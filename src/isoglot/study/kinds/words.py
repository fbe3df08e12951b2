"""Steps about words: static vectors, vectors of words over their contexts, retrieval by a dictionary, and maps.

The words of one monolingual encoder are mapped to another's, beside fastText (Wu et al. 2020, Figure 4). All systems of
such a step have the same words on both sides: the same pairs to learn from, the same questions, the same candidates.

Shapes: ``W`` words, ``N`` words of a side, ``D`` hidden size, ``P`` right pairs, ``Q`` source words.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError
from isoglot.study.kinds.pretrain import ENCODER
from isoglot.study.kinds.step_inputs import open_step_encoder, read_entries, step_languages
from isoglot.study.kinds.text import SHARDS, TEXT, VOCABULARY, first_lines
from isoglot.study.numbers import Coordinate, Number, items_hash, ratio_number, share_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from isoglot.align.layer_maps import LayerRows
    from isoglot.model.protocol import EncoderLike
    from isoglot.retrieve import Gold
    from isoglot.study.steps import Work
    from isoglot.text.formats.dictionary import Entry
    from isoglot.text.formats.word_vectors import Vectors


VECTORS = "vectors.safetensors"
_KIND = "vectors of words"


def train_static(work: Work) -> list[Number]:
    """Train static vectors on the shards of all languages together.

    Settings: ``method`` (word2vec, glove or fasttext), ``workers`` (threads, where they change the numbers) and
    ``config``, the values of its config that are not the default; inputs ``vocabulary`` and ``shards.LANG``. The
    payload is opened like an encoder's.
    """
    import shutil

    from isoglot.core.config import build_config
    from isoglot.core.run import RECORD
    from isoglot.static.train import IDENTITY, KINDS, train_static
    from isoglot.vocab import Shards, Vocabulary

    config = build_config(KINDS[work.settings["method"]], values=dict(work.settings["config"]))
    run = work.scratch / "run"
    done = train_static(
        config,
        {code: Shards.open(path / SHARDS, check="sizes") for code, path in work.named("shards")},
        Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY),
        run,
        workers=_workers(work),
        resume=(run / IDENTITY).exists(),
        progress=work.progress,
        say=work.say,
    )
    assert done is not None  # noqa: S101 - it is not told to stop
    shutil.move(run, work.folder / ENCODER)  # first, so that an attempt that is killed here leaves a whole run or none
    for name in (RECORD, IDENTITY):  # times and paths are no result
        (work.folder / ENCODER / name).unlink(missing_ok=True)
    passes = 1 if work.settings["method"] == "glove" else config.epochs  # GloVe counts once, and learns from the counts
    tokens = passes * sum(done.facts["tokens"].values())
    return [Number("training_tokens", tokens), Number("known_subwords", done.facts["known"])]


def _workers(work: Work) -> int:
    """Threads of static vectors: one, so that all runs give the same numbers, unless told or where any number does."""
    import torch

    if work.settings.get("method") == "glove":
        return torch.get_num_threads()
    return int(work.settings.get("workers", 1))


def word_vectors(work: Work) -> list[Number]:
    """Average the words of dictionaries over their contexts in a text, in every layer.

    Settings: ``language``; ``sentences``, the most lines of the text that are read; ``contexts``, the most sentences of
    a word; ``length``, the most tokens of an input (longer lines are read in windows); inputs ``encoder``, ``text`` and
    ``dictionary.PAIR``, of which the language's side is read.
    """
    from isoglot.compare.parallel_sentences import language_for
    from isoglot.core.artifact import save_arrays
    from isoglot.represent import word_types

    settings, encoder = work.settings, open_step_encoder(work)
    words = _words(work)
    found = word_types(
        encoder,
        _segmented(work),
        words,
        layers="all",
        case="lower" if all(word == word.lower() for word in words) else "keep",
        contexts=settings.get("contexts"),
        language=language_for(encoder, settings["language"]),
        length=settings.get("length"),
        progress=work.progress,
    )
    met = list(found.words or ())
    facts = {"words": met, "layers": list(found.layers)}
    save_arrays(work.folder / VECTORS, _KIND, facts, {f"layer.{layer}": found[layer] for layer in found.layers})
    at = {"language": settings["language"]}
    return [Number("dictionary_words", len(words), at), Number("dictionary_words_met", len(met), at)]


def _words(work: Work) -> list[str]:
    """The words of a language in all dictionaries, each once."""
    found: dict[str, None] = {}
    for pair, path in work.named("dictionary"):
        side = pair.split("-").index(work.settings["language"])
        found |= dict.fromkeys((entry.source, entry.target)[side] for entry in read_entries(path))
    return list(found)


def _segmented(work: Work) -> list[list[str]]:
    """The first lines of the text as lists of words; kept for the other systems of a worker."""
    from isoglot.text.cleaning.segmentation import split_words, word_method

    language, path = work.settings["language"], work.inputs["text"] / TEXT

    def read() -> list[list[str]]:
        method = word_method(language)
        lines = first_lines(path, work.settings.get("sentences"))
        return [cut for line in lines if (cut := split_words(line, language, method))]

    return work.cached(("words", str(path), work.settings.get("sentences")), read)


def retrieve_words(work: Work) -> list[Number]:
    """Word retrieval in several systems, all on the same dictionary entries and among the same candidates.

    Entries are those both of whose words every system has; candidates are their targets, as Liu et al. (2020) rank.
    The layer of a system with several is chosen on one half of the source words and scored on the other, both ways.

    Settings: ``source``, ``target``; ``systems``, the coordinates of each system by name; inputs ``dictionary``, and
    ``NAME.source`` and ``NAME.target``, word vectors of each system.
    """
    from isoglot.retrieve.dictionaries import match_dictionary

    settings = work.settings
    sides = {name: _sides(work, name) for name in settings["systems"]}
    known = [set.intersection(*(set(found[side][0]) for found in sides.values())) for side in (0, 1)]
    every = read_entries(work.inputs["dictionary"])
    entries = [entry for entry in every if entry.source in known[0] and entry.target in known[1]]
    if not entries:
        problem = f"no entry of {settings['source']}-{settings['target']} has both words in all systems"
        remedy = "give text with more of the dictionary's words"
        raise InputError(problem, remedy, "no-match")
    words = [list(dict.fromkeys(getattr(entry, side) for entry in entries)) for side in ("source", "target")]
    gold, _ = match_dictionary(entries, *words)
    items = items_hash([[words[0][row], words[1][other]] for row, other in gold.pairs_P2.tolist()])
    at: dict[str, Coordinate] = {"language": settings["target"]}
    numbers = [Number("word_entries", len(gold), at), Number("word_candidates", len(words[1]), at)]
    for name, coordinates in settings["systems"].items():
        numbers += _scores(dict(_ranks(sides[name], words, gold)), gold, words, {**at, **coordinates}, items)
    return numbers


def _sides(work: Work, name: str) -> tuple[Any, Any]:
    """Words and vectors by layer of both languages."""
    from isoglot.core.artifact import load_arrays

    found = []
    for side in ("source", "target"):
        facts, arrays = load_arrays(work.inputs[f"{name}.{side}"] / VECTORS, _KIND, remedy="run the study again")
        found.append((facts["words"], {layer: arrays[f"layer.{layer}"] for layer in facts["layers"]}))
    return found[0], found[1]


def _ranks(sides: tuple[Any, Any], words: Sequence[Sequence[str]], gold: Gold) -> Iterator[tuple[int, np.ndarray]]:
    """The rank of the right word of every pair by cosine, in each layer."""
    from isoglot.retrieve import gold_ranks

    rows = []
    for (known, _), wanted in zip(sides, words, strict=True):
        row = {word: number for number, word in enumerate(known)}
        rows.append([row[word] for word in wanted])
    for layer, X in sides[0][1].items():
        yield layer, gold_ranks(X[rows[0]], sides[1][1][layer][rows[1]], gold, "cosine")


def _scores(
    ranks: dict[int, np.ndarray], gold: Gold, words: Sequence[Sequence[str]], at: dict[str, Coordinate], items: str
) -> list[Number]:
    """MRR over entries and P@1 over source words: with the chosen layers, and of each layer."""
    import numpy as np

    from isoglot.retrieve.metrics import spelled_alike

    parts = {layer: _parts(ranks_P, gold) for layer, ranks_P in ranks.items()}
    half_Q = np.array([int(items_hash(word), 16) % 2 for word in words[0]], dtype=bool)
    chosen_Q2, chosen_hits_Q2 = (np.zeros((len(half_Q), 2)) for _ in range(2))
    for half in (half_Q, ~half_Q):
        others = {layer: mrr_Q2[~half].sum(axis=0) for layer, (mrr_Q2, _) in parts.items()}
        best = max(parts, key=lambda layer: others[layer][0])
        chosen_Q2[half], chosen_hits_Q2[half] = (some_Q2[half] for some_Q2 in parts[best])
    numbers = [ratio_number("word_mrr", chosen_Q2, at, items), ratio_number("word_p1", chosen_hits_Q2, at, items)]
    other_Q = np.ones(len(half_Q), dtype=bool)
    other_Q[spelled_alike(gold, *words).source_rows] = False  # found whatever was learned
    if other_Q.any():
        numbers.append(ratio_number("word_mrr_other_spelling", chosen_Q2 * other_Q[:, None], at, items))
    if len(parts) > 1:
        for layer, (mrr_Q2, hits_Q2) in parts.items():
            here = {**at, "layer": layer, "depth": max(parts)}
            numbers.append(ratio_number("word_mrr", mrr_Q2, here, items))
            numbers.append(ratio_number("word_p1", hits_Q2, here, items))
    return numbers


def _parts(ranks_P: np.ndarray, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Reciprocal ranks of each source word, summed over its entries, and their number; whether the nearest is right."""
    import numpy as np

    rows_P = gold.pairs_P2[:, 0]
    mrr_Q2 = np.stack([np.bincount(rows_P, weights=1 / ranks_P), np.bincount(rows_P)], axis=1)
    hits_Q = np.bincount(rows_P, weights=ranks_P == 1) > 0
    return mrr_Q2, np.stack([hits_Q.astype(float), np.ones(len(hits_Q))], axis=1)


# --- words of monolingual encoders, mapped ---


FASTTEXT = "fasttext.safetensors"


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
    most, workers = settings["words"], _workers(work)
    vectors = train_on_words(sentences, config, most=most, workers=workers, progress=work.progress)
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
    layers = [LayerRows(0, 0, rows[0].matrix_ND, rows[1].matrix_ND)]
    return _scored(work, [side.words for side in rows], layers, fasttext, "embeddings")


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
    layers = [LayerRows(one, one, types[0][one], types[1][one]) for one in types[0].layers]
    return _scored(work, [list(side.words or ()) for side in types], layers, fasttext, "contexts")


def word_rows(encoder: EncoderLike, words: Sequence[str], language: str) -> Vectors:
    """The rows of the embedding matrix of words that are one subword, in the order given.

    The words are in lower case, as MUSE's are. If a word is not one subword in lower case, the row of its capitalized
    form is taken (a German noun, a name), or else that in upper case.

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

    return work.cached(("segmented", str(path), count), read)


# --- scores ---


def _scored(
    work: Work, words: Sequence[list[str]], layers: Sequence[LayerRows], fasttext: Sequence[Vectors], vectors: str
) -> list[Number]:
    """P@1 of word retrieval after a map, for every layer and for fastText's vectors of the same words.

    Candidates are all words of the target.
    """
    from hashlib import sha256

    from isoglot.align.by_dictionary import WordSplit
    from isoglot.align.layer_maps import LayerRows, align_layers
    from isoglot.align.maps.config import AlignConfig
    from isoglot.core.config import build_config

    config = build_config(AlignConfig, values={"resamples": 1, **work.settings.get("align", {})})
    split = WordSplit(_entries(work, "train") or [], _entries(work, "test"), config)
    pairs, _ = split.rows(*words)
    language, device = step_languages(work)[1], open_step_encoder(work).device
    counts = {"entries": len(pairs.test_P2), "train_entries": len(pairs.train_P2), "candidates": len(words[1])}
    at: dict[str, Coordinate] = {"vectors": vectors, "language": language}
    numbers = [Number(f"word_{name}", count, at) for name, count in counts.items()]
    baselines = [every.only(set(own)).matrix_ND for every, own in zip(fasttext, words, strict=True)]
    for system, rows in {"encoder": layers, "fasttext": [LayerRows(None, None, *baselines)]}.items():
        for layer in align_layers(rows, *pairs[:2], config, fitted="all", alike=pairs.alike, device=device):
            scores = layer.after.of(config.retrieval)
            asked = [words[0][row] for row in scores.queries_Q.tolist()]
            items = sha256("\n".join(asked).encode()).hexdigest()[:16]
            here = {**at, "system": system}
            if layer.layer is not None:
                here |= {"layer": layer.layer, "depth": open_step_encoder(work).depth}
            numbers.append(share_number("word_p1", scores.ranks_Q == 1, here, items))
    return numbers
