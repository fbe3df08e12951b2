"""The word aligner: EM never goes down, planted links are found, nothing breaks on odd lines."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align.words import em_loops
from isoglot.align.words import links as merge_links
from isoglot.align.words.bitext import IndexedBitext, WordIndex, builtin_bitext
from isoglot.align.words.diagonal_model import DirectionTrainer, WordAlignConfig, agree
from isoglot.align.words.links import METHODS, LinkScores, Symmetry, merge, score_links, symmetrize
from isoglot.align.words.word_aligner import WordAligner, train_aligner
from isoglot.core.errors import CorruptFileError
from isoglot.core.optional import COMPILED
from isoglot.text.formats.parallel import parse_links, read_pharaoh, write_pharaoh
from tests.errors import raises


def planted(seed: int = 0, pairs: int = 600, words: int = 60):
    """Sentences whose target has each source word's translation, neighbors sometimes swapped, and some from nowhere."""
    rng = np.random.default_rng(seed)
    made, links = [], []
    for _ in range(pairs):
        source = rng.integers(words, size=rng.integers(3, 12))
        order = list(range(len(source)))
        for place in range(len(order) - 1):
            if rng.random() < 0.2:
                order[place], order[place + 1] = order[place + 1], order[place]
        target, here = [], []
        for place in order:
            if rng.random() < 0.1:
                target.append("euh")
            here.append((place, len(target)))
            target.append(f"T{source[place]}")
        made.append(([f"s{word}" for word in source], target))
        links.append(sorted(here))
    return made, links


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_every_round_of_em_raises_the_likelihood(backward: bool):
    pairs, _ = planted(1, 200)
    words = WordIndex(), WordIndex()
    bitext = IndexedBitext.of(pairs, *words)
    types = (len(words[0]), len(words[1])) if backward else (len(words[1]), len(words[0]))
    config = WordAlignConfig(estimate="likelihood")
    trainer = DirectionTrainer(bitext, types, backward=backward, config=config)
    steps = [trainer.round() for _ in range(12)]
    assert all(later >= sooner - 1e-12 for sooner, later in pairwise(steps))
    assert steps[-1] > steps[0] + 1


def test_the_likelihood_is_that_of_the_model():
    pairs = [(["a", "b"], ["x", "y", "z"]), (["b"], ["y"])]
    words = WordIndex(), WordIndex()
    bitext = IndexedBitext.of(pairs, *words)
    config = WordAlignConfig(estimate="likelihood", null=0.2, tension=3.0)
    trainer = DirectionTrainer(bitext, (3, 2), backward=False, config=config)
    chance = np.random.default_rng(3)
    trainer.learned.given = chance.random(len(bitext.columns))
    trainer.learned.given_null = chance.random(3)
    table = {
        (int(row), int(column)): float(value)
        for row, column, value in zip(bitext.row_of, bitext.columns, trainer.learned.given, strict=True)
    }
    nowhere = trainer.learned.given_null.copy()
    expected = 0.0
    for source, target in pairs:
        m, n = len(source), len(target)
        for j, word in enumerate(target, start=1):
            number = words[1].numbers[word]
            near = [math.exp(-3.0 * abs(i / m - j / n)) for i in range(1, m + 1)]
            parts = [
                0.8 * weight / sum(near) * table[words[0].numbers[other], number]
                for weight, other in zip(near, source, strict=True)
            ]
            expected += math.log(0.2 * nowhere[number] + sum(parts))
    assert trainer.round() == pytest.approx(expected / 4)


def test_planted_links_and_words_are_found():
    pairs, links = planted()
    aligner = train_aligner(pairs)
    for method in METHODS:
        assert score_links(aligner.align(pairs, method), links).error_rate < 0.02
    assert all(aligner.translations(f"s{word}", 1)[0][0] == f"t{word}" for word in range(60))
    assert aligner.forward.tension > 4
    fresh, gold = planted(99, 100)
    assert score_links(aligner.align(fresh, "intersection"), gold).error_rate < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_the_directions_are_made_one_as_is_said(monkeypatch: pytest.MonkeyPatch, method: Symmetry):
    pairs, _ = planted(7, 100)
    aligner = train_aligner(pairs)
    seen = []

    def looked_at(*given):
        seen.append(given)
        return merge(*given)

    monkeypatch.setattr("isoglot.align.words.word_aligner.merge", looked_at)
    found = aligner.align(pairs, method)
    ((forward, backward, source_starts, target_starts, *_),) = seen
    ways = []
    for number, (source, target) in enumerate(pairs):
        one = forward[target_starts[number] :][: len(target)].tolist()
        other = backward[source_starts[number] :][: len(source)].tolist()
        ways.append(([(i, j) for j, i in enumerate(one) if i >= 0], [(i, j) for i, j in enumerate(other) if j >= 0]))
    assert found == [symmetrize(*way, method) for way in ways]
    assert any(set(one) != set(other) for one, other in ways), "or all methods would be one"


def test_agreement_makes_fewer_errors():
    """A rare word that explains what stands around it is not confirmed from the other side."""
    bitext = builtin_bitext(("en", "de"), 400)
    pairs = list(zip(bitext.source, bitext.target, strict=True))
    rates = [
        score_links(train_aligner(pairs, WordAlignConfig(agreement=rounds)).align(pairs), bitext.links).error_rate
        for rounds in (0, 4)
    ]
    assert rates[1] < rates[0] - 0.02


def test_agreed_counts_are_products_of_posteriors():
    pairs = [(["a", "b"], ["x", "y", "z"]), (["b"], ["y"])]
    words = WordIndex(), WordIndex()
    bitext = IndexedBitext.of(pairs, *words)
    config = WordAlignConfig(estimate="likelihood", iterations=2)
    trainers = [
        DirectionTrainer(bitext, (3, 2), backward=False, config=config),
        DirectionTrainer(bitext, (2, 3), backward=True, config=config),
    ]
    for trainer in trainers:
        trainer.round()
    tables = []
    for trainer in trainers:
        one = trainer.learned
        found = {}
        for s, (source, target) in enumerate(pairs):
            m, n = len(source), len(target)
            rows, columns = (m, n) if trainer.backward else (n, m)
            for j in range(rows):
                near = [math.exp(-one.tension * abs((i + 1) / columns - (j + 1) / rows)) for i in range(columns)]
                word = words[0 if trainer.backward else 1].numbers[(source if trainer.backward else target)[j]]
                parts = []
                for i in range(columns):
                    cell = bitext.cell_starts[s] + (i * m + j if trainer.backward else j * m + i)
                    parts.append((int(cell), 0.92 * near[i] / sum(near) * one.given[bitext.cells[cell]]))
                total = 0.08 * one.given_null[word] + sum(value for _, value in parts)
                found.update({cell: value / total for cell, value in parts})
        tables.append(found)
    counts = np.zeros(len(bitext.columns))
    for cell, slot in enumerate(bitext.cells):
        counts[slot] += tables[0][cell] * tables[1][cell]
    agree(*trainers)
    for trainer, condition in zip(trainers, (bitext.row_of, bitext.columns), strict=True):
        totals = np.bincount(condition, weights=counts)
        assert np.allclose(trainer.learned.given, counts / totals[condition])


def test_a_planted_tension_is_learned():
    """Words that are all the same tell nothing: links are drawn from the prior, and its tension comes back."""
    rng = np.random.default_rng(5)
    pairs, size = [], 10
    for _ in range(600):
        source = rng.permutation(50)[:size]
        target = []
        for j in range(1, size + 1):
            near = np.exp(-9.0 * np.abs(np.arange(1, size + 1) / size - j / size))
            target.append(f"t{source[rng.choice(size, p=near / near.sum())]}")
        pairs.append(([f"s{word}" for word in source], target))
    aligner = train_aligner(pairs, WordAlignConfig(iterations=8, null=0.001, estimate="likelihood"))
    assert aligner.forward.tension == pytest.approx(9.0, rel=0.1)
    fixed = train_aligner(pairs[:100], WordAlignConfig(tension=6.0, tension_rule="fixed"))
    assert fixed.forward.tension == fixed.backward.tension == 6.0


def test_built_in_gold_is_found():
    bitext = builtin_bitext(("en", "fr"), 600)
    aligner = train_aligner(zip(bitext.source, bitext.target, strict=True), languages=("en", "fr"))
    scores = score_links(aligner.align(zip(bitext.source, bitext.target, strict=True)), bitext.links)
    assert scores.error_rate < 0.3
    assert scores.facts()["aer"] == scores.error_rate


def test_odd_lines_are_counted_and_have_no_links():
    pairs, _ = planted(2, 50)
    odd = [([], []), (["a"], []), ([], ["b"]), (["w"] * 101, ["v"])]
    aligner = train_aligner([*odd, *pairs, (["s1"], ["T1"])])
    counts = aligner.counts
    assert (counts.pairs, counts.blank, counts.one_sided, counts.overlong, counts.used) == (55, 1, 2, 1, 51)
    assert aligner.align(odd) == [[], [], [], []]
    assert aligner.align([]) == []
    assert aligner.align([(["never", "seen"], ["nie", "gesehen"])], "intersection") == [[(0, 0), (1, 1)]]
    for learned in (aligner.forward, aligner.backward):
        assert np.isfinite(learned.given).all()
        assert np.isfinite([learned.tension, *learned.likelihoods]).all()
    with raises("input.no-match", "3", "1", "2", "0", "100"):
        train_aligner(odd[:3])
    with raises("config.unknown-name", "'grow-diag'"):
        aligner.align(pairs, "grow-dag")  # type: ignore[arg-type]


@pytest.mark.parametrize("estimate", ["bayes", "likelihood"])
def test_one_word_a_side_many_times_stays_finite(estimate):
    aligner = train_aligner([(["a"], ["b"])] * 5, WordAlignConfig(iterations=60, estimate=estimate))
    assert aligner.align([(["a"], ["b"])]) == [[(0, 0)]]
    assert np.isfinite(aligner.forward.likelihoods).all()


def test_case_and_its_absence():
    pairs = [(["Der"], ["The"]), (["der"], ["the"])]
    assert train_aligner(pairs).words == (("der",), ("the",))
    assert train_aligner(pairs, WordAlignConfig(case="keep")).words == (("Der", "der"), ("The", "the"))


def test_saved_and_read_it_aligns_the_same(tmp_path: Path):
    pairs, _ = planted(3, 200)
    aligner = train_aligner(pairs, languages=("en", "fr"))
    file = aligner.save(tmp_path / "model")
    assert file.name == "aligner.safetensors"
    again = WordAligner.load(tmp_path / "model")
    fresh, _ = planted(4, 100, words=80)
    assert again.align(fresh) == aligner.align(fresh)
    assert (again.languages, again.config, again.counts) == (aligner.languages, aligner.config, aligner.counts)
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(bytes(data))
    with raises("corrupt-file.hash"):
        WordAligner.load(file)
    file.write_bytes(b"nonsense")
    with pytest.raises(CorruptFileError):
        WordAligner.load(file)


def test_a_word_with_a_line_break_is_refused():
    """In a file it would be two, and all words behind it would have another's numbers."""
    with raises("input.malformed-line", "'x\\ny'"):
        train_aligner([(["a", "b"], ["x\ny", "z"])])


def test_translations_are_looked_up_in_the_case_of_training():
    pairs = [("The House".split(), "Das Haus".split()), ("The book".split(), "Das Buch".split())]
    lower = train_aligner(pairs)
    assert lower.translations("The") == lower.translations("the") != []
    kept = train_aligner(pairs, WordAlignConfig(case="keep"))
    assert kept.translations("The")
    assert kept.translations("the") == []


@pytest.mark.skipif(not COMPILED, reason="numba is not installed")
@pytest.mark.parametrize(
    "name",
    ["expect", "expect_agreed", "posteriors", "best_sources", "look_up", "merge", "maximize", "digamma", "index_cells"],
)
def test_compiled_loops_are_their_plain_twins(monkeypatch: pytest.MonkeyPatch, name: str):
    pairs, _ = planted(6, 20)
    expected = train_aligner(pairs)
    links = expected.align(pairs)
    home = merge_links if name == "merge" else em_loops
    plain = getattr(home, name).py_func
    for module in ("diagonal_model", "bitext", "word_aligner", "em_loops", "links"):
        monkeypatch.setattr(f"isoglot.align.words.{module}.{name}", plain, raising=False)
    found = train_aligner(pairs)
    assert found.align(pairs) == links
    assert np.allclose(found.forward.given, expected.forward.given, rtol=1e-5)


def test_digamma_is_the_derivative_of_log_gamma():
    for x in (0.01, 0.5, 1.0, 3.7, 100.0):
        step = 1e-6 * x
        slope = (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)
        assert em_loops.digamma(x) == pytest.approx(slope, rel=1e-5)


# --- scores and files ---


def test_error_rate_by_hand():
    """Three links; two are sure, one of the others possible: precision 3/3, recall 2/4, AER 1 - 5/7."""
    found = [[(0, 0), (1, 1), (2, 1)]]
    scores = score_links(found, [[(0, 0), (1, 1), (2, 2), (3, 3)]], [[(2, 1)]])
    assert scores == LinkScores(links=3, sure=4, hit_sure=2, hit_possible=3)
    assert (scores.precision, scores.recall) == (1.0, 0.5)
    assert scores.error_rate == pytest.approx(1 - 5 / 7)
    nothing = score_links([[]], [[]])
    assert (nothing.error_rate, nothing.precision, nothing.recall) == (0.0, 1.0, 1.0)
    with raises("input.row-count", "1", "2"):
        score_links(found, [[], []])


LINKS = st.lists(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999)), max_size=8), max_size=6)


@given(LINKS)
@settings(deadline=None)
def test_all_sure_gold_makes_the_error_rate_one_minus_f1(links):
    gold = [[(i, j) for i, j in sentence if (i + j) % 2] + [(1000, 0)] for sentence in links]
    scores = score_links(links, gold)
    assert scores.error_rate == pytest.approx(1 - scores.f1 if scores.links + scores.sure else 0.0)


@given(LINKS)
@settings(deadline=None)
def test_pharaoh_files_come_back(tmp_path_factory, links):
    file = tmp_path_factory.mktemp("pharaoh") / "links.txt"
    write_pharaoh(file, links)
    assert list(read_pharaoh(file)) == links
    assert [parse_links(line) for line in file.read_text().splitlines()] == links
