"""The stream has every subword that is frequent enough, and knows where documents end."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain, pairwise

import numpy as np
import pytest

from isoglot.core.files import read_json
from isoglot.pretrain.config import check_shards
from isoglot.static import token_stream as module
from isoglot.static.token_stream import frequent, read_stream
from tests.errors import raises


@pytest.mark.parametrize("piece", [2**22, 37])
@pytest.mark.parametrize("boundary", ["document", "sentence"])
def test_segments_are_those_of_the_shards(given, boundary, piece, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_CHUNK", piece)
    shards, vocabulary = given
    stream = read_stream(shards, frequent(shards, vocabulary, 3), boundary=boundary, file=tmp_path / "stream")
    special = set(vocabulary.special.values())
    counts = np.bincount(np.concatenate([one.ids() for one in shards.values()]), minlength=len(vocabulary))
    kept = {index for index in range(len(vocabulary)) if counts[index] >= 3 and index not in special}
    wanted = []
    for one in shards.values():
        sentences = [sentence.tolist() for sentence in one.sentences()]
        if boundary == "document":
            lengths = one.document_lengths().tolist()
            ends = np.cumsum([0, *lengths]).tolist()
            sentences = [list(chain(*sentences[a:b])) for a, b in pairwise(ends)]
        wanted += [[index for index in sentence if index in kept] for sentence in sentences]
    found = [stream.ids_V[part].tolist() for part in stream.segments(10**6)]
    assert found == [segment for segment in wanted if segment]
    assert stream.parts(10**6) == len(found)
    assert (np.diff(stream.counts_V) <= 0).all()
    assert stream.counts_V.tolist() == counts[stream.ids_V].tolist()
    assert stream.parts(5) == len(list(stream.segments(5)))
    assert max(map(len, stream.segments(5))) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of this kind")
@pytest.mark.parametrize(("room", "file"), [(10_000, "stream.bin"), (40_000, "runs")])
def test_a_full_disk_is_said_of_the_file_and_the_record_knows(given, room, file, tmp_path):
    """A limit on file size stands in for a full disk; a process of its own, as the limit stays."""
    shards, _ = given
    program = f"""
import resource, signal
from isoglot.core.errors import StorageError
from isoglot.static import GloveConfig, train_static
from isoglot.vocab import Shards, Vocabulary
folder = {str(shards["en"].folder.parent)!r}
shards, vocabulary = {{"en": Shards.open(folder + "/en")}}, Vocabulary.load(folder + "/vocab")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
try:
    train_static(GloveConfig(dimensions=4, epochs=1), shards, vocabulary, {str(tmp_path / "out")!r})
except StorageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{file}: cannot write: the disk is full; free some space" in done.stdout
    assert read_json(tmp_path / "out" / "run.json")["status"] == "failed"


def test_nothing_frequent_enough_is_one_line(given):
    shards, vocabulary = given
    with raises("input.too-few", 1000000):
        frequent(shards, vocabulary, 10**6)


def test_shards_must_be_what_they_are_said_to_be(given):
    shards, vocabulary = given
    with raises("config.missing-data"):
        check_shards({}, vocabulary)
    with raises("config.other-language", "en", "fr"):
        check_shards({"fr": shards["en"]}, vocabulary)
