"""Words of one or more models by dictionaries, all on the same entries and among the same candidates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, counted
from isoglot.model.table import TableEncoder
from isoglot.retrieve.by_dictionary import entries_found, own_words, same_words, score_dictionary, words_by_language
from isoglot.retrieve.from_model import MOST_ROWS, MOST_WORDS, context_side, embedding_side, static_side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.retrieve.from_model import Case, Layers
    from isoglot.retrieve.layers import PairScores, Side
    from isoglot.text.dictionary import Entry

Pair = tuple[str, str]


class WordLookup(NamedTuple):
    """Where a model's vectors of words come from.

    Attributes:
        words_as: ``contexts``: the mean over the contexts of a text; of static vectors without a text, the mean of the
            subwords. ``embeddings``: rows of the embedding matrix, of words of one subword.
        layers: Which layers of contexts.
        case: How words of a text are compared with the dictionaries'.
        contexts: Sentences of a word that count at most.
        limit: Only the first so many lines of each text.
        vocabulary: Words of the vocabulary at most, beside the dictionaries'; None takes the default.
    """

    words_as: Literal["contexts", "embeddings"] = "contexts"
    layers: Layers = "all"
    case: Case = "auto"
    contexts: int | None = None
    limit: int | None = None
    vocabulary: int | None = None

    def side(
        self,
        encoder: EncoderLike,
        words: Sequence[str],
        language: str,
        texts: Sequence[Path] = (),
        *,
        name: str = "",
        progress: Progress = SILENT,
    ) -> Side:
        """The words of one language: its vocabulary and those of the dictionaries.

        Raises:
            ConfigError: An encoder has no text to meet the words in, or shows no embedding matrix.
            InputError: No word has a vector.
        """
        if self.words_as == "embeddings":
            return embedding_side(encoder, words, language, vocabulary=self.vocabulary or MOST_ROWS)
        if not texts and isinstance(encoder, TableEncoder):
            return static_side(encoder, words, language, vocabulary=self.vocabulary or MOST_ROWS)
        if not texts:
            raise ConfigError(
                "--words-as contexts needs --text, unless all models are static vectors",
                remedy="name the text of both languages: --text en=a.txt --text fr=b.txt; or --words-as embeddings",
            )
        return context_side(
            encoder,
            texts,
            words,
            language,
            layers=self.layers,
            case=self.case,
            contexts=self.contexts,
            limit=self.limit,
            vocabulary=self.vocabulary or MOST_WORDS,
            name=name,
            progress=progress,
        )


class SystemScores(NamedTuple):
    """The scores of every dictionary and model, and what was done so that they can be compared."""

    pairs: tuple[PairScores, ...]
    facts: dict[str, Any]
    remarks: tuple[str, ...]


def score_systems(
    encoders: Mapping[str, EncoderLike],
    entries: Mapping[Pair, Sequence[Entry]],
    texts: Mapping[str, Sequence[Path]],
    lookup: WordLookup,
    *,
    names: Mapping[Pair, str],
    score: Callable[..., PairScores],
    change: Callable[[Side, Side], tuple[Side, Side]],
    progress: Progress = SILENT,
) -> SystemScores:
    """Score models by dictionaries; several models on the entries, and among the candidates, that all of them have.

    Args:
        encoders: Encoders and static vectors by name.
        entries: The right pairs of each two languages.
        texts: Text of each language, for contexts.
        lookup: Where vectors come from.
        names: What to call the dictionaries in messages.
        score: :func:`isoglot.retrieve.layers.score_layers` with its options.
        change: What the two sides go through first, such as a map.
        progress: Shows how far it is.

    Raises:
        ConfigError: An option asks for what a model does not have.
        InputError: No entry has both words, or the models have no word in common.
    """
    wanted = words_by_language(entries)
    sides = {
        name: {
            code: lookup.side(encoder, words, code, texts.get(code, ()), name=name, progress=progress)
            for code, words in wanted.items()
        }
        for name, encoder in encoders.items()
    }
    found: list[PairScores] = []
    facts: dict[str, dict[str, int]] = {}
    remarks: list[str] = []
    for pair, rows in entries.items():
        systems = [own_words(sides[name], pair, rows) for name in encoders]
        of_each = {name: entries_found(system, rows) for name, system in zip(encoders, systems, strict=True)}
        systems = same_words(systems)
        for name, system in zip(encoders, systems, strict=True):
            scored = score_dictionary(*change(*system), rows, names[pair], score=score)
            found.append(replace(scored, model=name) if len(encoders) > 1 else scored)
        if len(encoders) > 1:
            facts["-".join(pair)] = of_each | {"in_all": entries_found(systems[0], rows)}
            each = ", ".join(f"{name} {count:,}" for name, count in of_each.items())
            common = counted(entries_found(systems[0], rows), "entries")
            remarks.append(f"{'-'.join(pair)}: all models are scored on the {common} that every one has ({each})")
    return SystemScores(tuple(found), {"entries_found": facts} if facts else {}, tuple(remarks))
