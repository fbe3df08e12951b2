"""Either form of a file stands for the other, and a damaged one is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

from isoglot.core.artifact import compressed, is_stored, store_bytes, stored_bytes, stored_json
from tests.errors import raises


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
    with raises("storage.not-found", "a.json"):
        stored_bytes(path)
    whole = compressed(b'{"a": 1}')
    for wrong in (whole[:-1], whole + b"x", b"", b'{"a": 1}'):
        small.write_bytes(wrong)
        with raises("corrupt-file", "a.json"):
            stored_json(path)
    small.write_bytes(whole)
    with raises("corrupt-file.hash", "a.json"):
        stored_bytes(path, sha256="0" * 64)
    small.write_bytes(compressed(b"{"))
    with raises("corrupt-file", "a.json"):
        stored_json(path)
    path.write_bytes(b"{")
    with raises("input.malformed-json"):
        stored_json(path)
