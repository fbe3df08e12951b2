"""Subword vocabulary: subwords, their languages, encoding and decoding.

Every language has its own tokenizer, its *view*: a standard ``tokenizer.json`` in which subwords of the language have
their strings, and all others an unreachable name such as ``fr:▁maison``. Each view can be loaded by ``transformers``,
has the size of the whole vocabulary, and gives global ids. Joint vocabularies and tokenizers of other models have one
view for all languages, except those that were added later (:mod:`.extend`): each of these has its own.

A vocabulary knows how its training text was cleaned and segmented, and does the same to all text that it encodes
(:mod:`isoglot.text.cleaning.processing`), so that a text has the same tokens everywhere.

Saved as a folder::

    vocabulary.json          mode, sizes, ids of each language, text processing, hashes, provenance
    tokenizer.json           joint: the view (with tokenizer_config.json, for transformers)
    en/tokenizer.json        otherwise, and of languages added later: the view of each language
    counts.npy               count of each subword in a sample of each language's text (languages x V)

Each file may be compressed, with ``.zst`` appended to its name.

Shape legend: ``V`` subwords.
"""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from isoglot.core.artifact import (
    Compression,
    both_forms,
    check_form,
    is_stored,
    read_index_file,
    store_bytes,
    stored_bytes,
    write_index,
)
from isoglot.core.errors import ConfigError, CorruptFileError, IsoglotError, check_name, shown
from isoglot.core.files import as_json, inside, storage_error, writable_folder
from isoglot.core.language_codes import language_code
from isoglot.core.run import renewed_folder
from isoglot.text.cleaning.processing import TextProcessing
from isoglot.text.provenance import Provenance, unknown, without_words
from isoglot.vocab.external_tokenizer import (
    PROCESSING_FORM,
    ExportedText,
    RowLayout,
    Side,
    exported_text,
    open_tokenizer,
    parse_tokenizer,
    row_layout,
)
from isoglot.vocab.line_encoder import LineEncoder, LineTokenizer, id_type
from isoglot.vocab.sharing import from_ranges, to_ranges
from isoglot.vocab.subword_scheme import MARK, SPECIAL, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from tokenizers import Tokenizer


Mode = Literal["joint", "union", "disjoint", "graded", "given"]
"""How languages share subwords; ``given`` is the tokenizer of another model."""

INDEX = "vocabulary.json"
_FORMAT = 1
_LARGEST = 2**28  # pieces
_FORM = {
    "mode": get_args(Mode),
    "size": int,
    "languages": [str],
    "special": {...: int},
    "ids": {...: [list]},
    "counted": [str],
    "files": {...: str},
    "about": dict,
}


class Subwords(NamedTuple):
    """Ids of a text, with the start and end of each in the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Vocabulary:
    """Subword vocabulary of several languages.

    Created by :func:`isoglot.vocab.train_vocabulary`, :meth:`load` or :meth:`from_tokenizer`.

    Args:
        mode: How the languages share subwords.
        languages: Canonical codes.
        views: ``tokenizer.json`` of each language, or of ``""`` for all languages without their own.
        members: The ids of each language as a mask over V, including special tokens. Empty: unknown, so all.
        counts: The count of each id in a sample of each language's text.
        processing: Text processing of languages. Default: none.
        about: How it was created: settings, files with their hashes, dictionaries with their words.
        special: The ids of special tokens by BERT's names. Default: the subwords of these names.
        padding_side: The side on which rows are padded.
    """

    def __init__(
        self,
        *,
        mode: Mode,
        languages: Sequence[str],
        views: Mapping[str, str],
        members: Mapping[str, np.ndarray] | None = None,
        counts: Mapping[str, np.ndarray] | None = None,
        processing: Iterable[TextProcessing] = (),
        about: Mapping[str, Any] | None = None,
        special: Mapping[str, int] | None = None,
        padding_side: Side = "right",
    ) -> None:
        self.mode: Mode = mode
        self.languages = tuple(languages)
        self.about = dict(about or {})
        self._views = dict(views)
        self._members = dict(members or {})
        self._counts = dict(counts or {})
        self._special = None if special is None else dict(special)
        self.padding_side: Side = padding_side
        self._processing = {one.language: one for one in processing if one}
        self._tokenizers: dict[str, Tokenizer] = {}
        self._line_tokenizers: dict[str, LineTokenizer] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    def __repr__(self) -> str:
        return f"Vocabulary({self.mode}, {len(self):,} pieces, {' '.join(self.languages) or 'any language'})"

    # --- subwords and languages ---

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The string of every id; a string with separate ids for languages occurs more than once."""
        found: dict[int, str] = {}
        for name in self._views:
            vocab = self.tokenizer(name or None).get_vocab(with_added_tokens=True)
            own = set(self._members[name].nonzero()[0].tolist()) if name else None
            found |= {index: piece for piece, index in vocab.items() if own is None or index in own}
        return tuple(found.get(index, "") for index in range(max(found, default=-1) + 1))

    @cached_property
    def special(self) -> dict[str, int]:
        """The ids of ``[PAD]``, ``[UNK]``, ``[CLS]``, ``[SEP]`` and ``[MASK]``, whatever their strings.

        Tokenizers of other models may lack some of them.
        """
        if self._special is not None:
            return dict(self._special)
        tokenizer = self.tokenizer(self.languages[0] if self.languages else None)
        found = {name: tokenizer.token_to_id(name) for name in SPECIAL}
        return {name: index for name, index in found.items() if index is not None}

    @cached_property
    def layout(self) -> RowLayout:
        """The special tokens before, between and after texts, and the padding id."""
        return replace(row_layout(next(iter(self._views.values()))), pad=self.pad_id)

    @property
    def pad_id(self) -> int:
        """The padding id; any id if the tokenizer has none, because padding is masked."""
        return self.special.get("[PAD]", self.special.get("[SEP]", 0))

    @property
    def unknown_id(self) -> int:
        """The id for a text without tokens."""
        return self.special.get("[UNK]", self.pad_id)

    @property
    def mask_id(self) -> int:
        """The id of the mask token.

        Raises:
            ConfigError: There is none.
        """
        if "[MASK]" not in self.special:
            problem = "the tokenizer has no mask token"
            raise ConfigError(problem, "choose a model that was trained by masked language modeling", "not-supported")
        return self.special["[MASK]"]

    def code_of(self, language: str) -> str:
        """The canonical code of one of its languages.

        Raises:
            ConfigError: It has no such language.
        """
        code = language_code(language)
        if self.languages:
            check_name("language of the vocabulary", code, self.languages, "unknown-language")
        return code

    def ids_of(self, language: str) -> np.ndarray:
        """The sorted ids of a language, including special tokens.

        In a joint vocabulary these are the ids in a sample of its text; for tokenizers of other models, all.
        """
        import numpy as np

        mask = self._members.get(self.code_of(language))
        return np.arange(len(self)) if mask is None else np.flatnonzero(mask)

    def anchors(self, first: str, second: str) -> np.ndarray:
        """The sorted ids that two languages share, without special tokens."""
        import numpy as np

        shared = np.intersect1d(self.ids_of(first), self.ids_of(second))
        return np.setdiff1d(shared, list(self.special.values()))

    def counts(self, language: str) -> np.ndarray | None:
        """The count of each id in a sample of the language's text (V); None if unknown."""
        return self._counts.get(self.code_of(language))

    def word(self, index: int) -> str | None:
        """The word that an id is, or begins; None for continuations and special tokens.

        >>> from isoglot.vocab.subword_scheme import MARK
        >>> f"{MARK}house".removeprefix(MARK)
        'house'
        """
        piece = self.pieces[index]
        if index in self.special.values():
            return None
        if self._continues:
            return None if piece.startswith(self._continues) else piece.removeprefix(MARK) or None
        opening = next((mark for mark in (MARK, "Ġ") if piece.startswith(mark)), None)
        return None if opening is None else piece.removeprefix(opening) or None

    @cached_property
    def starts(self) -> np.ndarray:
        """Whether each subword begins a word with a blank before it (V, bool)."""
        import numpy as np

        if self._continues:
            return np.array([not piece.startswith(self._continues) for piece in self.pieces])
        return np.array([piece.startswith((MARK, "Ġ")) for piece in self.pieces])

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether subwords are byte strings, as in GPT-2 and RoBERTa, which mark a blank with ``Ġ``."""
        return self.mode == "given" and self._continues is None and any(piece.startswith("Ġ") for piece in self.pieces)

    @cached_property
    def _continues(self) -> str | None:
        """The prefix of subwords that continue a word, if there is one."""
        return self._of_model("continuing_subword_prefix")

    @cached_property
    def _ends(self) -> str | None:
        """The suffix of subwords that end a word, as in XLM, if there is one."""
        return self._of_model("end_of_word_suffix")

    def _of_model(self, key: str) -> str | None:
        found = json.loads(next(iter(self._views.values())))["model"].get(key)
        return found if self.mode == "given" and found else None

    @cached_property
    def ends(self) -> np.ndarray:
        """Whether each subword is marked as the end of a word (V, bool)."""
        import numpy as np

        return np.array([self._ends is not None and piece.endswith(self._ends) for piece in self.pieces])

    # --- text to ids and back ---

    def processing(self, language: str | None = None) -> TextProcessing:
        """The text processing of a language; none for other languages.

        Raises:
            ConfigError: It depends on the language, and none is given.
        """
        if language is None and len(self.languages) == 1:
            language = self.languages[0]
        if language is None and self._processing:
            problem = "the vocabulary segments or cleans text by language and none is named"
            remedy = f"choose one of {', '.join(self.languages)}: --lang {self.languages[0]}"
            raise ConfigError(problem, remedy, "missing-option")
        code = "und" if language is None else language_code(language)
        found = self._processing.get(code) or self._processing.get(code.partition("-")[0])
        return found or TextProcessing(code)

    def exported_text(self, language: str | None = None) -> ExportedText:
        """The text processing of an exported view: of a language, or of all if none is given."""
        if language is None:
            return ExportedText(self.languages, [one for _, one in sorted(self._processing.items())])
        found = replace(self.processing(language), language=language_code(language))
        return ExportedText([found.language] if found else [], [found] if found else [])

    def tokenizer(self, language: str | None = None) -> Tokenizer:
        """The tokenizer of a language, for processed text (see :meth:`processing`); special tokens are read as text.

        A vocabulary with one view for several languages accepts any language.

        Raises:
            ConfigError: The vocabulary has views by language or is for a single language, and this is another.
        """
        from tokenizers import Tokenizer

        name = self._view(language)
        if name not in self._tokenizers:
            self._tokenizers[name] = literal(Tokenizer.from_str(self._views[name]))
        return self._tokenizers[name]

    def line_encoder(self, language: str | None = None) -> LineEncoder:
        """A fast encoder of many lines, with the same ids as :meth:`encode`."""
        name, normalization = self._view(language), self.about.get("normalization")
        if name not in self._line_tokenizers:
            self._line_tokenizers[name] = LineTokenizer.parse(self._views[name], normalization)
        return LineEncoder(
            self._line_tokenizers[name],
            normalization=normalization,
            dtype=id_type(len(self)),
            processing=self.processing(language),
        )

    def view(self, language: str | None = None) -> str:
        """The ``tokenizer.json`` of a language's view."""
        return self._views[self._view(language)]

    def encode(self, text: str, language: str | None = None) -> list[int]:
        """Encode a text, without adding special tokens."""
        return self.tokenizer(language).encode(self.processing(language)(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str], language: str | None = None) -> list[list[int]]:
        """Encode texts."""
        tokenizer, processing = self.tokenizer(language), self.processing(language)
        lines = list(map(processing, texts)) if processing else list(texts)
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def encode_with_offsets(self, texts: Sequence[str], language: str | None = None) -> list[Subwords]:
        """Encode texts, with the offsets of ids in the text as written."""
        tokenizer, processing = self.tokenizer(language), self.processing(language)
        traced = [processing.traced(text) for text in texts] if processing else []
        lines = [one.text for one in traced] if processing else list(texts)
        encodings = tokenizer.encode_batch(lines, add_special_tokens=False)
        mark = tokenizer.token_to_id(MARK)
        found = []
        for number, encoding in enumerate(encodings):
            ids, offsets = encoding.ids, encoding.offsets
            if ids and ids[0] == mark:  # the mark before a text has no characters of it
                offsets[0] = (0, 0)
            found.append(Subwords(ids, traced[number].offsets(offsets) if processing else offsets))
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids of any language; special tokens except ``[UNK]`` are skipped.

        Marks of continuation (``##``) and of word ends (``</w>``) are removed.
        """
        tokenizer = self.tokenizer(self.languages[0] if self.languages else None)
        silent = {index for name, index in self.special.items() if name != "[UNK]"}
        kept = [int(index) for index in ids if int(index) not in silent]
        decoder = tokenizer.decoder
        if decoder is None and self._continues is None and self._ends is None:
            return tokenizer.decode(kept, skip_special_tokens=False)
        pieces = [self.pieces[index] for index in kept]
        from tokenizers import decoders

        if self._ends is not None:
            decoder = decoder or decoders.BPEDecoder(self._ends)
        if self._continues is not None:
            pieces[:1] = [piece.removeprefix(self._continues) or piece for piece in pieces[:1]]
            decoder = decoder or decoders.WordPiece(self._continues)
        return str(decoder.decode(pieces))

    def has_view_of(self, code: str) -> bool:
        """Whether a language is one that it was trained for, or that was added later."""
        return code in self.languages or code in self._views

    def _view(self, language: str | None) -> str:
        if language is not None and (code := language_code(language)) in self._views:
            return code
        if "" in self._views:
            # one view for several languages accepts any language; a vocabulary of a single language does not
            checked = language_code if len(self.languages) > 1 else self.code_of
            if language is not None:
                checked(language)
            return ""
        if language is None:
            problem = f"a {self.mode} vocabulary encodes by language and none is named"
            remedy = f"choose one of {', '.join(self.languages)}: --lang {self.languages[0]}"
            raise ConfigError(problem, remedy, "missing-option")
        return self.code_of(language)

    # --- provenance ---

    @cached_property
    def hash(self) -> str:
        """The SHA-256 that identifies the encoding: shards and models refer to their vocabulary by it."""
        digest = hashlib.sha256(self.mode.encode())
        for name, view in sorted(self._views.items()):
            digest.update(f"\0{name}\0".encode() + view.encode())
        if self.mode == "given":  # the view does not determine its special tokens
            digest.update(f"\0{sorted(self.special.items())}\0{self.padding_side}".encode())
        for code, one in sorted(self._processing.items()):
            digest.update(f"\0{code}\0".encode() + as_json(one.facts()))
        return digest.hexdigest()

    @property
    def segment_separator(self) -> int | None:
        """The token after the first of two texts if there are token types, else None."""
        return self.layout.segment_separator if self.about.get("token_types") is True else None

    @property
    def sampled(self) -> dict[str, dict[str, int]]:
        """For each language with counts: its number of lines, and N if one of every N was counted."""
        return dict(self.about.get("sample", {}))

    @property
    def provenance(self) -> Provenance:
        """The texts and dictionaries it was trained on; unknown for tokenizers of other models."""
        if "provenance" in self.about:
            return Provenance.from_facts(self.about["provenance"])
        return unknown(str(self.about.get("tokenizer", f"{self.mode} vocabulary")))

    def facts(self) -> dict[str, Any]:
        """Size, languages, anchors, text processing and dictionaries, as JSON values."""
        return {
            "mode": self.mode,
            "size": len(self),
            "hash": self.hash,
            "languages": {code: len(self.ids_of(code)) for code in self.languages},
            "anchors": {
                f"{one}-{other}": len(self.anchors(one, other)) for one, other in combinations(self.languages, 2)
            },
            "processing": {code: self.processing(code).facts() for code in self.languages},
            "special": self.special,
            "about": {key: value for key, value in self.about.items() if key != "provenance"},
            "dictionaries": without_words(self.provenance.dictionaries),
            "provenance_unknown": list(self.provenance.unknown),
        }

    def observed(self, counts: Mapping[str, np.ndarray]) -> Vocabulary:
        """The vocabulary with other counts, such as those of whole shards.

        If languages have one view, an id belongs to the languages in which it occurs.
        """
        import numpy as np

        exact = {language_code(code): np.asarray(count) for code, count in counts.items()}
        members = dict(self._members)
        languages = self.languages or tuple(exact)
        if "" in self._views:
            for code, count in exact.items():
                members[code] = count > 0
                members[code][list(self.special.values())] = True
        return Vocabulary(
            mode=self.mode,
            languages=languages,
            views=self._views,
            members=members,
            counts={**self._counts, **exact},
            processing=self._processing.values(),
            about={**self.about, "sample": {code: one for code, one in self.sampled.items() if code not in exact}},
            special=self._special,
            padding_side=self.padding_side,
        )

    def extended(
        self,
        processing: TextProcessing,
        view: str,
        own: Iterable[int],
        counts: np.ndarray,
        about: Mapping[str, Any],
        provenance: Provenance,
    ) -> Vocabulary:
        """The vocabulary with one more language (:func:`isoglot.vocab.extend.extend_vocabulary`).

        Args:
            processing: Its text processing.
            view: Its ``tokenizer.json``, in which new ids follow all others.
            own: Its ids.
            counts: The count of each id in a sample of its text; new ids included (V).
            about: How it was added.
            provenance: Of the whole.
        """
        import numpy as np

        code, size = processing.language, len(counts)
        mask = np.isin(np.arange(size), list(own))
        members = {known: np.pad(ids, (0, size - len(ids))) for known, ids in self._members.items()}
        older = {known: np.pad(count, (0, size - len(count))) for known, count in self._counts.items()}
        return Vocabulary(
            mode=self.mode,
            languages=(*self.languages, code) if self.languages else (),
            views={**self._views, code: view},
            members={**members, code: mask},
            counts={**older, code: counts},
            processing=[*self._processing.values(), processing],
            about={
                **self.about,
                "added": {**self.about.get("added", {}), code: dict(about)},
                "provenance": provenance.facts(),
            },
            special=self.special,
            padding_side=self.padding_side,
        )

    @classmethod
    def from_tokenizer(cls, source: str | Path, languages: Sequence[str] = ()) -> Vocabulary:
        """Wrap a Hugging Face tokenizer, such as mBERT's, or an exported one with its text processing.

        Args:
            source: A ``tokenizer.json``, a folder with one, or a name on the hub.
            languages: Its languages. Default: any, or those of an export that processes text.

        Raises:
            CorruptFileError: The text processing of an export is missing.
            StorageError: There is no such file, folder or name, or it is not a tokenizer.
        """
        found, text = open_tokenizer(source), exported_text(source)
        return cls(
            mode="given",
            languages=[language_code(code) for code in languages or text.languages],
            views={"": found.view},
            processing=text.processing,
            about={"tokenizer": found.origin} | ({"token_types": True} if found.token_types else {}),
            special=found.special,
            padding_side=found.padding_side,
        )

    # --- files ---

    def save(self, folder: str | Path, *, compression: Compression = "none") -> list[Path]:
        """Write the vocabulary to a folder, created if missing; returns the files.

        An existing vocabulary is replaced in one step; other files are kept.

        Args:
            folder: The folder.
            compression: Whether to compress files, which other programs cannot open then.

        Raises:
            StorageError: The folder cannot be written to.
        """
        import numpy as np

        files: dict[str, bytes] = {}
        for name, view in self._views.items():
            files[f"{name}/tokenizer.json".lstrip("/")] = view.encode()
            if self.mode != "given":
                files[f"{name}/tokenizer_config.json".lstrip("/")] = _CONFIG.encode()
        if self._counts:
            buffer = io.BytesIO()
            np.save(buffer, np.stack([self._counts[code] for code in sorted(self._counts)]), allow_pickle=False)
            files["counts.npy"] = buffer.getvalue()
        index = {
            "mode": self.mode,
            "size": len(self),
            "languages": list(self.languages),
            "hash": self.hash,
            "special": self.special,
            "padding_side": self.padding_side,
            "processing": {code: one.facts() for code, one in sorted(self._processing.items())},
            "ids": {code: to_ranges(np.flatnonzero(mask)) for code, mask in self._members.items()},
            "counted": sorted(self._counts),
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
            "about": self.about,
        }
        with renewed_folder(folder, INDEX, stale=vocabulary_files(folder)) as target:
            written = []
            for name, data in files.items():
                writable_folder((target / name).parent)
                written.append(store_bytes(target / name, data, compression))
            written.append(write_index(target / INDEX, "a vocabulary", _FORMAT, index, compression=compression))
        return [Path(folder) / path.relative_to(target) for path in written]

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a vocabulary from its folder and check its files.

        Raises:
            CorruptFileError: A file was truncated or altered.
            InputError: ``vocabulary.json`` is not a vocabulary, or a ``tokenizer.json`` is not a tokenizer.
            StorageError: A file is missing.
        """
        folder = Path(folder)
        if not is_stored(folder / INDEX):
            raise storage_error(FileNotFoundError(), folder / INDEX, doing="read a vocabulary")
        remedy = "make it with isoglot vocab train"
        index = read_index_file(folder / INDEX, _FORM, version=_FORMAT, what="a vocabulary", remedy=remedy)
        processing = index.get("processing", {})
        padding_side = index.get("padding_side", "right")
        check_form(processing, PROCESSING_FORM, folder / INDEX, remedy=remedy)
        check_form({"padding_side": padding_side}, {"padding_side": get_args(Side)}, folder / INDEX, remedy=remedy)
        files = {name: stored_bytes(inside(folder, name), sha256=sha256) for name, sha256 in index["files"].items()}
        views = {
            name.removesuffix("tokenizer.json").rstrip("/"): data.decode(errors="replace")
            for name, data in files.items()
            if name.endswith("tokenizer.json")
        }
        size = index["size"]
        if not 0 < size <= _LARGEST:
            raise CorruptFileError(f"a vocabulary of {shown(size, 30)} pieces", remedy, file=folder / INDEX)
        members = {code: from_ranges(ranges, size, folder / INDEX) for code, ranges in index["ids"].items()}
        counts = {}
        if index["counted"]:
            check_form(files, {"counts.npy": bytes}, folder / INDEX, remedy=remedy)
            table = _count_table(files["counts.npy"], folder / "counts.npy", remedy)
            if table.shape != (len(index["counted"]), size):
                problem = f"counts of the shape {table.shape} for {len(index['counted'])} languages and {size:,} pieces"
                raise CorruptFileError(problem, remedy, file=folder / INDEX)
            counts = dict(zip(index["counted"], table, strict=True))
        found = cls(
            mode=index["mode"],
            languages=index["languages"],
            views=views,
            members=members,
            counts=counts,
            processing=[TextProcessing(code, **facts) for code, facts in processing.items()],
            about=index["about"],
            special=index["special"],
            padding_side=padding_side,
        )
        for name, view in views.items():
            found._tokenizers[name] = literal(parse_tokenizer(view, folder / name / "tokenizer.json"))
        found._check(size, folder / INDEX, remedy)
        return found

    def _check(self, size: int, path: Path, remedy: str) -> None:
        """Check the index against the tokenizers.

        Raises:
            CorruptFileError: A language has no tokenizer or ids, or subwords or special tokens are missing.
        """
        views = self._views.keys() - {""}
        known = views if "" in self._views else set(self.languages)
        wrong = sorted((views | known) - (known & views & self._members.keys()))
        problem = f"{shown(wrong[0])} is no language with a tokenizer and ids" if wrong else None
        if not self._views:
            problem = "there is no tokenizer"
        if problem is None and len(self) != size:
            problem = f"{size:,} pieces, where the tokenizers have {len(self):,}"
        for name, index in (self._special or {}).items():
            if problem is None and not 0 <= index < size:
                problem = f"the id {shown(index, 30)} of {shown(name)} is not below {size:,}"
        if problem is not None:
            raise CorruptFileError(problem, remedy, file=path)


def _count_table(data: bytes, path: Path, remedy: str) -> np.ndarray:
    """Read ``counts.npy``, which has non-negative numbers.

    Raises:
        CorruptFileError: It has something else.
    """
    import numpy as np

    try:
        table = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False, max_header_size=10_000)
    except (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError) as error:
        raise CorruptFileError("not an array of counts", remedy, file=path) from error
    if table.dtype.kind not in "iuf" or not bool((table >= 0).all()):
        raise CorruptFileError("counts that are negative or not numbers", remedy, file=path)
    return table


def vocabulary_files(folder: str | Path) -> list[str]:
    """The names of the files of a vocabulary, compressed or not; only the index if it is damaged."""
    names = [INDEX]
    with suppress(IsoglotError):
        index = read_index_file(Path(folder) / INDEX, _FORM, version=_FORMAT, what="a vocabulary", remedy="")
        names += index["files"]
    return both_forms(*names)


_CONFIG = json.dumps(
    {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)),
    },
    indent=2,
)
