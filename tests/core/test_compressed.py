"""Either form of a file stands for the other, and a damaged one is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from isoglot.core.compressed import compressed, is_stored, store_bytes, stored_bytes, stored_json
from isoglot.core.errors import CorruptFileError, InputError, StorageError


def test_either_form_is_the_content(tmp_path: Path):
    path, data = tmp_path / "a.json", b'{"a": 1}'
    assert not is_stored(path)
    for compression, name in (("zstd", "a.json.zst"), ("none", "a.json"), ("zstd", "a.json.zst")):
        assert store_bytes(path, data, compression) == tmp_path / name  # type: ignore[arg-type]
        assert [each.name for each in tmp_path.iterdir()] == [name]
        assert is_stored(path)
        assert stored_bytes(path, sha256=hashlib.sha256(data).hexdigest()) == data
        assert stored_json(path) == {"a": 1}
    assert compressed(data) == compressed(data)


def test_what_is_damaged_or_missing_is_named(tmp_path: Path):
    path, small = tmp_path / "a.json", tmp_path / "a.json.zst"
    with pytest.raises(StorageError, match=r"a\.json: cannot read: no such file"):
        stored_bytes(path)
    whole = compressed(b'{"a": 1}')
    for wrong in (whole[:-1], whole + b"x", b"", b'{"a": 1}'):
        small.write_bytes(wrong)
        with pytest.raises(CorruptFileError, match=r"a\.json\.zst: no whole Zstandard frame; the file was cut short"):
            stored_json(path)
    small.write_bytes(whole)
    with pytest.raises(CorruptFileError, match=r"a\.json\.zst: 8 bytes with SHA-256 "):
        stored_bytes(path, sha256="0" * 64)
    small.write_bytes(compressed(b"{"))
    with pytest.raises(CorruptFileError, match=r"a\.json\.zst: no JSON inside"):
        stored_json(path)
    path.write_bytes(b"{")
    with pytest.raises(InputError, match="malformed JSON"):
        stored_json(path)
