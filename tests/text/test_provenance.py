"""Where a text comes from is known beside it, travels with what is made of it, and is never silently wrong."""

from __future__ import annotations

import gzip
import json
import shutil
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.core.artifact import compressed
from isoglot.core.errors import CorruptFileError
from isoglot.languages.twins import shift, twin_files
from isoglot.text import provenance
from isoglot.text.cleaning.clean import CleanConfig, clean_files
from isoglot.text.cleaning.overlap import OverlapFinder, find_overlap
from isoglot.text.cleaning.segmentation import LineSegmenter
from isoglot.text.cleaning.sentence_splitter import LineSplitter
from isoglot.text.code_switching import Switcher, switch_files
from isoglot.text.formats.dictionary import Entry, read_dictionary
from isoglot.text.provenance import (
    Provenance,
    Source,
    declare,
    derived,
    merged,
    provenance_of,
    read_provenance,
    record_path,
    recorded_writer,
    use_dictionary,
    write_provenance,
)
from isoglot.text.stream import rewrite
from tests.errors import raises

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def switched(tmp_path: Path) -> Path:
    """A text that was code-switched, with its record."""
    (tmp_path / "raw.txt").write_text("The cat sees a dog. It rains.\n")
    declare(tmp_path / "raw.txt")
    switcher = Switcher({("en", "fr"): [Entry("cat", "chat"), Entry("dog", "chien")]}, rate=1.0, cap=None)
    switch_files([tmp_path / "raw.txt"], tmp_path / "en.txt", "en", switcher)
    assert (tmp_path / "en.txt").read_text() == "The chat sees a chien. It rains.\n"
    return tmp_path / "en.txt"


def test_the_dictionaries_are_on_record(tmp_path: Path):
    (tmp_path / "en-fr.txt").write_text("cat chat\ndog chien\n")
    (tmp_path / "de-en.txt").write_text("Katze cat\n")
    (tmp_path / "en.txt").write_text("a\n")
    used = [
        each
        for pair, name in ((("en", "fr"), "en-fr.txt"), (("deu", "en"), "de-en.txt"))
        for each in use_dictionary(*pair, tmp_path / name, read_dictionary(tmp_path / name))
    ]
    write_provenance(tmp_path / "en.txt", Provenance(dictionaries=tuple(used)))
    record = read_provenance(tmp_path / "en.txt")
    assert record is not None
    assert list(record.dictionaries) == used
    assert [one.file for one in used] == ["en-fr.txt", "de-en.txt"]
    assert record.words("eng") == {"cat", "dog"}
    assert record.words("de") == {"Katze"}
    assert record.words("zh") == frozenset()
    assert read_provenance(tmp_path / "fr.txt") is None
    record_path(tmp_path / "fr.txt").write_text('{"format": "other"}')
    with pytest.raises(CorruptFileError) as caught:
        read_provenance(tmp_path / "fr.txt")
    assert caught.value.file == str(record_path(tmp_path / "fr.txt"))


def test_every_way_of_deriving_text_keeps_the_dictionaries(switched: Path, tmp_path: Path):
    ways: dict[str, Callable[[Path], object]] = {
        "clean": lambda out: clean_files([switched], out, "en", CleanConfig()),
        "sentences": lambda out: rewrite([switched], out, LineSplitter("en")),
        "segment": lambda out: rewrite([switched], out, LineSegmenter("en")),
        "remove overlap": lambda out: find_overlap([switched], OverlapFinder({}, "en"), target=out),
        "twin": lambda out: twin_files([switched], out, "en", "order"),
        "code-switch": lambda out: switch_files([switched], out, "en", Switcher({("en", "de"): [Entry("a", "ein")]})),
    }
    for name, write in ways.items():
        out = tmp_path / f"{name}.txt"
        write(out)
        found = read_provenance(out)
        assert found is not None, name
        assert {"cat", "dog"} <= found.words("en"), name
        assert found.unknown == (), name
        (source,) = found.sources
        assert source.file == "raw.txt"
        assert [step["step"] for step in source.steps] == ["declare", "code-switch", name]


def test_a_segmented_text_says_how(tmp_path: Path):
    (tmp_path / "a.txt").write_text("It rains.\n")
    rewrite([tmp_path / "a.txt"], tmp_path / "b.txt", LineSegmenter("eng"))
    (source,) = provenance_of(tmp_path / "b.txt").sources
    assert source.last("segment") == {"step": "segment", "language": "en", "method": "unicode"}
    assert source.last("clean") is None


def test_the_words_of_a_twin_are_given_in_its_script(switched: Path, tmp_path: Path):
    twin_files([switched], tmp_path / "twin.txt", "en", "shift")
    found = provenance_of(tmp_path / "twin.txt")
    assert found.words("en-x-shift") == {shift("cat"), shift("dog")}
    assert found.words("fr-x-shift") == {shift("chat"), shift("chien")}


def test_a_text_without_a_record_is_unknown_and_so_is_what_is_made_of_it(switched: Path, tmp_path: Path):
    copy = tmp_path / "copy.txt"
    shutil.copy(switched, copy)
    assert read_provenance(copy) is None
    clean_files([copy, switched], tmp_path / "clean.txt", "en", CleanConfig())
    found = provenance_of(tmp_path / "clean.txt")
    assert found.unknown == ("copy.txt",)
    assert found.words("en") == {"cat", "dog"}
    assert [source.known for source in found.sources] == [False, True]


def test_compressing_a_text_keeps_its_record(switched: Path):
    packed = switched.with_name("en.txt.gz")
    packed.write_bytes(gzip.compress(switched.read_bytes()))
    switched.unlink()
    assert provenance_of(packed).words("fr") == {"chat", "chien"}


def test_a_compressed_text_that_is_unpacked_keeps_its_record(tmp_path: Path):
    for ending in (".bz2", ".gz", ".xz", ".zst"):
        path = tmp_path / f"en.txt{ending}"
        with recorded_writer(path, Provenance((Source("built-in"),))) as writer:
            writer.write("\ufeffone")
            writer.write("two")
        assert read_provenance(path) == Provenance((Source("built-in"),))


def test_a_record_of_another_text_is_refused(switched: Path):
    switched.write_text("Something else.\n")
    with raises("corrupt-file.hash", "en.txt.provenance.json", file=switched):
        derived([switched])


def test_a_record_that_was_altered_is_refused(switched: Path):
    record = record_path(switched)
    facts = record.read_text()
    assert facts.count('"chat"') == 1
    record.write_text(facts.replace('"chat"', '"chaton"'))  # the word that leaks is gone, the text is the same
    with raises("corrupt-file.hash"):
        read_provenance(switched)


@pytest.mark.parametrize("facts", [{}, {"sources": [{}], "dictionaries": []}, {"sources": [], "dictionaries": [{}]}])
def test_a_damaged_record_is_refused(facts: dict[str, object]):
    with pytest.raises(CorruptFileError):
        Provenance.from_facts(facts)


def test_the_record_is_there_before_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed at any moment, there is no switched text without a record."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(provenance, "write_sealed", killed)
    with pytest.raises(KeyboardInterrupt), recorded_writer(tmp_path / "en.txt", Provenance()) as writer:
        writer.write("The chat sleeps.")
    assert list(tmp_path.iterdir()) == []


def test_merging_keeps_each_once():
    one = Provenance((Source("a", known=False),))
    assert merged([one, one, Provenance((Source("b"),))]) == Provenance((Source("a", known=False), Source("b")))
    assert Provenance.from_facts(one.facts()) == one


def many_words() -> Provenance:
    """Four dictionaries that share most of their words, one with characters of other scripts and of no length."""
    names = [f"word{number:05}" for number in range(4_000)]
    found = [
        provenance.use_entries(source, target, [Entry(word, f"{word}-{target}") for word in names[start:]])
        for start, (source, target) in enumerate((("en", "fr"), ("en", "de"), ("fr", "en"), ("en", "en-x-shift")))
    ]
    odd = provenance.use_entries(
        "zh", "en", [Entry("中国", "China"), Entry("中", "\ud800"), Entry("a" * 99, "a" * 100)]
    )
    return Provenance((Source("raw.txt", steps=({"step": "declare"},)),), (*found, odd))


def test_a_packed_record_holds_each_word_once_and_loses_none():
    full = many_words()
    packed = full.packed
    assert Provenance.from_packed(packed, "x") == full
    facts = json.dumps(full.facts(), ensure_ascii=False).encode("utf-8", "surrogatepass")
    older = b64encode(compressed(facts, level=3)).decode()  # every word with every dictionary
    assert Provenance.from_packed(older, "x") == full
    assert 2 * len(packed) < len(older)
    assert Provenance.from_packed(Provenance().packed, "x") == Provenance()


@pytest.mark.parametrize("packed", ["", "KLUv", "!", b64encode(compressed(b'{"lexicon": 3}')).decode()])
def test_what_is_no_packed_record_is_refused(packed: str):
    with pytest.raises(CorruptFileError):
        Provenance.from_packed(packed, "x")


def test_a_record_of_many_words_is_small_beside_the_text(tmp_path: Path):
    path = tmp_path / "en.txt"
    path.write_text("It rains.\n")
    full = many_words()
    write_provenance(path, full)
    assert read_provenance(path) == full
    assert record_path(path).stat().st_size < len(json.dumps(full.facts())) / 10
    record_path(path).write_text(record_path(path).read_text().replace('"packed": "K', '"packed": "L'))
    with raises("corrupt-file.hash"):
        read_provenance(path)
