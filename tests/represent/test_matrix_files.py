"""Files of vectors: what is written is read again, by us and by the libraries whose formats they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from isoglot.core.errors import IsoglotError
from isoglot.represent.matrix_files import BLOCK, Block, MatrixFile, open_matrix, write_matrix
from tests.errors import raises

SUITS = {
    "npy": (torch.float16, torch.float32, torch.float64),
    "safetensors": (torch.float16, torch.bfloat16, torch.float32, torch.float64),
    "parquet": (torch.float16, torch.float32, torch.float64),
    "faiss": (torch.float32,),
}
CHOICES = [(kind, dtype) for kind, dtypes in SUITS.items() for dtype in dtypes]


def written(path: Path, kind: Any, rows_ND: torch.Tensor, block: int = 3, **facts: Any) -> MatrixFile:
    """A file of these rows, written in blocks."""
    target = MatrixFile(path=path, format=kind, rows=len(rows_ND), width=rows_ND.shape[1], dtype=rows_ND.dtype)
    target = replace(target, **facts)
    write_matrix(target, (Block(rows_BD) for rows_BD in rows_ND.split(block)))
    return target


def all_rows(file: MatrixFile, block: int = BLOCK) -> torch.Tensor:
    return torch.cat([each.vectors_BD for each in file.blocks(block)])


@given(
    choice=st.sampled_from(CHOICES),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 9)),
    blocks=st.tuples(st.integers(1, 25), st.integers(1, 25)),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again_in_blocks_of_any_size(tmp_path: Path, choice, shape, blocks, seed):
    kind, dtype = choice
    rows_ND = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    target = written(tmp_path / "v", kind, rows_ND, blocks[0])
    found = open_matrix(target.path)
    assert (found.format, found.rows, found.width, found.dtype) == (kind, *shape, dtype)
    assert torch.equal(all_rows(found, blocks[1]), rows_ND)
    picked = np.random.default_rng(seed).integers(shape[0], size=7)
    assert torch.equal(found.take(picked), rows_ND[torch.from_numpy(picked)].float())


@pytest.mark.parametrize("dtype", SUITS["npy"], ids=str)
def test_numpy_and_safetensors_files_are_those_of_the_libraries(tmp_path: Path, dtype):
    rows_ND = torch.randn(5, 3).to(dtype)
    np.save(tmp_path / "theirs.npy", rows_ND.numpy())
    save_file({"emb": rows_ND, "ids": torch.arange(5)}, tmp_path / "theirs.safetensors", metadata={"a": "b"})
    for name in ("theirs.npy", "theirs.safetensors"):
        assert torch.equal(all_rows(open_matrix(tmp_path / name)), rows_ND)
    written(tmp_path / "ours.npy", "npy", rows_ND)
    assert np.array_equal(np.load(tmp_path / "ours.npy"), rows_ND.numpy())
    written(tmp_path / "ours.safetensors", "safetensors", rows_ND, name="emb")
    assert torch.equal(load_file(tmp_path / "ours.safetensors")["emb"], rows_ND)


@pytest.mark.parametrize("fixed", [True, False])
def test_parquet_keeps_its_other_columns_and_the_kind_of_list(tmp_path: Path, fixed):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows_ND = torch.arange(12, dtype=torch.float32).view(4, 3)
    vectors = arrow.array(rows_ND.tolist(), arrow.list_(arrow.float32(), 3 if fixed else -1))
    table = arrow.table({"id": ["a", "b", None, "d"], "emb": vectors, "n": [1, 2, 3, 4]})
    parquet.write_table(table, tmp_path / "old.parquet", row_group_size=3)
    old = open_matrix(tmp_path / "old.parquet")
    target = old.like(tmp_path / "new.parquet", 2)
    write_matrix(target, (Block(each.vectors_BD[:, :2] * 10, each.batch) for each in old.blocks(2)))
    new = parquet.read_table(target.path)
    assert new.column_names == ["id", "emb", "n"]
    assert new.drop_columns("emb") == table.drop_columns("emb")
    assert new["emb"].to_pylist() == (rows_ND[:, :2] * 10).tolist()
    assert arrow.types.is_fixed_size_list(new.schema.field("emb").type) == fixed


@pytest.mark.parametrize("kind", ["IndexFlatIP", "IndexFlatL2"])
def test_faiss_reads_what_is_written_and_the_reverse(tmp_path: Path, kind):
    faiss = pytest.importorskip("faiss")
    rows_ND = torch.randn(7, 5)
    written(tmp_path / "ours.faiss", "faiss", rows_ND, inner_product=kind == "IndexFlatIP")
    index = getattr(faiss, kind)(5)
    index.add(rows_ND.numpy())
    faiss.write_index(index, str(tmp_path / "theirs.faiss"))
    assert (tmp_path / "ours.faiss").read_bytes() == (tmp_path / "theirs.faiss").read_bytes()
    ours = faiss.read_index(str(tmp_path / "ours.faiss"))
    assert isinstance(ours, getattr(faiss, kind))
    assert np.array_equal(ours.reconstruct_n(0, 7), rows_ND.numpy())
    theirs = open_matrix(tmp_path / "theirs.faiss")
    assert theirs.inner_product == (kind == "IndexFlatIP")
    assert torch.equal(all_rows(theirs), rows_ND)


@pytest.mark.parametrize(("kind", "dtype", "expected"), [
    ("faiss", torch.float16, torch.float32),
    ("npy", torch.bfloat16, torch.float32),
    ("safetensors", torch.bfloat16, torch.bfloat16),
    ("parquet", torch.float16, torch.float16),
])  # fmt: skip
def test_the_type_stays_where_the_format_has_it(tmp_path: Path, kind, dtype, expected):
    old = MatrixFile(path=tmp_path / "old", format="safetensors", rows=2, width=3, dtype=dtype)
    new = old.like(tmp_path / "new", 5, kind)
    assert (new.format, new.rows, new.width, new.dtype) == (kind, 2, 5, expected)


@pytest.mark.parametrize("kind", SUITS)
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, kind):
    whole = written(tmp_path / "v", kind, torch.randn(4, 3)).path.read_bytes()
    for end in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:end])
        with pytest.raises(IsoglotError) as caught:
            open_matrix(tmp_path / "cut")
        assert caught.value.code in ("storage", "input.unknown-format", "input.type")


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path):
    target = written(tmp_path / "v", "npy", torch.ones(4, 3))

    def blocks() -> Iterator[Block]:
        yield Block(torch.zeros(2, 3))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_matrix(target, blocks())
    assert torch.equal(all_rows(open_matrix(target.path)), torch.ones(4, 3))
    assert [each.name for each in tmp_path.iterdir()] == ["v"]


def test_what_is_no_matrix_of_vectors_is_refused(tmp_path: Path):
    path = tmp_path / "v"

    def holding(array: np.ndarray) -> Path:
        with path.open("wb") as file:
            np.save(file, array)
        return path

    for array, value in (
        (np.ones((2, 3), int), "int64"),
        (np.ones(3), 3),
        (np.asfortranarray(np.ones((2, 3))), "Fortran"),
    ):
        with raises("input.type", value, file=path):
            open_matrix(holding(array))
    with raises("input.empty", file=path):
        open_matrix(holding(np.ones((0, 3))))
    path.write_bytes(b"IwFl" + bytes(60))
    with raises("input.unknown-format", "'IwFl'", file=path):
        open_matrix(path)
    path.write_text("The cat sleeps.\n")
    with raises("input.unknown-format", file=path):
        open_matrix(path)
    with raises("storage.not-found", file=tmp_path / "none"):
        open_matrix(tmp_path / "none")
    with raises("input.out-of-range", 4, file=path):
        open_matrix(holding(np.ones((4, 3)))).take(np.array([0, 4]))


def test_of_several_tensors_or_columns_one_is_named(tmp_path: Path):
    save_file({"a": torch.ones(2, 3), "b": torch.zeros(2, 4)}, tmp_path / "v")
    with raises("config.missing-option", "a, b"):
        open_matrix(tmp_path / "v")
    with raises("config.unknown-name", "'c'"):
        open_matrix(tmp_path / "v", "c")
    assert open_matrix(tmp_path / "v", "b").width == 4


@pytest.mark.parametrize(
    ("rows", "place"), [([[1.0, 2.0], [1.0]], 1), ([[1.0, 2.0], None], 1), ([[1.0, 2.0], [1.0, None]], 0)]
)
def test_ragged_rows_of_parquet_are_refused(tmp_path: Path, rows, place):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"emb": arrow.array(rows, arrow.list_(arrow.float32()))}), tmp_path / "v")
    with raises("input.ragged", place, file=tmp_path / "v"):
        all_rows(open_matrix(tmp_path / "v"))
