"""Provenance of texts: their sources, processing steps and dictionaries, so that tests exclude words seen in training.

The record of ``en.txt`` is ``en.txt.provenance.json`` beside it, also if the text is compressed. It has its own SHA-256
and that of the text, the sources with the steps applied to each, and the dictionaries used for code-switching. A text
without a record, and everything derived from it, is of unknown provenance; a record that was altered, or whose text has
changed, is an error.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import (
    Compression,
    check_form,
    compressed,
    expanded,
    is_stored,
    read_sealed,
    store_bytes,
    stored_bytes,
    write_sealed,
)
from isoglot.core.errors import ConfigError, CorruptFileError, InputError
from isoglot.core.files import file_hash, is_pipe, parse_json
from isoglot.core.language_codes import language_code
from isoglot.text.formats.lines import LineWriter, line_writer, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from isoglot.text.formats.dictionary import Entry

FORMAT = "isoglot provenance 1"
ENDING = ".provenance.json"
_REMEDY = "restore the file, or create what it describes again"
_FORM = {"sources": [{"file": str, "known": bool, "steps": [{"step": str}]}], "dictionaries": [dict]}
_MOST_WORDS = 2_000  # of dictionaries that a record lists; more are packed
COMPRESSED = (".bz2", ".gz", ".xz", ".zst")

Facts = dict[str, Any]
Step = dict[str, Any]  # a processing step: ``{"step": "segment", "language": "zh", "method": "jieba"}``


@dataclass(frozen=True, kw_only=True)
class UsedDictionary:
    """Dictionary used in training or for code-switching."""

    source: str
    target: str
    file: str  # file name without the folder
    sha256: str
    source_words: frozenset[str]
    target_words: frozenset[str]

    def facts(self) -> Facts:
        """The dictionary as JSON values."""
        return vars(self) | {"source_words": sorted(self.source_words), "target_words": sorted(self.target_words)}


@dataclass(frozen=True)
class Source:
    """Original text and the steps applied to it.

    Args:
        file: File name without the folder.
        known: Whether it is known which dictionaries were used in it.
        steps: The steps, in order; the first may say how it was created.
    """

    file: str
    known: bool = True
    steps: tuple[Step, ...] = ()

    def last(self, step: str) -> Step | None:
        """The last step of a name, or None.

        >>> Source("zh.txt", steps=({"step": "segment", "method": "jieba"},)).last("segment")
        {'step': 'segment', 'method': 'jieba'}
        """
        return next((one for one in reversed(self.steps) if one["step"] == step), None)

    def facts(self) -> Facts:
        """The source as JSON values."""
        return {"file": self.file, "known": self.known, "steps": list(self.steps)}


@dataclass(frozen=True)
class Provenance:
    """Sources, processing steps and dictionaries of a text, a vocabulary or a model."""

    sources: tuple[Source, ...] = ()
    dictionaries: tuple[UsedDictionary, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of sources without a record: any dictionary may have been used in them."""
        return tuple(dict.fromkeys(source.file for source in self.sources if not source.known))

    def words(self, language: str | None) -> frozenset[str]:
        """The words of a language in the dictionaries. Default: of all languages."""
        code = None if language is None else language_code(language)
        sources = (used.source_words for used in self.dictionaries if code in (None, used.source))
        targets = (used.target_words for used in self.dictionaries if code in (None, used.target))
        return frozenset().union(*sources, *targets)

    def facts(self) -> Facts:
        """The provenance as JSON values."""
        return {
            "sources": [source.facts() for source in self.sources],
            "dictionaries": [used.facts() for used in self.dictionaries],
        }

    @cached_property
    def packed(self) -> str:
        """The provenance as one ASCII string, for the header of a safetensors file.

        Dictionaries share most of their words, so each word is stored once, which takes a quarter of the bytes.
        """
        facts = {
            "sources": [source.facts() for source in self.sources],
            "dictionaries": without_words(self.dictionaries),
            "lexicon": _lexicon(self.dictionaries),
        }
        return b64encode(compressed(_json_bytes(facts), level=_LEVEL)).decode("ascii")

    @classmethod
    def from_packed(cls, packed: str, file: str | Path) -> Provenance:
        """Read what :attr:`packed` returned.

        Raises:
            CorruptFileError: It is malformed.
        """
        try:
            facts = parse_json(expanded(b64decode(packed), file), file)
            if "lexicon" in facts:  # older files store the words with each dictionary
                facts["dictionaries"] = _with_words(facts["dictionaries"], facts["lexicon"])
            return cls.from_facts(facts, file)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, InputError) as error:
            raise _no_record(file) from error

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], file: str | Path | None = None) -> Provenance:
        """Read what :meth:`facts` returned.

        Args:
            facts: JSON values.
            file: Their file, for the error message.

        Raises:
            CorruptFileError: It is malformed.
        """
        check_form(facts, _FORM, file, remedy=_REMEDY)
        try:
            return cls(
                tuple(Source(one["file"], one["known"], tuple(one["steps"])) for one in facts["sources"]),
                tuple(
                    UsedDictionary(**one | {side: frozenset(one[side]) for side in ("source_words", "target_words")})
                    for one in facts["dictionaries"]
                ),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _no_record(file) from error


def _no_record(file: str | Path | None) -> CorruptFileError:
    return CorruptFileError("not a provenance record", _REMEDY, file=file)


def _json_bytes(facts: Facts) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogatepass")


# --- packing: each word once ---

_LEVEL = 12  # of zstd: 0.06 s for the 44,000 words of isoglot-mini; level 19 takes 0.6 s and saves 9 %
_LONGEST_PREFIX = 60
_SIDES = ("source", "target")


def _lexicon(dictionaries: Iterable[UsedDictionary]) -> Facts:
    """Every word of every language once.

    For each language: its sorted words, front-coded, and for each word a number whose bit k says that the k-th word
    list of that language has it.
    """
    lists: dict[str, dict[str, int]] = {}
    count: dict[str, int] = {}
    for used in dictionaries:
        for side in _SIDES:
            language = getattr(used, side)
            number = count[language] = count.get(language, -1) + 1
            words = lists.setdefault(language, {})
            for word in getattr(used, f"{side}_words"):
                words[word] = words.get(word, 0) | 1 << number
    ordered = {language: sorted(words.items()) for language, words in lists.items()}
    return {
        language: {"words": list(_front_coded(word for word, _ in pairs)), "lists": [bits for _, bits in pairs]}
        for language, pairs in ordered.items()
    }


def _with_words(dictionaries: list[Facts], lexicon: Facts) -> list[Facts]:
    """The facts of dictionaries with the words of the lexicon added."""
    found: list[Facts] = []
    words = {language: list(_front_decoded(each["words"])) for language, each in lexicon.items()}
    count: dict[str, int] = {}
    for used in dictionaries:
        full = dict(used)
        for side in _SIDES:
            language = used[side]
            number = count[language] = count.get(language, -1) + 1
            pairs = zip(words[language], lexicon[language]["lists"], strict=True)
            full[f"{side}_words"] = [word for word, bits in pairs if bits >> number & 1]
        found.append(full)
    return found


def _front_coded(words: Iterable[str]) -> Iterator[str]:
    """Front coding: for each sorted word the length of the prefix shared with the one before, and the rest.

    >>> list(_front_coded(["cat", "cats", "dog"]))
    ['0cat', '3s', '0dog']
    """
    before = ""
    for word in words:
        pairs = zip(before[:_LONGEST_PREFIX], word, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        yield chr(ord("0") + shared) + word[shared:]
        before = word


def _front_decoded(coded: Iterable[str]) -> Iterator[str]:
    before = ""
    for each in coded:
        before = before[: ord(each[0]) - ord("0")] + each[1:]
        yield before


def merged(provenances: Iterable[Provenance], dictionaries: Iterable[UsedDictionary] = ()) -> Provenance:
    """Merge provenances, without duplicates.

    Args:
        provenances: The provenances.
        dictionaries: Further dictionaries that were used.
    """
    sources: list[Source] = []
    used: dict[tuple[str, str, str], UsedDictionary] = {}
    for one in (*provenances, Provenance(dictionaries=tuple(dictionaries))):
        sources += [source for source in one.sources if source not in sources]
        for found in one.dictionaries:
            used.setdefault((found.source, found.target, found.sha256), found)
    return Provenance(tuple(sources), tuple(used.values()))


def derived(
    paths: Iterable[str | Path], step: Step | None = None, dictionaries: Iterable[UsedDictionary] = ()
) -> Provenance:
    """The provenance of a text derived from others.

    Args:
        paths: The texts; one without a record is a source of unknown provenance.
        step: The step applied to each. Default: none.
        dictionaries: Dictionaries that are used.

    Raises:
        CorruptFileError: A record is damaged, or its text has changed.
        StorageError: A file cannot be read.
    """
    found = merged((provenance_of(path) for path in paths), dictionaries)
    if step is None:
        return found
    return replace(found, sources=tuple(replace(one, steps=(*one.steps, step)) for one in found.sources))


def unknown(name: str) -> Provenance:
    """The provenance of a text or model without a record."""
    return Provenance((Source(name, known=False),))


def use_dictionary(source: str, target: str, path: str | Path, entries: Iterable[Entry]) -> list[UsedDictionary]:
    """Record a dictionary file as used, with the dictionaries of the text it was induced from, if it has a record.

    Raises:
        CorruptFileError: The dictionary has changed since its record was written.
        StorageError: The file cannot be read.
    """
    own = _used(source, target, entries, file=Path(path).name, sha256=file_hash(path))
    origin = read_provenance(path)
    return [own, *(origin.dictionaries if origin is not None else ())]


def use_entries(source: str, target: str, entries: Iterable[Entry]) -> UsedDictionary:
    """Record a dictionary without a file as used; its hash is that of its entries."""
    pairs = list(entries)
    lines = "".join(f"{entry.source}\t{entry.target}\t{entry.weight!r}\n" for entry in pairs)
    digest = hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
    return _used(source, target, pairs, file="", sha256=digest)


def _used(source: str, target: str, entries: Iterable[Entry], *, file: str, sha256: str) -> UsedDictionary:
    pairs = [(entry.source, entry.target) for entry in entries]
    words = [frozenset(side) for side in zip(*pairs, strict=True)] or [frozenset[str]()] * 2
    codes = {"source": language_code(source), "target": language_code(target)}
    return UsedDictionary(**codes, file=file, sha256=sha256, source_words=words[0], target_words=words[1])


# --- files ---


def record_path(path: str | Path) -> Path:
    """The path of the record of a text, compressed or not.

    >>> record_path("en.txt.xz").name, record_path("en.txt").name
    ('en.txt.provenance.json', 'en.txt.provenance.json')
    """
    text = Path(path)
    name = text.name.removesuffix(text.suffix) if text.suffix in COMPRESSED else text.name
    return text.with_name(name + ENDING)


@contextmanager
def recorded_writer(path: str | Path, provenance: Provenance | None) -> Iterator[LineWriter]:
    """Open a text for writing line by line; its record is written first, so that it always has one (None: no record).

    Raises:
        StorageError: The folder is not writable, or the disk is full.
    """
    with line_writer(path) as writer:
        yield writer
        if provenance is not None:
            write_provenance(path, provenance, sha256=writer.sha256())


def write_provenance(path: str | Path, provenance: Provenance, *, sha256: str | None = None) -> Path:
    """Write the record of a text; returns its path.

    Args:
        path: The text.
        provenance: Its provenance.
        sha256: The hash of the decompressed text. Default: computed from the file.

    Raises:
        StorageError: It cannot be written, or the text cannot be read.
    """
    target = record_path(path)
    words = sum(len(used.source_words) + len(used.target_words) for used in provenance.dictionaries)
    facts = provenance.facts() if words <= _MOST_WORDS else {"packed": provenance.packed}
    write_sealed(target, {"format": FORMAT, "sha256": sha256 or text_hash(path), **facts})
    return target


def read_provenance(path: str | Path) -> Provenance | None:
    """Read the record of a text; None if there is none.

    Raises:
        CorruptFileError: The record is damaged, or the text has changed since it was written.
        InputError: It is not JSON.
        StorageError: It cannot be read.
    """
    place = record_path(path)
    if is_pipe(path) or not place.exists():
        return None
    content = read_sealed(place, {"format": (FORMAT,), "sha256": str}, remedy=_REMEDY)
    if "packed" in content:
        provenance = Provenance.from_packed(content["packed"], place)
    else:
        provenance = Provenance.from_facts(content, place)
    if content.get("sha256") != text_hash(path):
        problem = f"the text has changed since {place.name} was written"
        remedy = f"make the text again, or remove {place.name}: the provenance is then unknown"
        raise CorruptFileError(problem, remedy, "hash", file=path)
    return provenance


def provenance_of(path: str | Path) -> Provenance:
    """The provenance of a text; unknown if it has no record.

    Raises:
        CorruptFileError: The record is damaged, or the text has changed.
        StorageError: A file cannot be read.
    """
    return read_provenance(path) or unknown(Path(path).name)


def declare(path: str | Path) -> Path:
    """Record that no dictionary was used in a text; returns the path of the record.

    Raises:
        ConfigError: The text already has a record.
        CorruptFileError: It has one, and has changed since.
        StorageError: The text cannot be read, or the record cannot be written.
    """
    if read_provenance(path) is not None:
        raise ConfigError(f"{path} already has a provenance record", "leave it as it is", "would-overwrite")
    step = {"step": "declare", "dictionaries": "none"}
    return write_provenance(path, Provenance((Source(Path(path).name, steps=(step,)),)))


def without_words(dictionaries: Iterable[UsedDictionary]) -> list[Facts]:
    """The facts of dictionaries without their words."""
    return [{key: value for key, value in vars(one).items() if not key.endswith("_words")} for one in dictionaries]


# --- in the folder of a model ---

FILE = "provenance.json"


def store_provenance(
    folder: Path, provenance: Provenance, *, compression: Compression = "none", name: str = FILE
) -> tuple[Path, str]:
    """Write the provenance of a model to its folder; returns the path, and the hash for the folder's index.

    Raises:
        StorageError: It cannot be written.
    """
    data = _json_bytes(provenance.facts())
    return store_bytes(folder / name, data, compression), hashlib.sha256(data).hexdigest()


def stored_provenance(folder: Path, sha256: str, *, name: str = FILE) -> Provenance:
    """Read the provenance of a model from its folder and check its hash.

    Raises:
        CorruptFileError: The file is missing or altered.
        InputError: It is not JSON.
        StorageError: It cannot be read.
    """
    if not is_stored(folder / name):
        problem = "the record of the dictionaries used in training is missing"
        raise CorruptFileError(problem, "copy the folder again, whole", "missing-part", file=folder / name)
    data = stored_bytes(folder / name, sha256=sha256)
    return Provenance.from_facts(parse_json(data, folder / name), folder / name)
