"""Migration of an index: what is known to be recovered, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoglot.align.migration import (
    AffineMap,
    MigrationConfig,
    _check_spelling,
    file_vectors,
    fit_migration,
    map_file,
    neighbors,
    read_sample,
    recall,
    sample_vectors,
)
from isoglot.represent import extract
from isoglot.represent.matrix_files import open_matrix
from tests.errors import raises

QUICK = MigrationConfig(smallest=200, resamples=50)


def spaces(D: int, E: int, rank: int, count: int = 1200) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of a rank, and the same after an isometry of the space that they span; away from the origin."""
    chance = torch.Generator().manual_seed(1)
    bases = [torch.linalg.qr(torch.randn(width, rank, generator=chance, dtype=torch.float64))[0] for width in (D, E)]
    latent_NR = torch.randn(count, rank, generator=chance, dtype=torch.float64) + 0.5
    return tuple((latent_NR @ base_WR.T).float() for base_WR in bases)


@pytest.mark.parametrize(("D", "E", "rank"), [(24, 24, 24), (16, 32, 16), (32, 16, 16), (32, 24, 8)])
def test_an_isometry_is_recovered_and_keeps_every_neighbor(D, E, rank):
    X_ND, Y_NE = spaces(D, E, rank)
    found = fit_migration(X_ND, Y_NE, QUICK)
    assert torch.allclose(found.mapping.apply(X_ND), Y_NE, atol=2e-4)
    assert {k: round(each.value, 2) for k, each in found.recall.items()} == {1: 1.0, 10: 1.0, 100: 1.0}
    assert all(each.value > 0.999 for each in found.old.values())
    assert [point.documents for point in found.curve] == [200, 400, 800, 960]
    assert (found.queries, found.documents, found.is_chance) == (1200, 240, False)
    if D == E == rank:
        assert found.name == "procrustes"
        product_DD = found.mapping.W_DE.double() @ found.mapping.W_DE.double().T
        assert torch.allclose(product_DD, torch.eye(D, dtype=torch.float64), atol=1e-5)


def test_a_linear_map_that_is_no_rotation_is_found_by_regression():
    X_ND, _ = spaces(16, 16, 16)
    stretch_DD = torch.diag(torch.linspace(0.2, 3, 16))
    found = fit_migration(X_ND, X_ND @ stretch_DD + 2, QUICK)
    assert found.name == "ridge 1e-06"
    assert found.recall[10].value > 0.999
    assert found.old[10].value < 0.9


def test_more_documents_keep_more_when_the_spaces_share_part_of_what_they_hold():
    chance = torch.Generator().manual_seed(0)
    latent_NR = torch.randn(4000, 40, generator=chance) * torch.linspace(3, 0.1, 40)
    X_ND, Y_NE = (latent_NR @ torch.randn(40, 48, generator=chance) for _ in range(2))
    X_ND, Y_NE = (each + 4 * torch.randn(each.shape, generator=chance) for each in (X_ND, Y_NE))
    found = fit_migration(X_ND, Y_NE, MigrationConfig(smallest=60, resamples=50))
    first, last = found.curve[0].recall[10], found.curve[-1].recall[10]
    assert first.high < last.low
    assert found.old[10].value < last.low < last.value < 0.95


def test_vectors_that_do_not_belong_together_keep_what_chance_does():
    X_ND, Y_NE = spaces(16, 16, 16)
    found = fit_migration(X_ND, Y_NE[torch.randperm(len(Y_NE), generator=torch.Generator().manual_seed(3))], QUICK)
    assert found.is_chance
    assert abs(found.recall[100].value - 100 / 239) < 0.05


@given(seed=st.integers(0, 999), k=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_recall_is_the_share_of_common_neighbors(seed, k):
    chance = torch.Generator().manual_seed(seed)
    X_QE, Y_QE = (torch.randn(10, 4, generator=chance) for _ in range(2))
    found_QK, true_QK = neighbors(Y_QE, X_QE, 9), neighbors(Y_QE, Y_QE, 9)
    scores_QQ = torch.nn.functional.cosine_similarity(Y_QE[:, None], X_QE[None], dim=2).fill_diagonal_(-2)
    assert torch.equal(found_QK, scores_QQ.argsort(dim=1, descending=True)[:, :9])
    counts = [len(set(one[:k]) & set(two[:k])) for one, two in zip(found_QK.tolist(), true_QK.tolist(), strict=True)]
    assert recall(found_QK, true_QK, k).tolist() == pytest.approx([count / k for count in counts])


@pytest.fixture
def threads():
    """``threads(n)``: the number of torch's threads, until the test is over."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@given(
    rows=st.integers(1, 9000),
    block=st.sampled_from([1, 1024, 3000]),
    cores=st.sampled_from([1, 3]),
    unit=st.booleans(),
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mapped_file_is_the_product_whatever_the_blocks_and_threads(
    tmp_path_factory, threads, rows, block, cores, unit
):
    folder = tmp_path_factory.mktemp("mapped")
    chance = np.random.default_rng(rows)
    X_ND, W_DE, b_E = (chance.normal(size=shape).astype(np.float32) for shape in ((rows, 5), (5, 3), (3,)))
    np.save(folder / "old.npy", X_ND)
    mapping = AffineMap(torch.from_numpy(W_DE), torch.from_numpy(b_E), unit)
    mapping.save(folder / "map.safetensors")
    again = AffineMap.load(folder / "map.safetensors")
    old = open_matrix(folder / "old.npy")
    for name, given_map, size, count in (("new.npy", mapping, block, cores), ("again.npy", again, 2048, 1)):
        threads(count)
        map_file(old, given_map, folder / name, block=size)
    expected_NE = X_ND.astype(float) @ W_DE + b_E
    if unit:
        expected_NE /= np.linalg.norm(expected_NE, axis=1, keepdims=True)
    assert np.allclose(np.load(folder / "new.npy"), expected_NE, atol=1e-5)
    assert (folder / "new.npy").read_bytes() == (folder / "again.npy").read_bytes()


def test_unit_length_of_the_new_vectors_is_kept():
    X_ND, Y_NE = spaces(16, 16, 16)
    found = fit_migration(X_ND, torch.nn.functional.normalize(Y_NE), QUICK)
    assert found.mapping.unit_length
    assert torch.allclose(found.mapping.apply(X_ND).norm(dim=1), torch.ones(len(X_ND)), atol=1e-6)


def test_the_lines_of_a_text_are_the_first_rows_and_a_table_names_its_rows(tmp_path: Path):
    plain, table = tmp_path / "a.txt", tmp_path / "a.tsv"
    plain.write_text("one\n\n two \none\n")
    table.write_text("7\tone\n3\ttwo\n5\tone\n")
    rows_N, texts = read_sample(plain)
    assert (rows_N.tolist(), texts) == ([0, 2], ["one", "two"])
    rows_N, texts = read_sample(table)
    assert (rows_N.tolist(), texts) == ([3, 7], ["two", "one"])


def test_vectors_of_a_sample_are_those_of_its_rows_and_texts(tmp_path: Path, encoder):
    rows_ND = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    np.save(tmp_path / "old.npy", rows_ND)
    (tmp_path / "a.tsv").write_text("5\tThe cat sleeps.\n2\tThe dog sleeps here.\n")
    old_ND, new_NE = sample_vectors(open_matrix(tmp_path / "old.npy"), tmp_path / "a.tsv", encoder)
    assert np.array_equal(old_ND, rows_ND[[2, 5]])
    expected = extract(encoder, ["The dog sleeps here.", "The cat sleeps."], layers=[-1])
    assert np.allclose(new_NE, expected[-1], atol=1e-5)


def test_what_cannot_be_done_is_refused_in_a_line(tmp_path: Path):
    X_ND, Y_NE = spaces(32, 32, 32)
    with raises("input.too-few", 31, 32):
        fit_migration(X_ND[:31], Y_NE[:31])
    with raises("input.row-count", 31, 32):
        fit_migration(X_ND[:32], Y_NE[:31])
    np.save(tmp_path / "old.npy", X_ND[:9].numpy())
    np.save(tmp_path / "new.npy", Y_NE[:10].numpy())
    old = open_matrix(tmp_path / "old.npy")
    with raises("input.row-count", 9, 10):
        file_vectors(old, tmp_path / "new.npy")
    with raises("config.other-size", 32, 31):
        map_file(old, AffineMap(torch.ones(31, 2), torch.ones(2)), tmp_path / "mapped.npy")
    text = tmp_path / "a.tsv"
    for content, code, value in (
        ("1\ta\n1\tb\n", "input.duplicate", 1),
        ("1\ta\n-2\tc\n", "input.malformed-line", "-2"),
    ):
        text.write_text(content)
        with raises(code, value, file=text, line=2):
            read_sample(text)
    text.write_text("\n")
    with raises("input.malformed-line", file=text, line=1):
        read_sample(text)


@pytest.mark.parametrize("cores", [1, 2])
def test_a_row_that_is_not_finite_is_refused_by_its_number(tmp_path: Path, threads, cores: int):
    X_ND = np.ones((5000, 4), dtype=np.float32)
    X_ND[3002, 1] = X_ND[4100, 2] = np.inf
    np.save(tmp_path / "old.npy", X_ND)
    old = open_matrix(tmp_path / "old.npy")
    threads(cores)
    with raises("input.not-finite", 3002, file=old.path):
        map_file(old, AffineMap(torch.eye(4), torch.ones(4)), tmp_path / "mapped.npy", block=1024)
    assert not (tmp_path / "mapped.npy").exists()


def test_a_text_that_the_new_tokenizer_cannot_spell_is_refused():
    known = SimpleNamespace(special={"[UNK]": 0}, encode_batch=lambda texts: [[int(text.isascii())] for text in texts])
    encoder: Any = SimpleNamespace(vocabulary=known)
    with raises("input.no-match", "67 %"):
        _check_spelling(encoder, ["yes", "да", "нет"], "sample.txt")
    _check_spelling(encoder, ["yes", "no", "да"], "sample.txt")
