from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.config import build_config
from isoglot.pretrain import masking
from isoglot.pretrain.masking import IGNORED, Masked, Masker, MaskingConfig, RandomFrom, random_pools
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises

MASK, SIZE = 4, 1000
POOLS = {"en": np.arange(5, 500), "fr": np.arange(400, SIZE)}


def masker(seed: int = 0, **settings: object) -> Masker:
    return Masker(MaskingConfig.model_validate(settings), mask_id=MASK, pools=POOLS, seed=seed)


def framed(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, SIZE, (rows, length), generator=generator)
    ids[:, 0], ids[:, -1] = 2, 3
    return ids


def same(one: Masked, other: Masked) -> bool:
    pairs = ((one.inputs_BT, other.inputs_BT), (one.at_BK, other.at_BK), (one.targets_BK, other.targets_BK))
    return all(torch.equal(a, b) for a, b in pairs)


def joined(*parts: Masked) -> Masked:
    return Masked(
        torch.cat([part.inputs_BT for part in parts]),
        torch.cat([part.at_BK for part in parts]),
        torch.cat([part.targets_BK for part in parts]),
    )


def chi_square_z(counts: torch.Tensor, expected: float, freedom: int) -> float:
    return (float(((counts.double() - expected) ** 2 / expected).sum()) - freedom) / math.sqrt(2 * freedom)


# --- what is masked ---


@given(st.integers(1, 12), st.integers(3, 40), st.floats(0.01, 1), st.integers(0, 2**40))
def test_exactly_k_positions_a_row_and_never_an_end(rows: int, length: int, rate: float, step: int):
    ids = framed(rows, length)
    done = masker(rate=rate).masked(ids, step, torch.arange(rows), "en")
    k = max(1, math.floor(rate * (length - 2) + 0.5 + 1e-9))
    assert done.at_BK.shape == done.targets_BK.shape == (rows, k)
    assert int(done.at_BK.min()) >= 1
    assert int(done.at_BK.max()) <= length - 2
    assert bool((done.at_BK.diff(dim=1) > 0).all())
    assert torch.equal(done.targets_BK, ids.gather(1, done.at_BK))
    elsewhere = torch.ones_like(ids, dtype=torch.bool).scatter(1, done.at_BK, False)
    assert torch.equal(done.inputs_BT[elsewhere], ids[elsewhere])
    assert done.inputs_BT.dtype == done.at_BK.dtype == done.targets_BK.dtype == torch.int64


def test_the_rows_given_stay_as_they_are():
    ids = framed(4, 20)
    before = ids.clone()
    masker().masked(ids, 0, torch.arange(4), "en")
    masker().masked_among(ids, ids > 4, 0, torch.arange(4), "en")
    assert torch.equal(ids, before)


def test_every_set_of_positions_is_equally_likely():
    size = 40_000
    done = masker(rate=0.5).masked(framed(size, 8), 3, torch.arange(size), "en")
    sets = list(combinations(range(1, 7), 3))
    codes = (done.at_BK * torch.tensor([100, 10, 1])).sum(1)
    counts = torch.stack([(codes == a * 100 + b * 10 + c).sum() for a, b, c in sets])
    assert int(counts.sum()) == size
    assert abs(chi_square_z(counts, size / 20, 19)) < 4


def test_every_position_is_equally_likely_over_steps_too():
    ids, counts = framed(64, 258), torch.zeros(258)
    for step in range(50):
        at = masker().masked(ids, step, torch.arange(64), "en").at_BK
        counts += torch.bincount(at.flatten(), minlength=258)
    assert float(counts[0]) == float(counts[-1]) == 0
    k = 38  # round(0.15 * 256)
    assert float(counts.sum()) == 64 * 50 * k
    # Without replacement: each count is binomial with variance size * p * (1 - p), over 255 degrees of freedom.
    share = k / 256
    expected = 64 * 50 * share
    z = (float(((counts[1:-1] - expected) ** 2).sum()) / (expected * (1 - share)) * 255 / 256 - 255) / math.sqrt(
        2 * 255
    )
    assert abs(z) < 4


def test_draws_that_are_all_equal_break_nothing(monkeypatch: pytest.MonkeyPatch):
    for value in (0, -1, 2**63 - 1, 77):
        monkeypatch.setattr(masking, "draws", lambda _, rows, count, value=value: torch.full((len(rows), count), value))
        ids = framed(5, 42)
        for done in (
            masker().masked(ids, 0, torch.arange(5), "en"),
            masker().masked_among(ids, ids > 4, 0, torch.arange(5), "en"),
        ):
            assert done.at_BK.tolist() == [[1, 2, 3, 4, 5, 6]] * 5


# --- what stands there instead ---


@pytest.mark.parametrize(
    ("mask", "keep", "random"), [(0.8, 0.1, 0.1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0, 0.5), (0.7, 0.3, 0)]
)
def test_each_fate_is_as_frequent_as_it_should_be(mask: float, keep: float, random: float):
    # The text has ids below 500 only and the pool of fr those from 500 on: each fate can be told from the others.
    ids = framed(2000, 64) % 400 + 5
    own = Masker(
        MaskingConfig(rate=0.5, mask=mask, keep=keep, random=random),
        mask_id=MASK,
        pools={"fr": np.arange(500, 1000)},
    )
    done = own.masked(ids, 0, torch.arange(2000), "fr")
    seen = done.inputs_BT.gather(1, done.at_BK)
    found = [seen == MASK, seen == done.targets_BK, seen >= 500]
    size = seen.numel()
    assert sum(int(part.sum()) for part in found) == size
    for part, share in zip(found, (mask, keep, random), strict=True):
        assert abs(int(part.sum()) - size * share) <= 4 * math.sqrt(size * share * (1 - share))
    if random:
        counts = torch.bincount(seen[seen >= 500] - 500, minlength=500)
        assert abs(chi_square_z(counts, float(counts.sum()) / 500, 499)) < 4
    if mask and keep:  # fates of neighbors are independent
        both = float((found[0][:, 1:] & found[0][:, :-1]).double().mean())
        assert abs(both - mask**2) < 4 * math.sqrt(mask**2 / size)


def test_random_words_are_of_the_language_of_the_batch():
    own = masker(rate=1.0, mask=0.0, keep=0.0, random=1.0)
    ids = framed(200, 100)
    for language, pool in POOLS.items():
        inputs = own.masked(ids, 0, torch.arange(200), language).inputs_BT[:, 1:-1]
        assert set(inputs.flatten().tolist()) == set(pool.tolist())


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("text")
    for code, line in (("en", "the cat saw a dog\n"), ("fr", "une vache vit le chien\n")):
        (folder / code).write_text(line * 5)
    return train_vocabulary({code: [folder / code] for code in ("en", "fr")}, mode="disjoint", size=60, unknown="unk")


@pytest.mark.parametrize("random_from", ["vocabulary", "language"])
def test_pools_of_a_vocabulary(vocabulary: Vocabulary, random_from: RandomFrom):
    pools = random_pools(vocabulary, ["en", "fr"], random_from)
    special = set(vocabulary.special.values())
    assert not special & (set(pools["en"].tolist()) | set(pools["fr"].tolist()))
    if random_from == "vocabulary":
        assert pools["en"].tolist() == pools["fr"].tolist() == sorted(set(range(len(vocabulary))) - special)
    else:
        assert set(pools["en"].tolist()) | special == set(vocabulary.ids_of("en").tolist())
        assert not set(pools["en"].tolist()) & set(pools["fr"].tolist())
    made = Masker.for_vocabulary(MaskingConfig(random_from=random_from), vocabulary, ["fr"])
    assert made.mask_id == vocabulary.special["[MASK]"]
    assert made.pools["fr"].tolist() == pools["fr"].tolist()


# --- what it depends on ---


@given(st.integers(2, 20), st.integers(1, 19), st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 100))
def test_a_row_is_masked_the_same_in_any_part_of_the_batch(rows: int, cut: int, step: int, first: int, seed: int):
    cut = min(cut, rows - 1)
    ids, numbers = framed(rows, 30, seed), torch.arange(first, first + rows)
    own = masker(seed)
    for candidates in (None, ids % 3 != 0):

        def run(part: slice, step: int | torch.Tensor = step, candidates: torch.Tensor | None = candidates) -> Masked:
            if candidates is None:
                return own.masked(ids[part], step, numbers[part], "en")
            return own.masked_among(ids[part], candidates[part], step, numbers[part], "en")

        whole = run(slice(None))
        assert same(whole, joined(run(slice(cut)), run(slice(cut, None))))
        assert same(whole, run(slice(None), torch.tensor(step)))


def test_seed_step_and_row_each_change_the_mask():
    ids = framed(1, 100).expand(2, -1)
    rows = torch.arange(2)
    done = [
        masker(seed).masked(ids, step, rows, "en").at_BK[row].tolist()
        for seed in (0, 1)
        for step in (0, 1)
        for row in (0, 1)
    ]
    assert len({tuple(at) for at in done}) == 8


def test_masking_compiles_as_one_graph():
    ids, rows, own = framed(6, 40), torch.arange(6), masker()

    def run(ids: torch.Tensor, step: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        plain, among = own.masked(ids, step, rows, "en"), own.masked_among(ids, ids > 100, step, rows, "en")
        return plain.inputs_BT, plain.at_BK, plain.targets_BK, among.inputs_BT, among.at_BK, among.targets_BK

    compiled = torch.compile(run, fullgraph=True, dynamic=False, backend="aot_eager")
    for mine, wanted in zip(compiled(ids, torch.tensor(7), rows), run(ids, torch.tensor(7), rows), strict=True):
        assert torch.equal(mine, wanted)


# --- candidates ---


def test_candidates_everywhere_but_at_the_ends_is_the_short_path():
    ids = framed(50, 60)
    candidates = torch.ones_like(ids, dtype=torch.bool)
    candidates[:, 0] = candidates[:, -1] = False
    own, rows = masker(), torch.arange(50)
    assert same(own.masked(ids, 5, rows, "en"), own.masked_among(ids, candidates, 5, rows, "en"))


@given(st.integers(3, 40), st.floats(0.05, 1), st.integers(0, 10**6), st.floats(0, 1))
def test_a_row_has_its_share_of_its_own_candidates_masked(length: int, rate: float, seed: int, density: float):
    ids = framed(8, length, seed)
    candidates = torch.rand(8, length, generator=torch.Generator().manual_seed(seed)) < density
    candidates[:, 0] = candidates[:, -1] = False
    own = masker(rate=rate)
    done = own.masked_among(ids, candidates, 0, torch.arange(8), "en")
    count = own.config.positions(length - 2)
    assert done.at_BK.shape == (8, count)
    for row in range(8):
        wanted = own.config.positions(int(candidates[row].sum()))
        at, targets = done.at_BK[row, :wanted], done.targets_BK[row, :wanted]
        assert at.tolist() == sorted(set(at.tolist()))
        assert bool(candidates[row, at].all())
        assert torch.equal(targets, ids[row, at])
        assert done.targets_BK[row, wanted:].tolist() == [IGNORED] * (count - wanted)
        assert done.at_BK[row, wanted:].tolist() == [0] * (count - wanted)
        elsewhere = [place for place in range(length) if place not in at.tolist()]
        assert torch.equal(done.inputs_BT[row, elsewhere], ids[row, elsewhere])


def test_candidates_are_equally_likely():
    ids = framed(1, 12).expand(30_000, -1).contiguous()
    candidates = torch.zeros(30_000, 12, dtype=torch.bool)
    places = [1, 2, 5, 6, 9]
    candidates[:, places] = True
    done = masker(rate=0.4).masked_among(ids, candidates, 1, torch.arange(30_000), "en")
    at = done.at_BK[done.targets_BK != IGNORED].view(30_000, 2)
    counts = torch.bincount(at[:, 0] * 12 + at[:, 1])
    pairs = torch.stack([counts[a * 12 + b] for a, b in combinations(places, 2)])
    assert int(pairs.sum()) == 30_000
    assert abs(chi_square_z(pairs, 3000, 9)) < 4


# --- how many, and what is refused ---


@given(st.integers(0, 70_000), st.floats(0.001, 1))
def test_ints_and_tensors_round_alike(count: int, rate: float):
    config = MaskingConfig(rate=rate)
    candidates = torch.zeros(1, 12, dtype=torch.bool)
    candidates[0, : count % 11] = True
    done = Masker(config, mask_id=MASK, pools=POOLS).masked_among(framed(1, 12), candidates, 0, torch.arange(1), "en")
    assert int((done.targets_BK != IGNORED).sum()) == config.positions(count % 11)
    assert abs(config.positions(count) - max(min(1, count), rate * count)) <= 0.5 + 1e-6


@pytest.mark.parametrize(
    ("rate", "candidates", "k"),
    [
        (0.15, 254, 38),
        (0.15, 10, 2),
        (0.15, 30, 5),
        (0.1, 5, 1),
        (0.3, 5, 2),
        (0.7, 5, 4),
        (1, 9, 9),
        (0.01, 5, 1),
        (0.15, 0, 0),
    ],
)
def test_a_half_is_rounded_up(rate: float, candidates: int, k: int):
    assert MaskingConfig(rate=rate).positions(candidates) == k


def test_a_rate_that_changes():
    config = MaskingConfig(rate=0.3, rate_end=0.15)
    assert [config.positions(100, progress) for progress in (0, 0.2, 0.5, 1, 1.7)] == [30, 27, 23, 15, 15]
    shapes = [
        masker(rate=0.3, rate_end=0.15).masked(framed(2, 102), 0, torch.arange(2), "en", progress=p).at_BK.shape
        for p in (0.0, 1.0)
    ]
    assert shapes == [(2, 30), (2, 15)]


def test_what_is_refused():
    with raises("config.invalid-value", "1.1", 1):
        build_config(MaskingConfig, settings=["mask=0.9"])
    with raises("config.invalid-value", 0):
        build_config(MaskingConfig, settings=["rate=0"])
    with raises("config.unknown-name", "'de'"):
        masker().masked(framed(1, 5), 0, torch.arange(1), "de")


def test_separators_inside_a_row_are_never_masked():
    ids = framed(500, 42)
    ids[:, 10::10] = SEPARATOR = 3
    done = masker(rate=0.15).masked(ids, 0, torch.arange(500), "en", separator=SEPARATOR)
    assert bool((done.inputs_BT[:, 10::10] == SEPARATOR).all())
    counted = done.targets_BK != IGNORED
    assert not bool((done.targets_BK[counted] == SEPARATOR).any())
    words = int((ids[0, 1:-1] != SEPARATOR).sum())
    assert counted.sum(1).unique().tolist() == [MaskingConfig().positions(words)]  # a share of the words alone


# --- each token by itself ---


@pytest.mark.parametrize("length", [20, 64, 256])
def test_rows_of_any_length_have_the_same_share_masked_where_each_token_is_drawn_by_itself(length: int):
    """Exactly k of 18 are 16.7 %; drawn one by one, shares agree with the rate to five standard errors."""
    rows = 200_000 // length
    done = masker(draw="binomial").masked(framed(rows, length), 3, torch.arange(rows), "en")
    tokens = rows * (length - 2)
    masked = int((done.targets_BK != IGNORED).sum())
    assert abs(masked / tokens - 0.15) < 5 * math.sqrt(0.15 * 0.85 / tokens)
    exact = masker().masked(framed(rows, length), 3, torch.arange(rows), "en")
    assert exact.targets_BK.numel() / tokens == pytest.approx({20: 3 / 18, 64: 9 / 62, 256: 38 / 254}[length])


def test_positions_drawn_by_themselves_are_independent():
    """The number in a row of 30 is binomial: its variance is n p (1 - p), and every place is as likely as any other."""
    rows = 20_000
    done = masker(draw="binomial", rate=0.2).masked(framed(rows, 32), 1, torch.arange(rows), "en")
    kept = done.targets_BK != IGNORED
    counts = kept.sum(1).double()
    assert float(counts.var()) == pytest.approx(30 * 0.2 * 0.8, rel=0.05)
    assert int((counts == 0).sum()) == pytest.approx(rows * 0.8**30, rel=0.5)
    places = torch.bincount(done.at_BK[kept], minlength=32)
    assert (int(places[0]), int(places[31])) == (0, 0)
    assert abs(chi_square_z(places[1:31], int(kept.sum()) / 30, 29)) < 5


def test_padding_and_separators_are_never_masked():
    ids = framed(500, 20)
    ids[:, 9:12], ids[:, 15:] = 3, 0
    for draw in ("exact", "binomial"):
        done = masker(draw=draw).masked(ids, 1, torch.arange(500), "en", separator=3, pad=0)
        kept = done.targets_BK != IGNORED
        assert not {0, 3} & set(done.targets_BK[kept].tolist())
        untouched = torch.ones_like(ids, dtype=torch.bool).scatter(1, done.at_BK, ~kept)
        assert torch.equal(done.inputs_BT[untouched], ids[untouched])
