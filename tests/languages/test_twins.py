from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.languages import twins
from isoglot.languages.twins import Order, Parsed, Twin, shift, twin, twin_code, unshift
from tests.errors import raises

words = st.text(st.characters(exclude_categories=["Co"]), min_size=1, max_size=6) | st.sampled_from([".", "a", "?!"])
sentences = st.lists(words, max_size=12)
seeds = st.integers(0, 2**63 - 1)
degrees = st.floats(0, 1)
TREE_ORDERS: list[Order] = ["verb-last", "head-final"]
FREE_ORDERS: list[Order] = ["blend", "reversed", "permuted"]


@st.composite
def parsed(draw: st.DrawFn) -> Parsed:
    tokens = draw(sentences.filter(bool))
    order = draw(st.permutations(range(1, len(tokens) + 1)))
    heads = {order[0]: 0} | {order[i]: order[draw(st.integers(0, i - 1))] for i in range(1, len(order))}
    tags = draw(st.lists(st.sampled_from(["VERB", "NOUN", "AUX", "DET"]), min_size=len(tokens), max_size=len(tokens)))
    return Parsed(tokens, [heads[i] for i in range(1, len(tokens) + 1)], tags)


def is_final(tokens: Sequence[str], position: int) -> bool:
    """Nothing but punctuation from there on."""
    return all(unicodedata.category(character)[0] == "P" for token in tokens[position:] for character in token)


def distance(alignment: list[tuple[int, int]]) -> int:
    """Kendall tau: how many pairs stand the other way round."""
    return sum(first[1] > second[1] for first, second in combinations(sorted(alignment), 2))


def one(sentence: Sequence[str] | Parsed, order: Order = "blend", degree: float = 1.0, seed: int = 0) -> Twin:
    (result,) = twin([sentence], "order", order=order, degree=degree, seed=seed)
    return result


# --- shift ---


@given(st.text())
def test_shift_is_a_bijection(text: str):
    assert unshift(shift(text)) == text
    assert unshift(unshift(shift(shift(text)))) == text


@pytest.mark.no_cover
def test_shift_of_every_character_is_its_own_and_private():
    every = [shift(chr(code)) for code in range(0x110000)]
    assert len(set(every)) == 0x110000
    # Noncharacters go to noncharacters; everything else to private use.
    assert {unicodedata.category(c) for i, text in enumerate(every) if i & 0xFFFE != 0xFFFE for c in text} == {"Co"}
    assert "".join(map(unshift, every)) == "".join(map(chr, range(0x110000)))
    twins._PRIVATE_SCRIPT.clear()  # a million characters are not worth keeping


@given(st.lists(sentences))
def test_shift_shares_no_character_and_aligns_one_to_one(texts: list[list[str]]):
    for original, other in zip(texts, twin(texts, "shift"), strict=True):
        assert not set("".join(original)) & set("".join(other.tokens))
        assert [unshift(token) for token in other.tokens] == original
        assert other.alignment == [(i, i) for i in range(len(original))]


def test_shift_keeps_case_apart():
    assert ord(shift("A")) - ord(shift("a")) == ord("A") - ord("a")
    assert len(set(shift("AaBb"))) == 4
    assert shift("Ёлка 𠮷野家 😀 42!").lower() == shift("Ёлка 𠮷野家 😀 42!")


def test_kept_words_are_anchors_and_stay_so_as_their_share_grows():
    words = [f"word{number}" for number in range(2000)]
    before: set[str] = set()
    for share in (0.0, 0.2, 0.5, 1.0):
        anchors = {w for w, t in zip(words, next(twin([words], "shift", kept=share)).tokens, strict=True) if w == t}
        assert before <= anchors
        assert abs(len(anchors) / len(words) - share) < 4 * 0.5 / len(words) ** 0.5
        before = anchors
    assert len(before) == len(words)
    first, second = (next(twin([["Cat", "cat", "CAT"]], "shift", kept=0.5, seed=seed)).tokens for seed in (0, 3))
    for tokens in (first, second):
        assert len({token == word for token, word in zip(tokens, ["Cat", "cat", "CAT"], strict=True)}) == 1


@pytest.mark.parametrize("text", ["a", "\ue000", "\ue000a", "\ue100\ue100", shift("a") + "b", "\ue000\uf100"])
def test_unshift_refuses_other_scripts(text: str):
    with raises("input.malformed-line"):
        unshift(text)


# --- order ---


@given(sentences, st.sampled_from(FREE_ORDERS), degrees, seeds)
def test_orders_permute_and_align(tokens: list[str], order: Order, degree: float, seed: int):
    check_permutation(tokens, one(tokens, order, degree if order == "blend" else 1.0, seed))


@given(parsed(), st.sampled_from(TREE_ORDERS))
def test_tree_orders_permute_and_align(sentence: Parsed, order: Order):
    check_permutation(sentence.tokens, one(sentence, order))


def check_permutation(tokens: Sequence[str], other: Twin) -> None:
    positions = list(range(len(tokens)))
    assert [source for source, _ in other.alignment] == positions
    assert sorted(target for _, target in other.alignment) == positions
    assert all(tokens[source] == other.tokens[target] for source, target in other.alignment)
    for source, target in other.alignment:
        if is_final(tokens, source):
            assert source == target


@given(sentences, seeds)
def test_the_ends_of_the_dial(tokens: list[str], seed: int):
    assert one(tokens, degree=0, seed=seed) == Twin(tokens, [(i, i) for i in range(len(tokens))])
    body = [token for i, token in enumerate(tokens) if not is_final(tokens, i)]
    assert one(tokens, degree=1, seed=seed).tokens == body[::-1] + tokens[len(body) :]
    assert one(tokens, degree=1, seed=seed) == one(tokens, "reversed")


@given(sentences, st.lists(degrees, min_size=2, max_size=6), seeds)
def test_distance_never_falls_as_the_degree_rises(tokens: list[str], dial: list[float], seed: int):
    distances = [distance(one(tokens, degree=degree, seed=seed).alignment) for degree in sorted(dial)]
    assert distances == sorted(distances)


@pytest.mark.parametrize("size", [2, 5, 30])
def test_expected_distance_is_the_degree(size: int):
    """Over many seeds the share of turned pairs is the degree, to within four standard errors."""
    tokens = [f"w{i}" for i in range(size)]
    pairs = size * (size - 1) / 2
    means = []
    for degree in (0.05, 0.2, 0.5, 0.6, 0.9):
        shares = [distance(one(tokens, degree=degree, seed=seed).alignment) / pairs for seed in range(400)]
        mean = sum(shares) / len(shares)
        error = math.sqrt(sum((share - mean) ** 2 for share in shares)) / len(shares)
        assert abs(mean - degree) < 4 * error
        means.append(mean)
    assert all(low < high for low, high in pairwise(means))


@pytest.mark.parametrize("degree", [0.3, 0.5, 0.75])
def test_blend_is_mallows_model(degree: float):
    """The probability of a permutation is q to the power of its distance, up to a constant."""
    size, samples = 4, 6000
    tokens = [f"w{i}" for i in range(size)]
    seen = Counter(tuple(t for _, t in one(tokens, degree=degree, seed=seed).alignment) for seed in range(samples))
    lengths = {order: distance(list(enumerate(order))) for order in permutations(range(size))}

    def model(q: float) -> dict[tuple[int, ...], float]:
        total = sum(q**length for length in lengths.values())
        return {order: q**length / total for order, length in lengths.items()}

    def share(q: float) -> float:
        return sum(lengths[order] * p for order, p in model(q).items()) / 6

    low, high = 0.0, 100.0
    for _ in range(80):
        low, high = ((low + high) / 2, high) if share((low + high) / 2) < degree else (low, (low + high) / 2)
    chi_square = sum((seen[order] - samples * p) ** 2 / (samples * p) for order, p in model(high).items())
    assert chi_square < 60  # 23 degrees of freedom: p < 0.0001


def test_small_degrees_are_local():
    tokens = [f"w{i}" for i in range(40)]
    moves = [abs(s - t) for seed in range(50) for s, t in one(tokens, degree=0.02, seed=seed).alignment]
    assert max(moves) <= 8
    assert 0 < sum(moves) / len(moves) < 1.5


@given(sentences, st.sampled_from(FREE_ORDERS), seeds)
def test_a_sentence_has_the_same_twin_everywhere(tokens: list[str], order: Order, seed: int):
    degree = 0.5 if order == "blend" else 1.0
    other = ["some", "other", "words"]
    results = list(twin([other, tokens, other, tokens], "order", order=order, degree=degree, seed=seed))
    assert results[1] == results[3] == one(tokens, order, degree, seed)
    assert results[0] == results[2]


def test_seeds_and_words_matter():
    tokens = [f"w{i}" for i in range(12)]
    assert len({tuple(one(tokens, "permuted", seed=seed).tokens) for seed in range(50)}) == 50
    assert one(tokens, "permuted").alignment != one([f"v{i}" for i in range(12)], "permuted").alignment
    assert len({tuple(one(tokens, degree=0.5, seed=seed).tokens) for seed in range(50)}) == 50


def test_twins_never_change():
    """Numbers in the docs depend on these: a change here changes every result."""
    tokens = "the old king gave the small book to a child .".split()
    assert " ".join(one(tokens, degree=0.3).tokens) == "old the gave a child king small the book to ."
    assert " ".join(one(tokens, "permuted").tokens) == "a small child old book gave the to king the ."
    assert " ".join(next(twin([tokens], "frequency")).tokens) == "book to gave child the small the the to king the"


@given(parsed())
def test_head_final_puts_every_head_after_its_dependents(sentence: Parsed):
    place = dict(one(sentence, "head-final").alignment)
    for position, head in enumerate(sentence.heads):
        if head and not is_final(sentence.tokens, position) and not is_final(sentence.tokens, head - 1):
            assert place[position] < place[head - 1]


@given(parsed())
def test_verb_last_puts_verbs_after_their_dependents_and_the_root_verb_last(sentence: Parsed):
    other = one(sentence, "verb-last")
    place = dict(other.alignment)
    body = [i for i in range(len(sentence.tokens)) if not is_final(sentence.tokens, i)]
    for position in body:
        head = sentence.heads[position]
        if head - 1 in body and sentence.tags[head - 1] == "VERB":
            assert place[position] < place[head - 1]
    root = sentence.heads.index(0)
    if root in body and sentence.tags[root] == "VERB":
        assert place[root] == len(body) - 1


@given(parsed(), st.sampled_from(TREE_ORDERS))
def test_subtrees_stay_together(sentence: Parsed, order: Order):
    place = dict(one(sentence, order).alignment)
    heads = sentence.heads

    def above(position: int) -> list[int]:
        chain = [position]
        while heads[chain[-1]]:
            chain.append(heads[chain[-1]] - 1)
        return chain

    if any(is_final(sentence.tokens, i) for i in range(len(heads))):
        return  # what hangs under the final punctuation is lifted over it
    for top in range(len(heads)):
        places = [place[i] for i in range(len(heads)) if top in above(i)]
        assert max(places) - min(places) == len(places) - 1


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("verb-last", "The king that me saw a book the child gave ."),
        ("head-final", "The that me saw king a book the child gave ."),
        ("reversed", "child the book a gave me saw that king The ."),
    ],
)
def test_a_textbook_sentence(order: Order, text: str):
    sentence = Parsed(
        "The king that saw me gave a book the child .".split(),
        [2, 6, 4, 2, 4, 0, 8, 6, 10, 6, 6],
        "DET NOUN PRON VERB PRON VERB DET NOUN DET NOUN PUNCT".split(),
    )
    assert " ".join(one(sentence, order).tokens) == text


def test_a_copula_goes_last():
    sentence = Parsed("The cat is very black .".split(), [2, 5, 5, 5, 0, 5], "DET NOUN AUX ADV ADJ PUNCT".split())
    assert " ".join(one(sentence, "verb-last").tokens) == "The cat very black is ."


def test_deep_trees_are_fine():
    size = 5000
    chain = Parsed(["x"] * size, list(range(size)))
    assert [target for _, target in one(chain, "head-final").alignment] == list(range(size))[::-1]


# --- frequency ---


def test_frequency_matches_the_unigram_distribution():
    counts = {"the": 500, "cat": 120, "sat": 60, "mat": 20, "never": 0}
    texts = [["x"] * 50] * 2000
    seen = Counter(token for other in twin(texts, "frequency", counts=counts) for token in other.tokens)
    total = sum(counts.values())
    assert set(seen) == {"the", "cat", "sat", "mat"}
    chi_square = sum((seen[w] - 1e5 * n / total) ** 2 / (1e5 * n / total) for w, n in counts.items() if n)
    assert chi_square < 21.1  # 3 degrees of freedom: p < 0.0001


def test_frequency_counts_the_text_itself():
    texts = [["a", "b"], ["a", "c"], ["a"]] * 3000
    results = list(twin(texts, "frequency"))
    assert [len(other.tokens) for other in results] == [len(tokens) for tokens in texts]
    assert all(other.alignment == [] for other in results)
    seen = Counter(token for other in results for token in other.tokens)
    assert abs(seen["a"] / 15_000 - 3 / 5) < 4 * math.sqrt(0.24 / 15_000)
    # Copies of a sentence do not stay copies.
    assert len({tuple(other.tokens) for other in results[::3]}) == 9


@given(st.lists(sentences), seeds)
def test_frequency_is_deterministic_and_blind_to_order(texts: list[list[str]], seed: int):
    results = list(twin(texts, "frequency", seed=seed))
    assert results == list(twin(iter(texts), "frequency", seed=seed, counts=Counter(t for s in texts for t in s)))
    assert {token for other in results for token in other.tokens} <= {token for tokens in texts for token in tokens}
    trees = [Parsed(tokens, [0] * len(tokens)) for tokens in texts]
    assert results == list(twin(trees, "frequency", seed=seed))


# --- codes and refusals ---


@pytest.mark.parametrize(
    ("language", "kind", "code"),
    [("en", "shift", "en-x-shift"), ("cmn", "order", "zh-x-order"), ("en-x-shift", "frequency", "en-x-shift-freq")],
)
def test_codes(language: str, kind: twins.Kind, code: str):
    assert twin_code(language, kind) == code


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kind": "shfit"}, ("config.unknown-name", "'shfit'")),
        ({"degree": 1.5}, ("config.invalid-value", "1.5", "0", "1")),
        ({"degree": math.nan}, ("config.invalid-value", "nan", "0", "1")),
        ({"order": "verb_last"}, ("config.unknown-name", "'verb_last'")),
        ({"kind": "shift", "kept": 1.5}, ("config.invalid-value", "1.5")),
        ({"kind": "order", "kept": 0.5}, ("config.conflicting-options",)),
        ({"kind": "shift", "degree": 0.5}, ("config.conflicting-options",)),
        ({"order": "permuted", "degree": 0.5}, ("config.conflicting-options",)),
        (
            {"kind": "shift", "order": "reversed"},
            ("config.conflicting-options",),
        ),
        ({"counts": {"a": 1}}, ("config.conflicting-options",)),
        ({"kind": "frequency", "counts": {"a": -1}}, ("config.invalid-value", "-1")),
        ({"kind": "frequency", "counts": {"a": 0}}, ("config.invalid-value", "0")),
        (
            {"kind": "frequency", "sentences": iter([["a"]])},
            ("config.not-supported",),
        ),
    ],
)
def test_bad_options_are_refused_at_once(options: dict[str, object], expected: tuple[str, ...]):
    with raises(*expected):
        twin(**{"sentences": [["a"]], "kind": "order"} | options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "order", "expected"),
    [
        (["a"], "head-final", ("config.not-supported",)),
        (
            Parsed(["a", "b"], [0, 1]),
            "verb-last",
            ("config.not-supported", "2", "0"),
        ),
        ("a b", "reversed", ("config.invalid-value", "'a b'")),
    ],
)
def test_missing_trees(sentence: Parsed | list[str], order: Order, expected: tuple[str, ...]):
    with raises(*expected):
        one(sentence, order)


@pytest.mark.parametrize("heads", [[0], [0, 4, 1], [0, -1, 1], [0, 3, 2], [2, 1, 0], [2, 3, 1], [4, 0, 1, 4]])
def test_heads_that_make_no_tree(heads: list[int]):
    with raises("input.malformed-tree"):
        one(Parsed(["a", "b", "c"], heads), "head-final")


def test_a_cycle_of_final_punctuation():
    with raises("input.malformed-tree"):
        one(Parsed(["a", "b", ".", "."], [0, 3, 4, 3]), "head-final")


def test_no_code_for_an_unknown_kind():
    with raises("config.unknown-name", "'freq'"):
        twin_code("en", "freq")  # type: ignore[arg-type]


def test_frequency_with_nothing_to_draw():
    with raises("config.missing-data"):
        list(twin([["a"]], "frequency", counts={}))
