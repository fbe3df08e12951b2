"""Every claim can hold, fail, be undecided, be at floor and not be run."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.study import claims as claims_room
from isoglot.study.claims import Verdict, against, claims_of, expected, paper_numbers, verdict_table, verify
from isoglot.study.claims.evidence import Evidence, Index, NotMeasuredError
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.claims.statistics import claim_p
from isoglot.study.numbers import Number, Numbers
from tests.errors import raises
from tests.study.claim_numbers import changed, holding, measured

CLAIMS = [f"W{number}" for number in range(1, 18)] + [f"L{number}" for number in range(1, 10)]
UNPRINTED = {"W9", "W10", "W11", "W12", "W14", "L1", "L2", "L3", "L5", "L8", "L9"}


def paper_of(claim: str) -> str:
    return "wu2020" if claim.startswith("W") else "liu2020"


@cache
def reads(claim: str) -> frozenset[str]:
    """The cells that a claim reads, such as ``nli(arm, language)``, where it has all it needs."""
    evidence = Evidence(Index(holding(paper_of(claim))))
    list(claims_of(paper_of(claim))[claim].parts(evidence))
    return frozenset(f"{measure}({', '.join(sorted(dict(at)))})" for measure, at in evidence.read)


def verdict_on(claim: str, numbers: Numbers) -> Verdict:
    """The verdict on one claim; the numbers of other measures are left out, for speed."""
    measures = {cell.partition("(")[0] for cell in reads(claim)}
    verdicts = verify([one for one in numbers if one.measure in measures], paper_of(claim))
    return next(one for one in verdicts if one.claim == claim)


@pytest.fixture(scope="module")
def held() -> dict[str, Verdict]:
    return {one.claim: one for paper in ("wu2020", "liu2020") for one in verify(measured(holding(paper)), paper)}


def test_there_are_26_claims():
    assert [*claims_of("wu2020"), *claims_of("liu2020")] == [*CLAIMS[:17], *sorted(CLAIMS[17:])]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_holds_on_the_numbers_that_the_paper_prints(claim: str, held: dict[str, Verdict]):
    assert held[claim].paper == ("stated, not printed" if claim in UNPRINTED else "holds")
    assert bool(held[claim].paper_values) == (claim not in UNPRINTED)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_holds(claim: str, held: dict[str, Verdict]):
    assert held[claim].in_words == "holds", held[claim].reason
    p = held[claim].p
    assert p is not None
    assert p < 0.05
    assert held[claim].seeds == (3, 3)


Break = tuple[str, str, float, dict[str, Any]]
BREAKS: list[Break] = [  # claim, measure, what is added, where
    ("W1", "nli", +3, {"arm": "wiki-cc"}),
    ("W1", "ner", +5, {"arm": "wiki-cc"}),  # still a loss, but not the largest
    ("W2", "ner", -2, {"arm": "no-anchors", "variant": None}),
    ("W2", "parsing", +5, {"arm": "no-anchors", "variant": None}),  # not within 3 points either
    ("W2", "nli", +33, {"arm": "no-anchors", "variant": "untrained"}),
    ("W3", "parsing", -4, {"arm": "default-anchors"}),
    ("W4", "parsing", -1, {"arm": "extra-anchors"}),
    ("W4", "ner", -4, {"arm": "extra-anchors", "language": "zh"}),
    ("W4", "nli", +4, {"arm": "extra-anchors", "language": "fr"}),
    ("W5", "ner", +3, {"arm": "sep-emb"}),
    ("W6", "nli", -5, {"arm": "sep-l1-3", "variant": None}),  # the loss of L1-6 is not three times as large
    ("W6", "ner", +6, {"arm": "sep-l1-3", "variant": None}),
    ("W7", "parsing", +10, {"arm": "sep-emb+l1-6", "language": "ru", "variant": None}),
    ("W8", "nli", -6, {"arm": "default", "language": "fr", "variant": None}),
    ("W8", "parsing", +30, {"arm": "sep-emb", "language": "zh"}),
    ("W9", "word_p1", -0.2, {"system": "encoder", "vectors": "embeddings"}),
    ("W10", "word_p1", +0.5, {"system": "encoder", "vectors": "contexts", "layer": 0}),
    ("W10", "word_p1", -0.3, {"system": "fasttext", "vectors": "contexts"}),
    ("W11", "ner", +20, {"arm": "monolingual", "layer": 8}),
    ("W11", "parsing", -20, {"arm": "bilingual", "language": "zh", "variant": None}),
    ("W11", "parsing", +30, {"arm": "bilingual", "variant": None, "map": None}),  # the gap is larger in parsing
    ("W12", "sentence_p1", +0.5, {"layer": 7}),
    ("W13", "cka", +0.2, {"arm": "monolingual"}),
    ("W13", "cka", +0.2, {"arm": "random"}),
    ("W13", "cka", +0.2, {"arm": "bilingual", "layer": 6}),
    ("W14", "sentence_p1", +0.3, {"language": "ru", "layer": 8}),
    ("W15", "cka", +0.2, {"arm": "bilingual", "language": "zh"}),
    ("W16", "ner", +60, {"arm": "sep-l1-6", "language": "zh", "variant": None}),
    ("W17", "ner", -15, {"language": "fr", "arm": "default", "variant": None}),
    ("W17", "nli", +5, {"language": "fr", "arm": "extra-anchors"}),
    ("L1", "word_mrr", +0.2, {"system": "encoder", "sentences": 50_000}),
    ("L1", "word_mrr", +0.4, {"system": "glove", "sentences": 450_000}),
    ("L1", "word_mrr", -0.16, {"system": "word2vec", "sentences": 450_000}),  # wins, but not by far
    ("L2", "word_mrr", +0.4, {"system": "encoder", "sentences": 450_000, "window": 20}),
    ("L2", "nli", -20, {"system": "encoder", "sentences": 50_000, "window": 20}),
    ("L3", "word_mrr", -0.47, {"system": "encoder", "sentences": 450_000, "window": 256}),
    ("L3", "word_mrr", +0.2, {"system": "glove", "sentences": 450_000}),
    ("L4", "convert_rate", -0.5, {"alpha": 2.0}),
    ("L4", "convert_rate", -0.1, {"alpha": 3.0, "source": "en"}),
    ("L5", "outside_share", +0.05, {"alpha": 2.0}),
    ("L5", "convert_rate", +0.05, {"alpha": -1.0}),
    ("L6", "bleu1", +40, {"layer": 5}),
    ("L7", "nli", -5, {"arm": "tune-upper"}),
    ("L7", "nli", -1, {"arm": "tune-upper+shift"}),
    ("L7", "nli", +5, {"arm": "tune-upper+shift"}),  # not a little
    ("L7", "nli", +2, {"arm": "tune-upper+shift", "language": "fr"}),
    ("L8", "other_language_share", +0.05, {}),
    ("L9", "nli", +10, {"system": "glove", "sentences": 450_000}),
    ("L9", "word_mrr", +0.3, {"system": "word2vec", "sentences": 50_000}),  # a loss is a change too
    ("L9", "nli", -20, {"system": "encoder", "sentences": 50_000, "window": 20}),
]


def test_every_claim_is_broken_by_a_case():
    assert {case[0] for case in BREAKS} == set(CLAIMS)


@pytest.mark.parametrize("case", BREAKS, ids=lambda case: f"{case[0]}-{case[1]}{case[2]:+g}")
def test_a_claim_does_not_hold(case: Break):
    claim, measure, added, at = case
    numbers = measured(changed(holding(paper_of(claim)), measure, lambda value: value + added, **at))
    found = verdict_on(claim, numbers)
    assert found.outcome == "does not hold", found
    assert found.weakest is not None
    assert found.weakest.outcome == "does not hold"


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_undecided_where_intervals_include_the_bound(claim: str):
    found = verdict_on(claim, measured(holding(paper_of(claim)), noise=2.0, seeds=1, exact=True))
    assert found.in_words == "undecided"
    assert "includes the bound" in found.reason


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_without_its_numbers_is_not_run(claim: str):
    paper = paper_of(claim)
    measures = {cell.partition("(")[0] for cell in reads(claim)}
    found = verdict_on(claim, measured(one for one in holding(paper) if one.measure not in measures))
    assert found.outcome == "not run"
    assert any(measure in found.reason for measure in measures)
    assert found.p is None


def test_the_reason_names_the_arm_that_is_missing():
    numbers = measured(one for one in holding("wu2020") if one.at.get("arm") != "no-anchors")
    verdicts = {one.claim: one for one in verify(numbers)}
    assert {claim for claim, one in verdicts.items() if one.outcome == "not run"} == {"W2", "W5"}
    assert "no-anchors" in verdicts["W5"].reason


@pytest.mark.parametrize("claim", ["W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W16", "W17", "L2", "L9"])
def test_a_claim_on_tasks_is_at_floor_where_the_reference_is(claim: str):
    """Default 5 points above the untrained arm: nothing is decided, whatever the intervals."""
    numbers = holding(paper_of(claim))
    trained = "default" if claim.startswith("W") else None
    place = (
        {"arm": "default", "sentences": None} if trained else {"system": "encoder", "sentences": 450_000, "window": 256}
    )
    tops = {
        (one.measure, one.at.get("language")): one.value for one in numbers.select(**place, layer=None, variant=None)
    }
    floors = Numbers(
        Number(one.measure, tops[one.measure, one.at["language"]] - 5, one.at)
        if one.at.get("variant") == "untrained" and one.at.get("arm") == trained
        else one
        for one in numbers
    )
    assert verdict_on(claim, measured(floors)).outcome == "undecided: at floor"


def test_arms_that_have_learned_nothing_are_at_floor():
    """Every score is the same, trained or not: nothing is divided by 0."""
    flat = Numbers(Number(one.measure, 0.0, one.at, (0.0,) * 20, "items") for one in holding("wu2020"))
    outcomes = {one.claim: one.outcome for one in verify(flat)}
    at_floor = {claim for claim, one in outcomes.items() if one == "undecided: at floor"}
    assert at_floor == {*CLAIMS[:12], "W14", "W16", "W17"}
    assert outcomes["W13"] == outcomes["W15"] == "undecided"


def test_a_part_that_fails_above_the_floor_decides():
    """NLI at floor says nothing of parsing."""
    numbers = changed(holding("wu2020"), "nli", lambda _: 66.0, arm="default", variant="untrained")
    assert verdict_on("W3", measured(numbers)).outcome == "undecided: at floor"
    numbers = changed(numbers, "parsing", lambda value: value - 9, arm="default-anchors", variant=None)
    assert verdict_on("W3", measured(numbers)).outcome == "does not hold"


def test_other_languages_and_german_for_french():
    """A study of German and Chinese: German is near; without Chinese, claims about distance are not run."""
    german = Numbers(
        Number(one.measure, one.value, {**one.at, "language": "de"} if one.at.get("language") == "fr" else one.at)
        for one in holding("wu2020")
        if one.at.get("language") != "ru"
        and not (one.measure == "cka" and one.at["language"] == "de")
        and not (one.measure == "sentence_p1" and one.at["language"] == "de")
    )
    verdicts = {one.claim: one.outcome for one in verify(measured(german))}
    assert verdicts["W4"] == verdicts["W8"] == verdicts["W15"] == verdicts["W16"] == verdicts["W17"] == "holds"
    near = Numbers(one for one in german if one.at.get("language") == "de")
    verdicts = {one.claim: one.outcome for one in verify(measured(near))}
    assert {claim for claim, one in verdicts.items() if one == "not run"} == {"W4", "W7", "W8", "W15", "W16", "W17"}


def test_domain_is_compared_with_default_of_the_same_size_where_there_is_one():
    cut = Numbers(
        Number(one.measure, one.value - 10, {**one.at, "arm": "default-cut"})
        for one in holding("wu2020")
        if one.at.get("arm") == "default" and "variant" not in one.at
    )
    found = verdict_on("W1", measured(holding("wu2020") + cut))
    assert found.outcome == "does not hold"
    assert any("cut" in note for note in found.notes)


def test_measurements_during_training_and_of_other_kinds_are_not_read():
    young = [Number("nli", 1.0, {"arm": "no-anchors", "language": "fr", "tokens": 1000, "seed": 0})]
    oracle = [Number("nli", 1.0, {"arm": "no-anchors", "language": "fr", "selection": "oracle", "seed": 0})]
    numbers = measured(holding("wu2020"))
    assert verify(numbers + Numbers([*young, *oracle])) == verify(numbers)


def test_one_seed_speaks_of_this_model_only():
    found = verdict_on("W5", measured(holding("wu2020"), seeds=1))
    assert found.in_words == "holds (this model only)"
    assert found.seeds == (1, 1)


def test_one_seed_of_a_floor_is_enough():
    numbers = Numbers(
        one for one in measured(holding("wu2020")) if one.at["seed"] == 0 or one.at.get("variant") != "untrained"
    )
    found = verdict_on("W2", numbers)
    assert found.in_words == "holds"
    assert found.seeds == (3, 3)


def test_numbers_without_draws_and_seeds_decide_nothing():
    found = verdict_on("W5", holding("wu2020"))
    assert found.outcome == "undecided"
    assert "no interval" in found.reason


def test_seeds_alone_give_an_interval_and_a_note():
    numbers = Numbers(Number(one.measure, one.value, one.at) for one in measured(holding("wu2020")))
    found = verdict_on("W5", numbers)
    assert found.in_words == "holds"
    assert any("seeds" in note for note in found.notes)


def test_a_young_arm_that_has_one_seed_gets_the_variance_of_the_others():
    """The residuals of other arms widen its interval."""
    noisy = measured(holding("wu2020"), noise=0.1, seed=5)
    one = Numbers(number for number in noisy if number.at["seed"] == 0 or number.at.get("arm") != "no-anchors")
    found = verdict_on("W5", one)
    assert not found.one_model
    part = found.parts[0]
    assert part.high - part.low > 5


def test_verdicts_do_not_depend_on_the_order_of_the_numbers():
    for paper in ("wu2020", "liu2020"):
        numbers = list(measured(holding(paper), noise=0.01))
        before = verify(numbers, paper)
        shuffled = [numbers[place] for place in np.random.default_rng(0).permutation(len(numbers))]
        assert verify(shuffled, paper) == before


def test_p_values_are_corrected_over_the_claims_of_a_paper_that_were_run():
    """Holm by hand: the k-th smallest of m times m - k + 1, never below the one before."""
    verdicts = [one for one in verify(measured(holding("wu2020"), noise=0.02)) if one.outcome != "not run"]
    raw = sorted((claim_p(one.parts)[0], one.p or 0.0) for one in verdicts)
    highest = 0.0
    for rank, (p, corrected) in enumerate(raw):
        highest = max(highest, min(1.0, p * (len(raw) - rank)))
        assert corrected == pytest.approx(highest)


def test_the_table_of_measures_lists_what_claims_read():
    rows = [line.split("  ") for line in (claims_room.__doc__ or "").splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    listed = {
        (measure, frozenset(row[1].split(", "))) for row in cells if len(row) == 3 for measure in row[0].split(", ")
    }
    for claim in CLAIMS:
        for cell in reads(claim):
            measure, _, names = cell.rstrip(")").partition("(")
            assert (measure, frozenset(names.split(", "))) in listed, cell


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_documentation_has_the_claim_as_it_is_tested(claim: str):
    page = (Path(__file__).parents[2] / "docs" / "CLAIMS.md").read_text(encoding="utf-8")
    one = claims_of(paper_of(claim))[claim]
    assert f"| {claim} | {one.sentence} | {one.test} | {'yes' if one.printed else 'no'} |" in page


@pytest.mark.parametrize(
    ("claim", "arm", "languages"),
    [
        ("W13", "default", ("fr", "ru", "zh")),
        ("W15", "default", ("fr", "ru", "zh")),
        *((claim, "multilingual", ("en", "de")) for claim in ("L4", "L5", "L6", "L8")),
    ],
)
def test_encoders_that_have_learned_nothing_decide_nothing(claim: str, arm: str, languages: tuple[str, ...]):
    """CKA, convert rates and BLEU-1 have no floor of their own: perplexity says whether anything was learned."""
    numbers = measured(holding(paper_of(claim)))
    for perplexity, outcome in ((20.0, "holds"), (99.0, "holds"), (101.0, "undecided: at floor")):
        facts = [
            Number(measure, value, {"arm": arm, "language": language, "seed": 0})
            for measure, value in (("perplexity", perplexity), ("ids_read", 1000.0))
            for language in languages
        ]
        found = {one.claim: one for one in verify([*numbers, *facts], paper_of(claim))}[claim]
        assert found.outcome == outcome
        assert "floor not measured" not in found.notes


def test_a_convert_rate_that_is_not_defined_is_said_to_be():
    """Where every decoded token is one that both languages have, steering ran and there is no convert rate."""
    numbers = measured(one for one in holding("liu2020") if one.measure != "convert_rate")
    verdicts = {one.claim: one for one in verify(numbers, "liu2020")}
    for claim in ("L4", "L5"):
        assert verdicts[claim].outcome == "not run"
        assert "one that both languages have" in verdicts[claim].reason


def test_the_same_test_beside_the_verdict():
    """Against Default anchors, and with other estimators of CKA; where these were measured."""
    debiased = Numbers(
        Number(one.measure, one.value if one.at["arm"] != "monolingual" else 0.9, {**one.at, "estimator": "debiased"})
        for one in holding("wu2020").select("cka")
    )
    frozen = Numbers(
        Number(one.measure, one.value - 10, {**one.at, "variant": f"frozen-{part}"})
        for one in holding("wu2020").select(arm="default", variant=None)
        for part in ("l1-3", "l1-6")
    )
    verdicts = {one.claim: one for one in verify(measured(holding("wu2020") + debiased + frozen))}
    assert verdicts["W13"].outcome == "holds"
    assert verdicts["W13"].beside == {"with debiased CKA": "does not hold"}
    assert verdicts["W6"].beside == {
        "against Default anchors": "holds",
        "against Default with the same parts frozen": "does not hold",
    }
    assert verdicts["W7"].beside == {"against Default anchors": "holds"}
    assert verdicts["W16"].beside["against Default with the same parts frozen"] == "holds"


def test_a_language_of_two_pairs_is_refused_where_it_is_read():
    """English is tested in every pair, and no claim reads it."""
    at: dict[str, Any] = {"arm": "default", "seed": 0}
    both = [Number("nli", 80.0, {**at, "language": "en", "pair": pair}) for pair in ("en-fr", "en-zh")]
    numbers = measured(holding("wu2020"))
    assert verify(numbers + Numbers(both)) == verify(numbers)
    assert len([one for one in expected(numbers + Numbers(both))["numbers"] if one["at"].get("language") == "en"]) == 2
    again = Number("nli", 70.0, {**at, "language": "fr", "pair": "de-fr"})
    with raises("input.duplicate", "de-fr"):
        verify(numbers + Numbers([again]))


def test_arms_on_different_test_items_are_noted():
    numbers = Numbers(
        Number(one.measure, one.value, one.at, one.draws, "others" if one.at.get("arm") == "sep-emb" else one.items)
        for one in measured(holding("wu2020"))
    )
    assert "nli fr" in verdict_on("W5", numbers).note
    assert "items" not in verdict_on("W3", numbers).note


def test_two_numbers_at_one_place_are_refused_where_they_are_read():
    """The same number twice is one: recipes share steps."""
    numbers = measured(holding("wu2020"))
    assert verify(numbers + numbers) == verify(numbers)
    lines = Numbers(Number("text_lines", lines, {"language": "fr"}) for lines in (10.0, 20.0))
    assert verify(numbers + lines) == verify(numbers)
    assert expected(numbers + lines)["left_out"] == ["text_lines (language fr)"]
    with raises("input.duplicate", "'arm'", "'default'", "'language'", "'fr'", "'seed'"):
        verify(numbers + Numbers([Number("nli", 1.0, {"arm": "default", "language": "fr", "seed": 1})]))


def test_different_counts_of_draws_are_refused():
    numbers = measured(holding("wu2020"), draws=20)
    assert verify(numbers + Numbers([Number("not read", 1.0, draws=(1.0, 2.0))])) == verify(numbers)
    short = measured(holding("wu2020").select("nli", arm="default"), draws=10)
    with raises("input.row-count", 10):
        verify(Numbers(one for one in numbers if one.at.get("arm") != "default") + short)


def test_an_unknown_paper_is_refused():
    with raises("config.unknown-name", "'wu2021'"):
        verify([], "wu2021")


def test_nothing_measured_is_not_run():
    assert {one.outcome for one in verify([])} == {"not run"}
    with pytest.raises(NotMeasuredError):
        Evidence(Index([])).places("nli", "language")


def test_verdicts_are_a_table_and_json(held: dict[str, Verdict]):
    table = verdict_table([*held.values(), verdict_on("W5", Numbers())])
    assert table.column("verdict") == ["holds"] * 26 + ["not run"]
    row = table.dicts()[0]
    assert row["paper"] == "holds (1.4)"
    assert str(row["ours"]).startswith("Default - Wiki-CC, NLI: 1.3 [1.3, 1.4]")
    assert str(row["ours"]).endswith("; and 3 more")
    assert "<td" in table.html()
    assert json.loads(json.dumps(held["W1"].as_json()))["claim"] == "W1"


def test_printed_numbers_of_table_1_are_consistent():
    """The change that the paper prints is that of the averages, within rounding."""
    arms = printed("wu2020")["table1"]["arms"]
    assert len(arms) == 10
    for arm, row in arms.items():
        for task, change in zip(("nli", "ner", "parsing"), row["change"], strict=True):
            assert np.mean(row[task]) - np.mean(arms["default"][task]) == pytest.approx(change, abs=0.11), (arm, task)


def test_printed_numbers_of_liu_are_consistent():
    table2, table4 = printed("liu2020")["table2"], printed("liu2020")["table4"]
    for column, _ in enumerate(table2["pairs"]):
        fixed, best = table2["bleu1"]["values"][column], table2["best_bleu1"][column]
        at_fixed = (table2["best_layer"][column], table2["best_alpha"][column]) == (11, 3.0)
        assert best == fixed if at_fixed else best > fixed
        rates = [values[column] for values in table2["convert_rate"]["values"]]
        assert rates == sorted(rates)
    for row in table4["arms"].values():
        assert np.mean(row["values"]) == pytest.approx(row["average"], abs=0.011)
    assert len(paper_numbers("liu2020").select("nli")) == 33


def test_the_same_study_again_is_as_expected():
    numbers = measured(holding("liu2020"))
    file = json.loads(json.dumps(expected(numbers, verify(numbers, "liu2020"), hashes={"text": "abc"})))
    assert file["verdicts"]["L4"] == "holds"
    assert file["versions"]["numpy"] == np.__version__
    entry = next(one for one in file["numbers"] if one["measure"] == "other_language_share")
    assert entry["seeds"] == ["0", "1", "2"]
    assert entry["low"] < entry["value"] < entry["high"]
    assert against(file, numbers, verify(numbers, "liu2020")) == []


def test_another_run_differs_where_it_differs_by_more_than_its_interval():
    file = expected(measured(holding("liu2020")), verify(measured(holding("liu2020")), "liu2020"))
    assert against(file, measured(holding("liu2020"), seed=8)) == []
    other = measured(
        changed(holding("liu2020"), "convert_rate", lambda _: 0.1, source="en", target="zh", alpha=3.0), seed=8
    )
    other = Numbers(one for one in other if one.measure != "other_language_share")
    kinds = {(one.kind, one.what) for one in against(file, other, verify(other, "liu2020"))}
    assert kinds == {
        ("number", "convert_rate (alpha 3.0, layer 10, source en, target zh)"),
        ("missing", "other_language_share (alpha 0.0, source en)"),
        ("verdict", "L4"),
        ("verdict", "L8"),
    }
    with raises("input.unknown-format", 99):
        against(file | {"version": 99}, other)


def test_a_claim_that_was_not_run_is_not_compared():
    numbers = measured(holding("liu2020"))
    file = expected(numbers, verify(numbers, "liu2020"))
    file["verdicts"]["L4"] = "not run"
    assert against(file, numbers, verify(numbers, "liu2020")) == []


def test_numbers_without_intervals_must_be_equal():
    file = expected([Number("fertility", 1.25)])
    assert against(file, [Number("fertility", 1.25)]) == []
    assert [one.found for one in against(file, [Number("fertility", 1.26)])] == [1.26]
