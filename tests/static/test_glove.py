"""GloVe: its step, its gradient, its solution, and that nothing but the seed decides."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given as holds_for
from hypothesis import strategies as st

from isoglot.core.errors import CorruptFileError
from isoglot.core.progress import LineProgress
from isoglot.static.config import GloveConfig
from isoglot.static.counting import UNIT, Rows, block_order_compiled, block_order_plain
from isoglot.static.glove import (
    PAIR,
    Block,
    Blocks,
    Glove,
    column_ranks,
    groups_for,
    learn_compiled,
    learn_plain,
    open_blocks,
    weigh,
    write_blocks,
)
from tests.errors import raises

RATE, CLIP = np.float32(0.05), np.float32(100.0)


def pairs_of(logs: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """All cells of a matrix as pairs, row by row."""
    pairs = np.zeros(logs.size, PAIR)
    pairs["row"], pairs["column"] = (index.ravel() for index in np.indices(logs.shape))
    pairs["log"], pairs["weight"] = logs.ravel(), np.broadcast_to(weights, logs.shape).ravel()
    return pairs


def counts_of(values: np.ndarray) -> Rows:
    rows, columns = np.nonzero(values)
    return Rows(rows.astype(np.int32), columns.astype(np.int32), np.rint(values[rows, columns] * UNIT).astype(np.int64))


def same(one: Glove, other: Glove) -> bool:
    return all((array == other.arrays()[name]).all() for name, array in one.arrays().items())


@pytest.mark.parametrize("learn", [learn_compiled, learn_plain])
def test_an_epoch_is_the_equations_by_hand(learn):
    rng = np.random.default_rng(0)
    pairs = pairs_of(rng.normal(size=(4, 4)), rng.random((4, 4)))
    glove = Glove.begin(4, 3, seed=1)
    w, c = (side.vectors_VD.astype(np.float64) * 9 for side in (glove.words, glove.contexts))
    glove.words.vectors_VD[:], glove.contexts.vectors_VD[:] = w, c
    a, b = (side.biases_V.astype(np.float64) for side in (glove.words, glove.contexts))
    w_sums, c_sums, a_sums, b_sums = np.ones_like(w), np.ones_like(c), np.ones_like(a), np.ones_like(b)
    loss = 0.0
    for i in (2, 0, 3, 1):
        for pair in pairs[4 * i : 4 * i + 4]:
            j = pair["column"]
            error = w[i] @ c[j] + a[i] + b[j] - pair["log"]
            loss += pair["weight"] * error**2 / 2
            slope = RATE * pair["weight"] * error
            g, h = slope * c[j], slope * w[i]
            w[i] -= g / np.sqrt(w_sums[i])
            c[j] -= h / np.sqrt(c_sums[j])
            a[i] -= slope / np.sqrt(a_sums[i])
            b[j] -= slope / np.sqrt(b_sums[j])
            w_sums[i] += g**2
            c_sums[j] += h**2
            a_sums[i] += slope**2
            b_sums[j] += slope**2
    order = np.array([2, 0, 3, 1])
    found = learn(pairs, Block.of(pairs).runs_R, order, glove.words, glove.contexts, RATE, CLIP)
    assert found == pytest.approx(loss, rel=1e-5)
    for mine, theirs in zip((*glove.words, *glove.contexts), (w, w_sums, a, a_sums, c, c_sums, b, b_sums), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-7)


def test_the_first_step_is_the_rate_times_the_gradient():
    glove = Glove.begin(2, 5, seed=3)
    before = {
        name: torch.tensor(array.astype(np.float64), requires_grad=True) for name, array in glove.arrays().items()
    }
    pairs = pairs_of(np.array([[3.0]]), 0.3)
    error = (
        before["words.vectors_VD"][0] @ before["contexts.vectors_VD"][0]
        + before["words.biases_V"][0]
        + before["contexts.biases_V"][0]
        - 3.0
    )
    (0.3 * error**2 / 2).backward()
    learn_compiled(pairs, Block.of(pairs).runs_R, np.array([0]), glove.words, glove.contexts, RATE, CLIP)
    for name in ("words.vectors_VD", "contexts.vectors_VD", "words.biases_V", "contexts.biases_V"):
        gradient = before[name].grad
        assert gradient is not None
        step = before[name].detach().numpy() - glove.arrays()[name]
        np.testing.assert_allclose(step, RATE * gradient.numpy(), rtol=1e-4, atol=1e-7)


def test_the_loss_falls_to_that_of_the_dense_solution(tmp_path: Path):
    """All weights 1: without the means of rows and columns, the best of rank D is the truncated SVD."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=(16, 16))
    logs = 1.0 + half @ half.T / 8 + rng.normal(size=16)[:, None]
    values = np.exp(logs)
    config = GloveConfig(dimensions=4, epochs=250, x_max=1e-9, learning_rate=0.2)
    write_blocks([counts_of(values)], 16, tmp_path, x_max=config.x_max, alpha=config.alpha)
    blocks = open_blocks(tmp_path)
    assert blocks is not None
    assert len(blocks) == 16 * 16
    glove = Glove.begin(16, 4, seed=0)
    for _ in range(config.epochs):
        glove.learn_epoch(blocks, config)
    centered = logs - logs.mean(axis=0) - logs.mean(axis=1)[:, None] + logs.mean()
    best = (np.linalg.svd(centered, compute_uv=False)[4:] ** 2).sum() / 2 / logs.size
    fitted = (
        glove.words.vectors_VD @ glove.contexts.vectors_VD.T + glove.words.biases_V[:, None] + glove.contexts.biases_V
    )
    reached = ((fitted - logs) ** 2).mean() / 2
    assert best <= reached * 1.0001
    assert reached < 1.05 * best
    assert glove.losses[-1] < glove.losses[0] / 10
    full = Glove.begin(16, 16, seed=0)
    for _ in range(config.epochs):
        full.learn_epoch(blocks, config)
    assert full.losses[-1] < 1e-3


def test_blocks_that_were_altered_are_not_taken(tmp_path: Path):
    write_blocks([counts_of(np.full((16, 16), 3.0))], 16, tmp_path, x_max=100.0, alpha=0.75)
    assert open_blocks(tmp_path) is not None
    file = max(tmp_path.glob("*.pairs"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[9] ^= 1  # of the same size
    file.write_bytes(data)
    assert open_blocks(tmp_path) is None
    file.unlink()
    assert open_blocks(tmp_path) is None


def test_blocks_have_every_pair_once_and_share_nothing_on_a_diagonal(tmp_path: Path):
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (70, 70)) * 50.0
    parts = [counts_of(values * (np.arange(70) // 35 == half)[:, None]) for half in (0, 1)]
    write_blocks(parts, 70, tmp_path, x_max=100.0, alpha=0.75)
    blocks = open_blocks(tmp_path)
    assert blocks is not None
    assert (blocks.types, blocks.groups) == (70, groups_for(70)) == (70, 16)
    found = np.zeros_like(values)
    for i, row in enumerate(blocks.grid):
        for j, block in enumerate(row):
            assert set(block.pairs_K["row"] % 16) <= {i}
            assert set(block.pairs_K["column"] % 16) <= {j}
            assert len(np.unique(block.pairs_K["row"])) == len(block.runs_R) - 1
            np.add.at(found, (block.pairs_K["row"], block.pairs_K["column"]), np.exp(block.pairs_K["log"]))
            np.testing.assert_allclose(
                block.pairs_K["weight"], weigh(np.exp(block.pairs_K["log"]), 100.0, 0.75), rtol=1e-5
            )
    np.testing.assert_allclose(found, values, rtol=1e-5)


@holds_for(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), unique=True), st.integers(1, 5) | st.just(16))
def test_dealing_compiled_is_sorting(cells, groups):
    rows, columns = np.array(sorted(cells), dtype=np.int32).reshape(-1, 2).T.copy()
    ranks = column_ranks(71)
    assert sorted(ranks.tolist()) == list(range(71))
    for one, other in zip(
        *(deal(rows, columns, ranks, groups) for deal in (block_order_compiled, block_order_plain)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_ordering_says_how_far_it_is(tmp_path: Path):
    stream = StringIO()
    parts = [counts_of(np.ones((8, 8)) * (np.arange(8) // 4 == half)[:, None]) for half in (0, 1)]
    write_blocks(parts, 8, tmp_path, x_max=100.0, alpha=0.75, progress=LineProgress(stream))
    assert stream.getvalue().startswith("order: 8 rows")


def test_blocks_that_were_cut_short_do_not_count(tmp_path: Path, each_damage):
    assert open_blocks(tmp_path) is None
    write_blocks([counts_of(np.ones((8, 8)))], 8, tmp_path, x_max=100.0, alpha=0.75)
    for _ in each_damage(tmp_path / "pairs.json"):
        with pytest.raises(CorruptFileError):
            open_blocks(tmp_path)
    with (tmp_path / "block-000.pairs").open("r+b") as file:
        file.truncate(16)
    assert open_blocks(tmp_path) is None


@pytest.fixture
def blocks(tmp_path: Path) -> Blocks:
    rng = np.random.default_rng(3)
    write_blocks([counts_of(rng.integers(0, 9, (90, 90)))], 90, tmp_path, x_max=100.0, alpha=0.75)
    found = open_blocks(tmp_path)
    assert found is not None
    return found


def test_seed_decides_and_workers_do_not(blocks: Blocks):
    config = GloveConfig(dimensions=20)
    runs = []
    for seed, workers in ((0, 1), (0, 1), (0, 3), (1, 1)):
        glove = Glove.begin(90, 20, seed)
        for _ in range(3):
            glove.learn_epoch(blocks, config.model_copy(update={"seed": seed}), workers=workers)
        runs.append(glove)
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert not same(runs[0], runs[3])
    assert runs[0].losses == runs[2].losses
    assert runs[0].losses == sorted(runs[0].losses, reverse=True)


def test_what_was_written_down_goes_on_with_the_same_bits(blocks: Blocks):
    config = GloveConfig(dimensions=8)
    whole = Glove.begin(90, 8, 0)
    for _ in range(2):
        whole.learn_epoch(blocks, config)
    again = Glove.begin(90, 8, 1)
    again.restore({name: array.copy() for name, array in whole.arrays().items()}, {"step": 2, **whole.state()})
    for glove in (whole, again):
        glove.learn_epoch(blocks, config)
    assert same(whole, again)
    assert whole.losses == again.losses
    np.testing.assert_array_equal(whole.vectors("words"), whole.words.vectors_VD)
    np.testing.assert_array_equal(whole.vectors(), whole.words.vectors_VD + whole.contexts.vectors_VD)


def test_numbers_that_run_away_are_one_line(blocks: Blocks):
    glove = Glove.begin(90, 4, 0)
    config = GloveConfig(dimensions=4, learning_rate=1e30, gradient_clip=1e30)
    with raises("config.diverged", 1):
        glove.learn_epoch(blocks, config)
