"""Inputs that several kinds of steps read: encoders, which a worker opens once, sentence pairs and dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, InputError
from isoglot.study.kinds.text import DICTIONARY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isoglot.model.protocol import EncoderLike
    from isoglot.study.steps import Work
    from isoglot.text.formats.dictionary import Entry


def open_step_encoder(work: Work, name: str = "encoder") -> EncoderLike:
    """The encoder of an input step, or of an input folder that has a released one; a worker keeps the latest two."""
    from isoglot.model import load_encoder
    from isoglot.study.kinds.pretrain import ENCODER

    folder = work.inputs[name]
    source = folder / ENCODER if (folder / ENCODER).is_dir() else folder
    return work.cached_latest("encoders", source, lambda: load_encoder(source, device=work.device), most=2)


def open_both(work: Work) -> tuple[EncoderLike, EncoderLike]:
    """The encoders of the two languages: the inputs ``encoder`` and ``other``, or the first for both."""
    return open_step_encoder(work), open_step_encoder(work, "other" if "other" in work.inputs else "encoder")


def step_languages(work: Work) -> tuple[str, str]:
    """The setting ``languages``."""
    one, other = work.settings["languages"]
    return one, other


def read_entries(path: Path) -> list[Entry]:
    """The entries of a dictionary: a file, or the payload of a step that wrote one."""
    from isoglot.text.formats.dictionary import read_dictionary

    return list(read_dictionary(path / DICTIONARY if path.is_dir() else path))


def sentence_pairs(work: Work, languages: tuple[str, str]) -> tuple[list[str], list[str], str]:
    """Test sentences of two languages that correspond, and a hash of them.

    Settings: ``count`` and ``builtin``, a seed, for built-in sentences; inputs ``pairs.LANG`` for aligned files, or
    ``pairs.table`` for a table with a column for each language.

    Raises:
        ConfigError: A language is missing.
    """
    return _sides(_pairs(work, languages, "pairs", work.settings))


def map_pairs(work: Work, languages: tuple[str, str]) -> tuple[list[str], list[str], str]:
    """Sentences to fit maps on, and a hash of them; none of them is a test sentence.

    Settings: ``map_pairs``, a table with ``count`` and ``builtin``; inputs ``map_pairs.LANG`` or ``map_pairs.table``.

    Raises:
        ConfigError: A language is missing.
        InputError: There are none but test sentences.
    """
    tests = set(_pairs(work, languages, "pairs", work.settings))
    sources = {first for first, _ in tests}
    asked = work.settings["map_pairs"]
    found = _pairs(work, languages, "map_pairs", {**asked, "count": asked["count"] + len(tests)})
    kept = [pair for pair in found if pair[0] not in sources][: asked["count"]]
    if not kept:
        raise InputError("there are no sentences to fit a map on but those of the test", "give --map-parallel", "leak")
    return _sides(kept)


def _sides(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str], str]:
    import hashlib

    digest = hashlib.sha256("\n".join(f"{first}\t{second}" for first, second in pairs).encode()).hexdigest()
    return [first for first, _ in pairs], [second for _, second in pairs], digest[:16]


def _pairs(work: Work, languages: tuple[str, str], name: str, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Different pairs of sentences, of the input files of that name or built-in ones.

    Raises:
        ConfigError: A language is missing.
    """
    from isoglot.languages.builtin import builtin_pairs
    from isoglot.text.formats.parallel import read_aligned, read_parallel

    one, other = languages
    files = dict(work.named(name))
    if files:
        table = files.get("table")
        missing = [code for code in languages if table is None and code not in files]
        if missing:
            raise ConfigError(f"no parallel sentences of {missing[0]}", "give a file for it", "missing-data")
        rows = read_aligned({code: files[code] for code in languages}) if table is None else read_parallel(table)
        found = {(row[one], row[other]): None for row in rows if row[one].strip() and row[other].strip()}
        return list(found)[: settings.get("count")]
    return builtin_pairs(languages, settings["count"], seed=settings["builtin"])
