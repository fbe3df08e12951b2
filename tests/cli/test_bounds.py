"""Bounds: no line, no expansion, no number, no echo and no path without one."""

from __future__ import annotations

import json
import lzma
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
import zstandard
from typer.main import get_command

from isoglot.cli.main import app, make_readable
from isoglot.core.artifact import stored_bytes
from isoglot.core.config import LARGEST_NUMBER, Config
from isoglot.core.errors import CorruptFileError, InputError, IsoglotError
from isoglot.core.files import inside, write_json
from isoglot.represent import Representations
from isoglot.text.formats.lines import LONGEST_LINE, read_lines, set_longest_line
from isoglot.text.formats.parallel import read_tmx
from tests.errors import raises
from tests.text.test_tmx import write_memory


@pytest.fixture
def short_lines():
    """Lines of 1,000 bytes at most, for the time of a test."""
    set_longest_line(1000)
    yield 1000
    set_longest_line(LONGEST_LINE)


def peak(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- lines ---


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_line_may_be_as_long_as_the_limit_and_not_longer(tmp_path: Path, short_lines, end):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ok\n" + b"x" * 1000 + end.encode())
    assert [len(line) for _, line in read_lines(path)] == [2, 1000]
    path.write_bytes(b"ok\n" + b"x" * 1001 + end.encode())
    with raises("input.line-length", "1,000") as caught:
        list(read_lines(path))
    assert caught.value.line == 2


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst", ""])
def test_a_small_file_that_expands_to_one_long_line_fills_no_memory(tmp_path: Path, suffix):
    import gzip

    path = tmp_path / f"a.txt{suffix}"
    text = b"x" * (8 * LONGEST_LINE // 10)
    packs: dict[str, Any] = {".xz": lzma.compress, ".gz": gzip.compress, ".zst": zstandard.compress, "": bytes}
    set_longest_line(1_000_000)
    try:
        path.write_bytes(packs[suffix](text))
        del text

        def read() -> None:
            with raises("input.line-length", "1,000,000"):
                list(read_lines(path))

        assert peak(read) < 20_000_000
    finally:
        set_longest_line(LONGEST_LINE)


def test_the_limit_is_an_option(isoglot, tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("word " * 300_000 + "\n")
    options = ["text", "clean", "--text", f"en={path}", "--out", str(tmp_path / "out")]
    result = isoglot(*options, "--max-line", "1")
    result.failed("input.line-length", path, 1, "1,000,000")
    assert isoglot(*options).code == 0


# --- translation memories ---


def memory(path: Path, units: int) -> Path:
    rows = (
        {"en": f"Sentence number {n} of a memory.", "de": f"Satz Nummer {n} eines Speichers."} for n in range(units)
    )
    write_memory(path, rows)
    return path


def test_units_of_a_memory_are_let_go(tmp_path: Path):
    few, many = (memory(tmp_path / f"{n}.tmx", n) for n in (300, 6000))
    assert sum(1 for _ in read_tmx(many)) == 6000
    peaks = [peak(lambda path=path: Counter(len(unit) for unit in read_tmx(path))) for path in (few, many)]
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_compressed_memory_is_an_input_error(tmp_path: Path, suffix, damage):
    path = memory(tmp_path / f"a.tmx{suffix}", 400)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        for at in range(len(data) // 3, len(data) // 3 + 40):
            data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(read_tmx(path))
    assert caught.value.file == str(path)


def test_a_unit_without_an_end_is_refused(tmp_path: Path, short_lines):
    path = tmp_path / "a.tmx"
    path.write_text("<tmx><body><tu>" + "<tuv>x</tuv>\n" * 200 + "</tu></body></tmx>")
    with raises("input.line-length", "1,000"):
        list(read_tmx(path))


# --- compressed metadata ---


def test_compressed_metadata_expands_to_a_bounded_size(tmp_path: Path):
    small = zstandard.ZstdCompressor().compress(b" " * 200_000_000)
    assert len(small) < 100_000
    (tmp_path / "token_sets.json.zst").write_bytes(small)
    with raises("corrupt-file"):
        stored_bytes(tmp_path / "token_sets.json")


# --- numbers ---


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if not below:
        yield path, command
    for name, child in (below or {}).items():
        yield from leaves(child, (*path, name))


def test_every_whole_number_of_every_verb_has_a_largest_value():
    command = get_command(app)
    make_readable(command)
    checked = 0
    for path, verb in leaves(command):
        for option in verb.params:
            kind = option.type_descriptor
            if kind.annotation is int:
                checked += 1
                assert kind.parameter_info.max is not None, (path, option.opts)
    assert checked > 50


@pytest.mark.parametrize(
    "arguments",
    [
        ["retrieve", "sentences", "--resamples", "9999999999"],
        ["transfer", "ner", "--seeds", "99999999999"],
        ["static", "train", "glove", "--epochs", "9" * 400, "--shards", "en=x", "--vocab", "y", "--out", "z"],
        ["languages", "export", "--sentences", "9" * 400],
    ],
)
def test_a_number_without_sense_is_refused_at_once(isoglot, arguments):
    result = isoglot(*arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert len(result.err) < 600


def configs(kind: type[Config] = Config):
    for one in kind.__subclasses__():
        if one.__module__.startswith("isoglot."):
            yield one
        yield from configs(one)


def test_every_whole_number_of_every_config_has_a_largest_value():
    for module in (
        "align.maps.config",
        "align.words.diagonal_model",
        "align.words.induced_dictionary",
        "core.doctor",
        "diagnose.checkup",
        "model.config",
        "pretrain.config",
        "static.config",
        "text.cleaning.clean",
        "text.code_switching",
        "transfer.map_protocol",
        "transfer.tuning.config",
    ):
        import_module(f"isoglot.{module}")
    checked = 0
    for kind in configs():
        for name, field in kind.model_fields.items():
            if int in (field.annotation, *get_args(field.annotation)):
                checked += 1
                with pytest.raises(ValueError, match=name):
                    kind.model_validate({name: 10**400})
                bounded = any(hasattr(limit, "le") or hasattr(limit, "lt") for limit in field.metadata)
                if not bounded:
                    with pytest.raises(ValueError, match=name):
                        kind.model_validate({name: LARGEST_NUMBER + 1})
    assert checked > 60


# --- echoes and paths ---


@pytest.mark.parametrize("kind", IsoglotError.__subclasses__())
def test_an_error_is_one_line_of_bounded_length(kind):
    error = kind("x" * 100_000 + "\n\x1b[31m", remedy="y" * 100_000, file="z" * 100_000, line=3)
    assert len(str(error)) < 7000
    assert str(error).isprintable()


def test_an_unknown_option_of_any_length_is_a_short_line(isoglot):
    result = isoglot("encode", "--" + "x" * 100_000)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert len(result.err) < 3000


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b", "", "a//b", "..", "a\\..\\..\\b", "a\0b"])
def test_an_index_names_no_file_outside_its_folder(tmp_path: Path, name):
    with pytest.raises(CorruptFileError):
        inside(tmp_path, name)


def test_representations_name_no_file_outside_their_folder(tmp_path: Path):
    import numpy as np

    folder = tmp_path / "vectors"
    Representations({0: np.zeros((2, 3), np.float32)}, {"format": 1}).save(folder)
    index = json.loads((folder / "representations.json").read_text())
    np.save(tmp_path / "secret.npy", np.zeros((2, 3), np.float32))
    index["arrays"] = {"../secret": next(iter(index["arrays"].values()))}
    write_json(folder / "representations.json", index)
    with pytest.raises(CorruptFileError):
        Representations.load(folder)
