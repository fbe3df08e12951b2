"""Token sets: the ids observed often enough in the text of each language.

The convert rate of Liu et al. (2020) depends on these sets, and so on the size of the text and on the frequency
threshold; both are stored. Special tokens belong to no language.

>>> import numpy as np
>>> sets = TokenSets({"en": np.array([4, 9, 0, 3]), "de": np.array([0, 2, 6, 5])}, threshold=3)
>>> sets.ids("en").tolist(), sets.sizes, sets.shared("en", "de").tolist()
([0, 1, 3], {'en': 3, 'de': 2}, [3])

Shapes: ``V`` vocabulary, ``N`` tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.artifact import Compression, read_index_file, write_sealed
from isoglot.core.errors import ConfigError, InputError, IsoglotError, check_range, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoglot.represent.sentences import Sentences
    from isoglot.vocab import Vocabulary

THRESHOLD: int | None = None
"""Default minimum frequency of a token: once per 100,000 tokens of the smallest text, at least once. Large texts
contain a little of every language; with a threshold of 1, most tokens would be in most sets."""
_ONCE_IN = 100_000
_FORMAT = 1
_KIND = "token sets"
_CHUNK = 4096  # sentences
_REMEDY = "compute its token set"


class TokenSets:
    """The tokens of each language, by frequency in its text.

    Created by :meth:`from_text`, :meth:`from_counts` or :meth:`from_vocabulary`.

    Args:
        counts: Frequency of each id in the text of each language (V), 0 for special tokens.
        threshold: Minimum frequency of a token of the language. Default: :data:`THRESHOLD`.
        vocabulary: Hash of the vocabulary; None if unknown.

    >>> import numpy as np
    >>> sets = TokenSets({"en": np.array([True, True, False]), "de": np.array([False, True, True])})
    >>> sets.languages
    ('en', 'de')

    Raises:
        ConfigError: The threshold is below 1, a language code is invalid, or vocabularies differ.
    """

    def __init__(
        self, counts: Mapping[str, np.ndarray], *, threshold: int | None = THRESHOLD, vocabulary: str | None = None
    ) -> None:
        if not counts:
            raise ConfigError("token sets of no language", "give text of at least one", "missing-data")
        if threshold is None:
            threshold = max(1, round(min(int(np.sum(count)) for count in counts.values()) / _ONCE_IN))
        check_range("threshold", threshold, 1)
        self.counts = {language_code(code): np.asarray(count, dtype=np.int64) for code, count in counts.items()}
        self.threshold = threshold
        self.vocabulary = vocabulary
        self.size = len(next(iter(self.counts.values())))
        if any(count.shape != (self.size,) for count in self.counts.values()):
            raise ConfigError("counts of different vocabularies", "count with one", "other-vocabulary")
        self._masks = {code: count >= threshold for code, count in self.counts.items()}

    # --- making ---

    @classmethod
    def from_text(
        cls,
        vocabulary: Vocabulary,
        texts: Mapping[str, Sentences],
        *,
        threshold: int | None = THRESHOLD,
        progress: Progress = SILENT,
    ) -> TokenSets:
        """Count the tokens of sentences of each language, or of a file with one a line.

        Raises:
            ConfigError: The vocabulary has no such language or not one token of its text, or the threshold is invalid.
            InputError: There is no sentence, or one is empty.
            StorageError: A file cannot be read.
        """
        from isoglot.represent.sentences import in_chunks

        counts = {}
        for code, sentences in texts.items():
            lines = vocabulary.line_encoder(code)
            total_V = np.zeros(len(vocabulary), dtype=np.int64)
            with progress.task(f"tokens of {code}", total=None, unit="sentences") as task:
                for chunk in in_chunks(sentences, "text", _CHUNK):
                    ids_N = np.frombuffer(b"".join(lines.encode([str(one) for one in chunk])), lines.dtype)
                    total_V += np.bincount(ids_N, minlength=len(total_V))
                    task.advance(len(chunk))
            counts[code] = total_V
        return cls.from_counts(vocabulary, counts, threshold=threshold)

    @classmethod
    def from_counts(
        cls, vocabulary: Vocabulary, counts: Mapping[str, np.ndarray], *, threshold: int | None = THRESHOLD
    ) -> TokenSets:
        """From existing counts, such as ``Shards.counts()``.

        Raises:
            ConfigError: They are of another vocabulary, the threshold is below 1, or a language has no token left.
        """
        plain = {}
        for code, count in counts.items():
            if len(count) != len(vocabulary):
                problem = f"counts of {len(count):,} ids of {code} for a vocabulary of {len(vocabulary):,}"
                raise ConfigError(problem, "count with this vocabulary", "other-size")
            plain[code] = np.array(count, dtype=np.int64)
            plain[code][list(vocabulary.special.values())] = 0
        found = cls(plain, threshold=threshold, vocabulary=vocabulary.hash)
        found.check_known()
        return found

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> TokenSets | None:
        """From the text a vocabulary was trained on; None if that is not recorded."""
        special = list(vocabulary.special.values())
        known = {code: count for code in vocabulary.languages if (count := vocabulary.counts(code)) is not None}
        known = {code: count for code, count in known.items() if count.sum() > count[special].sum()}
        return cls.from_counts(vocabulary, known) if known else None

    def with_threshold(self, threshold: int) -> TokenSets:
        """The same counts with another threshold."""
        return TokenSets(self.counts, threshold=threshold, vocabulary=self.vocabulary)

    # --- asking ---

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages with a token set."""
        return tuple(self.counts)

    @property
    def sizes(self) -> dict[str, int]:
        """Size of each set."""
        return {code: int(mask.sum()) for code, mask in self._masks.items()}

    @property
    def text_tokens(self) -> dict[str, int]:
        """Number of tokens of text each set was computed from."""
        return {code: int(count.sum()) for code, count in self.counts.items()}

    def mask(self, language: str) -> np.ndarray:
        """Mask of the ids of a language (V, bool).

        Raises:
            ConfigError: The language has no token set.
        """
        code = language_code(language)
        if code not in self._masks:
            problem = f"there is no token set of {shown(code)}"
            raise ConfigError(problem, f"{nearest_name(code, self._masks)}, or {_REMEDY}", "unknown-name")
        return self._masks[code]

    def ids(self, language: str) -> np.ndarray:
        """Ids of a language, sorted."""
        return np.flatnonzero(self.mask(language))

    def shared(self, one: str, other: str) -> np.ndarray:
        """Ids that two languages share, sorted."""
        return np.flatnonzero(self.mask(one) & self.mask(other))

    def only(self, language: str, *, but_not: str) -> np.ndarray:
        """Mask of the ids of one language that another does not have (V, bool)."""
        found_V: np.ndarray = self.mask(language) & ~self.mask(but_not)
        return found_V

    def overlaps(self) -> dict[tuple[str, str], int]:
        """Number of shared ids of each pair of languages (Table 3 of Liu et al. 2020)."""
        codes = self.languages
        return {(one, other): len(self.shared(one, other)) for at, one in enumerate(codes) for other in codes[at + 1 :]}

    def check_ids(self, ids_N: np.ndarray) -> None:
        """Check that ids are in the vocabulary.

        Raises:
            ConfigError: One is not.
        """
        wrong = ids_N[(ids_N < 0) | (ids_N >= self.size)]
        if len(wrong):
            raise ConfigError(f"there is no token {wrong[0]}", f"give ids from 0 to {self.size - 1}", "unknown-name")

    def check_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Check that the sets belong to a vocabulary.

        Raises:
            ConfigError: They do not.
        """
        if self.size != len(vocabulary) or (self.vocabulary is not None and self.vocabulary != vocabulary.hash):
            problem = "the token sets belong to another vocabulary"
            raise ConfigError(problem, "compute those of this vocabulary", "other-vocabulary")

    def check_known(self, languages: Iterable[str] | None = None) -> None:
        """Check that languages have at least one token.

        Raises:
            ConfigError: One has none.
        """
        for code in self.languages if languages is None else map(language_code, languages):
            if self.mask(code).any():
                continue
            most = int(self.counts[code].max(initial=0))
            if most:
                problem = f"no token of {code} occurs {self.threshold:,} times"
                raise ConfigError(problem, f"set the threshold to {most:,} at most", "missing-data")
            problem = f"the text of {code} has no token that the vocabulary knows"
            raise ConfigError(problem, "leave the language out, or use an encoder that knows it", "missing-data")

    def about(self, languages: Iterable[str] | None = None) -> dict[str, Any]:
        """Threshold, text sizes, set sizes and overlaps, to report with a convert rate."""
        codes = self.languages if languages is None else tuple(map(language_code, languages))
        return {
            "threshold": self.threshold,
            "text_tokens": {code: self.text_tokens[code] for code in codes},
            "sizes": {code: self.sizes[code] for code in codes},
            "shared": {f"{one}-{two}": n for (one, two), n in self.overlaps().items() if {one, two} <= set(codes)},
        }

    # --- files ---

    def save(self, path: str | Path, *, compression: Compression = "none") -> Path:
        """Write ids and frequencies of each language to a JSON file; returns the file.

        Args:
            path: The file; ``zstd`` appends ``.zst``, and :meth:`load` finds it by either name.
            compression: Compression of the file.

        Raises:
            StorageError: It cannot be written.
        """
        counts = {}
        for code, count_V in self.counts.items():
            met_N = np.flatnonzero(count_V)
            counts[code] = {"ids": met_N.tolist(), "counts": count_V[met_N].tolist()}
        facts = {
            "kind": _KIND,
            "format": _FORMAT,
            "size": self.size,
            "vocabulary": self.vocabulary,
            **self.about(),
            "counts": counts,
        }
        return write_sealed(path, facts, compression=compression, indented=False)

    @classmethod
    def load(cls, path: str | Path) -> TokenSets:
        """Read a file written by :meth:`save`.

        Raises:
            InputError: It has another format.
            StorageError: It cannot be read.
        """
        remedy = "create it with isoglot steer fit"
        wrong = InputError("not a file of token sets", remedy, "unknown-format", file=path)
        facts = read_index_file(Path(path), {"counts": dict}, version=_FORMAT, what=_KIND, remedy=remedy)
        try:
            counts = {}
            for code, met in facts["counts"].items():
                counts[code] = np.zeros(facts["size"], dtype=np.int64)
                counts[code][met["ids"]] = met["counts"]
            return cls(counts, threshold=facts["threshold"], vocabulary=facts["vocabulary"])
        except IsoglotError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, MemoryError, OverflowError) as error:
            raise wrong from error
