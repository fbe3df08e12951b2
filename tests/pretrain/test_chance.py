from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from isoglot.pretrain.counter_rng import (
    below,
    draws,
    entry,
    high,
    host_draw,
    mixed,
    permuted,
    step_key,
    stream,
)


def stream_key(seed: int, name: str, step: int | torch.Tensor) -> torch.Tensor:
    return step_key(stream(seed, name), step)


INT64 = st.integers(-(2**63), 2**63 - 1)


def chi_square_z(counts: torch.Tensor, expected: float) -> float:
    """How many standard deviations the chi-square statistic is from what chance gives."""
    freedom = counts.numel() - 1
    statistic = float(((counts.double() - expected) ** 2 / expected).sum())
    return (statistic - freedom) / math.sqrt(2 * freedom)


def bits(x: torch.Tensor) -> torch.Tensor:
    return ((x[..., None] >> torch.arange(64)) & 1).double()


# --- the generator ---


def test_the_published_sequence_of_splitmix64():
    wanted = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [int(x) % 2**64 for x in entry(torch.arange(1, 5))] == wanted
    assert [entry(x) % 2**64 for x in range(1, 5)] == wanted


@given(INT64)
@example(0)
@example(-(2**63))
@example(2**63 - 1)
@example(-1)
def test_ints_on_the_host_give_the_same_bits(x: int):
    tensor = torch.tensor(x)
    assert int(mixed(tensor)) == mixed(x)
    assert int(entry(tensor)) == entry(x)
    assert all(int(high(tensor, size)) == high(x, size) == x % 2**64 >> (64 - size) for size in (1, 24, 53))


@given(st.integers(0, 2**62), st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 40))
def test_one_draw_on_the_host_is_that_of_the_tensor(seed: int, step: int, row: int, column: int):
    for given_step in (step, torch.tensor(step)):
        drawn = draws(stream_key(seed, "x", given_step), torch.tensor([0, row]), column + 1)
        assert int(drawn[1, column]) == host_draw(seed, "x", step, row, column)


def test_a_different_seed_name_step_or_row_is_another_stream():
    rows = torch.arange(4)
    streams = [draws(stream_key(seed, name, step), rows, 8) for seed in (0, 1) for name in "ab" for step in (0, 1, 2)]
    assert len(torch.cat(streams).unique()) == 2 * 2 * 3 * 4 * 8


def test_a_row_has_the_same_draws_in_any_batch():
    key = stream_key(3, "x", 9)
    whole = draws(key, torch.arange(8), 5)
    assert torch.equal(whole, torch.cat([draws(key, torch.arange(4), 5), draws(key, torch.arange(4, 8), 5)]))
    assert torch.equal(whole[[6, 1]], draws(key, torch.tensor([6, 1]), 5))
    assert torch.equal(whole[:, :3], draws(key, torch.arange(8), 3))


@pytest.mark.no_cover
def test_compiled_draws_have_the_same_bits():
    base = stream(5, "x")

    def drawn(step: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        key = step_key(base, step)
        return draws(key, rows, 7), permuted(rows, 100, key)

    compiled = torch.compile(drawn, fullgraph=True, dynamic=False, backend="aot_eager")
    mine, wanted = (run(torch.tensor(2**40), torch.arange(6)) for run in (compiled, drawn))
    assert torch.equal(mine[0], wanted[0])
    assert torch.equal(mine[1], wanted[1])


# --- quality ---


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
def test_below_is_uniform(n: int):
    numbers = below(draws(stream_key(2, "x", 0), torch.arange(500), 400), n)
    assert int(numbers.min()) == 0
    assert int(numbers.max()) == n - 1
    if n > 1:
        assert abs(chi_square_z(torch.bincount(numbers.flatten(), minlength=n), 200_000 / n)) < 4


@given(INT64, st.integers(1, 2**62))
def test_below_stays_below_for_any_size(draw: int, n: int):
    assert 0 <= int(below(torch.tensor(draw), n)) < n


@pytest.mark.parametrize("neighbors", ["columns", "rows", "steps", "far rows"])
def test_every_bit_is_fair_and_tells_nothing_of_its_neighbors(neighbors: str):
    steps = torch.arange(64)
    drawn = torch.stack([draws(stream_key(4, "x", step), torch.arange(64), 16) for step in steps])
    first, second = {
        "columns": (drawn[:, :, :-1], drawn[:, :, 1:]),
        "rows": (drawn[:, :-1], drawn[:, 1:]),
        "steps": (drawn[:-1], drawn[1:]),
        "far rows": (drawn[:, :32], drawn[:, 32:]),  # one bit of the row number differs
    }[neighbors]
    a, b = bits(first).reshape(-1, 64) - 0.5, bits(second).reshape(-1, 64) - 0.5
    size = math.sqrt(len(a))
    assert float(a.mean(0).abs().max()) * 2 * size < 4.5
    assert float((a.T @ b / len(a)).abs().max()) * 4 * size < 5.5  # the largest of 64 × 64 correlations
    assert float((bits(first ^ second).reshape(-1, 64).mean(0) - 0.5).abs().max()) * 2 * size < 4.5


def test_one_bit_of_the_number_changes_half_the_bits():
    x = entry(torch.arange(4000))
    for place in range(64):
        changed = bits(mixed(x) ^ mixed(x ^ (1 << place if place < 63 else -(2**63)))).mean()
        assert abs(float(changed) - 0.5) < 0.01


# --- permutations ---


@given(st.integers(1, 3000), st.integers(0, 2**40))
@example(1, 0)
@example(2, 0)
@example(3, 0)
def test_permuted_is_a_bijection(n: int, step: int):
    image = permuted(torch.arange(n), n, stream_key(0, "order", step))
    assert torch.equal(image.sort().values, torch.arange(n))


@pytest.mark.parametrize("n", [2**power + more for power in range(1, 14) for more in (-1, 0, 1)])
def test_permuted_is_a_bijection_around_powers_of_two(n: int):
    image = permuted(torch.arange(n), n, stream_key(0, "order", 1))
    assert torch.equal(image.sort().values, torch.arange(n))


@given(st.integers(2**40, 2**62 - 1), st.integers(0, 2**40))
def test_permuted_has_no_two_alike_in_a_very_large_range(n: int, start: int):
    image = permuted(torch.arange(start, start + 50) % n, n, stream_key(0, "order", 1))
    assert 0 <= int(image.min()) <= int(image.max()) < n
    assert len(image.unique()) == 50


@pytest.mark.parametrize("n", [3, 4, 5])
def test_all_orders_are_equally_likely(n: int):
    keys = stream_key(0, "order", torch.arange(60_000))[:, None]
    image = permuted(torch.arange(n), n, keys)
    code = (image * n ** torch.arange(n)).sum(1)
    counts = code.unique(return_counts=True)[1]
    assert len(counts) == math.factorial(n)
    assert abs(chi_square_z(counts, 60_000 / len(counts))) < 4


@pytest.mark.parametrize("n", [6, 8, 11, 16, 23])
def test_two_neighbors_go_anywhere(n: int):
    keys = stream_key(0, "order", torch.arange(60_000))[:, None]
    image = permuted(torch.tensor([n // 2, n // 2 + 1]), n, keys)
    counts = torch.bincount(image[:, 0] * n + image[:, 1], minlength=n * n).view(n, n)
    assert int(counts.diagonal().sum()) == 0
    apart = counts[~torch.eye(n, dtype=torch.bool)]
    assert abs(chi_square_z(apart, 60_000 / len(apart))) < 4


def test_a_large_permutation_has_no_visible_order():
    n = 100_003
    image = permuted(torch.arange(n), n, stream_key(0, "order", 0)).double() / n
    assert abs(float(torch.corrcoef(torch.stack([image[:-1], image[1:]]))[0, 1])) < 4 / math.sqrt(n)
    assert abs(float(torch.corrcoef(torch.stack([image, torch.arange(n).double()]))[0, 1])) < 4 / math.sqrt(n)
    rises = float((image[1:] > image[:-1]).double().mean())
    assert abs(rises - 0.5) < 4 / math.sqrt(12 * n)  # the variance of the share of ascents is 1/12n
    gaps = (image[1:] - image[:-1]) % 1
    assert abs(chi_square_z(torch.histc(gaps, bins=300, min=0, max=1), (n - 1) / 300)) < 4


def test_two_keys_give_unrelated_orders():
    n = 20_000
    one, other = (permuted(torch.arange(n), n, stream_key(0, "order", step)) for step in (0, 1))
    assert int((one == other).sum()) < 10  # one is expected
    assert abs(float(torch.corrcoef(torch.stack([one, other]).double())[0, 1])) < 4 / math.sqrt(n)
