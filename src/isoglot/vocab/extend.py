"""Extension of a vocabulary by a language: a view of its own, whose new subwords are appended.

Subwords are learned on the text of the new language with the tokenizer's own normalizer, pre-tokenizer and model. Those
that the vocabulary has already keep their ids; the others get new ids after all old ones. Only the view of the new
language reaches them, so that text of every other language has the ids it had before.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.processing import processing_left
from isoglot.text.provenance import derived, merged
from isoglot.vocab.subword_scheme import BYTES, MARK, literal
from isoglot.vocab.survey import alphabet, survey, text_lines
from isoglot.vocab.train import count_ids, processing_of, settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenizers import Tokenizer

    from isoglot.vocab.vocabulary import Vocabulary

_COVERAGE = 0.9995  # of the text, by characters that are subwords
_MOST_UNKNOWN = 0.05
LEAST_LINES = 100  # lines of text that a new language must have
LINES = 1_000_000  # maximum number of lines that subwords are learned on


def extend_vocabulary(
    vocabulary: Vocabulary, language: str, texts: Sequence[str | Path], *, size: int = 8000, progress: Progress = SILENT
) -> Vocabulary:
    """Add a language to a vocabulary.

    Args:
        vocabulary: The vocabulary of an encoder: isoglot's, or the tokenizer of another model.
        language: The new language.
        texts: Its text, one sentence or paragraph per line.
        size: Subwords of the new language, including those that the vocabulary has; 0: only those that it has.
        progress: Progress reporter.

    Returns:
        The vocabulary with the language added; ids of the others stay.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = {code: Path(folder) / f"{code}.txt" for code in ("en", "de")}
    ...     for file, line in zip(files.values(), ("the house is old", "das Haus ist alt"), strict=True):
    ...         _ = file.write_text(chr(10).join([line] * 100), encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [files["en"]]}, mode="joint", size=300)
    ...     extended = extend_vocabulary(vocabulary, "de", [files["de"]], size=300)
    >>> extended.languages, len(extended) > len(vocabulary)
    (('en', 'de'), True)

    Raises:
        ConfigError: The vocabulary has the language, cannot be extended, or cannot spell the text.
        InputError: There is too little text.
    """
    from tokenizers import Tokenizer

    code, paths = language_code(language), [Path(path) for path in texts]
    if vocabulary.has_view_of(code):
        remedy = "name a new language, or train a language it has with isoglot pretrain --shards"
        raise ConfigError(f"the vocabulary has the language {code} already", remedy, "duplicate")
    processing = processing_of({code: paths}, {})[code]
    lines = partial(text_lines, paths, LINES, processing_left(paths, processing))
    found = survey(lines(), label=f"{code}: reading", progress=progress)
    if found.lines < LEAST_LINES:
        problem = f"{found.lines} lines of {code}, too few to learn its subwords"
        raise InputError(problem, f"give at least {LEAST_LINES} lines", "too-few", file=paths[0])
    view, own = vocabulary.view(next(iter(vocabulary.languages), None)), set(range(len(vocabulary)))
    if size:
        with progress.task(f"{code}: learning subwords", total=None, unit="subwords") as task:
            learned = _learned(view, lines(), found.sample, size)
            task.advance(len(learned["vocab"]))
        view, own = _joined(vocabulary, view, learned)
    counts = count_ids(literal(Tokenizer.from_str(view)), found.sample, max(*own, len(vocabulary) - 1) + 1)
    unknown = counts[vocabulary.unknown_id] / counts.sum()
    if unknown > _MOST_UNKNOWN:
        problem = f"the tokenizer cannot spell {code}: {unknown:.0%} of the tokens of its text are unknown"
        remedy = "let it learn subwords of the language: --set language.subwords=8000"
        raise ConfigError(problem, remedy, "not-supported")
    about = {"subwords": size, "sample": {"lines": found.lines, "every": found.every}}
    origin = merged([vocabulary.provenance, derived(paths)])
    return vocabulary.extended(processing, view, own, counts, about, origin)


def _learned(view: str, lines: Iterator[str], sample: Sequence[str], size: int) -> dict[str, Any]:
    """Train the model of a ``tokenizer.json`` from scratch on other text; returns its fields.

    Raises:
        ConfigError: The model is of another kind, or the size is too small for the characters of the text.
    """
    from tokenizers import Tokenizer, pre_tokenizers, trainers

    whole = json.loads(view)
    kind, prefix = whole["model"]["type"], whole["model"].get("continuing_subword_prefix") or ""
    kinds: dict[str, dict[str, Any]] = {"BPE": {"vocab": {}, "merges": []}, "WordPiece": {"vocab": {}}}
    empty = kinds.get(kind, {})
    if kind == "Unigram":
        empty = {"vocab": [whole["model"]["vocab"][whole["model"]["unk_id"]]], "unk_id": 0}
    if not empty:
        problem, remedy = f"a tokenizer of the kind {kind} cannot learn subwords", "set language.subwords=0"
        raise ConfigError(problem, remedy, "not-supported")
    bare = {"added_tokens": [], "post_processor": None, "model": whole["model"] | empty}
    tokenizer = Tokenizer.from_str(json.dumps(whole | bare))
    letters = alphabet((word for line in sample for word in _words(tokenizer, line)), _COVERAGE)
    if "ByteLevel" in json.dumps(whole["pre_tokenizer"]):
        letters = sorted({*letters, *pre_tokenizers.ByteLevel.alphabet()})
    if size <= 2 * len(letters):
        problem = f"{size} subwords are too few for the {len(letters)} characters of the text"
        raise ConfigError(problem, f"choose more than {2 * len(letters)}", "invalid-value")
    options: dict[str, Any] = {"vocab_size": size, "initial_alphabet": letters, "show_progress": False}
    trainer: Any
    if kind == "Unigram":
        unknown = empty["vocab"][0][0]
        trainer = trainers.UnigramTrainer(**options, unk_token=unknown, special_tokens=[unknown])
    elif kind == "WordPiece":  # the characters first, so that ties do not depend on a hash
        inner = [prefix + letter for letter in letters]
        trainer = trainers.WordPieceTrainer(
            **options, limit_alphabet=len(letters), special_tokens=inner, continuing_subword_prefix=prefix
        )
    else:
        affixes = {key: whole["model"].get(key) for key in ("continuing_subword_prefix", "end_of_word_suffix")}
        affixes = {key: affix for key, affix in affixes.items() if affix}
        trainer = trainers.BpeTrainer(**options, limit_alphabet=len(letters), **affixes)
    tokenizer.train_from_iterator(lines, trainer)
    fields: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return fields


def _words(tokenizer: Tokenizer, line: str) -> Iterator[str]:
    """The words of a line as the model sees them."""
    text = tokenizer.normalizer.normalize_str(line) if tokenizer.normalizer else line
    if tokenizer.pre_tokenizer is None:
        return iter([text])
    return (word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))


def _joined(vocabulary: Vocabulary, view: str, learned: dict[str, Any]) -> tuple[str, set[int]]:
    """The view of the new language with global ids, and the ids of its subwords.

    Subwords that only other languages have get a name with a blank, which no text reaches. Single characters stay, so
    that whatever could be spelled still can.
    """
    whole = json.loads(view)
    model, old = whole["model"], vocabulary.pieces
    prefix = model.get("continuing_subword_prefix") or ""
    special = {token["content"] for token in whole["added_tokens"]} | {old[at] for at in vocabulary.special.values()}
    scores: dict[str, float] = {}
    if model["type"] == "Unigram":
        scores = settled(dict(learned["vocab"][1:]))
        pieces = list(scores)
    else:
        pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    shared = special if vocabulary.mode == "disjoint" else set(old)
    index = {piece: at for at, piece in reversed(list(enumerate(old))) if piece in shared}
    new = [piece for piece in pieces if piece not in index]
    index |= {piece: len(old) + number for number, piece in enumerate(new)}
    kept = {*pieces, *special, *(piece for piece in index if _is_spelling(piece, prefix))}
    own = {index[piece] for piece in kept if piece in index}
    names = [piece if at in own else f" {at}" for at, piece in enumerate(old)] + new
    if scores:
        least = min(scores.values()) - 10  # characters of other languages come last
        model["vocab"] = [[name, scores.get(name, least)] for name in names]
    else:
        model["vocab"] = {name: at for at, name in enumerate(names)}
        model |= {"merges": learned["merges"]} if "merges" in learned else {}
    return json.dumps(whole, ensure_ascii=False), own


def _is_spelling(piece: str, prefix: str) -> bool:
    """Whether a subword is a single character, with or without a mark, or a byte such as ``<0x0A>``."""
    bare = piece.removeprefix(prefix).removeprefix(MARK)
    return len(bare) <= 1 or piece in BYTES
