"""A subword vocabulary: which pieces there are, which language has which, and text to ids and back.

Every language sees the same ids through a tokenizer of its own, its *view*: a standard ``tokenizer.json`` in which the
pieces the language has stand under their strings, and all others under a name no text can reach, ``fr:▁maison``. So
each view opens in ``transformers`` as it is, has the same size as the whole, and gives global ids. A joint vocabulary
and a tokenizer from elsewhere have one view for all languages.

A vocabulary knows how the text it was learned from was cleaned and segmented, for each language, and does the same to
every text it encodes (:mod:`isoglot.text.cleaning.processing`): a text has the same tokens in shards, tasks and all
else.

Saved as a folder::

    vocabulary.json          mode, sizes, which ids each language has, text processing, hashes, what it was made from
    tokenizer.json           joint: the one view (beside it tokenizer_config.json, for transformers)
    en/tokenizer.json        otherwise: a view for each language
    counts.npy               how often each piece occurs in a sample of each language's text (languages x V)

Any of these may be there compressed instead, with ``.zst`` behind its name.

Shapes: ``V`` pieces.
"""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from isoglot.core.artifact import (
    both_forms,
    check_form,
    is_stored,
    read_index_file,
    store_bytes,
    stored_bytes,
    write_index,
)
from isoglot.core.errors import ConfigError, CorruptFileError, IsoglotError, nearest_name, shown
from isoglot.core.files import as_json, inside, storage_error, writable_folder
from isoglot.core.language_codes import language_code
from isoglot.core.run import renewed_folder
from isoglot.text.cleaning.processing import TextProcessing
from isoglot.text.provenance import Provenance, unknown
from isoglot.vocab.exported_processing import PROCESSING_FORM, ExportedText, exported_text
from isoglot.vocab.external_tokenizer import RowLayout, Side, open_given, parse_tokenizer, row_layout
from isoglot.vocab.line_encoder import LineEncoder, LineTokenizer, id_type
from isoglot.vocab.sharing import from_ranges, to_ranges
from isoglot.vocab.subword_scheme import MARK, SPECIAL, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from tokenizers import Tokenizer

    from isoglot.core.artifact import Compression

Mode = Literal["joint", "union", "disjoint", "graded", "given"]
"""How languages share pieces; ``given`` is a tokenizer from elsewhere."""

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
    """The ids of a text, and where each begins and ends in the text as written."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Vocabulary:
    """Pieces with ids, and which language has which.

    Made by :func:`isoglot.vocab.train_vocabulary`, :meth:`load` or :meth:`from_tokenizer`.

    Args:
        mode: How the languages share pieces.
        languages: Canonical codes.
        views: ``tokenizer.json`` of each language, or of ``""`` for all of them.
        members: Which ids each language has, as a mask over V; special tokens included. Empty: not known, so all.
        counts: How often each id occurs in a sample of each language's text.
        processing: What is done to the text of a language before it is encoded; text of others is read as written.
        about: What it was made from and how: settings, files with their hashes, dictionaries with their words.
        special: The ids of the special tokens, under BERT's names; None: the pieces that have those names.
        padding_side: Where rows are padded.
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

    # --- pieces and languages ---

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The string of every id; where languages have separate ids for a string, it is there more than once."""
        found: dict[int, str] = {}
        for name in self._views:
            vocab = self.tokenizer(name or None).get_vocab(with_added_tokens=True)
            own = set(self._members[name].nonzero()[0].tolist()) if name else None
            found |= {index: piece for piece, index in vocab.items() if own is None or index in own}
        return tuple(found.get(index, "") for index in range(max(found, default=-1) + 1))

    @cached_property
    def special(self) -> dict[str, int]:
        """The ids of ``[PAD]``, ``[UNK]``, ``[CLS]``, ``[SEP]`` and ``[MASK]``, whatever the pieces are called.

        A tokenizer from elsewhere need not have all of them.
        """
        if self._special is not None:
            return dict(self._special)
        tokenizer = self.tokenizer(self.languages[0] if self.languages else None)
        found = {name: tokenizer.token_to_id(name) for name in SPECIAL}
        return {name: index for name, index in found.items() if index is not None}

    @cached_property
    def layout(self) -> RowLayout:
        """The special tokens before, between and after texts."""
        return row_layout(next(iter(self._views.values())))

    @property
    def pad_id(self) -> int:
        """What rows are padded with; where the tokenizer has nothing for it, any token, for it is masked."""
        return self.special.get("[PAD]", self.special.get("[SEP]", 0))

    @property
    def unknown_id(self) -> int:
        """What stands for a text that the tokenizer reads as nothing."""
        return self.special.get("[UNK]", self.pad_id)

    @property
    def mask_id(self) -> int:
        """The mask token.

        Raises:
            ConfigError: There is none.
        """
        if "[MASK]" not in self.special:
            raise ConfigError(
                "the tokenizer has no mask token",
                remedy="choose a model that was trained by masked language modeling",
                code="config.not-supported",
            )
        return self.special["[MASK]"]

    def code_of(self, language: str) -> str:
        """The canonical code of one of its languages.

        Raises:
            ConfigError: It is none of them.
        """
        code = language_code(language)
        if self.languages and code not in self.languages:
            raise ConfigError(
                f"the vocabulary has no language {shown(language)}",
                remedy=nearest_name(code, self.languages),
                code="config.unknown-language",
            )
        return code

    def ids_of(self, language: str) -> np.ndarray:
        """The ids a language has, sorted, special tokens included.

        In a joint vocabulary these are the ids seen in a sample of its text; of a tokenizer from elsewhere, all.
        """
        import numpy as np

        mask = self._members.get(self.code_of(language))
        return np.arange(len(self)) if mask is None else np.flatnonzero(mask)

    def anchors(self, first: str, second: str) -> np.ndarray:
        """The ids that two languages share, special tokens left out, sorted."""
        import numpy as np

        shared = np.intersect1d(self.ids_of(first), self.ids_of(second))
        return np.setdiff1d(shared, list(self.special.values()))

    def counts(self, language: str) -> np.ndarray | None:
        """How often each id occurs in a sample of the language's text (V), or None if that is not known."""
        return self._counts.get(self.code_of(language))

    def word(self, index: int) -> str | None:
        """The word that an id is the beginning or the whole of; None if the piece continues one or is no word.

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
        """Whether each piece begins a word written with a blank before it, or stands for none (V, bool)."""
        import numpy as np

        if self._continues:
            return np.array([not piece.startswith(self._continues) for piece in self.pieces])
        return np.array([piece.startswith((MARK, "Ġ")) for piece in self.pieces])

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether pieces are strings of bytes, as GPT-2's and RoBERTa's are, which mark a blank with ``Ġ``."""
        return self.mode == "given" and self._continues is None and any(piece.startswith("Ġ") for piece in self.pieces)

    @cached_property
    def _continues(self) -> str | None:
        """What a tokenizer from elsewhere puts before pieces that continue a word, if it does that."""
        return self._of_model("continuing_subword_prefix")

    @cached_property
    def _ends(self) -> str | None:
        """What a tokenizer from elsewhere puts behind pieces that end a word, as XLM's does, if it does that."""
        return self._of_model("end_of_word_suffix")

    def _of_model(self, key: str) -> str | None:
        found = json.loads(next(iter(self._views.values())))["model"].get(key)
        return found if self.mode == "given" and found else None

    @cached_property
    def ends(self) -> np.ndarray:
        """Whether each piece is marked as the end of a word (V, bool); False everywhere where no end is marked."""
        import numpy as np

        return np.array([self._ends is not None and piece.endswith(self._ends) for piece in self.pieces])

    # --- text to ids and back ---

    def processing(self, language: str | None = None) -> TextProcessing:
        """What is done to text of a language before it is encoded; a language it has no word on is read as written.

        Raises:
            ConfigError: It depends on the language, and none is named.
        """
        if language is None and len(self.languages) == 1:
            language = self.languages[0]
        if language is None and self._processing:
            raise ConfigError(
                "the vocabulary segments or cleans text by language and none is named",
                remedy=f"choose one of {', '.join(self.languages)}: --lang {self.languages[0]}",
                code="config.missing-option",
            )
        code = "und" if language is None else language_code(language)
        found = self._processing.get(code) or self._processing.get(code.partition("-")[0])
        return found or TextProcessing(code)

    def exported_text(self, language: str | None = None) -> ExportedText:
        """What has to be said of text beside an exported view: that of a language, or of all where none is named."""
        if language is None:
            return ExportedText(self.languages, [one for _, one in sorted(self._processing.items())])
        found = replace(self.processing(language), language=language_code(language))
        return ExportedText([found.language] if found else [], [found] if found else [])

    def tokenizer(self, language: str | None = None) -> Tokenizer:
        """The view of a language, for processed text (see :meth:`processing`); special tokens are read as text.

        A vocabulary that reads several languages alike takes any other, too.

        Raises:
            ConfigError: The vocabulary has views by language or is for one alone, and this is another.
        """
        from tokenizers import Tokenizer

        name = self._view(language)
        if name not in self._tokenizers:
            self._tokenizers[name] = literal(Tokenizer.from_str(self._views[name]))
        return self._tokenizers[name]

    def line_encoder(self, language: str | None = None) -> LineEncoder:
        """The fast way to encode many lines; the ids are those of :meth:`encode`."""
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
        """The ids of a text, without special tokens around it."""
        return self.tokenizer(language).encode(self.processing(language)(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str], language: str | None = None) -> list[list[int]]:
        """The ids of each text."""
        tokenizer, processing = self.tokenizer(language), self.processing(language)
        lines = list(map(processing, texts)) if processing else list(texts)
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def encode_with_offsets(self, texts: Sequence[str], language: str | None = None) -> list[Subwords]:
        """The ids of each text, and where in the text as written each of them is."""
        tokenizer, processing = self.tokenizer(language), self.processing(language)
        traced = [processing.traced(text) for text in texts] if processing else []
        lines = [one.text for one in traced] if processing else list(texts)
        encodings = tokenizer.encode_batch(lines, add_special_tokens=False)
        mark = tokenizer.token_to_id(MARK)
        found = []
        for number, encoding in enumerate(encodings):
            ids, offsets = encoding.ids, encoding.offsets
            if ids and ids[0] == mark:  # what is put before a text has none of its letters
                offsets[0] = (0, 0)
            found.append(Subwords(ids, traced[number].offsets(offsets) if processing else offsets))
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids of any language; special tokens but ``[UNK]`` are left out.

        A piece that continues a word (``##``) or ends it (``</w>``) has no mark of that in the text, even alone.
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

    def _view(self, language: str | None) -> str:
        if "" in self._views:
            # What reads several languages alike reads any; what was made for one alone was hardly meant for another.
            checked = language_code if len(self.languages) > 1 else self.code_of
            if language is not None:
                checked(language)
            return ""
        if language is None:
            raise ConfigError(
                f"a {self.mode} vocabulary encodes by language and none is named",
                remedy=f"choose one of {', '.join(self.languages)}: --lang {self.languages[0]}",
                code="config.missing-option",
            )
        return self.code_of(language)

    # --- where it comes from ---

    @cached_property
    def hash(self) -> str:
        """A SHA-256 that stands for how text becomes ids: shards and models name the vocabulary they need by it."""
        digest = hashlib.sha256(self.mode.encode())
        for name, view in sorted(self._views.items()):
            digest.update(f"\0{name}\0".encode() + view.encode())
        if self.mode == "given":  # its special tokens are not known from the view
            digest.update(f"\0{sorted(self.special.items())}\0{self.padding_side}".encode())
        for code, one in sorted(self._processing.items()):
            digest.update(f"\0{code}\0".encode() + as_json(one.facts()))
        return digest.hexdigest()

    @property
    def segment_separator(self) -> int | None:
        """What ends the first of two texts, where a model is told which of them a token is in; None where it is not."""
        return self.layout.segment_separator if self.about.get("token_types") is True else None

    @property
    def sampled(self) -> dict[str, dict[str, int]]:
        """Of each language whose ids were counted in text: its lines, and of every how many of them one was read."""
        return dict(self.about.get("sample", {}))

    @property
    def provenance(self) -> Provenance:
        """Which texts and dictionaries it was learned from; unknown for a tokenizer from elsewhere."""
        if "provenance" in self.about:
            return Provenance.from_facts(self.about["provenance"])
        return unknown(str(self.about.get("tokenizer", f"{self.mode} vocabulary")))

    def observed(self, counts: Mapping[str, np.ndarray]) -> Vocabulary:
        """The same vocabulary with counts from elsewhere, such as whole shards.

        Where languages have one view, an id belongs to the languages it was seen in.
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

    @classmethod
    def from_tokenizer(cls, source: str | Path, languages: Sequence[str] = ()) -> Vocabulary:
        """Wrap a Hugging Face tokenizer, such as mBERT's. That of an export of ours processes text as it did before.

        Args:
            source: A ``tokenizer.json``, a folder with one, or a name on the hub.
            languages: What it may be used for; none: anything, or of an export that processes text, its languages.

        Raises:
            CorruptFileError: An export of ours has lost how its text is processed.
            StorageError: There is no such file, folder or name, or it is no tokenizer.
        """
        given, text = open_given(source), exported_text(source)
        return cls(
            mode="given",
            languages=[language_code(code) for code in languages or text.languages],
            views={"": given.view},
            processing=text.processing,
            about={"tokenizer": given.origin} | ({"token_types": True} if given.token_types else {}),
            special=given.special,
            padding_side=given.padding_side,
        )

    # --- files ---

    def save(self, folder: str | Path, *, compression: Compression = "none") -> list[Path]:
        """Write the vocabulary to a folder, made if missing; returns the files. ``vocabulary.json`` comes last.

        A vocabulary that is there is replaced in one step; files that are not its own stay.

        Args:
            folder: Where.
            compression: Whether the files are small or can be opened by others.

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
        """Read a vocabulary from its folder; every file must be what was written.

        Raises:
            CorruptFileError: A file is not what was written.
            InputError: ``vocabulary.json`` is not one of ours, or a ``tokenizer.json`` describes no tokenizer.
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
            raise CorruptFileError(f"a vocabulary of {shown(size, 30)} pieces", remedy=remedy, file=folder / INDEX)
        members = {code: from_ranges(ranges, size, folder / INDEX) for code, ranges in index["ids"].items()}
        counts = {}
        if index["counted"]:
            check_form(files, {"counts.npy": bytes}, folder / INDEX, remedy=remedy)
            table = _count_table(files["counts.npy"], folder / "counts.npy", remedy)
            if table.shape != (len(index["counted"]), size):
                raise CorruptFileError(
                    f"counts of the shape {table.shape} for {len(index['counted'])} languages and {size:,} pieces",
                    remedy=remedy,
                    file=folder / INDEX,
                )
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
        """Refuse an index that does not go with the tokenizers beside it.

        Raises:
            CorruptFileError: A language without a tokenizer or ids, or pieces or special tokens that are not there.
        """
        wanted = set() if "" in self._views else {*self._views, *self.languages}
        wrong = sorted(wanted - (set(self.languages) & set(self._views) & set(self._members)))
        problem = f"{shown(wrong[0])} is no language with a tokenizer and ids" if wrong else None
        if not self._views:
            problem = "there is no tokenizer"
        if problem is None and len(self) != size:
            problem = f"{size:,} pieces, where the tokenizers have {len(self):,}"
        for name, index in (self._special or {}).items():
            if problem is None and not 0 <= index < size:
                problem = f"the id {shown(index, 30)} of {shown(name)} is not below {size:,}"
        if problem is not None:
            raise CorruptFileError(problem, remedy=remedy, file=path)


def _count_table(data: bytes, path: Path, remedy: str) -> np.ndarray:
    """The counts in ``counts.npy``: numbers from 0.

    Raises:
        CorruptFileError: The file holds something else.
    """
    import numpy as np

    try:
        table = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False, max_header_size=10_000)
    except (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError) as error:
        raise CorruptFileError("not an array of counts", remedy=remedy, file=path) from error
    if table.dtype.kind not in "iuf" or not bool((table >= 0).all()):
        raise CorruptFileError("counts that are not numbers from 0", remedy=remedy, file=path)
    return table


def vocabulary_files(folder: str | Path) -> list[str]:
    """The names of the files of the vocabulary in a folder, in either form; of a damaged one, of its index alone."""
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
