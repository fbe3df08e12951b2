"""Vectors that a user gives are read, or refused in one line."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from isoglot.core.errors import IsoglotError
from isoglot.represent import Representations
from isoglot.retrieve.vector_files import read_side
from tests.errors import raises

MATRIX_ND = np.arange(6, dtype=np.float32).reshape(2, 3)


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, MATRIX_ND)
    return buffer.getvalue()


def test_any_flipped_bit_of_a_numpy_header_is_refused_or_read(tmp_path: Path):
    path, data = tmp_path / "a.npy", npy()
    header = len(data) - MATRIX_ND.nbytes
    read = 0
    for place in range(0, 8 * header, 3):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with suppress(IsoglotError):
            read_side(path)
            read += 1
    assert 0 < read < header  # another order of numbers, or white space


@pytest.mark.parametrize(
    "header",
    [
        *(
            "{'descr': '<f4', 'shape': (2, 3",
            "{'descr': '<f4",
            "(" * 2000,
            "[1]",
            "{1: 2, 'a': 3}",
            "",
            "\0",
            "{'a': 1",
        ),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ", 3), }",
        "{'descr': 7, 'fortran_order': False, 'shape': (2, 3), }",
    ],
)
def test_a_numpy_header_that_says_something_else_is_refused(tmp_path: Path, header: str):
    path = tmp_path / "a.npy"
    text = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + MATRIX_ND.tobytes())
    with raises("storage") as caught:
        read_side(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("descr", "shape"), [("<f4", (-2, 3)), ("|O", (2, 3)), ("<f4", (2, 0)), ("<f4", (True, 3)), (("<f4", 2, 3), (2, 3))]
)
def test_an_array_of_something_else_is_refused(tmp_path: Path, descr: object, shape: tuple[int, ...]):
    path = tmp_path / "a.npy"
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(IsoglotError):
        read_side(path)


def test_an_array_that_python_2_wrote_is_read_without_a_warning(tmp_path: Path):
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + MATRIX_ND.tobytes())
    assert np.array_equal(read_side(tmp_path / "a.npy").layers[None], MATRIX_ND)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_numpy_array_is_read_in_its_order(tmp_path: Path, order: str):
    np.save(tmp_path / "a.npy", np.asarray(MATRIX_ND, order=order))  # type: ignore[call-overload]
    assert np.array_equal(read_side(tmp_path / "a.npy").layers[None], MATRIX_ND)
    np.save(tmp_path / "b.npy", np.asarray(np.stack([MATRIX_ND, -MATRIX_ND]), order=order))  # type: ignore[call-overload]
    assert np.array_equal(read_side(tmp_path / "b.npy", layers=[1]).layers[1], -MATRIX_ND)


def test_an_archive_is_no_array(tmp_path: Path):
    np.savez(tmp_path / "a.npz", MATRIX_ND)
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with raises("storage"):
        read_side(tmp_path / "a.npy")


def test_any_flipped_bit_of_a_safetensors_header_is_refused(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    Representations({0: MATRIX_ND}, {"depth": 0}).save(path)
    data = path.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    used = len(data[:header].rstrip())
    for place in range(0, 8 * used, 7):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(IsoglotError):
            read_side(path)
