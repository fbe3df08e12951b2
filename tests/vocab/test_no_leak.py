"""Words that a dictionary gave away are known from the text to the shards."""

from __future__ import annotations

from pathlib import Path

from isoglot.text.formats.dictionary import Entry, write_dictionary
from isoglot.text.provenance import Provenance, use_dictionary, write_provenance
from isoglot.vocab.shard_build import build_shards
from isoglot.vocab.shards import Shards


def test_the_dictionary_of_a_switched_text_is_passed_on(trained, tmp_path: Path):
    text, words = tmp_path / "en.txt", tmp_path / "en-fr.txt"
    text.write_text("the chat sleeps\n\nthe dog sees the chat\n")
    entries = [Entry("cat", "chat"), Entry("dog", "chien")]
    write_dictionary(words, entries)
    write_provenance(text, Provenance(dictionaries=tuple(use_dictionary("en", "fr", words, entries))))
    build_shards([text], trained("joint"), "en", tmp_path / "out", dev_share=0.0)
    shards = Shards.open(tmp_path / "out")
    assert shards.provenance.words("eng") == {"cat", "dog"}
    assert shards.provenance.words("fr") == {"chat", "chien"}
    assert shards.provenance.words("de") == frozenset()


def test_a_text_without_a_record_is_unknown_in_the_shards(trained, tmp_path: Path):
    (tmp_path / "en.txt").write_text("the dog sleeps\n")
    shards = build_shards([tmp_path / "en.txt"], trained("joint"), "en", tmp_path / "out", dev_share=0.0)
    assert shards.provenance.words("en") == frozenset()
    assert "en.txt" in shards.provenance.unknown
